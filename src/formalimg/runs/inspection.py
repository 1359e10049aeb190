"""Inspection of image files before they are judged: decode them, and fail images of one flat colour."""

from __future__ import annotations

import io
import threading
import warnings
from typing import TYPE_CHECKING, NamedTuple

from formalimg.judges import LoadedImage, Unscored, Verdict

if TYPE_CHECKING:
    from PIL.Image import Image

MAX_PIXELS = 64_000_000
"""Images with more pixels than this are not decoded."""
_MAX_FLAT_RANGE = 3
"""An image whose channels each vary by no more than this is one flat colour; JPEG makes that much of its own."""
_FORMATS = ("PNG", "JPEG", "WEBP")
_warnings_lock = threading.Lock()
"""Warnings can be silenced by one thread at a time only."""


class InspectedImage(NamedTuple):
    """A decoded image, and its verdict if none is needed from a judge."""

    image: LoadedImage
    by_rule: Verdict | None


def inspect_with_rules(data: bytes) -> InspectedImage | Unscored:
    """Return the image in a file with its verdict by rule, if any, or why it cannot be decoded."""
    image = inspect(data)
    return image if isinstance(image, Unscored) else InspectedImage(image, failed_by_rule(image))


def inspect(data: bytes) -> LoadedImage | Unscored:
    """Return the image in a file, upright and in RGB (transparent parts on white), or why it cannot be decoded."""
    from PIL import ExifTags, Image, ImageOps

    try:
        with _open_file(data) as file:
            width, height = file.size
            if width * height > MAX_PIXELS:
                return Unscored("too large", f"{width} x {height} pixels; the limit is {MAX_PIXELS:,} in all")
            turned = file.getexif().get(ExifTags.Base.Orientation, 1) != 1
            return LoadedImage(data, _to_rgb(ImageOps.exif_transpose(file) if turned else file))
    except Image.DecompressionBombError:  # the library's own limit, several times ours
        return Unscored("too large", f"far more pixels than the limit of {MAX_PIXELS:,}")
    except Exception as error:  # decoders raise anything on broken files
        return Unscored("unreadable image", f"{_describe_bytes(data)}: {type(error).__name__}")


def failed_by_rule(image: LoadedImage) -> Verdict | None:
    """Return the verdict on an image that needs no judge: one flat colour shows nothing, so it fails. Else None."""
    extremes = image.pil.getextrema()
    if any(high - low > _MAX_FLAT_RANGE for low, high in extremes):  # type: ignore[misc]
        return None
    return Verdict(False, (), {"rule": "flat colour", "explanation": "the image is one flat colour: it shows nothing"})


def _open_file(data: bytes) -> Image:
    from PIL import Image as Images

    with _warnings_lock, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the library's own pixel limit, and of odd headers
        return Images.open(io.BytesIO(data), formats=_FORMATS)


def _to_rgb(image: Image) -> Image:
    from PIL import Image as Images

    if image.mode.startswith("I"):  # 16 bits of grey, which the library would cut off at 255
        image = image.convert("I").point(lambda value: value * (1 / 256)).convert("L")
    elif "A" in image.getbands() or "transparency" in image.info:
        on_white = Images.new("RGBA", image.size, "white")
        on_white.alpha_composite(image.convert("RGBA"))
        image = on_white
    # A copy, so that nothing refers to the opened file.
    return image.convert("RGB") if image.mode != "RGB" else image.copy()


def _describe_bytes(data: bytes) -> str:
    if not data:
        return "an empty file"
    beginning = "".join(chr(byte) if 32 <= byte < 127 else "." for byte in data[:24])
    return f"no PNG, JPEG or WebP that can be decoded ({len(data):,} bytes, beginning with {beginning!r})"
