"""Image files as bytes: PNG encoding, type detection and metadata texts, without decoding pixels."""

from __future__ import annotations

import io
import re
import struct
import zlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from PIL.Image import Image


def png_bytes(image: Image, *, compress_level: int = 1) -> bytes:
    """Return the image as a PNG file, by default with fast compression."""
    file = io.BytesIO()
    image.save(file, "PNG", compress_level=compress_level)
    return file.getvalue()


_SIGNATURES = {b"\x89PNG\r\n\x1a\n": "png", b"\xff\xd8\xff": "jpg"}


def image_type(data: bytes) -> str | None:
    """Return the usual extension for an image file's content: png, jpg or webp; None for other types."""
    if (data[:4], data[8:12]) == (b"RIFF", b"WEBP"):
        return "webp"
    return next((ending for start, ending in _SIGNATURES.items() if data.startswith(start)), None)


_PNG_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_PNG_PIXELS = {b"IHDR", b"PLTE", b"tRNS", b"IDAT", b"IEND"}
_PNG_PLAIN = {b"gAMA", b"cHRM", b"sRGB", b"sBIT", b"bKGD", b"pHYs", b"tIME", b"hIST", b"acTL", b"fcTL", b"fdAT"}
"""Chunks of a few numbers, or of pixels."""

_WEBP_PIXELS = {b"VP8X", b"VP8 ", b"VP8L", b"ALPH", b"ANIM", b"ANMF"}
_WEBP_EXIF_FLAG = 0x08
_WEBP_METADATA_FLAGS = 0x20 | _WEBP_EXIF_FLAG | 0x04  # colour profile, EXIF, XMP
_JPEG_WITHOUT_LENGTH = {0x01, *range(0xD0, 0xD9)}
_NEXT_MARKER = re.compile(rb"\xff[^\x00\xd0-\xd7]")
_MAX_INFLATED = 4 * 1024 * 1024  # Number of bytes that the compressed texts of a file are inflated to


class FilePart(NamedTuple):
    """A part of an image file: a chunk, a segment, or trailing data."""

    kind: str  # `pixels` (needed to decode the image), `plain` (numbers, no text) or `metadata`
    name: bytes  # the type of the chunk; empty for what is none
    content: bytes  # its content
    raw: memoryview  # the whole part as it is in the file; not a copy, because pixels are large


def metadata_texts(data: bytes) -> Iterator[bytes | None]:
    """Yield all content of an image file that may contain text, decompressed if necessary.

    Yields None for a text that cannot be decompressed or is too large.
    """
    remaining = _MAX_INFLATED
    for part in _file_parts(data):
        if part.kind != "metadata":
            continue
        yield part.content
        packed = _packed_text(part)
        if packed is not None:
            text = _inflate(packed, remaining)
            remaining -= len(text or b"")
            yield text


def without_metadata(data: bytes) -> bytes:
    """Return an image file without its metadata, but with the same pixels and orientation."""
    ending = image_type(data)
    parts = [part for part in _file_parts(data) if part.kind == "pixels"]
    exif = _exif_with_orientation(data)
    if ending == "png":
        added = [_png_chunk(b"eXIf", exif.removeprefix(b"Exif\0\0"))] if exif else []
        return b"".join([_PNG_SIGNATURE, *(part.raw for part in parts[:1]), *added, *(part.raw for part in parts[1:])])
    if ending == "jpg":
        segment = b"\xff\xe1" + struct.pack(">H", len(exif) + 2) + exif if exif else b""
        return b"".join([b"\xff\xd8", segment, *(part.raw for part in parts)])
    if ending == "webp":
        return _webp_file(parts, exif.removeprefix(b"Exif\0\0"))
    return data


def _file_parts(data: bytes) -> Iterator[FilePart]:
    match image_type(data):
        case "png":
            return _png_parts(data)
        case "jpg":
            return _jpeg_parts(data)
        case "webp":
            return _webp_parts(data)
    return iter(())


def _png_parts(data: bytes) -> Iterator[FilePart]:
    view, at = memoryview(data), len(_PNG_SIGNATURE)
    while at + 12 <= len(data):
        length, name = struct.unpack_from(">I4s", data, at)
        end = at + 12 + length
        kind = "pixels" if name in _PNG_PIXELS else "plain" if name in _PNG_PLAIN else "metadata"
        content = data[at + 8 : end - 4] if kind == "metadata" else b""
        yield FilePart(kind, name, content, view[at:end])
        at = end
        if name == b"IEND":
            break
    if at < len(data):
        yield FilePart("metadata", b"", data[at:], view[at:])


def _jpeg_parts(data: bytes) -> Iterator[FilePart]:
    view, at = memoryview(data), 2
    while at + 4 <= len(data) and data[at] == 0xFF:
        marker = data[at + 1]
        if marker == 0xFF:  # padding
            at += 1
            continue
        if marker == 0xD9:
            break
        if marker in _JPEG_WITHOUT_LENGTH:
            yield FilePart("pixels", bytes([marker]), b"", view[at : at + 2])
            at += 2
            continue
        end = at + 2 + struct.unpack_from(">H", data, at + 2)[0]
        content = data[at + 4 : end]
        yield FilePart(_jpeg_kind(marker, content), bytes([marker]), content, view[at:end])
        at = end
        if marker == 0xDA:
            end = _end_of_scan(data, at)
            yield FilePart("pixels", b"", b"", view[at:end])
            at = end
    if data[at : at + 2] == b"\xff\xd9":
        yield FilePart("pixels", b"\xd9", b"", view[at : at + 2])
        at += 2
    if at < len(data):
        yield FilePart("metadata", b"", data[at:], view[at:])


def _jpeg_kind(marker: int, content: bytes) -> str:
    # These two say how the numbers become colours; with a thumbnail they are longer.
    if (marker == 0xE0 and content[:5] == b"JFIF\0" and len(content) == 14) or (
        marker == 0xEE and content[:5] == b"Adobe" and len(content) == 12
    ):
        return "pixels"
    return "metadata" if 0xE0 <= marker <= 0xEF or marker == 0xFE else "pixels"


def _end_of_scan(data: bytes, start: int) -> int:
    """Return the end of a scan's compressed data: the next marker other than stuffing and restart."""
    marker = _NEXT_MARKER.search(data, start)
    return marker.start() if marker else len(data)


def _webp_parts(data: bytes) -> Iterator[FilePart]:
    view, at, end_of_file = memoryview(data), 12, min(len(data), 8 + struct.unpack_from("<I", data, 4)[0])
    while at + 8 <= end_of_file:
        name, length = struct.unpack_from("<4sI", data, at)
        end = at + 8 + length + length % 2
        kind = "pixels" if name in _WEBP_PIXELS else "metadata"
        content = b"" if kind == "pixels" else data[at + 8 : at + 8 + length]
        yield FilePart(kind, name, content, view[at:end])
        at = end
    if at < len(data):
        yield FilePart("metadata", b"", data[at:], view[at:])


def _webp_file(parts: list[FilePart], exif: bytes) -> bytes:
    raw: list[bytes | memoryview] = [part.raw for part in parts]
    if parts and parts[0].name == b"VP8X":
        header = bytearray(raw[0])
        header[8] &= ~_WEBP_METADATA_FLAGS & 0xFF
        if exif:
            header[8] |= _WEBP_EXIF_FLAG
            raw.append(b"EXIF" + struct.pack("<I", len(exif)) + exif + bytes(len(exif) % 2))
        raw[0] = bytes(header)
    content = b"".join(raw)
    return b"RIFF" + struct.pack("<I", len(content) + 4) + b"WEBP" + content


def _packed_text(part: FilePart) -> bytes | None:
    """Return the compressed text of a PNG chunk, or None."""
    rest = part.content.partition(b"\0")[2]
    if part.name in (b"zTXt", b"iCCP"):
        return rest[1:]
    if part.name == b"iTXt" and rest[:1] == b"\x01":
        return rest[2:].partition(b"\0")[2].partition(b"\0")[2]
    return None


def _inflate(packed: bytes, limit: int) -> bytes | None:
    inflater = zlib.decompressobj()
    try:
        text = inflater.decompress(packed, limit + 1)
    except zlib.error:
        return None
    return text if inflater.eof and len(text) <= limit else None


def _png_chunk(name: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))


def _exif_with_orientation(data: bytes) -> bytes:
    """Return EXIF data with only the orientation of an image; empty if the image is upright."""
    from PIL import ExifTags, Image  # here, because few files need it

    try:
        with Image.open(io.BytesIO(data)) as file:
            orientation = file.getexif().get(ExifTags.Base.Orientation, 1)
    except Exception:  # decoders raise anything on broken files
        return b""
    if orientation not in range(2, 9):
        return b""
    exif = Image.Exif()
    exif[ExifTags.Base.Orientation] = orientation
    return exif.tobytes()
