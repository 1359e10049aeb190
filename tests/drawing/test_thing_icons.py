"""Icons of furniture, household, food, clothes and tools: all are there, fill their frames, and look like no other."""

from __future__ import annotations

import itertools
import tomllib
from importlib.resources import files

import numpy as np
import pytest

from formalimg.drawing.catalog import FRONT, DrawnClass, drawn_catalog
from formalimg.drawing.icon import Icon, PixelFrame, palette
from formalimg.language.ontology.knowledge import ontology
from formalimg.logic.vocabulary import vocabulary
from tests.drawing.test_living_icons import PAINTED_OVER, in_square, painted
from tests.scenes.test_drawing import distance, lab, rgb
from tests.support.sizes import tries

FOLDER = files("formalimg.drawing")
LABELS = tuple(tomllib.loads((FOLDER / "catalog.d" / "things.toml").read_text("utf-8"))["class"])
CLASSES: dict[str, DrawnClass] = {label: drawn_catalog().entry(label) for label in LABELS}

CLOSEST_ALLOWED = 0.06
"""Mean difference of gray levels (0 to 1) that any two classes must keep when both fill the same square."""

CLOSEST_VARIANTS = 0.025
"""The same for two states of one class: an open refrigerator with little in it, and an empty one."""

COLORS = ["yellow", "white", "orange"]
"""Colours in which another could dominate, because it is near to the lines or to the parts of glass."""


def drawing(label: str, variant: str | None = None) -> Icon:
    icon = drawn_catalog().icon(label, variant)
    assert icon is not None, (label, variant)
    return icon


def variants_of(drawn: DrawnClass) -> list[str | None]:
    """Every drawing of a class but its front: the plain one, its states, and what carries or contains."""
    return list(dict.fromkeys([None, *drawn.variants, *filter(None, (drawn.carrier, drawn.container))]))


WHOLE = {
    label if variant is None else f"{label}@{variant}": drawing(label, variant)
    for label, drawn in CLASSES.items()
    for variant in variants_of(drawn)
}


# --- what there is


def test_every_icon_of_the_folder_is_listed() -> None:
    stems = {entry.name[:-4] for entry in (FOLDER / "icons").iterdir() if entry.name.endswith(".svg")}
    found = {stem for stem in stems if stem.split("@")[0] in CLASSES}
    fronts = {f"{label}@{FRONT}" for label, drawn in CLASSES.items() if drawn.front}
    plain_of_knolling = {label for label, drawn in CLASSES.items() if drawn.icon.startswith("knolling/")}
    assert found == (set(WHOLE) | fronts) - plain_of_knolling


def test_the_things_of_both_suites_can_be_drawn() -> None:
    natural = set(vocabulary("natural").words["class"]) & set(CLASSES)
    assert (len(natural), len(CLASSES) - len(natural)) == (44, 8)
    assert set(CLASSES) - natural == {
        *("broccoli", "carrot", "necklace", "novel", "ring", "smartphone", "sushi", "textbook"),
    }


def test_every_state_that_natural_asks_for_is_shown_drawn_or_declared_undrawable_with_a_reason() -> None:
    things = {label: thing for label, thing in ontology().entries.items() if label in CLASSES}
    assert len(things) == 44
    for label, thing in things.items():
        drawn, states = CLASSES[label], set(thing.words["state"]) - PAINTED_OVER
        words = {word: why for word, why in drawn.undrawable.items() if word in vocabulary("natural").words["state"]}
        ways = [*drawn.shows, *drawn.variants, *words]
        assert states <= set(ways), label  # other requests than its items may ask for more
        assert len(set(ways)) == len(ways), label
        assert all(len(why.split()) > 4 for why in drawn.undrawable.values()), label
        assert set(drawn.also) <= set(drawn.variants), label


def test_what_can_contain_something_says_where_or_why_not() -> None:
    for label, thing in ontology().entries.items():
        if label in CLASSES:
            says = CLASSES[label].inside is not None or "inside" in CLASSES[label].undrawable
            assert says or not thing.inside, label


# --- places for other things


def test_things_on_it_touch_what_is_drawn() -> None:
    for label, drawn in CLASSES.items():
        alpha = painted(drawing(label, drawn.carrier), "black", PixelFrame(0, 0, 100, 100), 100).getchannel("A")
        height = round(99 * drawn.on)
        assert (np.asarray(alpha) > 128)[max(0, height - 5) : height + 10, 25:76].any(), label


def test_things_inside_are_seen_and_the_front_hides_only_their_lower_end() -> None:
    size = 200
    for label, drawn in CLASSES.items():
        if drawn.inside is None:
            assert not drawn.front, label
            continue
        holder = drawing(label, drawn.container)
        left, top, right, bottom = (round(size * part) for part in drawn.inside)
        assert right - left >= 0.18 * size, label
        assert bottom - top >= 0.2 * size, label
        if drawn.front:
            front = drawing(label, FRONT)
            assert (front.width, front.height) == (holder.width, holder.height), label
            frame = PixelFrame(0, 0, size, size)
            over, under = (
                np.asarray(painted(icon, "black", frame, size).getchannel("A")) > 128 for icon in (front, holder)
            )
            window = over[top:bottom, left:right]
            assert window[: len(window) // 3].mean() < 0.3, label
            assert over[bottom - 8 : bottom, left:right].mean() > 0.5, label
            # The front is a part of the drawing, but for pockets and pages that the plain icon has no room for.
            assert (over & ~under).mean() < 0.01, label


# --- frames


@pytest.mark.parametrize("frame", [PixelFrame(20, 20, 120, 120), PixelFrame(10, 45, 140, 70)])
def test_icons_touch_all_sides_of_their_frame_and_paint_nothing_outside(frame: PixelFrame) -> None:
    for name, icon in WHOLE.items():
        alpha = painted(icon, "black", frame, 160).getchannel("A").point(lambda level: 255 * (level > 64))
        edges = (frame.left, frame.top, frame.left + frame.width, frame.top + frame.height)
        assert alpha.getbbox() == edges, name


# --- looks


@pytest.mark.parametrize("color", ["red", "black"])
def test_no_two_classes_and_no_two_states_of_a_class_look_alike(color: str) -> None:
    squares = {name: in_square(icon, color) for name, icon in WHOLE.items() if name != "smartphone"}
    apart = sorted(
        (float(np.abs(squares[one] - squares[other]).mean()), one, other)
        for one, other in itertools.combinations(squares, 2)
    )
    classes = [pair for pair in apart if "@" not in pair[1] + pair[2]]
    states = [pair for pair in apart if pair[1].split("@")[0] == pair[2].split("@")[0]]
    assert classes[0][0] > CLOSEST_ALLOWED, classes[:5]
    assert states[0][0] > CLOSEST_VARIANTS, states[:5]


@pytest.mark.parametrize("color", COLORS[: tries(1, len(COLORS))])
def test_most_of_what_is_painted_is_the_colour_asked_for(color: str) -> None:
    tones = {**palette().colors, **palette().others}
    names = list(tones)
    anchors = lab([rgb(tone.body) for tone in tones.values()])
    for name, icon in WHOLE.items():
        scale = 150 / max(icon.width, icon.height)
        frame = PixelFrame(0, 0, round(icon.width * scale), round(icon.height * scale))
        pixels = np.asarray(painted(icon, color, frame, 150).convert("RGBA"))
        seen = pixels[pixels[..., 3] > 200][::7, :3]
        counts = np.bincount(distance(lab(seen)[:, None], anchors).argmin(axis=1), minlength=len(names))
        assert names[int(counts.argmax())] == color, name
