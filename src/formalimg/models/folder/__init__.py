"""Premade images: a folder or a map of files in place of an image model."""

from typing import TYPE_CHECKING

from formalimg._util.lazy import lazy_exports
from formalimg.models.folder.file_matching import (
    MatchedImage,
    MatchReport,
    PremadeImageModel,
    RequestedImage,
    is_any_image,
    matched_text,
    scan_folder,
)

if TYPE_CHECKING:
    from formalimg.models.folder.model import FolderModel, open_folder

# Lazy, because every run imports the types above, and few read a folder.
__getattr__ = lazy_exports("formalimg.models.folder", {"model": ["FolderModel", "open_folder"]})

__all__ = [
    "FolderModel",
    "MatchReport",
    "MatchedImage",
    "PremadeImageModel",
    "RequestedImage",
    "is_any_image",
    "matched_text",
    "open_folder",
    "scan_folder",
]
