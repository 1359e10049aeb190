"""Images for tests: quick to make, and each prompt has its own."""

from __future__ import annotations

import hashlib
import io
from functools import lru_cache

from PIL import Image

from tests.support.loopback.dialects import Wish


def painted(wish: Wish) -> bytes:
    """A small image of one colour that follows from the prompt."""
    red, green, blue, *_ = hashlib.sha256(wish.prompt.encode()).digest()
    return plain(64, (red, green, blue))


@lru_cache(maxsize=4096)
def plain(size: int, color: tuple[int, int, int]) -> bytes:
    """A PNG file of one colour."""
    file = io.BytesIO()
    Image.new("RGB", (size, size), color).save(file, "PNG", compress_level=1)
    return file.getvalue()


@lru_cache(maxsize=1)
def animated() -> bytes:
    """A WebP file with two frames."""
    file = io.BytesIO()
    frames = [Image.new("RGB", (64, 64), color) for color in ("red", "blue")]
    frames[0].save(file, "WEBP", save_all=True, append_images=frames[1:], duration=100, lossless=True)
    return file.getvalue()
