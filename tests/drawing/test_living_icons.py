"""Icons of living things, places and vehicles: all are there, fill their frames, and look like no other."""

from __future__ import annotations

import io
import itertools
import tomllib
from importlib.resources import files

import numpy as np
import pytest
import resvg_py
from numpy.typing import NDArray
from PIL import Image

from formalimg.drawing.catalog import FRONT, drawn_catalog
from formalimg.drawing.icon import Icon, PixelFrame, palette, read_icon
from formalimg.language.ontology.knowledge import ontology
from formalimg.logic.vocabulary import vocabulary
from tests.scenes.test_drawing import distance, lab, rgb
from tests.support.sizes import tries

FOLDER = files("formalimg.drawing")
CLASSES = tomllib.loads((FOLDER / "catalog.d" / "living.toml").read_text("utf-8"))["class"]
ICONS = {
    entry.name[:-4].replace("_", " "): read_icon(entry.name[:-4], entry.read_text("utf-8"))
    for entry in (FOLDER / "icons").iterdir()
    if entry.name.endswith(".svg") and entry.name[:-4].replace("_", " ").split("@")[0] in CLASSES
}
WHOLE = {name: icon for name, icon in ICONS.items() if not name.endswith(f"@{FRONT}")}

PAINTED_OVER = {"wet", "dirty", "rusty", "broken", "burning", "melting"}
"""States that are painted over any icon."""

CLOSEST_ALLOWED = 0.08
"""Mean difference of gray levels (0 to 1) that any two classes must keep when both fill the same square."""

CLOSEST_VARIANTS = 0.008
"""The same for two states of one class, which may differ by a face alone."""

COLORS = ["yellow", "orange"]
"""Colours in which another could dominate, because it is near to the lines."""


def painted(icon: Icon, color: str, frame: PixelFrame, size: int) -> Image.Image:
    tones = {**palette().colors, **palette().others}[color]
    drawn = icon.svg(frame, {**palette().accents, **tones._asdict()}, 1.5)
    svg = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{size}" height="{size}" fill-rule="evenodd"'
        f' stroke-linejoin="round" stroke-linecap="round">{drawn}</svg>'
    )
    return Image.open(io.BytesIO(resvg_py.svg_to_bytes(svg_string=svg, skip_system_fonts=True)))


def in_square(icon: Icon, color: str) -> NDArray[np.float64]:
    image = painted(icon, color, PixelFrame(0, 0, 96, 96), 96)
    ground = Image.new("RGBA", image.size, palette().background)
    ground.alpha_composite(image)
    return np.asarray(ground.convert("L").resize((48, 48), Image.Resampling.BOX)) / 255


# --- what there is


def test_every_class_and_variant_of_the_file_has_an_icon_and_every_icon_is_listed() -> None:
    catalog = drawn_catalog()
    for label, row in CLASSES.items():
        assert catalog.icon(label) is not None, label
        missing = [variant for variant in row.get("variants", ()) if catalog.icon(label, variant) is None]
        assert missing == [], label
    listed = {f"{label}@{variant}" for label, row in CLASSES.items() for variant in row.get("variants", ())}
    assert set(WHOLE) == listed | set(CLASSES)


def test_the_classes_of_both_suites_that_live_or_stand_outside_can_be_drawn() -> None:
    natural = set(vocabulary("natural").words["class"]) & set(CLASSES)
    concepts = set(CLASSES) - natural
    assert (len(natural), len(concepts)) == (25, 23)
    assert {"person", "teddy bear", "toy car", "basket"} <= natural
    assert {"dirt road", "oak tree", "volcano", "zebra"} <= concepts


def test_every_state_that_natural_asks_for_is_shown_drawn_or_declared_undrawable_with_a_reason() -> None:
    things = {label: thing for label, thing in ontology().entries.items() if label in CLASSES}
    assert len(things) == 25
    for label, thing in things.items():
        row, asked = CLASSES[label], set(thing.words["state"])
        shown, drawn, not_drawn = set(row.get("shows", ())), set(row.get("variants", ())), row.get("undrawable", {})
        assert asked - PAINTED_OVER == shown | drawn | set(not_drawn), label
        assert not shown & drawn, label
        assert not (shown | drawn) & set(not_drawn), label
        assert all(len(reason.split()) > 5 for reason in not_drawn.values()), label


def test_what_can_hold_or_contain_something_says_where() -> None:
    for label, thing in ontology().entries.items():
        if label in CLASSES:
            assert "hold" in CLASSES[label] or not thing.holds, label
            assert "inside" in CLASSES[label] or not thing.inside, label


def test_anchors_lie_on_the_drawing() -> None:
    """A thing that is held, carried or inside touches what is painted of its holder."""
    for label, row in CLASSES.items():
        alpha = np.asarray(painted(ICONS[label], "black", PixelFrame(0, 0, 100, 100), 100).getchannel("A")) > 128
        for hand in drawn_catalog().entry(label).hold:
            x, y = (round(99 * part) for part in hand)
            assert alpha[max(0, y - 4) : y + 5, max(0, x - 4) : x + 5].any(), label
        on = round(99 * row.get("on", 0))
        assert alpha[max(0, on - 5) : on + 8, 25:76].any(), label
        if inside := row.get("inside"):
            left, top, right, bottom = (round(99 * part) for part in inside)
            assert right - left >= 30, label
            assert bottom - top >= 27, label


# --- frames


def test_icons_touch_all_sides_of_their_frame_and_paint_nothing_outside() -> None:
    for frame in (PixelFrame(20, 20, 120, 120), PixelFrame(10, 45, 140, 70))[: tries(1, 2)]:
        for name, icon in WHOLE.items():
            if icon.aspect < 0.75 and frame.width != frame.height:
                continue  # such a frame is for things that lie
            alpha = painted(icon, "black", frame, 160).getchannel("A").point(lambda level: 255 * (level > 8))
            found = alpha.getbbox()
            assert found == (frame.left, frame.top, frame.left + frame.width, frame.top + frame.height), name


def test_the_front_of_a_container_fits_it_and_covers_part_of_its_inside() -> None:
    fronts = {name: icon for name, icon in ICONS.items() if name not in WHOLE}
    contain = {label for label, row in CLASSES.items() if "inside" in row}
    assert {name.split("@")[0] for name in fronts} == contain - {"car", "toy car"}  # these have a window
    for name, icon in fronts.items():
        label = name.split("@")[0]
        assert (icon.width, icon.height) == (ICONS[label].width, ICONS[label].height), name
        alpha = np.asarray(painted(icon, "black", PixelFrame(0, 0, 200, 200), 200).getchannel("A")) > 128
        left, top, right, bottom = (round(200 * part) for part in CLASSES[label]["inside"])
        window = alpha[top:bottom, left:right]
        assert window[: len(window) // 3].mean() < 0.45, name  # the upper part of the content is seen
        assert alpha[bottom - 8 : bottom + 12, left:right].mean() > 0.25, name  # its lower end is hidden


def test_a_container_has_its_window_at_the_same_place_in_all_states() -> None:
    for label in ("car", "bus", "house", "boat", "basket"):
        plain = ICONS[label]
        for variant in CLASSES[label]["variants"]:
            other = ICONS[f"{label}@{variant}"]
            assert (other.width, other.height) == pytest.approx((plain.width, plain.height), abs=0.2), (label, variant)


# --- looks


def test_no_two_classes_and_no_two_states_of_a_class_look_alike() -> None:
    squares = {name: in_square(icon, "black") for name, icon in WHOLE.items()}
    apart = [
        (float(np.abs(squares[one] - squares[other]).mean()), one, other)
        for one, other in itertools.combinations(squares, 2)
    ]
    classes = min(pair for pair in apart if "@" not in pair[1] + pair[2])
    states = min(pair for pair in apart if pair[1].split("@")[0] == pair[2].split("@")[0])
    assert classes[0] > CLOSEST_ALLOWED, classes
    assert states[0] > CLOSEST_VARIANTS, states


@pytest.mark.parametrize("color", COLORS[: tries(1, len(COLORS))])
def test_most_of_what_is_painted_is_the_colour_asked_for(color: str) -> None:
    tones = {**palette().colors, **palette().others}
    names = list(tones)
    anchors = lab([rgb(tone.body) for tone in tones.values()])
    for name, icon in WHOLE.items():
        scale = 100 / max(icon.width, icon.height)
        frame = PixelFrame(0, 0, round(icon.width * scale), round(icon.height * scale))
        pixels = np.asarray(painted(icon, color, frame, 100).convert("RGBA"))
        seen = pixels[pixels[..., 3] > 200][:, :3]
        counts = np.bincount(distance(lab(seen)[:, None], anchors).argmin(axis=1), minlength=len(names))
        assert names[int(counts.argmax())] == color, name
