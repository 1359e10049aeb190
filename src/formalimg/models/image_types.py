"""Which type of image a file is, by how it begins."""

from __future__ import annotations

_BEGINNINGS = {b"\x89PNG\r\n\x1a\n": "png", b"\xff\xd8\xff": "jpg"}


def image_type(data: bytes) -> str | None:
    """The usual ending of such files: png, jpg or webp; None for what is none of them."""
    if (data[:4], data[8:12]) == (b"RIFF", b"WEBP"):
        return "webp"
    return next((ending for beginning, ending in _BEGINNINGS.items() if data.startswith(beginning)), None)
