"""States as marks on a drawing: drops and a puddle (wet), mud (dirty), patches of rust (rusty)."""

from __future__ import annotations

import math
from random import Random

from formalimg.scenes.drawn.coverage import Coverage, Spot, coverage
from formalimg.scenes.drawn.icon_drawing import IconDrawing
from formalimg.scenes.drawn.svg_paths import Point, closed_curve, number_text, polyline
from formalimg.scenes.icon import PixelFrame

_WATER = ("#8fd0f7", "#0d3f73", "#ffffff")
"""Fill, outline and highlight: light enough for blue things, outlined for white ones."""
_MUD = {True: ("#54391d", "#2b1b0b", "#7d5c36"), False: ("#b89a63", "#5e4a25", "#d9c391")}
"""Fill, outline and gloss: dark mud, and dried clay for things that are as dark as mud themselves."""
_DARK_AS_MUD = ("brown", "black")
_RUST = ("#b4501a", "#5a2209", "#e58a3a")
"""The rust itself, its flaking edge, and its fresh grains."""


def unit(frame: PixelFrame) -> float:
    """Return the length in pixels that marks are measured by: that of a typical side, less for narrow frames."""
    return min(math.sqrt(frame.width * frame.height), 1.7 * min(frame.width, frame.height))


def wet(drawing: IconDrawing, key: str) -> str:
    """Return drops, some running down, for a drawing that stands in `puddle`."""
    random, found, size = Random(key), coverage(drawing), unit(drawing.frame)
    bottom = drawing.frame.top + drawing.frame.height
    parts = []
    for number, spot in enumerate(found.scattered(11, random, size * 0.2)):
        r = size * random.uniform(0.055, 0.08)
        x = min(max(spot.x, drawing.frame.left + r), drawing.frame.left + drawing.frame.width - r)
        y = min(max(spot.y, drawing.frame.top + 2.2 * r), bottom - r)
        if number % 3 == 0:
            parts.append(_trail(x, max(drawing.frame.top + r, y - random.uniform(4, 6) * r), y, r))
        parts.append(_drop(x, y, r, found.pen))
    return "".join(parts)


def _trail(x: float, top: float, bottom: float, r: float) -> str:
    data = polyline([(x, top), (x, bottom)])
    return (
        f'<path d="{data}" fill="none" stroke="{_WATER[0]}" stroke-opacity="0.75" stroke-width="{number_text(r * 0.9)}"/>'
        f'<path d="{data}" fill="none" stroke="{_WATER[2]}" stroke-opacity="0.8" stroke-width="{number_text(r * 0.25)}"/>'
    )


def _drop(x: float, y: float, r: float, pen: float) -> str:
    """Return a drop with its round end around (x, y)."""
    tip = y - 2.1 * r
    data = (
        f"M{number_text(x, tip)}C{number_text(x + 0.25 * r, tip + 0.8 * r, x + r, y - 0.8 * r, x + r, y)}"
        f"A{number_text(r, r)} 0 0 1 {number_text(x - r, y)}"
        f"C{number_text(x - r, y - 0.8 * r, x - 0.25 * r, tip + 0.8 * r, x, tip)}Z"
    )
    return (
        f'<path d="{data}" fill="{_WATER[0]}" stroke="{_WATER[1]}" stroke-width="{number_text(pen * 0.9)}"/>'
        f'<path d="M{number_text(x - 0.5 * r, y - 0.1 * r)}q{number_text(0, 0.6 * r, 0.5 * r, 0.65 * r)}" fill="none"'
        f' stroke="{_WATER[2]}" stroke-width="{number_text(r * 0.32)}"/>'
    )


def puddle(frame: PixelFrame, top: float, pen: float, key: str) -> str:
    """Return a puddle that fills the frame's width from `top` to its bottom."""
    random = Random(key)
    middle_x, middle_y = frame.left + frame.width / 2, (top + frame.top + frame.height) / 2
    across, down = (frame.width - pen) / 2, (frame.top + frame.height - top - pen) / 2
    points = []
    for number in range(16):
        angle = number * math.pi / 8
        # The four ends touch the sides; between them the edge wobbles.
        reach = 1.0 if number % 4 == 0 else random.uniform(0.86, 0.99)
        points.append((middle_x + across * reach * math.cos(angle), middle_y + down * reach * math.sin(angle)))
    ripples = "".join(
        f'<ellipse cx="{number_text(middle_x)}" cy="{number_text(middle_y)}" rx="{number_text(across * share)}"'
        f' ry="{number_text(down * share)}" fill="none" stroke="{_WATER[2]}" stroke-width="{number_text(pen)}"/>'
        for share in (0.8, 0.55)
    )
    edge = f'fill="{_WATER[0]}" stroke="{_WATER[1]}" stroke-width="{number_text(pen)}"'
    return f'<path d="{closed_curve(points)}" {edge}/>{ripples}'


def dirty(drawing: IconDrawing, key: str) -> str:
    """Return splashes of mud over the drawing, more of them below."""
    random, found, size = Random(key), coverage(drawing), unit(drawing.frame)
    fill, edge, gloss = _MUD[found.color not in _DARK_AS_MUD]
    middle = drawing.frame.top + drawing.frame.height * 0.55
    low = [spot for spot in found.spots() if spot.y > middle]
    places = found.scattered(4, random, size * 0.3, low) + found.scattered(3, random, size * 0.34)
    parts = []
    for number, spot in enumerate(places):
        r = size * random.uniform(0.075, 0.105) * (1 if number < 5 else 0.7)
        parts.extend(_splash(spot, r, random, drawing.frame, (fill, edge, gloss), found.pen))
    for spot in found.scattered(16, random, size * 0.09):
        r = size * random.uniform(0.012, 0.022)
        parts.append(f'<circle cx="{number_text(spot.x)}" cy="{number_text(spot.y)}" r="{number_text(r)}" fill="{fill}"/>')
    return "".join(parts)


def _splash(
    spot: Spot, r: float, random: Random, frame: PixelFrame, paints: tuple[str, str, str], pen: float
) -> list[str]:
    """Return a blot with fingers, and the droplets that it threw."""
    fill, edge, gloss = paints
    reach = 1.5 * r
    x = min(max(spot.x, frame.left + reach), max(frame.left + reach, frame.left + frame.width - reach))
    y = min(max(spot.y, frame.top + reach), max(frame.top + reach, frame.top + frame.height - reach))
    turn = random.uniform(0, math.pi)
    points: list[Point] = []
    for number in range(18):
        angle = turn + number * math.pi / 9
        length = r * (random.uniform(1.15, 1.5) if number % 3 == 0 else random.uniform(0.7, 0.85))
        points.append((x + length * math.cos(angle), y + length * math.sin(angle)))
    blot = f'<path d="{closed_curve(points)}" fill="{fill}" stroke="{edge}" stroke-width="{number_text(pen * 0.8)}"/>'
    shine = (
        f'<path d="M{number_text(x - 0.45 * r, y)}q{number_text(0, -0.4 * r, 0.45 * r, -0.45 * r)}" fill="none"'
        f' stroke="{gloss}" stroke-width="{number_text(r * 0.18)}"/>'
    )
    thrown = []
    for number in range(4):
        angle = turn + number * math.pi / 2 + random.uniform(-0.5, 0.5)
        away, small = r * random.uniform(1.7, 2.2), r * random.uniform(0.14, 0.26)
        far_x, far_y = x + away * math.cos(angle), y + away * math.sin(angle)
        thrown.append(
            f'<circle cx="{number_text(far_x)}" cy="{number_text(far_y)}" r="{number_text(small)}" fill="{fill}"'
            f' stroke="{edge}" stroke-width="{number_text(pen * 0.6)}"/>'
        )
    return [blot, shine, *thrown]


def rusty(drawing: IconDrawing, key: str) -> tuple[str, str]:
    """Return patches of rust with flaking edges and streaks below them, and the gradient that they refer to."""
    random, found, size = Random(key), coverage(drawing), unit(drawing.frame)
    fade = (
        f'<linearGradient id="{key}-streak" x1="0" y1="0" x2="0" y2="1">'
        f'<stop offset="0" stop-color="{_RUST[0]}" stop-opacity="0.95"/>'
        f'<stop offset="1" stop-color="{_RUST[0]}" stop-opacity="0"/></linearGradient>'
    )
    streaks, patches = [], []
    for number, spot in enumerate(found.scattered(7, random, size * 0.27)):
        r = size * random.uniform(0.1, 0.14) * (1 if number < 4 else 0.65)
        streaks.append(_streaks(spot, r, random, f"{key}-streak"))
        patches.append(_patch(spot, r, random, found))
    return "".join(streaks + patches), fade


def _streaks(spot: Spot, r: float, random: Random, fade: str) -> str:
    found = []
    for _ in range(3):
        x, width = spot.x + r * random.uniform(-0.7, 0.6), r * random.uniform(0.15, 0.28)
        length = r * random.uniform(1.8, 3.2)
        found.append(
            f'<rect x="{number_text(x)}" y="{number_text(spot.y)}" width="{number_text(width)}"'
            f' height="{number_text(length)}" fill="url(#{fade})"/>'
        )
    return "".join(found)


def _patch(spot: Spot, r: float, random: Random, found: Coverage) -> str:
    """Return a jagged patch: paint that lifts, the dark edge of the rust, the rust and its grains."""
    rust, edge, grain = _RUST
    turn = random.uniform(0, math.pi)
    lengths = [r * random.uniform(0.72, 1.2) for _ in range(17)]

    def ring(scale: float) -> str:
        corners = [turn + number * 2 * math.pi / 17 for number in range(17)]
        return (
            polyline(
                [
                    (spot.x + scale * length * 1.15 * math.cos(angle), spot.y + scale * length * math.sin(angle))
                    for angle, length in zip(corners, lengths, strict=True)
                ]
            )
            + "Z"
        )

    parts = [
        f'<path d="{ring(1.0)}" fill="{edge}" stroke="{found.tones.light}" stroke-width="{number_text(found.pen)}"/>',
        f'<path d="{ring(0.8)}" fill="{rust}"/>',
    ]
    for number in range(18):
        angle, away = random.uniform(0, 2 * math.pi), r * math.sqrt(random.uniform(0, 0.62))
        x, y = spot.x + away * 1.1 * math.cos(angle), spot.y + away * math.sin(angle)
        side = r * random.uniform(0.05, 0.13)
        paint = edge if number % 2 else grain
        parts.append(
            f'<rect x="{number_text(x)}" y="{number_text(y)}" width="{number_text(side * 1.3)}"'
            f' height="{number_text(side)}" fill="{paint}"/>'
        )
    return "".join(parts)
