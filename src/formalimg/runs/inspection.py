"""Looking at a file before anyone judges it: is it an image, and does it show anything?"""

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
_FLAT = 3
"""An image whose channels each vary by no more than this is one flat colour; JPEG makes that much of its own."""
_FORMATS = ("PNG", "JPEG", "WEBP")
_opening = threading.Lock()
"""Warnings can be silenced by one thread at a time only."""


class Seen(NamedTuple):
    """An image, and the verdict on it if there is one that needs no judge."""

    image: LoadedImage
    by_rule: Verdict | None


def look(data: bytes) -> Seen | Unscored:
    """The image in a file with what can be said of it by rule, or why there is none to look at."""
    image = inspect(data)
    return image if isinstance(image, Unscored) else Seen(image, failed_by_rule(image))


def inspect(data: bytes) -> LoadedImage | Unscored:
    """The image in a file, upright and in RGB (transparent parts on white), or why there is none to look at."""
    from PIL import ExifTags, Image, ImageOps

    try:
        with _opened(data) as opened:
            width, height = opened.size
            if width * height > MAX_PIXELS:
                return Unscored("too large", f"{width} x {height} pixels; the limit is {MAX_PIXELS:,} in all")
            turned = opened.getexif().get(ExifTags.Base.Orientation, 1) != 1
            return LoadedImage(data, _in_rgb(ImageOps.exif_transpose(opened) if turned else opened))
    except Image.DecompressionBombError:  # the library's own limit, several times ours
        return Unscored("too large", f"far more pixels than the limit of {MAX_PIXELS:,}")
    except Exception as error:  # whatever a broken file does to the decoder
        return Unscored("unreadable image", f"{_told(data)}: {type(error).__name__}")


def failed_by_rule(image: LoadedImage) -> Verdict | None:
    """The verdict on images that nobody needs to look at: one flat colour shows nothing, so it fails."""
    extremes = image.pil.getextrema()
    if any(high - low > _FLAT for low, high in extremes):  # type: ignore[misc]
        return None
    return Verdict(False, (), {"rule": "flat colour", "explanation": "the image is one flat colour: it shows nothing"})


def _opened(data: bytes) -> Image:
    from PIL import Image as Images

    with _opening, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the library's own pixel limit, and of odd headers
        return Images.open(io.BytesIO(data), formats=_FORMATS)


def _in_rgb(image: Image) -> Image:
    from PIL import Image as Images

    if image.mode.startswith("I"):  # 16 bits of grey, which the library would cut off at 255
        image = image.convert("I").point(lambda value: value * (1 / 256)).convert("L")
    elif "A" in image.getbands() or "transparency" in image.info:
        on_white = Images.new("RGBA", image.size, "white")
        on_white.alpha_composite(image.convert("RGBA"))
        image = on_white
    # A copy, so that nothing hangs on the opened file.
    return image.convert("RGB") if image.mode != "RGB" else image.copy()


def _told(data: bytes) -> str:
    if not data:
        return "an empty file"
    beginning = "".join(chr(byte) if 32 <= byte < 127 else "." for byte in data[:24])
    return f"no PNG, JPEG or WebP that can be decoded ({len(data):,} bytes, beginning with {beginning!r})"
