"""Models: what makes pictures."""

from formalimg.models.calling import CallableModel
from formalimg.models.folder import FolderModel, Matches, Matching, Wanted, open_folder
from formalimg.models.image import Answer, Failed, Generated, ImageModel, ImageRequest, Refused, Setting
from formalimg.models.opening import image_model_providers, open_image_model

__all__ = [
    "Answer",
    "CallableModel",
    "Failed",
    "FolderModel",
    "Generated",
    "ImageModel",
    "ImageRequest",
    "Matches",
    "Matching",
    "Refused",
    "Setting",
    "Wanted",
    "image_model_providers",
    "open_folder",
    "open_image_model",
]
