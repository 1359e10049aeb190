"""Materials: each is seen on every kind of icon, keeps the colour, stays in the frame, and is like no other."""

from __future__ import annotations

import itertools
import re

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image
from tools.draw_contact_sheets import render_drawings

from formalimg.drawing import materials
from formalimg.drawing.catalog import drawn_catalog
from formalimg.drawing.icon import PixelFrame, Tones, icons, palette
from formalimg.drawing.outline import outline_points, silhouette_mask
from formalimg.drawing.shapes import SHAPES
from formalimg.drawing.svg import IconDrawing, icon_drawing
from formalimg.errors import FormalimgError
from formalimg.logic.vocabulary import vocabulary
from tests.scenes.test_drawing import as_jpeg, distance, lab, rgb
from tests.support.sizes import tries

TONES = {**palette().colors, "orange": palette().others["orange"], "purple": palette().others["purple"]}
SQUARE = PixelFrame(20, 20, 160, 160)


def drawing(label: str, tones: Tones, frame: PixelFrame = SQUARE) -> IconDrawing:
    return icon_drawing(icons()[label], frame, {**palette().accents, **tones._asdict()}, 1.5)


def made_of(label: str, material: str, tones: Tones, frame: PixelFrame = SQUARE, key: str = "o") -> IconDrawing:
    return materials.apply(drawing(label, tones, frame), material, tones, key)


def gray(drawn: IconDrawing) -> NDArray[np.float64]:
    """The frame on the ground, as 40 by 40 gray levels between 0 and 1."""
    frame = drawn.frame
    image = Image.new("RGBA", (200, 200), palette().background)
    image.alpha_composite(render_drawings([drawn], 200, 200))
    box = (frame.left, frame.top, frame.left + frame.width, frame.top + frame.height)
    return np.asarray(image.convert("L").crop(box).resize((40, 40), Image.Resampling.BOX)) / 255


def test_the_words_of_both_suites_are_known() -> None:
    assert set(materials.MATERIALS) == set(vocabulary("natural").words["material"])
    tones = TONES["red"]
    assert made_of("cup", "metallic", tones) == made_of("cup", "metal", tones)
    with pytest.raises(FormalimgError, match=r"material 'jelly': use one of wooden, metal"):
        made_of("cup", "jelly", tones)


@pytest.mark.parametrize("frame", [SQUARE, PixelFrame(20, 70, 160, 60), PixelFrame(85, 20, 31, 160)])
def test_a_material_fills_the_frame_and_paints_nothing_outside(frame: PixelFrame) -> None:
    labels = ["backpack", "donut", "fork", "glasses"]
    for number, material in enumerate(materials.MATERIALS):
        drawn = made_of(labels[number % len(labels)], material, TONES["blue"], frame)
        left, top, right, bottom = render_drawings([drawn], 200, 200).getchannel("A").getbbox() or (0, 0, 0, 0)
        outside = (
            frame.left - left,
            frame.top - top,
            right - frame.left - frame.width,
            bottom - frame.top - frame.height,
        )
        assert max(outside) <= 0, (material, outside)
        assert min(outside) >= -4, (material, outside)


@pytest.mark.parametrize("color", list(TONES)[:: tries(6, 1)])
def test_the_colour_that_was_asked_for_dominates_in_every_material(color: str) -> None:
    labels = ["backpack", "cup", "shirt", "book", "apple", "suitcase", "glove", "plate", "bowl", "camera", "shoe"]
    anchors = lab([*(rgb(tones.body) for tones in TONES.values()), rgb(palette().background)])
    start = list(TONES).index(color)
    for shift in range(tries(1, 5)):
        drawings, frames = [], []
        for number, material in enumerate(materials.MATERIALS):
            frame = PixelFrame(number * 100 + 5, 5, 90, 90)
            label = labels[(start + number + shift) % len(labels)]
            drawings.append(made_of(label, material, TONES[color], frame, f"o{number}"))
            frames.append((frame, label, material))
        image = Image.new("RGBA", (100 * len(frames), 100), palette().background)
        image.alpha_composite(render_drawings(drawings, image.width, image.height))
        pixels = lab(np.asarray(as_jpeg(image.convert("RGB"))))
        for frame, label, material in frames:
            cell = pixels[frame.top : frame.top + frame.height, frame.left : frame.left + frame.width]
            nearest = distance(cell.reshape(-1, 1, 3), anchors).argmin(axis=1)
            counts = np.bincount(nearest, minlength=len(anchors))[:-1]
            assert list(TONES)[int(counts.argmax())] == color, (material, label)


def test_no_two_materials_look_alike_and_none_like_the_plain_icon() -> None:
    for label, color in (("backpack", "red"), ("bowl", "white"), ("hammer", "black"))[: tries(2, 3)]:
        looks = {material: gray(made_of(label, material, TONES[color])) for material in materials.MATERIALS}
        looks["nothing"] = gray(drawing(label, TONES[color]))
        pairs = sorted(
            (float(np.abs(looks[one] - looks[two]).mean()), one, two) for one, two in itertools.combinations(looks, 2)
        )
        assert pairs[0][0] > 0.02, (label, pairs[:4])


def test_the_same_thing_is_drawn_the_same_and_ids_begin_with_its_key() -> None:
    for material in materials.MATERIALS:
        one, again = (made_of("cup", material, TONES["green"], key="a") for _ in range(2))
        assert one == again
        ids = re.findall(r'id="([^"]*)"', one.defs)
        assert all(name.startswith("a-") for name in ids)
        assert set(re.findall(r"url\(#([^)]*)\)", one.body)) <= set(ids)


def test_without_a_colour_things_have_the_tones_of_their_material() -> None:
    assert materials.natural_tones("stone") == palette().colors["gray"]
    assert materials.natural_tones("plastic") is None
    own = {materials.natural_tones(material) for material in ("wooden", "metallic", "glass", "brick")}
    assert len(own) == 4
    assert not own & set(TONES.values())


def test_glass_is_seen_through_and_clear_glass_more_so() -> None:
    clear = materials.natural_tones("glass")
    assert clear is not None
    middle = {}
    for name, tones in (("clear", clear), ("red", TONES["red"])):
        drawn = materials.apply(drawing("plate", tones), "glass", tones, "g")
        alpha = np.asarray(render_drawings([drawn], 200, 200).getchannel("A"))
        middle[name] = float(np.median(alpha[60:140, 60:140]))
    plain = np.asarray(render_drawings([drawing("plate", clear)], 200, 200).getchannel("A"))
    assert middle["clear"] < middle["red"] < float(np.median(plain[60:140, 60:140])) == 255


def test_fur_changes_the_outline_and_leaves_holes_open() -> None:
    furry = made_of("donut", "fluffy", TONES["pink"])
    alpha = np.asarray(render_drawings([furry], 200, 200).getchannel("A"))
    assert alpha[100, 100] == 0
    edges = [np.abs(np.diff((mask > 127).astype(int), axis=0)).sum() for mask in (alpha, _alpha("donut"))]
    assert edges[0] > 1.2 * edges[1]


def _alpha(label: str) -> NDArray[np.uint8]:
    return np.asarray(render_drawings([drawing(label, TONES["pink"])], 200, 200).getchannel("A"))


def test_outlines_run_around_the_drawing_and_its_holes() -> None:
    mask = silhouette_mask(drawing("donut", TONES["pink"]).silhouette, SQUARE)
    loops = mask.loops()
    assert len(loops) == 2
    for loop in loops:
        for point in outline_points(loop, 10):
            assert mask.contains(point.x - 4 * point.out_x, point.y - 4 * point.out_y)
            assert not mask.contains(point.x + 4 * point.out_x, point.y + 4 * point.out_y)
    disc = mask.widest_part()
    assert mask.contains(disc.x, disc.y)
    assert 20 < disc.radius < 40


def test_the_catalog_names_what_a_material_would_hide() -> None:
    catalog = drawn_catalog()
    for material in materials.MATERIALS:
        for label, reason in catalog.word("material", material).beside.items():
            assert label in catalog.classes or label in palette().colors or label in SHAPES, label
            assert reason
    assert "teeth" in catalog.word("material", "fluffy").beside["fork"]
