"""States over icons: wet, dirty, rusty, broken, burning, melting, on every icon, in every colour, in its frame."""

from __future__ import annotations

import itertools
import os
import re
import subprocess
import sys
from collections import Counter
from functools import cache

import numpy as np
import pytest
from numpy.typing import NDArray
from tools.draw_contact_sheets import render_drawings

import formalimg
from formalimg.drawing import states
from formalimg.drawing.catalog import OVERLAY_STATES, drawn_catalog
from formalimg.drawing.icon import Icon, PixelFrame, icons, palette
from formalimg.drawing.outline import coverage
from formalimg.drawing.svg import IconDrawing, icon_drawing, move_paths
from formalimg.errors import FormalimgError
from formalimg.logic.syntax import Value, Variable, atoms
from formalimg.logic.variables import rename_apart
from tests.scenes.test_drawing import distance, lab, rgb
from tests.support.sizes import only_in_full, tries

COLORS = [*palette().colors, "orange", "purple"]
TONES = {**palette().colors, **palette().others}
ICONS = list(icons().values())
SOME = ICONS[3 :: tries(24, 1)]


def drawing(icon: Icon, color: str, frame: PixelFrame | None = None) -> IconDrawing:
    """An icon in a frame of its natural shape, 180 pixels on its longer side."""
    scale = 180 / max(icon.width, icon.height)
    natural = PixelFrame(20, 30, round(icon.width * scale), round(icon.height * scale))
    frame = frame or natural
    pen = min(2.2, min(frame.width, frame.height) / 45)
    return icon_drawing(icon, frame, {**palette().accents, **TONES[color]._asdict()}, pen)


def pixels(drawn: IconDrawing) -> NDArray[np.int_]:
    """RGBA of the drawing with a margin around it."""
    width, height = (drawn.frame.left + drawn.frame.width + 20, drawn.frame.top + drawn.frame.height + 20)
    return np.asarray(render_drawings([drawn], width, height)).astype(int)


@pytest.mark.parametrize("state", OVERLAY_STATES)
@pytest.mark.parametrize("frame", [PixelFrame(20, 30, 180, 70), PixelFrame(20, 30, 60, 190), None][: tries(1, 3)])
def test_a_state_fills_the_frame_and_paints_nothing_outside(state: str, frame: PixelFrame | None) -> None:
    for number, icon in enumerate(SOME):
        plain = drawing(icon, COLORS[number % len(COLORS)], frame)
        drawn = states.apply(plain, state, "o1")
        assert drawn.frame == plain.frame
        ys, xs = (pixels(drawn)[..., 3] > 40).nonzero()
        left, top, width, height = plain.frame
        found = np.array([xs.min() - left, ys.min() - top, left + width - 1 - xs.max(), top + height - 1 - ys.max()])
        assert (found >= 0).all(), (icon.label, found)
        assert (found <= 6).all(), (icon.label, found)
        faint = pixels(drawn)[..., 3] > 0
        faint[top : top + height, left : left + width] = False
        assert not faint.any(), icon.label


@pytest.mark.parametrize("state", OVERLAY_STATES)
def test_the_thing_keeps_its_colour_in_every_state(state: str) -> None:
    """Most of what is painted where the thing itself is has its tones; flames, puddles and splashes lie around it."""
    names = [name for name, tones in TONES.items() for _ in tones]
    anchors = lab([rgb(tone) for tones in TONES.values() for tone in tones])
    for number, (icon, color) in enumerate(itertools.product(SOME, COLORS)):
        if number % tries(7, 3):
            continue
        plain = drawing(icon, color)
        found = pixels(states.apply(plain, state, "o1"))
        where = found[..., 3] > 200
        if state in ("wet", "burning", "dirty"):
            thing = pixels(drawing(icon, color, states.room(plain.frame, state)))[..., 3] > 200
            where[: thing.shape[0], : thing.shape[1]] &= thing
            where[thing.shape[0] :] = where[:, thing.shape[1] :] = False
        nearest = distance(lab(found[where][::7, :3])[:, None], anchors).argmin(axis=1)
        counts = Counter(names[number] for number in nearest)
        assert counts.most_common(1)[0][0] == color, (icon.label, color, counts.most_common(2))


def test_states_look_like_neither_each_other_nor_the_plain_icon() -> None:
    for number, icon in enumerate(SOME):
        for color in (COLORS[number % len(COLORS)], "brown")[: tries(1 + number % 2, 2)]:
            plain = drawing(icon, color)
            looks = {state: pixels(states.apply(plain, state, "o1")) for state in OVERLAY_STATES}
            looks["plain"] = pixels(plain)
            for one, other in itertools.combinations(looks, 2):
                either = (looks[one][..., 3] > 0) | (looks[other][..., 3] > 0)
                changed = np.abs(looks[one] - looks[other]).max(axis=-1)[either] > 60
                assert changed.mean() > 0.05, (icon.label, color, one, other, changed.mean())


@only_in_full
def test_a_drawing_is_the_same_in_every_process_and_differs_between_objects() -> None:
    program = (
        "from formalimg.drawing import states\n"
        "from tests.drawing.test_states import OVERLAY_STATES, drawing, icons\n"
        "for state in OVERLAY_STATES:\n"
        "    print(states.apply(drawing(icons()['cup'], 'red'), state, 'o1'))\n"
    )
    environment = {**os.environ, "PYTHONHASHSEED": "1", "PYTHONPATH": os.pathsep.join(sys.path)}
    other = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True
    ).stdout
    plain = drawing(icons()["cup"], "red")
    assert other.splitlines() == [str(states.apply(plain, state, "o1")) for state in OVERLAY_STATES]
    for state in OVERLAY_STATES:
        assert states.apply(plain, state, "o1").body != states.apply(plain, state, "o2").body


def test_ids_are_unique_in_an_image_and_every_reference_has_its_target() -> None:
    plain = drawing(icons()["shoe"], "green")
    drawn = [
        states.apply(states.apply(plain, one, f"o{number}"), other, f"o{number}")
        for number, (one, other) in enumerate(zip(OVERLAY_STATES, reversed(OVERLAY_STATES), strict=True))
    ]
    ids = re.findall(r' id="([^"]+)"', "".join(one.defs + one.body for one in drawn))
    assert len(ids) == len(set(ids))
    used = set(re.findall(r"#([^\")]+)[\")]", "".join(one.defs + one.body for one in drawn)))
    assert {name for name in used if name.startswith("o")} <= set(ids)


def test_a_state_keeps_what_a_material_has_painted() -> None:
    """Gradients and clips that the drawing refers to stay defined, in whatever way the state moves it."""
    plain = drawing(icons()["book"], "white")
    shiny = IconDrawing(
        plain.frame,
        plain.body.replace(f'fill="{TONES["white"].body}"', 'fill="url(#m-shine)"', 1),
        plain.silhouette,
        '<linearGradient id="m-shine"><stop offset="0" stop-color="#00ffff"/><stop offset="1" stop-color="#00ddff"/>'
        "</linearGradient>",
    )
    for state in OVERLAY_STATES:
        found = pixels(states.apply(shiny, state, "o1"))
        cyan = (found[..., 0] < 30) & (found[..., 1] > 210) & (found[..., 2] > 240)
        assert cyan.sum() > 0.15 * plain.frame.width * plain.frame.height, state


@cache
def natural_pairs() -> set[tuple[str, str]]:
    """The classes and states that items of Natural ask for together."""
    pairs = set()
    for item in formalimg.load("natural"):
        found = list(atoms(rename_apart(item.spec.formula)))
        classes, asked = {}, []
        for atom in found:
            match atom.predicate, atom.arguments:
                case "Is", (Variable(name), Value(label)):
                    classes[name] = label
                case "HasState", (Variable(name), Value(state)):
                    asked.append((name, state))
        pairs |= {(classes[name], state) for name, state in asked}
    return pairs


def test_nearly_all_states_of_natural_can_be_drawn_and_the_others_have_a_reason() -> None:
    catalog, pairs = drawn_catalog(), natural_pairs()
    assert len(pairs) == 331
    ways = Counter(states.how_drawn(catalog, label, state) for label, state in pairs)
    assert ways["overlay"] == 201
    assert ways["undrawable"] <= 6
    for label, state in sorted(pairs):
        way = states.how_drawn(catalog, label, state)
        if way == "undrawable":
            assert len(catalog.entry(label).undrawable[state]) > 10, (label, state)
        else:
            assert (state in OVERLAY_STATES) == (way == "overlay"), (label, state)
            assert catalog.icon(label, state if way == "variant" else None) is not None, (label, state)


def test_states_can_be_drawn_over_the_icons_of_natural() -> None:
    catalog = drawn_catalog()
    pairs = sorted(pair for pair in natural_pairs() if pair[1] in OVERLAY_STATES)
    for number, (label, state) in enumerate(pairs[:: tries(16, 1)]):
        icon = catalog.icon(label)
        assert icon is not None
        plain = drawing(icon, COLORS[number % len(COLORS)])
        changed = np.abs(pixels(states.apply(plain, state, "o1")) - pixels(plain)).max(axis=-1) > 60
        assert changed.sum() > 0.04 * plain.frame.width * plain.frame.height, (label, state)


def test_other_states_are_refused() -> None:
    with pytest.raises(FormalimgError, match=r"'open' is not drawn over icons.*wet, dirty"):
        states.apply(drawing(icons()["cup"], "red"), "open", "o1")


def test_paths_whose_points_stay_where_they_are_look_the_same() -> None:
    """The straight pieces follow every curve and arc, as the renderer itself draws them."""
    for icon in ICONS[:: tries(3, 1)]:
        plain = drawing(icon, "yellow")
        bent = IconDrawing(plain.frame, move_paths(plain.body, lambda x, y: (x, y)), plain.silhouette)
        assert np.abs(pixels(plain) - pixels(bent)).mean() < 1, icon.label


def test_what_a_drawing_paints_is_found_where_it_is() -> None:
    for icon, color in zip(ICONS[:: tries(3, 1)], itertools.cycle(COLORS), strict=False):
        plain = drawing(icon, color)
        found = coverage(plain)
        assert found.color == color, icon.label
        opaque = pixels(plain)[..., 3]
        hits = [opaque[int(spot.y), int(spot.x)] > 0 for spot in found.spots()]
        assert sum(hits) > 0.85 * len(hits), icon.label
