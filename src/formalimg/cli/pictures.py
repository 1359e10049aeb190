"""Writing pictures where the user asks for them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from formalimg.errors import FormalimgError

if TYPE_CHECKING:
    from PIL.Image import Image


def save_picture(image: Image, path: Path) -> None:
    """Save a picture; its kind is told by the name."""
    try:
        image.save(path)
    except (OSError, ValueError) as error:
        raise FormalimgError(f"cannot write the picture {path}: {error}; give a name such as out.png") from error
