"""Shapes: the outline is that of the shape, and the class is still seen in it."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image
from tools.draw_contact_sheets import render_drawings

from formalimg.drawing import shapes
from formalimg.drawing.icon import Icon, PathCommand, PixelFrame, icons, palette
from formalimg.drawing.svg import icon_drawing, polylines
from formalimg.errors import FormalimgError
from formalimg.logic.vocabulary import vocabulary
from tests.support.sizes import tries

WORDS = ("heart", "circle", "square", "rectangle", "triangle", "oval", "cylindrical")
LABELS = ("cup", "hammer", "backpack", "scissors", "pizza", "monitor", "apple", "shoe")


def rendered(icon: Icon, width: int = 96, height: int = 96) -> Image.Image:
    paints = {**palette().accents, **palette().colors["red"]._asdict()}
    return render_drawings([icon_drawing(icon, PixelFrame(2, 2, width, height), paints, 1.5)], width + 4, height + 4)


def area_inside(points: list[tuple[float, float]]) -> float:
    return abs(sum(x0 * y1 - x1 * y0 for (x0, y0), (x1, y1) in itertools.pairwise([*points, points[0]]))) / 2


def test_the_words_of_both_suites_are_known() -> None:
    assert set(shapes.SHAPES) >= set(vocabulary("natural").words["shape"])
    assert set(shapes.SHAPES) >= {"circle", "heart", "rectangle", "square", "triangle"}
    assert shapes.apply(icons()["cup"], "round") == shapes.apply(icons()["cup"], "circle")
    with pytest.raises(FormalimgError, match=r"shape 'star': use one of circle, round"):
        shapes.apply(icons()["cup"], "star")


@pytest.mark.parametrize("word", WORDS)
def test_the_outline_is_that_of_the_shape_whatever_the_class(word: str) -> None:
    """All classes have the same silhouette, which fills the frame, and no two shapes have the same."""
    masks = []
    for label in LABELS[: tries(4, len(LABELS))]:
        icon = shapes.apply(icons()[label], word)
        if icon.width > icon.height and word in ("rectangle", "oval"):
            masks.append(np.asarray(rendered(icon, 120, 80).getchannel("A")).T > 127)
        else:
            alpha = rendered(icon, 80, 120).getchannel("A")
            assert alpha.getbbox() == (2, 2, 82, 122), label
            masks.append(np.asarray(alpha) > 127)
    for mask in masks[1:]:
        assert (mask != masks[0]).mean() < 0.02


def test_no_two_shapes_of_a_thing_have_the_same_outline() -> None:
    """At their own aspect ratios: a square and a rectangle differ in nothing else."""
    for label in ("cup", "hammer"):
        looks = []
        for word in WORDS:
            icon = shapes.apply(icons()[label], word)
            scale = 100 / max(icon.width, icon.height)
            canvas = Image.new("L", (110, 110))
            canvas.paste(rendered(icon, round(icon.width * scale), round(icon.height * scale)).getchannel("A"), (0, 0))
            looks.append(np.asarray(canvas) > 127)
        differences = [(looks[i] != looks[j]).mean() for i, j in itertools.combinations(range(len(looks)), 2)]
        assert min(differences) > 0.04


def test_aspect_ratios_tell_squares_from_rectangles_and_circles_from_ovals() -> None:
    for label in LABELS:
        icon = icons()[label]
        assert shapes.apply(icon, "square").aspect == shapes.apply(icon, "circle").aspect == 1
        for word in ("rectangle", "oval"):
            long = shapes.apply(icon, word).aspect
            assert long < 0.7 if icon.aspect < 1 else long > 1.45


@pytest.mark.parametrize("word", ["heart", "triangle", "square", "cylindrical"])
def test_classes_differ_in_the_same_shape(word: str) -> None:
    def levels(label: str) -> NDArray[np.float64]:
        image = Image.new("RGBA", (100, 100), palette().background)
        image.alpha_composite(rendered(shapes.apply(icons()[label], word)))
        return np.asarray(image.convert("L").resize((32, 32), Image.Resampling.BOX)) / 255

    looks = {label: levels(label) for label in LABELS[: tries(5, len(LABELS))]}
    pairs = [(float(np.abs(looks[one] - looks[two]).mean()), one, two) for one, two in itertools.combinations(looks, 2)]
    assert min(pairs)[0] > 0.015, min(pairs)


def test_flattened_icons_look_as_they_did() -> None:
    """Curves, mirrored curves and arcs become points where resvg draws them."""
    for label, icon in itertools.islice(icons().items(), 0, None, tries(5, 1)):
        parts = [
            part._replace(commands=tuple(step for line in polylines(part.commands) for step in line.commands()))
            for part in icon.shapes
        ]
        flat = Icon(label, icon.width, icon.height, icon.other, tuple(parts))
        one, two = (np.asarray(rendered(drawn)).astype(int) for drawn in (icon, flat))
        assert np.abs(one - two).mean() < 1.2, label


def test_curves_and_arcs_become_points_on_them() -> None:
    half = [PathCommand("M", (0.0, 0.0)), PathCommand("a", (5.0, 5.0, 0, 0, 1, 10.0, 0.0)), PathCommand("Z", ())]
    (circle,) = polylines(half)
    assert circle.closed
    assert max(abs(np.hypot(x - 5, y) - 5) for x, y in circle.points) < 1e-9
    assert min(y for _, y in circle.points) == pytest.approx(-5, abs=0.1)
    wave = [PathCommand("M", (0.0, 0.0)), PathCommand("Q", (5.0, 10.0, 10.0, 0.0)), PathCommand("T", (20.0, 0.0))]
    (line,) = polylines(wave)
    assert not line.closed
    assert (min(y for _, y in line.points), max(y for _, y in line.points)) == pytest.approx((-5, 5), abs=0.1)
    square = polylines([PathCommand("M", (0.0, 0.0)), PathCommand("H", (4.0,)), PathCommand("v", (4.0,))])[0]
    assert list(square.points) == [(0, 0), (4, 0), (4, 4)]
    assert max(np.hypot(b[0] - a[0], b[1] - a[1]) for a, b in itertools.pairwise(square.dense(1).points)) <= 1
    assert area_inside(list(circle.points)) == pytest.approx(np.pi * 12.5, rel=0.02)
