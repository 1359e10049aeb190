"""Signed PNG files: drawings that contain their scene and a digest that reveals changes to either.

The digest is a checksum against mistakes, such as a file that a pipeline has compressed, scaled or combined with the
text of another scene. It has no key, so anyone can create a valid signature.
"""

from __future__ import annotations

import hashlib
import io
import json
import re
import struct
import zlib
from collections.abc import Iterator
from typing import TYPE_CHECKING

from formalimg._util.images import image_type
from formalimg._util.strict_json import loads_strict
from formalimg.drawing.scene import DrawnScene
from formalimg.scenes.objects import SceneError

if TYPE_CHECKING:
    from PIL.Image import Image

KEYWORD = b"formalimg-drawn"  # The key of the PNG text chunk that holds version, size, digest and scene
_VERSION = "1"
_SIGNED = re.compile(r"(?P<version>\d+) (?P<width>\d+)x(?P<height>\d+) (?P<digest>[0-9a-f]{64}) (?P<scene>\{.*\})")
_CHUNKS = (b"IHDR", b"tEXt", b"IDAT", b"IEND")
_HEADER = struct.pack(">BBBBB", 8, 2, 0, 0, 0)  # What follows the size in IHDR: 8 bits, RGB, not interlaced
_MAX_SCENE = 1_000_000  # Characters of a scene that is read; drawings of a suite have a few thousand


class NotDrawnError(SceneError):
    """A file without the scene of a drawing, or one that was changed after rendering."""


def signed_png(image: Image, drawn: DrawnScene) -> bytes:
    """Encode a drawing as a PNG file that contains its scene and a digest of both."""
    from PIL.PngImagePlugin import PngInfo

    if image.mode != "RGB":
        raise NotDrawnError([f"drawings are signed in RGB, not in {image.mode}: convert the image first"])
    scene = json.dumps(drawn.to_json(), ensure_ascii=True, sort_keys=True, separators=(",", ":"))
    width, height = image.size
    text = PngInfo()
    text.add_text(KEYWORD.decode(), f"{_VERSION} {width}x{height} {_digest(image, scene)} {scene}")
    # A plain copy: what an opened file says of itself (resolution, colour profile) would be written too.
    plain, file = image.copy(), io.BytesIO()
    plain.info = {}
    plain.save(file, "PNG", pnginfo=text, compress_level=1)
    return file.getvalue()


def read_signed_png(data: bytes, image: Image | None = None) -> DrawnScene:
    """Return the scene stored in a signed PNG file, after verifying its digest."""
    if image_type(data) != "png":
        kind = {"jpg": "a JPEG file", "webp": "a WebP file"}.get(image_type(data) or "", "no PNG file")
        raise NotDrawnError([f"not a drawn image: it is {kind}, and drawn images are PNG files with their scene"])
    signed = _read_signature(data)
    if image is None:
        image = _decode(data)
    if image.size != (int(signed["width"]), int(signed["height"])):
        was, now = f"{signed['width']} x {signed['height']}", f"{image.width} x {image.height}"
        raise NotDrawnError([f"pixels were changed: it was drawn with {was} pixels and has {now}; judge the original"])
    if image.mode != "RGB" or _digest(image, signed["scene"]) != signed["digest"]:
        raise NotDrawnError(
            ["pixels were changed, or the scene is another image's or was edited: the digest of both does not fit"]
        )
    try:
        return DrawnScene.from_json(loads_strict(signed["scene"]))
    except (SceneError, ValueError) as error:
        raise NotDrawnError([f"the scene in this image cannot be read: {error}"]) from error


def _read_signature(data: bytes) -> re.Match[str]:
    """Return the parts of the signed text of a PNG file, rejecting files written by other programs."""
    texts: list[bytes] = []
    for name, content in _chunks(data):
        if name == b"tEXt" and content.startswith(KEYWORD + b"\0"):
            texts.append(content.partition(b"\0")[2])
        elif name not in _CHUNKS or name == b"tEXt" or (name == b"IHDR" and content[8:] != _HEADER):
            texts.append(b"")
    if not any(texts):
        raise NotDrawnError(["not a drawn image: it holds no scene of a drawing"])
    if len(texts) > 1:
        raise NotDrawnError(["the file was rewritten by another program: judge the original"])
    signed = _SIGNED.fullmatch(texts[0].decode("latin-1")) if len(texts[0]) <= _MAX_SCENE else None
    if signed is None:
        raise NotDrawnError(["not a drawn image: its scene is not written as drawings write it"])
    if signed["version"] != _VERSION:
        raise NotDrawnError(
            [f"the scene is of version {signed['version']}, which this formalimg cannot read: update it"]
        )
    return signed


def _chunks(data: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Yield the chunks of a PNG file without pixel data; corrupt or trailing data has an empty name."""
    at = 8
    while at + 12 <= len(data):
        length, name = struct.unpack_from(">I4s", data, at)
        end = at + 12 + length
        content = b"" if name == b"IDAT" else data[at + 8 : end - 4]
        if name != b"IDAT" and zlib.crc32(name + content) != int.from_bytes(data[end - 4 : end], "big"):
            break
        yield name, content
        at = end
        if name == b"IEND":
            break
    if at != len(data):
        yield b"", b""


def _decode(data: bytes) -> Image:
    from PIL import Image as Images

    try:
        with Images.open(io.BytesIO(data), formats=["PNG"]) as file:
            return file.convert("RGB")
    except Exception as error:  # decoders raise anything on broken files
        raise NotDrawnError([f"the file cannot be decoded: {type(error).__name__}"]) from error


def _digest(image: Image, scene: str) -> str:
    digest = hashlib.sha256(f"{KEYWORD.decode()} {_VERSION} {image.width}x{image.height} {len(scene)} {scene}".encode())
    digest.update(image.tobytes())
    return digest.hexdigest()
