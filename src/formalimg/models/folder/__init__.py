"""Premade images: a folder or a map of files in place of an image model."""

from formalimg.models.folder.file_matching import MatchedImage, MatchReport, PremadeImageModel, RequestedImage
from formalimg.models.folder.model import FolderModel, open_folder

__all__ = ["FolderModel", "MatchReport", "MatchedImage", "PremadeImageModel", "RequestedImage", "open_folder"]
