"""Styles of drawings: the same pixels each time, unlike each other, and things keep their colour and their place."""

from __future__ import annotations

import hashlib
import itertools
import subprocess
import sys
import tomllib
from functools import cache
from importlib.resources import files

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image
from tools.draw_contact_sheets import style_sample

from formalimg.drawing import styles
from formalimg.drawing.catalog import drawn_catalog
from formalimg.drawing.drawability import why_not_drawable
from formalimg.drawing.icon import PixelFrame, icons, palette
from formalimg.drawing.styles.flat import FlatDrawing
from formalimg.drawing.svg import HORIZON, ground, render_on_ground
from formalimg.errors import FormalimgError
from formalimg.logic.vocabulary import vocabulary
from tests.scenes.test_drawing import distance, lab, rgb
from tests.support.sizes import only_in_full, tries

SMALL = 128
TONES = {**palette().colors, "orange": palette().others["orange"], "purple": palette().others["purple"]}
COLORLESS = [style for style in styles.STYLES if "color" in drawn_catalog().word("style", style).removes]
COLORFUL = [style for style in styles.STYLES if style not in COLORLESS]

LEAST_DIFFERENCE = 0.08  # Mean difference of tones (0 to 1) that any two styles of one drawing must keep


@cache
def styled(style: str, seed: int = 1) -> Image.Image:
    return styles.apply(style_sample(SMALL), style, seed)


def tones_of(image: Image.Image) -> NDArray[np.float64]:
    return np.asarray(image, np.float64) / 255


@cache
def one_of_each_color(size: int = 512) -> tuple[Image.Image, dict[str, tuple[slice, slice]]]:
    """A glove in each of the eleven colours, in three rows."""
    places, elements = {}, []
    for number, (color, tones) in enumerate(TONES.items()):
        side = round(size * 0.19)
        left, top = round(size * (0.035 + number % 4 * 0.245)), round(size * (0.06 + number // 4 * 0.32))
        frame = PixelFrame(left, top, side, side)
        elements.append(icons()["glove"].svg(frame, {**palette().accents, **tones._asdict()}, size / 450))
        places[color] = (slice(top, top + side), slice(left, left + side))
    return render_on_ground("".join(elements), size), places


@only_in_full
def test_the_same_drawing_style_and_seed_give_the_same_pixels_in_another_process() -> None:
    code = (
        "import hashlib; from formalimg.drawing import styles;"
        " from tools.draw_contact_sheets import style_sample;"
        f" print([hashlib.sha256(styles.apply(style_sample({SMALL}), style, 1).tobytes()).hexdigest()"
        " for style in styles.STYLES] == eval(input()))"
    )
    here = [hashlib.sha256(styled(style).tobytes()).hexdigest() for style in styles.STYLES]
    process = subprocess.run([sys.executable, "-c", code], input=repr(here), capture_output=True, text=True, check=True)
    assert process.stdout == "True\n"


def test_the_seed_decides_the_strokes() -> None:
    same = [style for style in styles.STYLES if styled(style, 1).tobytes() == styled(style, 2).tobytes()]
    assert same == ["pixel art"]  # which leaves nothing to chance


def test_no_two_styles_look_alike_and_none_looks_like_no_style() -> None:
    drawings = {"no style": style_sample(SMALL), **{style: styled(style) for style in styles.STYLES}}
    for (one, first), (other, second) in itertools.combinations(drawings.items(), 2):
        assert first.size == second.size == (SMALL, SMALL)
        difference = np.abs(tones_of(first) - tones_of(second)).mean()
        assert difference > LEAST_DIFFERENCE, f"{one} and {other}: {difference:.3f}"


@pytest.mark.parametrize("style", COLORFUL[:: tries(5, 1)])
def test_things_keep_their_colour_and_their_place(style: str) -> None:
    drawing, places = one_of_each_color()
    things = FlatDrawing(drawing, 0).things > 0.5
    image = lab(styles.apply(drawing, style, 5))
    bodies = np.stack([lab(rgb(tones.body)) for tones in TONES.values()])
    for color, place in places.items():
        nearest = distance(image[place][:, :, None], bodies).argmin(axis=-1)
        seen = np.bincount(nearest[things[place]], minlength=len(TONES))
        assert list(TONES)[seen.argmax()] == color, f"{color} looks {list(TONES)[seen.argmax()]} in {style}: {seen}"
        here = nearest == list(TONES).index(color)
        beside = here[~things[place]].mean()
        # White paper and burning skies have the colour too; elsewhere it is where the thing was.
        assert beside > 0.25 or here[things[place]].mean() > 2 * beside, f"{color} in {style} has moved: {beside:.2f}"


@pytest.mark.parametrize("style", COLORLESS)
def test_styles_that_are_said_to_remove_colour_do(style: str) -> None:
    drawing, _ = one_of_each_color()
    tones = tones_of(styles.apply(drawing, style, 5))
    assert (tones.max(axis=-1) - tones.min(axis=-1)).max() < 0.12
    assert tones.std() > 0.1  # something is there


@pytest.mark.parametrize("style", styles.STYLES)
def test_an_empty_drawing_and_one_on_another_plain_ground_get_a_style_too(style: str) -> None:
    empty = styles.apply(ground(64), style, 1)
    plain = styles.apply(Image.new("RGB", (64, 64), palette().background), style, 1)
    assert empty.tobytes() == plain.tobytes()


def test_every_style_of_the_suites_is_drawn_or_declared_undrawable_with_the_reason() -> None:
    concepts = tomllib.loads(
        (files("formalimg.benchmarks") / "conceptmix" / "concepts.toml").read_text(encoding="utf-8")
    )
    asked = {*vocabulary("natural").words["style"], *concepts["style"]["values"]}
    undrawable = {style for style in asked if drawn_catalog().word("style", style).always}
    assert undrawable == {"photo", "photorealism", "surrealism", "abstract"}
    assert set(styles.STYLES) == asked - undrawable


@pytest.mark.parametrize(
    ("style", "reason"),
    [("ink", "red: an image in the style ink"), ("pixel art", "fluffy: fur is finer"), ("sketch", None)],
)
def test_what_a_style_hides_cannot_be_asked_for_with_it(style: str, reason: str | None) -> None:
    formula = f"(and (exists ?x (and (Is ?x 'cup') (HasColor ?x 'red') (HasMaterial ?x 'fluffy'))) (IsStyle '{style}'))"
    found = why_not_drawable(formula)
    assert found is reason is None or str(found).startswith(str(reason))


@pytest.mark.parametrize(("style", "shape"), [("photo", (64, 64)), ("nonsense", (64, 64)), ("ink", (64, 32))])
def test_what_cannot_be_styled_is_an_error_that_says_what_to_do(style: str, shape: tuple[int, int]) -> None:
    with pytest.raises(FormalimgError, match=r"use one of cartoon, cubism|draw the scene first") as caught:
        styles.apply(Image.new("RGB", shape), style, 1)
    assert "\n" not in str(caught.value)


def test_the_ground_has_a_soft_horizon_and_no_tone_of_a_colour() -> None:
    tones = np.asarray(ground(200), np.int64)
    assert (tones == tones[:, :1]).all()  # every row has one tone
    rows = tones[:, 0]
    assert np.abs(np.diff(rows, axis=0)).max() <= 3  # no line is drawn
    wall, floor = rows[int(200 * HORIZON) - 12], rows[int(200 * HORIZON) + 12]
    assert (wall - floor).min() >= 9
    known = np.stack([lab(rgb(tone)) for entry in TONES.values() for tone in entry])
    assert distance(lab(rows)[:, None], known).min() > 3
    assert not FlatDrawing(ground(200), 0).things.any()
