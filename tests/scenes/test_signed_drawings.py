"""A drawing carries its scene, and any change to the file is noticed."""

from __future__ import annotations

import io
import json
import struct
import zlib

import pytest
from PIL import Image, ImageFilter
from PIL.PngImagePlugin import PngInfo

from formalimg.drawing.scene import DrawnScene
from formalimg.drawing.signed_png import NotDrawnError, read_signed_png, signed_png
from formalimg.scenes.objects import Box, SceneObject
from formalimg.scenes.scene import Scene, SceneRelation

KEYWORD = "formalimg-drawn"
DRAWN = DrawnScene(
    Scene.of(
        [
            SceneObject("cup", Box(100, 150, 300, 320), "red", states=("full",)),
            SceneObject("table", Box(80, 310, 700, 900), material="wooden"),
        ],
        [SceneRelation("On", 0, 1)],
    ),
    "sketch",
    (1, 0),
)
OTHER = DrawnScene(Scene.of([SceneObject("cup", Box(500, 150, 700, 320), "blue")], []))


def drawing(seed: int = 0) -> Image.Image:
    """Any image will do: a signature does not look at what is shown."""
    image = Image.linear_gradient("L").resize((96, 96)).convert("RGB")
    image.putpixel((seed, 5), (255, 0, 0))
    return image


def saved(image: Image.Image, form: str = "PNG", text: str | None = None, **options: object) -> bytes:
    info = PngInfo()
    if text is not None:
        info.add_text(KEYWORD, text)
        options["pnginfo"] = info
    file = io.BytesIO()
    image.save(file, form, **options)
    return file.getvalue()


def text_of(data: bytes) -> str:
    with Image.open(io.BytesIO(data)) as image:
        return str(image.info[KEYWORD])


def opened(data: bytes) -> Image.Image:
    with Image.open(io.BytesIO(data)) as image:
        return image.convert("RGB")


def with_chunk(data: bytes, name: bytes, content: bytes) -> bytes:
    """Put a chunk before the pixels."""
    at = data.index(b"IDAT") - 4
    chunk = struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))
    return data[:at] + chunk + data[at:]


def refusal(data: bytes, image: Image.Image | None = None) -> str:
    with pytest.raises(NotDrawnError) as error:
        read_signed_png(data, image)
    assert "\n" not in str(error.value)
    return str(error.value)


def test_the_scene_comes_back_whole_and_the_file_is_always_the_same() -> None:
    data = signed_png(drawing(), DRAWN)
    assert read_signed_png(data) == DRAWN
    assert read_signed_png(data, opened(data)) == DRAWN
    assert data == signed_png(drawing(), DRAWN)
    assert opened(data).tobytes() == drawing().tobytes()


SIGNED = signed_png(drawing(), DRAWN)
EDITED = text_of(SIGNED).replace('"red"', '"green"')
CHANGES = {
    "compressed as JPEG": (saved(drawing(), "JPEG", quality=95), "it is a JPEG file"),
    "compressed as WebP without loss": (saved(drawing(), "WEBP", lossless=True), "it is a WebP file"),
    "no text": (saved(drawing()), "it holds no scene"),
    "cropped, the text kept": (saved(drawing().crop((0, 0, 95, 96)), text=text_of(SIGNED)),
     "drawn with 96 x 96 pixels and has 95 x 96"),
    "scaled, the text kept": (saved(drawing().resize((192, 192)), text=text_of(SIGNED)), "drawn with 96 x 96 pixels"),
    "blurred": (saved(drawing().filter(ImageFilter.BLUR), text=text_of(SIGNED)), "pixels were changed"),
    "one pixel by one": (saved(drawing(1), text=text_of(SIGNED)), "pixels were changed"),
    "the text of another image": (saved(drawing(), text=text_of(signed_png(drawing(1), OTHER))),
     "the scene is another image's"),
    "the same pixels, another scene with its own digest": (
        saved(drawing(1), text=text_of(signed_png(drawing(), OTHER))),
        "pixels were changed",
    ),
    "an edited scene": (saved(drawing(), text=EDITED), "or was edited"),
    "turned by its metadata": (
        saved(drawing(), text=text_of(SIGNED), exif=b"Exif\0\0MM\0*\0\0\0\x08\0\0"),
        "rewritten",
    ),
    "a second scene": (with_chunk(SIGNED, b"tEXt", KEYWORD.encode() + b"\0" + text_of(SIGNED).encode()), "rewritten"),
    "a colour profile": (with_chunk(SIGNED, b"gAMA", b"\0\0\xb1\x8f"), "rewritten"),
    "something behind the end": (SIGNED + b"more", "rewritten"),
    "transparent pixels": (saved(drawing().convert("RGBA"), text=text_of(SIGNED)), "rewritten"),
    "a palette": (saved(drawing().quantize(), text=text_of(SIGNED)), "rewritten"),
    "another form of the text": (saved(drawing(), text="{}"), "its scene is not written as drawings write it"),
    "a later version": (saved(drawing(), text=f"2{text_of(SIGNED)[1:]}"), "of version 2"),
    "no image at all": (b"\x89PNG\r\n\x1a\n" + b"\0" * 40, "it holds no scene"),
    "nothing": (b"", "it is no PNG file"),
}  # fmt: skip


@pytest.mark.parametrize("change", CHANGES)
def test_any_change_is_refused_with_the_reason(change: str) -> None:
    data, reason = CHANGES[change]
    assert reason in refusal(data)


def test_every_byte_of_the_file_counts() -> None:
    """Whichever byte is changed, the file is refused, or it shows the same image with the same scene."""
    for place in range(0, len(SIGNED), 7):
        data = bytearray(SIGNED)
        data[place] ^= 0x10
        try:
            found = read_signed_png(bytes(data))
        except NotDrawnError:
            continue
        assert (found, opened(bytes(data)).tobytes()) == (DRAWN, drawing().tobytes()), place


def test_a_truncated_file_is_refused_at_every_length() -> None:
    for length in range(0, len(SIGNED) - 1, 13):
        refusal(SIGNED[:length])


def test_what_was_decoded_is_checked_and_not_only_the_file() -> None:
    assert "pixels were changed" in refusal(SIGNED, drawing(1))


@pytest.mark.parametrize(
    "scene",
    [
        {"scene": {"objects": []}, "style": None, "depth": []},
        {"scene": {"objects": [], "relations": []}, "style": None},
        {"scene": {"objects": [], "relations": []}, "style": 3, "depth": []},
        {"scene": {"objects": [], "relations": []}, "style": None, "depth": [0]},
    ],
)
def test_a_signed_scene_that_is_none_is_refused(scene: object, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever can draw can sign; a scene is checked all the same."""
    monkeypatch.setattr(DrawnScene, "to_json", lambda self: scene)
    assert "cannot be read" in refusal(signed_png(drawing(), DRAWN))


def test_only_rgb_images_are_signed() -> None:
    with pytest.raises(NotDrawnError, match="convert the image first"):
        signed_png(drawing().convert("L"), DRAWN)


def test_what_an_opened_file_says_of_itself_is_not_written_along() -> None:
    with Image.open(io.BytesIO(saved(drawing(), dpi=(300, 300)))) as file:
        assert file.info
        assert read_signed_png(signed_png(file, DRAWN)) == DRAWN


def test_the_text_is_plain_json_behind_its_digest() -> None:
    version, size, digest, scene = text_of(SIGNED).split(" ", 3)
    assert (version, size, len(digest)) == ("1", "96x96", 64)
    assert json.loads(scene) == DRAWN.to_json()
