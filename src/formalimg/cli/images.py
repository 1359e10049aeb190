"""Writing images where the user asks for them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from formalimg.errors import FormalimgError

if TYPE_CHECKING:
    from PIL.Image import Image


def require_image_name(path: Path) -> None:
    """Refuse a name that no image can be written to, before the work is done."""
    if path.suffix.lower() not in (".png", ".jpg", ".jpeg", ".webp"):
        raise FormalimgError(f"cannot draw into {path}: give a name such as out.png")
    if not path.parent.is_dir():
        raise FormalimgError(f"cannot draw into {path}: the folder {path.parent} does not exist")


def save_image(image: Image, path: Path) -> None:
    """Save an image; its kind is told by the name."""
    try:
        image.save(path)
    except OSError as error:
        raise FormalimgError(f"cannot write the image {path}: {error.strerror}") from error
