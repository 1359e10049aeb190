"""How a picture is shown to a chat model: as the file it came in, unless the model would see something else in it."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, NamedTuple

from formalimg.judges.judge import Picture
from formalimg.models import Attachment

if TYPE_CHECKING:
    from PIL.Image import Image

GRID = 28
"""Models that answer in pixels see pictures in patches of this many pixels, and scale what does not fit them."""
MOST_PIXELS = 1280 * GRID * GRID
LONGEST_SIDE = 1512
"""Larger pictures would be scaled down on the way by one service or another, and nobody would be told."""

_MEDIA_TYPES = {"PNG": "image/png", "JPEG": "image/jpeg", "WEBP": "image/webp"}


class Shown(NamedTuple):
    """A picture as a chat model gets it, and its size in pixels there."""

    attachment: Attachment
    width: int
    height: int


def shown(picture: Picture, *, on_grid: bool = False) -> Shown:
    """The picture as it is sent.

    The file goes out as it came, except where a model might see another picture in it than the one that is judged:
    turned ones, transparent ones, and files that are no PNG, JPEG or WebP are sent as PNG of what is judged.

    Args:
        picture: the picture.
        on_grid: for answers in pixels: scale it so that no service scales it again.
    """
    size = size_on_grid(*picture.image.size) if on_grid else picture.image.size
    media_type = _plain_type(picture.data)
    if media_type is not None and size == picture.image.size:
        return Shown(Attachment(picture.data, media_type), *size)
    return Shown(Attachment(_as_png(picture.image, size), "image/png"), *size)


def size_on_grid(width: int, height: int) -> tuple[int, int]:
    """The size, near to this one, of which services that work in patches of 28 pixels change nothing."""
    scale = min(1.0, (MOST_PIXELS / (width * height)) ** 0.5, LONGEST_SIDE / max(width, height))
    if scale == 1.0:
        across, down = (max(GRID, round(side / GRID) * GRID) for side in (width, height))
        if across * down <= MOST_PIXELS and max(across, down) <= LONGEST_SIDE:
            return across, down
    return max(GRID, int(width * scale / GRID) * GRID), max(GRID, int(height * scale / GRID) * GRID)


def _plain_type(data: bytes) -> str | None:
    """The type of a file in which everyone sees the same picture; None for others."""
    from PIL import ExifTags, Image

    try:
        with Image.open(io.BytesIO(data)) as opened:
            turned = opened.getexif().get(ExifTags.Base.Orientation, 1) != 1
            odd = opened.mode not in ("RGB", "L") or "transparency" in opened.info or getattr(opened, "n_frames", 1) > 1
            return None if turned or odd else _MEDIA_TYPES.get(opened.format or "")
    except (OSError, ValueError, SyntaxError):  # whoever made the picture decoded it in another way
        return None


def _as_png(image: Image, size: tuple[int, int]) -> bytes:
    from PIL.Image import Resampling

    file = io.BytesIO()
    (image if image.size == size else image.resize(size, Resampling.LANCZOS)).save(file, "PNG")
    return file.getvalue()
