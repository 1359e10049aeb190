"""States as marks on a drawing: drops and a puddle (wet), mud (dirty), patches of rust (rusty)."""

from __future__ import annotations

import math
from random import Random

from formalimg.drawing.icon import PixelFrame
from formalimg.drawing.outline import Coverage, PaintedSpot
from formalimg.drawing.svg import Point, curve_through, number_text, path_element, polyline, puddle_curve

_WATER = ("#8fd0f7", "#0d3f73", "#ffffff")
"""Fill, outline and highlight: light enough for blue things, outlined for white ones."""
_MUD = {True: ("#54391d", "#2b1b0b", "#7d5c36"), False: ("#b89a63", "#5e4a25", "#d9c391")}
"""Fill, outline and gloss: dark mud, and dried clay for things that are as dark as mud themselves."""
_DARK_AS_MUD = ("brown", "black")
_RUST = {False: ("#a8461a", "#6b2a0e", "#d9752b", "#3f1a0a"), True: ("#c25f20", "#b8571c", "#e08b3e", "#34150a")}
"""Flakes of rust: the most common paint, that of streaks, fresh rust, old rust; brighter on brown things."""


def unit(frame: PixelFrame) -> float:
    """Return the unit length of marks in pixels: the typical side of the frame, reduced for narrow frames."""
    return min(math.sqrt(frame.width * frame.height), 2.2 * min(frame.width, frame.height))


def wet(painted: Coverage, key: str) -> str:
    """Return water drops, some of them with trails."""
    random, size = Random(key), unit(painted.frame)
    x_min, top, width, height = painted.frame
    parts = []
    for number, spot in enumerate(painted.scattered(11, random, size * 0.19)):
        r = size * random.uniform(0.045, 0.068)
        x, y = min(max(spot.x, x_min + r), x_min + width - r), min(max(spot.y, top + 2.2 * r), top + height - r)
        length = min(random.uniform(4, 6) * r, y - painted.top_of_run(x, y) - r)
        if number % 3 == 0 and length > 2.5 * r:
            parts.append(_trail(x, y - length, y, r))
        parts.append(_drop(x, y, r, painted.pen))
    return "".join(parts)


def _trail(x: float, top: float, bottom: float, r: float) -> str:
    data = polyline([(x, top), (x, bottom)])
    film, shine = path_element(data, None, _WATER[0], r * 0.9), path_element(data, None, _WATER[2], r * 0.25)
    return f'<g opacity="0.75">{film}{shine}</g>'


def _drop(x: float, y: float, r: float, pen: float) -> str:
    """Return a drop with its round end centred on (x, y)."""
    tip = y - 2.1 * r
    data = (
        f"M{number_text(x, tip)}C{number_text(x + 0.25 * r, tip + 0.8 * r, x + r, y - 0.8 * r, x + r, y)}"
        f"A{number_text(r, r)} 0 0 1 {number_text(x - r, y)}"
        f"C{number_text(x - r, y - 0.8 * r, x - 0.25 * r, tip + 0.8 * r, x, tip)}Z"
    )
    shine = f"M{number_text(x - 0.5 * r, y - 0.1 * r)}q{number_text(0, 0.6 * r, 0.5 * r, 0.65 * r)}"
    return path_element(data, _WATER[0], _WATER[1], pen * 0.9) + path_element(shine, None, _WATER[2], r * 0.32)


def puddle_height(frame: PixelFrame) -> float:
    """Return the height in pixels of the puddle at the bottom of a frame."""
    return min(0.2 * frame.height, 0.36 * frame.width)


def puddle(frame: PixelFrame, pen: float, key: str) -> str:
    """Return a puddle of water that fills the frame's width at its bottom."""
    tall = puddle_height(frame)
    x, y = number_text(frame.left + frame.width / 2), number_text(frame.top + frame.height - tall / 2)
    ripples = "".join(
        f'<ellipse cx="{x}" cy="{y}" rx="{number_text(frame.width / 2 * share)}" ry="{number_text(tall / 2 * share)}"'
        f' fill="none" stroke="{_WATER[2]}" stroke-width="{number_text(pen)}"/>'
        for share in (0.8, 0.55)
    )
    return path_element(puddle_curve(frame, tall, pen, Random(key)), _WATER[0], _WATER[1], pen) + ripples


def dirty(painted: Coverage, key: str) -> tuple[str, str]:
    """Return mud on the lower part of the drawing, and splashes that may extend beyond its edge."""
    random, size = Random(key), unit(painted.frame)
    fill, edge, gloss = _MUD[painted.color not in _DARK_AS_MUD]
    x_min, top, width, height = painted.frame
    line = top + height - min(0.14 * height, 0.3 * size)
    swell = 0.05 * size
    wave = [(x_min + width * at / 12, line + swell * random.uniform(-1, 1)) for at in range(13)]
    coat = curve_through([*wave, (x_min + width * 1.2, top + height * 1.1), (x_min - width * 0.2, top + height * 1.1)])
    foot = path_element(coat, fill, edge, painted.pen * 0.8)
    parts = []
    # The upper part, where faces are, gets smaller splashes.
    middle = top + height * 0.45
    # Less for slim things, whose colour would be covered.
    slim = min(1.0, 1.3 * math.sqrt(min(width, height) / max(width, height)), 1.2 * math.sqrt(painted.cells.mean()))
    high = [spot for spot in painted.spots() if spot.y < middle]
    low = [spot for spot in painted.spots() if middle <= spot.y < line]
    for spot in [*painted.scattered(4, random, size * 0.3, low), *painted.scattered(3, random, size * 0.3, high)]:
        r = size * slim * (random.uniform(0.07, 0.095) if spot.y >= middle else random.uniform(0.035, 0.055))
        parts.extend(_splash(spot, r, random, painted.frame, (fill, edge, gloss), painted.pen))
    for x, y in painted.scattered(18, random, size * 0.08):
        parts.append(_dot(x, y, size * random.uniform(0.012, 0.022), fill))
    return foot, "".join(parts)


def _dot(x: float, y: float, r: float, fill: str) -> str:
    return f'<circle cx="{number_text(x)}" cy="{number_text(y)}" r="{number_text(r)}" fill="{fill}"/>'


def _splash(
    spot: PaintedSpot, r: float, random: Random, frame: PixelFrame, paints: tuple[str, str, str], pen: float
) -> list[str]:
    fill, edge, gloss = paints
    reach = 1.7 * r
    x = min(max(spot.x, frame.left + reach), frame.left + frame.width - reach)
    y = min(max(spot.y, frame.top + reach), frame.top + frame.height - reach)
    turn = random.uniform(0, 2 * math.pi)
    waves = [(count, size, random.uniform(0, 2 * math.pi)) for count, size in ((2, 0.16), (3, 0.17), (5, 0.15))]
    points: list[Point] = []
    for number in range(24):
        angle = number * math.pi / 12
        length = r * (1 + sum(size * math.sin(count * angle + phase) for count, size, phase in waves))
        points.append((x + 1.15 * length * math.cos(angle), y + length * math.sin(angle)))
    blot = path_element(curve_through(points), fill, edge, pen * 0.8)
    shine = f"M{number_text(x - 0.5 * r, y)}q{number_text(0, -0.4 * r, 0.5 * r, -0.5 * r)}"
    thrown = []
    for number in range(5):
        angle = turn + number * 2 * math.pi / 5 + random.uniform(-0.4, 0.4)
        away, small = r * random.uniform(1.6, 2.1), r * random.uniform(0.12, 0.27)
        far = (x + 1.15 * away * math.cos(angle), y + away * math.sin(angle))
        thrown.append(_dot(*far, small, fill))
    return [blot, path_element(shine, None, gloss, r * 0.16), *thrown]


def rusty(painted: Coverage, key: str) -> tuple[str, str]:
    """Return patches of flaking rust with streaks below them, and the gradient they use."""
    random, size = Random(key), unit(painted.frame)
    rust = _RUST[painted.color == "brown"]
    fade = (
        f'<linearGradient id="{key}-streak" x1="0" y1="0" x2="0" y2="1">'
        f'<stop offset="0" stop-color="{rust[1]}" stop-opacity="0.9"/>'
        f'<stop offset="1" stop-color="{rust[1]}" stop-opacity="0"/></linearGradient>'
    )
    streaks, patches = [], []
    count = 7 if painted.cells.mean() > 0.4 else 12  # thin things show little of a patch
    for number, spot in enumerate(painted.scattered(count, random, size * 0.27)):
        r = size * random.uniform(0.11, 0.15) * (1 if number < 4 else 0.7)
        streaks.append(_streaks(spot, r, random, f"{key}-streak"))
        patches.append(_patch(spot, r, random, rust))
    return "".join(streaks + patches), fade


def _streaks(spot: PaintedSpot, r: float, random: Random, fade: str) -> str:
    streaks = []
    for _ in range(5):
        x, width = spot.x + r * random.uniform(-0.9, 0.8), r * random.uniform(0.08, 0.2)
        length = r * random.uniform(1.5, 3.2)
        streaks.append(
            f'<rect x="{number_text(x)}" y="{number_text(spot.y)}" width="{number_text(width)}"'
            f' height="{number_text(length)}" fill="url(#{fade})"/>'
        )
    return "".join(streaks)


def _patch(spot: PaintedSpot, r: float, random: Random, rust: tuple[str, ...]) -> str:
    """Return a rust patch of small flakes, dense and dark in the middle, sparse and bright at the edge."""
    flakes = []
    stretch, turn = random.uniform(1.1, 1.6), random.uniform(0, math.pi)
    for _ in range(90):
        away, angle = random.uniform(0, 1) ** 0.7, random.uniform(0, 2 * math.pi)
        along, aside = stretch * away * r * math.cos(angle), away * r * math.sin(angle) / stretch
        x = spot.x + along * math.cos(turn) - aside * math.sin(turn)
        y = spot.y + along * math.sin(turn) + aside * math.cos(turn)
        side = r * random.uniform(0.12, 0.28) * (1.2 - 0.8 * away)
        corners = []
        for corner in range(6):
            way, reach = corner * math.pi / 3 + random.uniform(-0.4, 0.4), side * random.uniform(0.6, 1.3)
            corners.append((x + reach * math.cos(way), y + reach * math.sin(way)))
        paint = rust[random.choices((0, 1, 2, 3), (6, 3, 3, 2))[0]]
        flakes.append((-side, path_element(f"{polyline(corners)}Z", paint)))
    return "".join(flake for _, flake in sorted(flakes))
