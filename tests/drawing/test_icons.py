"""Icons of living things and of objects: all are there, fill their frames, and look like no other."""

from __future__ import annotations

import io
import itertools
import tomllib
from functools import cache
from importlib.resources import files

import numpy as np
import pytest
import resvg_py
from numpy.typing import NDArray
from PIL import Image

from formalimg.drawing.catalog import FRONT, OVERLAY_STATES, DrawnClass, drawn_catalog
from formalimg.drawing.icon import Icon, PixelFrame, palette
from formalimg.language.ontology.knowledge import ontology
from formalimg.logic.vocabulary import vocabulary
from tests.scenes.test_drawing import distance, lab, rgb
from tests.support.sizes import tries

FOLDER = files("formalimg.drawing")
FILES = ("living", "things")
NATURAL = vocabulary("natural").words
# Mean differences of gray levels (0 to 1) that any two classes, or two variants of one class, must keep
CLOSEST_CLASSES = {"living": 0.08, "things": 0.06}
CLOSEST_VARIANTS = {"living": 0.008, "things": 0.025}  # two living things may differ by a face alone
COLORS = ("yellow", "orange", "white")  # near to lines and glass, so that another colour could dominate


@cache
def classes(file: str) -> dict[str, DrawnClass]:
    table = tomllib.loads((FOLDER / "catalog.d" / f"{file}.toml").read_text("utf-8"))["class"]
    return {label: drawn_catalog().entry(label) for label in table}


def icon_of(label: str, variant: str | None = None) -> Icon:
    icon = drawn_catalog().icon(label, variant)
    assert icon is not None, (label, variant)
    return icon


@cache
def whole_icons(file: str) -> dict[str, Icon]:
    """Every drawing of a class but its front: the plain one, its states, and what carries or contains."""
    return {
        label if variant is None else f"{label}@{variant}": icon_of(label, variant)
        for label, entry in classes(file).items()
        for variant in dict.fromkeys([None, *entry.variants, *filter(None, (entry.carrier, entry.container))])
        if variant != FRONT
    }


def painted(icon: Icon, color: str, frame: PixelFrame, size: int) -> Image.Image:
    tones = {**palette().colors, **palette().others}[color]
    drawn = icon.svg(frame, {**palette().accents, **tones._asdict()}, 1.5)
    svg = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{size}" height="{size}" fill-rule="evenodd"'
        f' stroke-linejoin="round" stroke-linecap="round">{drawn}</svg>'
    )
    return Image.open(io.BytesIO(resvg_py.svg_to_bytes(svg_string=svg, skip_system_fonts=True)))


def opaque(icon: Icon, size: int) -> NDArray[np.bool_]:
    return np.asarray(painted(icon, "black", PixelFrame(0, 0, size, size), size).getchannel("A")) > 128


def in_square(icon: Icon, color: str) -> NDArray[np.float64]:
    ground = Image.new("RGBA", (96, 96), palette().background)
    ground.alpha_composite(painted(icon, color, PixelFrame(0, 0, 96, 96), 96))
    return np.asarray(ground.convert("L").resize((48, 48), Image.Resampling.BOX)) / 255


@pytest.mark.parametrize("file", FILES)
def test_every_icon_of_the_folder_is_listed(file: str) -> None:
    names = {entry.name[:-4].replace("_", " ") for entry in (FOLDER / "icons").iterdir() if entry.name.endswith(".svg")}
    fronts = {f"{label}@{FRONT}" for label, entry in classes(file).items() if entry.front}
    plain_of_knolling = {label for label, entry in classes(file).items() if entry.icon.startswith("knolling/")}
    expected = (set(whole_icons(file)) | fronts) - plain_of_knolling
    assert {name for name in names if name.split("@")[0] in classes(file)} == expected


def test_the_classes_of_both_suites_can_be_drawn() -> None:
    natural = {file: set(NATURAL["class"]) & set(classes(file)) for file in FILES}
    concepts = {file: set(classes(file)) - natural[file] for file in FILES}
    assert (len(natural["living"]), len(concepts["living"]), len(natural["things"])) == (25, 23, 44)
    assert concepts["things"] == {
        *("broccoli", "carrot", "necklace", "novel", "ring", "smartphone", "sushi", "textbook")
    }


@pytest.mark.parametrize("file", FILES)
def test_every_state_and_place_of_natural_is_drawn_or_declared_undrawable_with_a_reason(file: str) -> None:
    for label, known in ontology().entries.items():
        entry = classes(file).get(label)
        if entry is None:
            continue
        states = set(known.words["state"]) - set(OVERLAY_STATES)
        reasons = [word for word in entry.undrawable if word in NATURAL["state"]]
        ways = [*entry.shows, *(variant for variant in entry.variants if variant != FRONT), *reasons]
        assert states <= set(ways), label  # other requests than its items may ask for more
        assert file == "things" or states == set(ways), label
        assert len(set(ways)) == len(ways), label
        assert all(len(reason.split()) > 4 for reason in entry.undrawable.values()), label
        assert set(entry.also) <= set(entry.variants), label
        assert entry.hold or not known.holds, label
        assert entry.inside is not None or "inside" in entry.undrawable or not known.inside, label


@pytest.mark.parametrize("file", FILES)
def test_what_is_held_or_carried_touches_what_is_drawn(file: str) -> None:
    for label, entry in classes(file).items():
        plain, carrier = opaque(icon_of(label), 100), opaque(icon_of(label, entry.carrier), 100)
        for hand in entry.hold:
            x, y = (round(99 * part) for part in hand)
            assert plain[max(0, y - 4) : y + 5, max(0, x - 4) : x + 5].any(), label
        height = round(99 * entry.on)
        assert carrier[max(0, height - 5) : height + 8, 25:76].any(), label


@pytest.mark.parametrize(("file", "upper", "lower"), [("living", 0.45, 0.25), ("things", 0.3, 0.5)])
def test_things_inside_are_seen_and_the_front_hides_only_their_lower_end(file: str, upper: float, lower: float) -> None:
    size = 200
    for label, entry in classes(file).items():
        if entry.inside is None:
            assert not entry.front, label
            continue
        holder = icon_of(label, entry.container)
        left, top, right, bottom = (round(size * part) for part in entry.inside)
        assert right - left >= 0.18 * size, label
        assert bottom - top >= 0.2 * size, label
        for variant in entry.variants if label in ("car", "bus", "house", "boat", "basket") else ():
            shape = icon_of(label, variant)
            assert (shape.width, shape.height) == pytest.approx((holder.width, holder.height), abs=0.2), label
        if entry.front:
            front = icon_of(label, FRONT)
            assert (front.width, front.height) == (holder.width, holder.height), label
            over, under = opaque(front, size), opaque(holder, size)
            window = over[top:bottom, left:right]
            assert window[: len(window) // 3].mean() < upper, label
            assert over[bottom - 8 : bottom + (12 if file == "living" else 0), left:right].mean() > lower, label
            # The front is a part of the drawing, but for pockets and pages that the plain icon has no room for.
            assert file == "living" or (over & ~under).mean() < 0.01, label
    assert {label for label, entry in classes("living").items() if entry.inside and not entry.front} == {
        *("car", "toy car")  # these have a window
    }


@pytest.mark.parametrize("frame", [PixelFrame(20, 20, 120, 120), PixelFrame(10, 45, 140, 70)])
@pytest.mark.parametrize(("file", "level"), [("living", 8), ("things", 64)])
def test_icons_touch_all_sides_of_their_frame_and_paint_nothing_outside(
    file: str, level: int, frame: PixelFrame
) -> None:
    for name, icon in whole_icons(file).items():
        if file == "living" and icon.aspect < 0.75 and frame.width != frame.height:
            continue  # such a frame is for things that lie
        alpha = painted(icon, "black", frame, 160).getchannel("A").point(lambda value: 255 * (value > level))
        assert alpha.getbbox() == (frame.left, frame.top, frame.left + frame.width, frame.top + frame.height), name


@pytest.mark.parametrize(("file", "color"), [("living", "black"), ("things", "red"), ("things", "black")])
def test_no_two_classes_and_no_two_states_of_a_class_look_alike(file: str, color: str) -> None:
    squares = {name: in_square(icon, color) for name, icon in whole_icons(file).items() if name != "smartphone"}
    apart = sorted(
        (float(np.abs(squares[first] - squares[second]).mean()), first, second)
        for first, second in itertools.combinations(squares, 2)
    )
    classes_apart = [pair for pair in apart if "@" not in pair[1] + pair[2]]
    states_apart = [pair for pair in apart if pair[1].split("@")[0] == pair[2].split("@")[0]]
    assert classes_apart[0][0] > CLOSEST_CLASSES[file], classes_apart[:5]
    assert states_apart[0][0] > CLOSEST_VARIANTS[file], states_apart[:5]


@pytest.mark.parametrize("color", COLORS[: tries(1, 3)])
@pytest.mark.parametrize("file", FILES)
def test_most_of_what_is_painted_is_the_colour_asked_for(file: str, color: str) -> None:
    if (file, color) == ("living", "white"):
        return
    tones = {**palette().colors, **palette().others}
    anchors = lab([rgb(tone.body) for tone in tones.values()])
    for name, icon in whole_icons(file).items():
        scale = 150 / max(icon.width, icon.height)
        frame = PixelFrame(0, 0, round(icon.width * scale), round(icon.height * scale))
        pixels = np.asarray(painted(icon, color, frame, 150).convert("RGBA"))
        seen = pixels[pixels[..., 3] > 200][::7, :3]
        counts = np.bincount(distance(lab(seen)[:, None], anchors).argmin(axis=1), minlength=len(tones))
        assert list(tones)[int(counts.argmax())] == color, name
