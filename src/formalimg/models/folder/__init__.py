"""Images that are there already: a folder or a map of files, in place of an image model."""

from formalimg.models.folder.file_matching import Found, Matches, Matching, Wanted
from formalimg.models.folder.model import FolderModel, open_folder

__all__ = ["FolderModel", "Found", "Matches", "Matching", "Wanted", "open_folder"]
