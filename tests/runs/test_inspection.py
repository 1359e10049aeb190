"""Files are looked at before anyone judges them: all kinds of images are read right, all others are named."""

from __future__ import annotations

import io
import struct
import zlib
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from formalimg.judges.base import LoadedImage
from formalimg.runs.inspection import MAX_PIXELS, fail_by_rule, inspect
from formalimg.types import Unscored
from tests.support.models import speckled
from tests.support.sizes import tries

_HALVES = Image.new("RGB", (40, 20), "red")
_HALVES.paste("blue", (0, 0, 20, 20))
_ONE_MARK = Image.new("RGB", (64, 64), "white")
_ONE_MARK.putpixel((60, 60), (240, 255, 255))


def _file(image: Image.Image, form: str, **options: Any) -> bytes:
    file = io.BytesIO()
    image.save(file, form, **options)
    return file.getvalue()


def _seen(data: bytes) -> Image.Image:
    image = inspect(data)
    assert isinstance(image, LoadedImage), image
    assert (image.data, image.pil.mode) == (data, "RGB")
    return image.pil


def _near(image: Image.Image, place: tuple[int, int], color: tuple[int, int, int]) -> bool:
    found = image.getpixel(place)
    assert isinstance(found, tuple)
    return all(abs(one - other) < 40 for one, other in zip(found, color, strict=True))


@pytest.mark.parametrize(
    "data",
    [
        _file(_HALVES, "PNG"),
        _file(_HALVES.convert("P"), "PNG"),
        _file(_HALVES.convert("RGBA"), "PNG"),
        _file(_HALVES, "JPEG", quality=95),
        _file(_HALVES.convert("CMYK"), "JPEG", quality=95),
        _file(_HALVES, "WEBP", lossless=True),
        _file(_HALVES, "WEBP", save_all=True, append_images=[Image.new("RGB", (40, 20), "green")], lossless=True),
    ],
    ids=["PNG", "palette", "alpha", "JPEG", "CMYK", "WebP", "animated WebP"],
)
def test_images_of_all_kinds_look_the_same(data: bytes) -> None:
    image = _seen(data)
    assert image.size == (40, 20)
    assert _near(image, (5, 10), (0, 0, 255))
    assert _near(image, (35, 10), (255, 0, 0))


def test_sixteen_bits_of_grey_are_scaled_not_cut_off() -> None:
    ramp = np.linspace(0, 65535, 256).astype(np.uint16).reshape(16, 16)
    image = _seen(_file(Image.fromarray(ramp), "PNG"))
    assert np.abs(np.asarray(image)[..., 0].ravel().astype(int) - np.arange(256)).max() <= 1


def test_transparent_parts_are_white() -> None:
    clear = Image.new("RGBA", (10, 10), (0, 0, 0, 0))
    clear.paste((255, 0, 0, 255), (0, 0, 5, 10))
    palette = Image.new("P", (10, 10), 0)
    palette.putpalette([0, 0, 0, 255, 0, 0])
    palette.paste(1, (0, 0, 5, 10))
    for data in (_file(clear, "PNG"), _file(clear, "WEBP", lossless=True), _file(palette, "PNG", transparency=0)):
        image = _seen(data)
        assert (image.getpixel((2, 2)), image.getpixel((8, 8))) == ((255, 0, 0), (255, 255, 255))


def test_images_are_turned_as_their_exif_says() -> None:
    exif = Image.Exif()
    exif[0x0112] = 6
    image = _seen(_file(_HALVES, "JPEG", exif=exif, quality=95))
    assert image.size == (20, 40)
    assert _near(image, (10, 5), (0, 0, 255))


def _header_only(width: int, height: int) -> bytes:
    def chunk(name: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))

    head = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + head + chunk(b"IDAT", zlib.compress(b"\0" * 100)) + chunk(b"IEND", b"")


@pytest.mark.parametrize("side", [8001, 10_000, 20_000, 100_000, 2**31 - 1])
def test_images_with_too_many_pixels_are_not_decoded(side: int) -> None:
    found = inspect(_header_only(side, side))
    assert isinstance(found, Unscored)
    assert found.reason == "too large"
    assert f"{MAX_PIXELS:,}" in found.detail


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"<html></html>",
        b"\x89PNG\r\n\x1a\n",
        speckled("x")[:-3000],
        b"GIF89a\x01\0\x01\0\0\0\0;",
        _header_only(64, 64),
        *(_file(_HALVES, form) for form in ("GIF", "BMP", "TIFF", "PPM")),  # formats that nobody sends
    ],
)
def test_files_that_are_no_images_are_unreadable(data: bytes) -> None:
    found = inspect(data)
    assert isinstance(found, Unscored)
    assert found.reason == "unreadable image"
    assert found.detail.isprintable()


@settings(max_examples=tries(60, 150), deadline=None)
@given(st.data())
def test_no_bytes_make_it_fail(data: st.DataObject) -> None:
    """Arbitrary bytes, and good files with some bytes changed, cut off or doubled."""
    form = data.draw(st.sampled_from(["PNG", "JPEG", "WEBP", None]))
    if form is None:
        given_bytes = data.draw(st.binary(max_size=300))
    else:
        changed = bytearray(_file(_HALVES, form))
        for _ in range(data.draw(st.integers(0, 6))):
            changed[data.draw(st.integers(0, len(changed) - 1))] = data.draw(st.integers(0, 255))
        given_bytes = bytes(changed[: data.draw(st.integers(0, len(changed)))])
    found = inspect(given_bytes)
    if isinstance(found, Unscored):
        assert found.reason in ("unreadable image", "too large")
    else:
        assert found.pil.mode == "RGB"
        fail_by_rule(found)


@pytest.mark.parametrize(
    ("image", "form", "flat"),
    [
        (Image.new("RGB", (64, 64), (13, 77, 200)), "PNG", True),
        (Image.new("RGB", (64, 64), (13, 77, 200)), "JPEG", True),
        (Image.new("RGB", (64, 64), (255, 255, 255)), "WEBP", True),
        (Image.new("RGBA", (64, 64), (9, 9, 9, 0)), "PNG", True),
        (_HALVES, "PNG", False),
        (_ONE_MARK, "PNG", False),
        (Image.radial_gradient("L"), "JPEG", False),
    ],
)
def test_flat_images_are_recognised(image: Image.Image, form: str, flat: bool) -> None:
    loaded = inspect(_file(image, form))
    assert isinstance(loaded, LoadedImage)
    assert (fail_by_rule(loaded) is not None) == flat
