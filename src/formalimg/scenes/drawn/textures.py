"""Textures that are laid over a drawing, inside its outline: wood, brick, stone, fabric, leather, paper and others.

Each function returns SVG elements over the whole frame in the tones of the object's colour. `TextureCanvas.over` clips
them to the silhouette. Random marks come from a generator that is seeded by the material, so that the same drawing has
the same bytes.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from formalimg.scenes.drawn.icon_drawing import IconDrawing
from formalimg.scenes.drawn.outline import OutlinePoint, SilhouetteMask, outline_points, silhouette_mask
from formalimg.scenes.icon import Tones


@dataclass(frozen=True)
class TextureCanvas:
    """What a texture is painted on: a drawing, the tones of its colour, a key for ids, and a seed."""

    drawing: IconDrawing
    tones: Tones
    key: str
    seed: str

    @cached_property
    def unit(self) -> float:
        """The size of a brick or a stitch in pixels: a part of the frame, but never too small to be seen."""
        return max(3.5, math.sqrt(self.drawing.frame.width * self.drawing.frame.height) / 15)

    @cached_property
    def random(self) -> random.Random:
        """The generator of marks."""
        return random.Random(self.seed)

    @cached_property
    def mask(self) -> SilhouetteMask:
        """The cells inside the silhouette."""
        return silhouette_mask(self.drawing.silhouette, self.drawing.frame)

    @property
    def lying(self) -> bool:
        """Whether the frame is wider than high: grain runs along the longer side."""
        return self.drawing.frame.width >= self.drawing.frame.height

    def inset(self, pixels: float, step: float) -> list[list[OutlinePoint]]:
        """Return points along the outline, this far inside it; loops too short for four steps are left out."""
        loops = self.mask.eroded(pixels).loops()
        return [outline_points(loop, step) for loop in loops if len(loop) * self.mask.cell > 4 * step]

    def spots(self, count: int, margin: float, apart: float) -> list[tuple[float, float]]:
        """Return up to this many points inside the outline, that far from it and from each other."""
        mask, frame = self.mask.eroded(margin), self.drawing.frame
        found: list[tuple[float, float]] = []
        for _ in range(count * 12):
            x = frame.left + self.random.random() * frame.width
            y = frame.top + self.random.random() * frame.height
            if mask.contains(x, y) and all(math.hypot(x - a, y - b) > apart for a, b in found):
                found.append((x, y))
                if len(found) == count:
                    break
        return found

    def over(self, markup: str, defs: str = "", below: str | None = None) -> IconDrawing:
        """Return the drawing with these elements over it, inside its outline; `below` replaces its own markup."""
        name = f"{self.key}-{self.seed}"
        body = self.drawing.body if below is None else below
        clip = self.drawing.clip_path(name)
        return IconDrawing(
            self.drawing.frame,
            f'{body}<g clip-path="url(#{name})">{markup}</g>',
            self.drawing.silhouette,
            f"{self.drawing.defs}{clip}{defs}",
        )


def text(*numbers: float) -> str:
    """Write numbers as path data."""
    return " ".join(f"{number:.2f}".rstrip("0").rstrip(".") for number in numbers)


def stroke(data: str, color: str, width: float, opacity: float = 1.0, more: str = "") -> str:
    """Return a line along path data."""
    return f'<path d="{data}" fill="none" stroke="{color}" stroke-width="{text(width)}" opacity="{text(opacity)}"{more}/>'


def polyline(points: Sequence[tuple[float, float]]) -> str:
    """Return path data through points."""
    return "M" + "L".join(text(x, y) for x, y in points)


def dot(x: float, y: float, radius: float, color: str, more: str = "") -> str:
    """Return a filled circle."""
    return f'<circle cx="{text(x)}" cy="{text(y)}" r="{text(radius)}" fill="{color}"{more}/>'


# --- the materials


def wood(canvas: TextureCanvas) -> IconDrawing:
    """Grain along the longer side, which bends around knots."""
    frame, unit, tones = canvas.drawing.frame, canvas.unit, canvas.tones
    length, breadth = (frame.width, frame.height) if canvas.lying else (frame.height, frame.width)

    def place(along: float, across: float) -> tuple[float, float]:
        return (frame.left + along, frame.top + across) if canvas.lying else (frame.left + across, frame.top + along)

    marks = []
    knots = []
    for x, y in canvas.spots(5, unit * 0.7, unit * 3.4):
        along, across = (x - frame.left, y - frame.top) if canvas.lying else (y - frame.top, x - frame.left)
        knots.append((along, across, unit * canvas.random.uniform(0.6, 0.85)))
    across, number = -unit, 0
    while across < breadth + unit:
        phase, tilt = canvas.random.uniform(0, 6), canvas.random.uniform(-0.2, 0.2)
        points = []
        for step in range(41):
            along = length * step / 40
            bend = unit * (0.12 * math.sin(along / unit / 2.2 + across / unit) + tilt * 0.5 * math.sin(along / unit / 5 + phase))
            for middle, height, radius in knots:
                away = across - height
                near = math.exp(-(((along - middle) / (2.6 * radius)) ** 2)) * math.exp(-((away / (2.5 * radius)) ** 2))
                bend += (1 if away >= 0 else -1) * 1.25 * radius * near
            points.append(place(along, across + bend))
        marks.append(stroke(polyline(points), tones.ink, unit * (0.16 if number % 3 else 0.26), 0.75))
        across += unit * canvas.random.choice((0.6, 0.75, 0.95))
        number += 1
    for along, across, radius in knots:
        x, y = place(along, across)
        for size, color in ((1.05, tones.dark), (0.75, tones.ink), (0.45, tones.dark), (0.22, tones.line)):
            wide, high = (1.45 * size * radius, size * radius)
            rx, ry = (wide, high) if canvas.lying else (high, wide)
            edge = f' stroke="{tones.ink}" stroke-width="{text(unit * 0.12)}"' if size > 1 else ""
            marks.append(
                f'<ellipse cx="{text(x)}" cy="{text(y)}" rx="{text(rx)}" ry="{text(ry)}" fill="{color}"{edge}/>'
            )
    return canvas.over("".join(marks))


def brick(canvas: TextureCanvas) -> IconDrawing:
    """Rows of bricks, every second shifted by half, with light mortar between them."""
    frame, tones = canvas.drawing.frame, canvas.tones
    high = max(5.0, canvas.unit * 1.15)
    wide, joint = high * 2.1, max(1.2, high * 0.16)
    marks = [_cover(canvas, "#e9e2d6", 0.92)]
    for row in range(math.ceil(frame.height / high)):
        left = frame.left - (wide / 2 if row % 2 else 0)
        for column in range(math.ceil(frame.width / wide) + 1):
            shade = canvas.random.choices((tones.body, tones.dark, tones.light), (6, 2, 1))[0]
            x, y = left + column * wide + joint / 2, frame.top + row * high + joint / 2
            size = text(wide - joint), text(high - joint)
            marks.append(
                f'<rect x="{text(x)}" y="{text(y)}" width="{size[0]}" height="{size[1]}" rx="{text(joint / 2)}" fill="{shade}"'
                f' stroke="{tones.ink}" stroke-opacity="0.55" stroke-width="{text(max(0.7, joint * 0.4))}"/>'
            )
    return canvas.over("".join(marks) + _details(canvas, 0.38) + _rim(canvas))


def stone(canvas: TextureCanvas) -> IconDrawing:
    """Speckles of three tones, chipped facets and a few cracks."""
    frame, unit, tones = canvas.drawing.frame, canvas.unit, canvas.tones
    marks = []
    area = frame.width * frame.height / unit**2
    for _ in range(round(area * 4.2)):
        x = frame.left + canvas.random.random() * frame.width
        y = frame.top + canvas.random.random() * frame.height
        size = unit * canvas.random.uniform(0.08, 0.2)
        color = canvas.random.choice((tones.ink, tones.dark, tones.light, tones.light, tones.ink))
        corners = [
            (x + size * canvas.random.uniform(0.5, 1.2) * math.cos(turn), y + size * canvas.random.uniform(0.5, 1.2) * math.sin(turn))
            for turn in (0.2, 1.5, 2.7, 3.9, 5.2)
        ]
        marks.append(f'<path d="{polyline(corners)}Z" fill="{color}" opacity="0.8"/>')
    for x, y in canvas.spots(4, unit * 0.6, unit * 4):
        points = [(x, y)]
        turn = canvas.random.uniform(0, 6.3)
        for _ in range(5):
            turn += canvas.random.uniform(-0.9, 0.9)
            points.append((points[-1][0] + unit * 0.75 * math.cos(turn), points[-1][1] + unit * 0.75 * math.sin(turn)))
        marks.append(stroke(polyline(points), tones.line, max(1.1, unit * 0.15), 0.9))
        fork = points[2]
        marks.append(stroke(polyline([fork, (fork[0] + unit * 0.6, fork[1] - unit * 0.5)]), tones.line, max(1, unit * 0.1), 0.9))
    return canvas.over("".join(marks))


def fabric(canvas: TextureCanvas) -> IconDrawing:
    """A basket weave of threads that go over and under each other, with crossing bands of a check."""
    frame, tones = canvas.drawing.frame, canvas.tones
    thread = max(2.6, canvas.unit * 0.42)
    marks = []
    band = thread * 7
    for number in range(math.ceil(frame.width / band)):
        x = frame.left + (number + 0.25) * band
        marks.append(_bar(x, frame.top, band * 0.36, frame.height, tones.dark, 0.5))
    for number in range(math.ceil(frame.height / band)):
        y = frame.top + (number + 0.25) * band
        marks.append(_bar(frame.left, y, frame.width, band * 0.36, tones.dark, 0.5))
    across, upright = [], []
    for row in range(math.ceil(frame.height / thread)):
        for column in range(math.ceil(frame.width / thread)):
            x, y = frame.left + (column + 0.5) * thread, frame.top + (row + 0.5) * thread
            if (row + column) % 2:
                across.append(f"M{text(x - thread * 0.36, y)}H{text(x + thread * 0.36)}")
            else:
                upright.append(f"M{text(x, y - thread * 0.36)}V{text(y + thread * 0.36)}")
    marks.append(stroke("".join(across), tones.light, thread * 0.42, 0.75))
    marks.append(stroke("".join(upright), tones.ink, thread * 0.34, 0.6))
    return canvas.over("".join(marks))


def leather(canvas: TextureCanvas) -> IconDrawing:
    """Pebbled grain, a soft sheen, and a seam of thick light thread along the edge."""
    frame, unit, tones = canvas.drawing.frame, canvas.unit, canvas.tones
    marks = []
    pebble = unit * 0.62
    for row in range(math.ceil(frame.height / pebble) + 1):
        for column in range(math.ceil(frame.width / pebble) + 1):
            x = frame.left + (column + 0.5 * (row % 2) + canvas.random.uniform(-0.22, 0.22)) * pebble
            y = frame.top + (row + canvas.random.uniform(-0.22, 0.22)) * pebble
            rx, ry = pebble * canvas.random.uniform(0.34, 0.5), pebble * canvas.random.uniform(0.3, 0.42)
            start = f"M{text(x - rx, y)}A{text(rx, ry)} 0 0 0 {text(x + rx * 0.8, y + ry * 0.6)}"
            marks.append(start)
    grain = stroke("".join(marks), tones.ink, max(0.8, unit * 0.1), 0.5)
    sheen = _sheen(canvas, 0.42)
    return canvas.over(grain + sheen + _seam(canvas), _sheen_gradient(canvas, 0.42))


def paper(canvas: TextureCanvas) -> IconDrawing:
    """Facets between straight creases, and the ruled lines of a writing pad."""
    frame, unit, tones = canvas.drawing.frame, canvas.unit, canvas.tones
    marks = []
    columns, rows = 4, 4
    grid = [
        [
            (
                frame.left + frame.width * (column + (canvas.random.uniform(-0.36, 0.36) if 0 < column < columns else 0)) / columns,
                frame.top + frame.height * (row + (canvas.random.uniform(-0.36, 0.36) if 0 < row < rows else 0)) / rows,
            )
            for column in range(columns + 1)
        ]
        for row in range(rows + 1)
    ]
    for row in range(rows):
        for column in range(columns):
            a, b, c, d = grid[row][column], grid[row][column + 1], grid[row + 1][column + 1], grid[row + 1][column]
            for corners in ((a, b, c), (a, c, d)) if canvas.random.random() < 0.5 else ((a, b, d), (b, c, d)):
                color, opacity = canvas.random.choice((("#ffffff", 0.5), ("#ffffff", 0.22), (tones.dark, 0.55), (tones.dark, 0.2)))
                marks.append(
                    f'<path d="{polyline(corners)}Z" fill="{color}" fill-opacity="{opacity}" stroke="{tones.ink}"'
                    f' stroke-opacity="0.4" stroke-width="{text(max(0.8, unit * 0.07))}"/>'
                )
    return canvas.over("".join(marks))


# --- pieces of several materials


def _bar(x: float, y: float, width: float, height: float, color: str, opacity: float) -> str:
    return (
        f'<rect x="{text(x)}" y="{text(y)}" width="{text(width)}" height="{text(height)}" fill="{color}"'
        f' opacity="{text(opacity)}"/>'
    )


def _cover(canvas: TextureCanvas, color: str, opacity: float) -> str:
    frame = canvas.drawing.frame
    return _bar(frame.left, frame.top, frame.width, frame.height, color, opacity)


def _details(canvas: TextureCanvas, opacity: float) -> str:
    """The icon once more, see-through: its parts stay visible on a texture that covers them."""
    return f'<g opacity="{opacity}">{canvas.drawing.body}</g>'


def _rim(canvas: TextureCanvas) -> str:
    return ""


def _sheen_gradient(canvas: TextureCanvas, opacity: float) -> str:
    return (
        f'<radialGradient id="{canvas.key}-sheen" cx="0.35" cy="0.28" r="0.45">'
        f'<stop offset="0" stop-color="#ffffff" stop-opacity="{opacity}"/>'
        f'<stop offset="1" stop-color="#ffffff" stop-opacity="0"/></radialGradient>'
    )


def _sheen(canvas: TextureCanvas, opacity: float) -> str:
    return _cover(canvas, f"url(#{canvas.key}-sheen)", 1)


def _seam(canvas: TextureCanvas) -> str:
    unit = canvas.unit
    stitches = []
    for loop in canvas.inset(unit * 0.75, unit * 1.05):
        for point in loop:
            x, y = -point.out_y * unit * 0.36, point.out_x * unit * 0.36
            stitches.append(f"M{text(point.x - x, point.y - y)}L{text(point.x + x, point.y + y)}")
    data = "".join(stitches)
    thread = max(1.6, unit * 0.24)
    return stroke(data, canvas.tones.line, thread * 1.7, 0.85) + stroke(data, "#f6e7c8", thread)
