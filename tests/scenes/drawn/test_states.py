"""States over icons: wet, dirty, rusty, broken, burning, melting, on every icon, in every colour, in its frame."""

from __future__ import annotations

import itertools
import os
import re
import subprocess
import sys

import numpy as np
import pytest
from numpy.typing import NDArray

from formalimg.errors import FormalimgError
from formalimg.scenes.drawn import states
from formalimg.scenes.drawn.coverage import coverage
from formalimg.scenes.drawn.drawing_sheet import render_drawings
from formalimg.scenes.drawn.icon_drawing import IconDrawing, icon_drawing
from formalimg.scenes.drawn.svg_paths import moved_paths
from formalimg.scenes.icon import Icon, PixelFrame, icons, palette
from tests.scenes.test_drawing import distance, lab, rgb
from tests.support.sizes import tries

COLORS = [*palette().colors, "orange", "purple"]
TONES = {**palette().colors, **palette().others}
ICONS = list(icons().values())
SOME = ICONS[3 :: tries(12, 1)]


def drawing(icon: Icon, color: str, frame: PixelFrame | None = None) -> IconDrawing:
    """An icon in a frame of its natural shape, 180 pixels on its longer side."""
    scale = 180 / max(icon.width, icon.height)
    natural = PixelFrame(20, 30, round(icon.width * scale), round(icon.height * scale))
    return icon_drawing(icon, frame or natural, {**palette().accents, **TONES[color]._asdict()}, 1.8)


def pixels(*drawn: IconDrawing) -> NDArray[np.int_]:
    """RGBA of 220 by 240 pixels."""
    return np.asarray(render_drawings(drawn, 220, 240)).astype(int)


@pytest.mark.parametrize("state", states.OVERLAYS)
@pytest.mark.parametrize("frame", [None, PixelFrame(20, 30, 180, 70), PixelFrame(20, 30, 60, 190)])
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


@pytest.mark.parametrize("state", states.OVERLAYS)
def test_the_thing_keeps_its_colour_in_every_state(state: str) -> None:
    """Most of what is painted where the thing itself is has its colour; flames and puddles lie around it."""
    names = list(TONES)
    anchors = lab([rgb(tones.body) for tones in TONES.values()])
    for number, (icon, color) in enumerate(itertools.product(SOME, COLORS)):
        if number % tries(4, 1):
            continue
        plain = drawing(icon, color)
        found = pixels(states.apply(plain, state, "o1"))
        where = found[..., 3] > 200
        if states.room(plain.frame, state) != plain.frame:
            where &= pixels(drawing(icon, color, states.room(plain.frame, state)))[..., 3] > 200
        counts = np.bincount(distance(lab(found[where][:, :3])[:, None], anchors).argmin(axis=1), minlength=len(names))
        assert names[int(counts.argmax())] == color, (icon.label, color)


def test_states_look_like_neither_each_other_nor_the_plain_icon() -> None:
    for number, icon in enumerate(SOME):
        for color in (COLORS[number % len(COLORS)], "brown")[: tries(1 + number % 2, 2)]:
            plain = drawing(icon, color)
            looks = {state: pixels(states.apply(plain, state, "o1")) for state in states.OVERLAYS}
            looks["plain"] = pixels(plain)
            for one, other in itertools.combinations(looks, 2):
                either = (looks[one][..., 3] > 0) | (looks[other][..., 3] > 0)
                changed = np.abs(looks[one] - looks[other]).max(axis=-1)[either] > 60
                assert changed.mean() > 0.08, (icon.label, color, one, other, changed.mean())


def test_a_drawing_is_the_same_in_every_process_and_differs_between_objects() -> None:
    program = (
        "import hashlib\n"
        "from formalimg.scenes.drawn import states\n"
        "from formalimg.scenes.drawn.icon_drawing import icon_drawing\n"
        "from formalimg.scenes.icon import PixelFrame, icons, palette\n"
        "cup = icons()['cup']\n"
        "plain = icon_drawing(cup, PixelFrame(0, 0, 90, 80), palette().paints('red', 'teal'), 1.5)\n"
        "for state in states.OVERLAYS:\n"
        "    print(hashlib.sha256(repr(states.apply(plain, state, 'o1')).encode()).hexdigest())\n"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(outputs) == 1
    plain = drawing(icons()["cup"], "red")
    for state in states.OVERLAYS:
        assert states.apply(plain, state, "o1").body != states.apply(plain, state, "o2").body


def test_ids_are_unique_in_an_image_and_every_reference_has_its_target() -> None:
    plain = drawing(icons()["shoe"], "green")
    drawn = [
        states.apply(states.apply(plain, one, f"o{number}"), other, f"o{number}")
        for number, (one, other) in enumerate(itertools.permutations(states.OVERLAYS, 2))
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
    for state in states.OVERLAYS:
        found = pixels(states.apply(shiny, state, "o1"))
        cyan = (found[..., 0] < 30) & (found[..., 1] > 210) & (found[..., 2] > 240)
        assert cyan.sum() > 0.15 * plain.frame.width * plain.frame.height, state


def test_other_states_are_refused() -> None:
    with pytest.raises(FormalimgError, match=r"'open' is not drawn over icons.*wet, dirty"):
        states.apply(drawing(icons()["cup"], "red"), "open", "o1")


def test_paths_whose_points_stay_where_they_are_look_the_same() -> None:
    """The straight pieces follow every curve and arc, as the renderer itself draws them."""
    for icon in ICONS[:: tries(3, 1)]:
        plain = drawing(icon, "yellow")
        bent = IconDrawing(plain.frame, moved_paths(plain.body, lambda x, y: (x, y)), plain.silhouette)
        assert np.abs(pixels(plain) - pixels(bent)).mean() < 0.6, icon.label


def test_what_a_drawing_paints_is_found_where_it_is() -> None:
    for icon, color in zip(ICONS[:: tries(3, 1)], itertools.cycle(COLORS), strict=False):
        plain = drawing(icon, color)
        found = coverage(plain)
        assert found.color == color, icon.label
        opaque = pixels(plain)[..., 3]
        hits = [opaque[int(spot.y), int(spot.x)] > 0 for spot in found.spots()]
        assert sum(hits) > 0.9 * len(hits), icon.label
