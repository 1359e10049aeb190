"""Models: what makes pictures."""

from formalimg.models.image import Answer, Failed, Generated, ImageModel, ImageRequest, Refused, Setting

__all__ = ["Answer", "Failed", "Generated", "ImageModel", "ImageRequest", "Refused", "Setting"]
