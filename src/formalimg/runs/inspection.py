"""Inspection of image files before judging: decode them, and fail uniformly coloured images."""

from __future__ import annotations

import asyncio
import io
import threading
import warnings
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from typing import IO, TYPE_CHECKING, NamedTuple, TypeVar

from formalimg._util.memory_gate import MemoryGate
from formalimg.judges.base import LoadedImage
from formalimg.types import Unscored, Verdict

if TYPE_CHECKING:
    from PIL.Image import Image

T = TypeVar("T")

MAX_PIXELS = 50_000_000  # Images with more pixels than this are not decoded
LARGE_IMAGE_BYTES = 32_000_000  # Bytes to decode an image from which on it waits for its turn: four million pixels
_MAX_QUEUED_BYTES = 8_000_000  # Decoded images up to this size may wait in queues
_BAND_ROWS = 256  # Rows of an image that are converted at once, so that no second and third copy of it is needed
_DECODED_BYTES_PER_PIXEL = 8  # Of an image and its copy in RGB: the library takes four for each
_IMAGES = MemoryGate(256_000_000)  # Bytes that large images take together, while they are decoded and judged
_MAX_FLAT_RANGE = 3
"""An image whose channels each vary by no more than this is one flat colour; JPEG makes that much of its own."""
_LYING = (5, 6, 7, 8)  # Orientations in EXIF of images whose width and height are exchanged
_FORMATS = ("PNG", "JPEG", "WEBP")
_warnings_lock = threading.Lock()  # Warnings can be silenced by one thread at a time only


class InspectedImage(NamedTuple):
    """A decoded image, with a verdict if no judge is needed."""

    image: LoadedImage
    by_rule: Verdict | None

    @property
    def is_large(self) -> bool:
        """Whether the decoded image requires a large amount of memory."""
        width, height = self.image.pil.size
        return 4 * width * height + len(self.image.data) > _MAX_QUEUED_BYTES


def inspect_with_rules(data: bytes) -> InspectedImage | Unscored:
    """Decode an image and apply the automatic rules. Return the reason if it cannot be decoded."""
    image = inspect(data)
    return image if isinstance(image, Unscored) else InspectedImage(image, fail_by_rule(image))


def inspect(data: bytes, max_pixels: int = MAX_PIXELS) -> LoadedImage | Unscored:
    """Decode an image as upright RGB on a white background, or return the reason why this fails."""
    from PIL import ExifTags, Image, ImageOps

    try:
        with _open_file(io.BytesIO(data)) as file:
            width, height = file.size
            if width * height > max_pixels:
                return Unscored("too large", f"{width} x {height} pixels; the limit is {max_pixels:,} in all")
            turned = file.getexif().get(ExifTags.Base.Orientation, 1) != 1
            return LoadedImage(data, _to_rgb(ImageOps.exif_transpose(file) if turned else file))
    except Image.DecompressionBombError:  # the library's own limit, several times ours
        return Unscored("too large", f"far more pixels than the limit of {max_pixels:,}")
    except Exception as error:  # decoders raise anything on broken files
        return Unscored("unreadable image", f"{_describe_bytes(data)}: {type(error).__name__}")


class ImageThreads:
    """Threads for blocking work, with a single shared thread for large images to limit memory."""

    def __init__(self, count: int) -> None:
        self._threads = ThreadPoolExecutor(count, "formalimg")
        self._large_images = ThreadPoolExecutor(1, "formalimg-large")

    async def run(self, work: Callable[[], T], image_bytes: int = 0) -> T:
        """Run blocking work in a thread, chosen by the memory its images require."""
        threads = self._large_images if image_bytes > LARGE_IMAGE_BYTES else self._threads
        return await asyncio.get_running_loop().run_in_executor(threads, work)

    def shutdown(self) -> None:
        """Wait until all work is done."""
        self._threads.shutdown()
        self._large_images.shutdown()


@asynccontextmanager
async def image_memory(size: int) -> AsyncIterator[None]:
    """Reserve memory for decoding and judging images, waiting for it if `size` is large."""
    if size <= LARGE_IMAGE_BYTES:
        yield
        return
    async with _IMAGES.reserve(size):
        yield


def count_decoded_bytes(file: IO[bytes] | bytes) -> int:
    """Return the bytes required to decode an image, or 0 if it is invalid or too large."""
    from PIL import Image as Images

    try:
        with _open_file(io.BytesIO(file) if isinstance(file, bytes) else file) as image:
            width, height = image.size
    except (Images.DecompressionBombError, Exception):
        return 0
    return _DECODED_BYTES_PER_PIXEL * width * height if width * height <= MAX_PIXELS else 0


def image_size(data: bytes) -> tuple[int, int] | None:
    """Return the width and height of an upright image from its header, or None if the file is invalid."""
    from PIL import ExifTags

    try:
        with _open_file(io.BytesIO(data)) as file:
            is_turned = file.getexif().get(ExifTags.Base.Orientation, 1) in _LYING
            width, height = file.size
            return (height, width) if is_turned else (width, height)
    except Exception:  # decoders raise anything on broken files
        return None


def fail_by_rule(image: LoadedImage) -> Verdict | None:
    """Return a failing verdict for an image of one flat colour, or None if a judge is needed."""
    extremes = image.pil.getextrema()
    if any(high - low > _MAX_FLAT_RANGE for low, high in extremes):  # type: ignore[misc]
        return None
    return Verdict(False, (), {"rule": "flat colour", "explanation": "the image is one flat colour: it shows nothing"})


def _open_file(file: IO[bytes]) -> Image:
    from PIL import Image as Images

    with _warnings_lock, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the library's own pixel limit, and of odd headers
        return Images.open(file, formats=_FORMATS)


def _to_rgb(image: Image) -> Image:
    from PIL import Image as Images

    if image.mode == "RGB" and "transparency" not in image.info:
        return image.copy()
    rgb = Images.new("RGB", image.size)
    rgb.info = dict(image.info)
    for top in range(0, image.height, _BAND_ROWS):
        band = image.crop((0, top, image.width, min(top + _BAND_ROWS, image.height)))
        rgb.paste(_band_to_rgb(band), (0, top))
    return rgb


def _band_to_rgb(band: Image) -> Image:
    from PIL import Image as Images

    if band.mode.startswith("I"):  # 16 bits of grey, which the library would cut off at 255
        band = band.convert("I").point(lambda value: value * (1 / 256)).convert("L")
    elif "A" in band.getbands() or "transparency" in band.info:
        on_white = Images.new("RGBA", band.size, "white")
        on_white.alpha_composite(band.convert("RGBA"))
        band = on_white
    return band.convert("RGB")


def _describe_bytes(data: bytes) -> str:
    if not data:
        return "an empty file"
    beginning = "".join(chr(byte) if 32 <= byte < 127 else "." for byte in data[:24])
    return f"no PNG, JPEG or WebP that can be decoded ({len(data):,} bytes, beginning with {beginning!r})"
