"""Image encoding for chat models: send the original file unless a model could see a different image in it."""

from __future__ import annotations

import io
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

from formalimg._util.images import png_bytes
from formalimg.judges.base import LoadedImage
from formalimg.models.base import Attachment
from formalimg.prompts import Prompt

if TYPE_CHECKING:
    from PIL.Image import Image

GRID = 28
"""Models that answer in pixels split images into patches of this size, and rescale what does not fit."""
MAX_PIXELS = 1280 * GRID * GRID
MAX_SIDE = 1512
"""Some service would scale larger images down on the way, without a notice."""

ImagePosition: TypeAlias = Literal["first", "last"]

_PLACEHOLDER = "{picture}"
_MEDIA_TYPES = {"PNG": "image/png", "JPEG": "image/jpeg", "WEBP": "image/webp"}
_PNG_COMPRESSION = -1
"""The default of Pillow: cached answers are found again by the bytes that were sent."""


class ChatImage(NamedTuple):
    """An image as it is sent to a chat model, and its size in pixels there."""

    attachment: Attachment
    width: int
    height: int


def encode_image(image: LoadedImage, *, on_grid: bool = False) -> ChatImage:
    """Return the image as it is sent.

    The file is sent as is, except where a model might see another image in it than the one that is judged:
    rotated (EXIF) and transparent images, animations, and files other than PNG, JPEG or WebP are sent as PNG.
    """
    size = size_on_grid(*image.pil.size) if on_grid else image.pil.size
    media_type = _unambiguous_type(image.data)
    if media_type is not None and size == image.pil.size:
        return ChatImage(Attachment(image.data, media_type), *size)
    data = png_bytes(_resize(image.pil, size), compress_level=_PNG_COMPRESSION)
    return ChatImage(Attachment(data, "image/png"), *size)


def build_question(
    image: Attachment, prompt: Prompt, values: Mapping[str, str], default_position: ImagePosition = "first"
) -> tuple[str | Attachment, ...]:
    """Return the parts of a message: the text of the prompt, with the image at its placeholder.

    Our prompts put what is the same for all questions first, then the image, then the question: servers with a prefix
    cache read the instruction once for all images, and each image once for all questions.
    """
    before, placeholder, after = prompt.text.partition(_PLACEHOLDER)
    if not placeholder:
        text = prompt.fill(values)
        return (image, text) if default_position == "first" else (text, image)
    # Further placeholders refer to the same image.
    around = [replace(prompt, text=part.strip()).fill({**values, "picture": "the picture"}) for part in (before, after)]
    return tuple(part for part in (around[0], image, around[1]) if part)


def size_on_grid(width: int, height: int) -> tuple[int, int]:
    """Return the size nearest to this one that services with patches of 28 pixels leave unchanged."""
    scale = min(1.0, (MAX_PIXELS / (width * height)) ** 0.5, MAX_SIDE / max(width, height))
    if scale == 1.0:
        across, down = (max(GRID, round(side / GRID) * GRID) for side in (width, height))
        if across * down <= MAX_PIXELS and max(across, down) <= MAX_SIDE:
            return across, down
    return max(GRID, int(width * scale / GRID) * GRID), max(GRID, int(height * scale / GRID) * GRID)


def _unambiguous_type(data: bytes) -> str | None:
    """Return the media type of a file in which every decoder sees the same image; None for others."""
    from PIL import ExifTags, Image

    try:
        with Image.open(io.BytesIO(data)) as opened:
            rotated = opened.getexif().get(ExifTags.Base.Orientation, 1) != 1
            odd = opened.mode not in ("RGB", "L") or "transparency" in opened.info or getattr(opened, "n_frames", 1) > 1
            return None if rotated or odd else _MEDIA_TYPES.get(opened.format or "")
    except (OSError, ValueError, SyntaxError):  # the caller decoded it in another way
        return None


def _resize(image: Image, size: tuple[int, int]) -> Image:
    from PIL.Image import Resampling

    return image if image.size == size else image.resize(size, Resampling.LANCZOS)
