"""How an image is shown to a chat model: as the file it came in, unless the model would see something else in it."""

from __future__ import annotations

import io
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Literal, NamedTuple

from formalimg.judges.base import LoadedImage
from formalimg.models import Attachment
from formalimg.prompts import Prompt

if TYPE_CHECKING:
    from PIL.Image import Image


GRID = 28
"""Models that answer in pixels see images in patches of this many pixels, and scale what does not fit them."""
MOST_PIXELS = 1280 * GRID * GRID
LONGEST_SIDE = 1512
"""Larger images would be scaled down on the way by one service or another, and nobody would be told."""

_PLACE = "{picture}"
_MEDIA_TYPES = {"PNG": "image/png", "JPEG": "image/jpeg", "WEBP": "image/webp"}


class Shown(NamedTuple):
    """An image as a chat model gets it, and its size in pixels there."""

    attachment: Attachment
    width: int
    height: int


def shown(image: LoadedImage, *, on_grid: bool = False) -> Shown:
    """The image as it is sent.

    The file goes out as it came, except where a model might see another image in it than the one that is judged:
    turned ones, transparent ones, and files that are no PNG, JPEG or WebP are sent as PNG of what is judged.

    Args:
        image: the image.
        on_grid: for answers in pixels: scale it so that no service scales it again.
    """
    size = size_on_grid(*image.pil.size) if on_grid else image.pil.size
    media_type = _plain_type(image.data)
    if media_type is not None and size == image.pil.size:
        return Shown(Attachment(image.data, media_type), *size)
    return Shown(Attachment(_as_png(image.pil, size), "image/png"), *size)


def question_about(
    image: Attachment, prompt: Prompt, values: Mapping[str, str], usually: Literal["first", "last"] = "first"
) -> tuple[str | Attachment, ...]:
    """The parts of a question: the words of the prompt, and the image in its place among them.

    Ours have what is the same for all questions first, then the image, then what is asked of it: servers that
    remember how questions begin read the instruction once for all images, and each image once for all questions.

    Args:
        image: the image.
        prompt: the words, with `{image}` where it goes.
        values: for all other placeholders.
        usually: where the image goes if the words, which may be the user's own, do not say so.
    """
    before, place, behind = prompt.text.partition(_PLACE)
    if not place:
        words = prompt.fill(values)
        return (image, words) if usually == "first" else (words, image)
    # Words that speak of it once more mean this one.
    around = [
        replace(prompt, text=part.strip()).fill({**values, "picture": "the picture"}) for part in (before, behind)
    ]
    return tuple(part for part in (around[0], image, around[1]) if part)


def size_on_grid(width: int, height: int) -> tuple[int, int]:
    """The size, near to this one, of which services that work in patches of 28 pixels change nothing."""
    scale = min(1.0, (MOST_PIXELS / (width * height)) ** 0.5, LONGEST_SIDE / max(width, height))
    if scale == 1.0:
        across, down = (max(GRID, round(side / GRID) * GRID) for side in (width, height))
        if across * down <= MOST_PIXELS and max(across, down) <= LONGEST_SIDE:
            return across, down
    return max(GRID, int(width * scale / GRID) * GRID), max(GRID, int(height * scale / GRID) * GRID)


def _plain_type(data: bytes) -> str | None:
    """The type of a file in which everyone sees the same image; None for others."""
    from PIL import ExifTags, Image

    try:
        with Image.open(io.BytesIO(data)) as opened:
            turned = opened.getexif().get(ExifTags.Base.Orientation, 1) != 1
            odd = opened.mode not in ("RGB", "L") or "transparency" in opened.info or getattr(opened, "n_frames", 1) > 1
            return None if turned or odd else _MEDIA_TYPES.get(opened.format or "")
    except (OSError, ValueError, SyntaxError):  # whoever made the image decoded it in another way
        return None


def _as_png(image: Image, size: tuple[int, int]) -> bytes:
    from PIL.Image import Resampling

    file = io.BytesIO()
    (image if image.size == size else image.resize(size, Resampling.LANCZOS)).save(file, "PNG")
    return file.getvalue()
