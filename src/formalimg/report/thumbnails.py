"""Pictures made small enough to travel inside a page."""

from __future__ import annotations

import base64
import io
import warnings
from pathlib import Path
from typing import NamedTuple

LONGEST_SIDE = 320
_QUALITY = 72
_MOST_PIXELS = 64_000_000
"""Larger pictures are not decoded: a small file can claim to be a huge picture."""


class Thumbnail(NamedTuple):
    """A small picture: a WebP file and its size in pixels."""

    data: bytes
    width: int
    height: int

    @property
    def address(self) -> str:
        """The picture as an address that needs no file."""
        return f"data:image/webp;base64,{base64.b64encode(self.data).decode('ascii')}"


def thumbnail_of(path: Path) -> Thumbnail | str:
    """The picture made small, upright; or why it cannot be shown."""
    from PIL import Image, ImageOps

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            with Image.open(path) as picture:
                if picture.width * picture.height > _MOST_PIXELS:
                    return "the picture is too large to be shown"
                small = ImageOps.exif_transpose(picture).convert("RGB")
        small.thumbnail((LONGEST_SIDE, LONGEST_SIDE), Image.Resampling.LANCZOS)
        page = io.BytesIO()
        small.save(page, "WEBP", quality=_QUALITY, method=4)
    except FileNotFoundError:
        return "the file of the picture is missing"
    except (Image.DecompressionBombError, Image.DecompressionBombWarning):
        return "the picture is too large to be shown"
    except (OSError, ValueError, SyntaxError):  # what Pillow raises for files that are broken or no pictures
        return "the file cannot be read as a picture"
    return Thumbnail(page.getvalue(), small.width, small.height)
