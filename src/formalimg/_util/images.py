"""Image bytes: PNG encoding, and the file type by its first bytes."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from PIL.Image import Image


def png_bytes(image: Image, *, compress_level: int = 1) -> bytes:
    """Return the image as a PNG file; by default compressed quickly rather than tightly."""
    file = io.BytesIO()
    image.save(file, "PNG", compress_level=compress_level)
    return file.getvalue()


_SIGNATURES = {b"\x89PNG\r\n\x1a\n": "png", b"\xff\xd8\xff": "jpg"}


def image_type(data: bytes) -> str | None:
    """Return the usual extension of such files: png, jpg or webp; None for anything else."""
    if (data[:4], data[8:12]) == (b"RIFF", b"WEBP"):
        return "webp"
    return next((ending for start, ending in _SIGNATURES.items() if data.startswith(start)), None)
