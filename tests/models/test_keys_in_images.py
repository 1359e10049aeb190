"""A key in the metadata of an image never reaches the disk; images without one stay as they are."""

from __future__ import annotations

import base64
import io
import struct
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest
from PIL import ExifTags, Image, PngImagePlugin

from formalimg._util.images import metadata_texts
from formalimg.models.secrets import image_without_keys
from formalimg.runs.inspection import inspect

KEY = "planted-Q7x2-key-4711-abcdefgh"
ECHOES = [KEY, base64.b64encode(f"Bearer {KEY}".encode()).decode(), "sk-proj-abcdefgh12345678"]


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)


def _picture(mode: str = "RGB") -> Image.Image:
    image = Image.linear_gradient("L").resize((40, 30)).convert(mode)
    image.putpixel((1, 2), 0 if mode in ("L", "P") else (255, 0, 9, 128)[: len(mode)])
    return image


def _saved(kind: str, mode: str = "RGB", **options: object) -> bytes:
    file = io.BytesIO()
    _picture(mode).save(file, kind, **options)
    return file.getvalue()


def _png_text(text: str, *, international: bool = False, compressed: bool = False) -> bytes:
    info = PngImagePlugin.PngInfo()
    (info.add_itxt if international else info.add_text)("Comment", text, zip=compressed)
    return _saved("PNG", "RGBA", pnginfo=info)


def _chunk(name: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))


def _with_chunk(name: bytes, content: bytes) -> bytes:
    data = _saved("PNG", "P")
    return data[:33] + _chunk(name, content) + data[33:]


def _exif(text: str) -> bytes:
    exif = Image.Exif()
    exif[ExifTags.Base.Orientation] = 6
    exif[ExifTags.Base.ImageDescription] = text
    return exif.tobytes()


def _xmp(text: str) -> bytes:
    return f"<x:xmpmeta xmlns:x='adobe:ns:meta/'>{text}</x:xmpmeta>".encode()


MADE: dict[str, Callable[[str], bytes]] = {
    "tEXt": _png_text,
    "zTXt": lambda text: _png_text(text, compressed=True),
    "iTXt": lambda text: _png_text(text, international=True),
    "compressed iTXt": lambda text: _png_text(text, international=True, compressed=True),
    "PNG with EXIF": lambda text: _saved("PNG", exif=_exif(text)),
    "PNG with a private chunk": lambda text: _with_chunk(b"myTx", text.encode("utf-16-le")),
    "PNG with a profile": lambda text: _saved("PNG", icc_profile=text.encode() * 3),
    "behind a PNG": lambda text: _saved("PNG", "LA") + text.encode(),
    "JPEG with a comment": lambda text: _saved("JPEG", comment=text),
    "JPEG with EXIF": lambda text: _saved("JPEG", exif=_exif(text)),
    "JPEG with XMP": lambda text: _saved("JPEG", xmp=_xmp(text), progressive=True),
    "CMYK JPEG with a comment": lambda text: _saved("JPEG", "CMYK", comment=text),
    "behind a JPEG": lambda text: _saved("JPEG", "L") + text.encode(),
    "WebP with EXIF": lambda text: _saved("WEBP", "RGBA", exif=_exif(text)),
    "WebP with XMP": lambda text: _saved("WEBP", xmp=_xmp(text), lossless=True),
    "behind a WebP": lambda text: _saved("WEBP") + text.encode(),
}


@pytest.mark.parametrize("kind", MADE)
@pytest.mark.parametrize("echo", ECHOES)
def test_metadata_with_a_key_is_dropped_and_the_pixels_stay(kind: str, echo: str) -> None:
    data = MADE[kind](f'{{"workflow": "made with {echo} today"}}')
    stored = image_without_keys(data)
    assert echo not in "".join(text.decode("latin-1") for text in metadata_texts(stored) if text)
    assert echo.encode() not in stored
    assert len(list(metadata_texts(stored))) == ("EXIF" in kind)  # which says which side is up
    before, after = inspect(data), inspect(stored)
    assert before.pil.tobytes() == after.pil.tobytes()  # type: ignore[union-attr]
    assert before.pil.size == after.pil.size  # type: ignore[union-attr]


@pytest.mark.parametrize("kind", MADE)
def test_other_metadata_stays_as_it_is(kind: str) -> None:
    data = MADE[kind]('{"workflow": "a red cup, masterpiece***, hf_transformers", "seed": 7}')
    assert image_without_keys(data) == data


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "WEBP"])
def test_files_without_metadata_stay_as_they_are(kind: str) -> None:
    data = _saved(kind)
    assert list(metadata_texts(data)) == []
    assert image_without_keys(data) == data


def test_compressed_text_is_inflated_up_to_a_limit() -> None:
    bomb = _with_chunk(b"zTXt", b"a\0\0" + zlib.compress(bytes(64_000_000), 9))
    assert None in list(metadata_texts(bomb))
    assert list(metadata_texts(image_without_keys(bomb))) == []
    many = _saved("PNG")
    text = _chunk(b"zTXt", b"a\0\0" + zlib.compress(bytes(1_000_000), 9))
    assert sum(len(found or b"") for found in metadata_texts(many[:33] + text * 100 + many[33:])) < 5_000_000
    broken = _with_chunk(b"zTXt", b"a\0\0 no zlib")
    assert list(metadata_texts(image_without_keys(broken))) == []


@pytest.mark.parametrize("kind", MADE)
def test_cut_off_files_raise_nothing(kind: str) -> None:
    data = MADE[kind](KEY)
    for length in range(0, len(data), 7):
        stored = image_without_keys(data[:length])
        assert KEY.encode() not in stored or length < 12


@pytest.mark.parametrize("data", [b"", b"\xff\xd8\xff", b"\xff\xd8\xff\xff\xff\xff", b"RIFF\0\0\0\0WEBP", KEY.encode()])
def test_what_is_no_image_stays_as_it_is(data: bytes) -> None:
    assert image_without_keys(data)[:30] == data or data[:2] == b"\xff\xd8"
