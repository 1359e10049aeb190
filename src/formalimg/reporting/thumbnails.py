"""Images made small enough to travel inside a page."""

from __future__ import annotations

import base64
import io
from typing import NamedTuple, Protocol

from formalimg.judges import Unscored
from formalimg.runs import ImageLocation, inspect

LONGEST_SIDE = 320
"""Of images inside a page, in pixels."""

_QUALITY = 72


class Shown(Protocol):
    """An image that a page can show: its address, and its size in pixels."""

    @property
    def address(self) -> str:
        """Where the page finds it."""
        ...

    @property
    def width(self) -> int:
        """Its width."""
        ...

    @property
    def height(self) -> int:
        """Its height."""
        ...


class Thumbnail(NamedTuple):
    """A small image: a WebP file and its size in pixels."""

    data: bytes
    width: int
    height: int

    @property
    def address(self) -> str:
        """The image as an address that needs no file."""
        return f"data:image/webp;base64,{base64.b64encode(self.data).decode('ascii')}"


def thumbnail_of(path: ImageLocation, longest_side: int = LONGEST_SIDE) -> Thumbnail | str:
    """The image made small, decoded as it is for the judges; or why it cannot be shown."""
    from PIL import Image

    try:
        image = inspect(path.read_bytes())
    except FileNotFoundError:
        return "the file of the image is missing"
    except OSError as error:
        return f"the file of the image cannot be read: {error.strerror}"
    if isinstance(image, Unscored):
        too_large = image.reason == "too large"
        return "the image is too large to be shown" if too_large else "the file cannot be read as an image"
    small = image.pil
    small.thumbnail((longest_side, longest_side), Image.Resampling.LANCZOS)
    page = io.BytesIO()
    small.save(page, "WEBP", quality=_QUALITY, method=4)
    return Thumbnail(page.getvalue(), small.width, small.height)
