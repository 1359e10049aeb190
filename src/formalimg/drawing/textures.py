"""Textures drawn inside the outline of a drawing (wood, brick, stone, fabric, leather, paper), and their canvas.

They are painted in the tones of the object's colour, so that this colour predominates. The generator of random marks is
seeded by the material, so that the same drawing always has the same bytes.
"""

from __future__ import annotations

import math
import random
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from formalimg.drawing.icon import Tones, palette
from formalimg.drawing.outline import OutlinePoint, SilhouetteMask, outline_points, silhouette_mask
from formalimg.drawing.svg import IconDrawing


@dataclass(frozen=True)
class TextureCanvas:
    """The canvas of a texture: a drawing, the tones of its colour, an id prefix and a seed."""

    drawing: IconDrawing
    tones: Tones
    key: str
    seed: str

    @cached_property
    def unit(self) -> float:
        """The size in pixels of a brick or stitch: a fraction of the frame, with a visible minimum."""
        return max(3.5, math.sqrt(self.drawing.frame.width * self.drawing.frame.height) / 15)

    @cached_property
    def fine_unit(self) -> float:
        """The unit, reduced for thin objects so that grain and fur fit."""
        return max(2.0, min(self.unit, self.mask.widest_part().radius * 0.36))

    @cached_property
    def random(self) -> random.Random:
        """The random generator for marks."""
        return random.Random(self.seed)

    @cached_property
    def mask(self) -> SilhouetteMask:
        """The mask of the cells inside the silhouette."""
        return silhouette_mask(self.drawing.silhouette, self.drawing.frame)

    @property
    def colored(self) -> bool:
        """Whether the tones belong to a colour rather than to the material."""
        families = (palette().colors, palette().others)
        return any(self.tones == tones for family in families for tones in family.values())

    @property
    def lying(self) -> bool:
        """Whether the frame is wider than it is high, which determines the direction of grain."""
        return self.drawing.frame.width >= self.drawing.frame.height

    def inset(self, pixels: float, step: float) -> list[list[OutlinePoint]]:
        """Return points along the outline, `pixels` inside it, omitting loops shorter than four steps."""
        loops = self.mask.eroded(pixels).loops()
        return [outline_points(loop, step) for loop in loops if len(loop) * self.mask.cell > 4 * step]

    def spots(self, count: int, margin: float, apart: float) -> list[tuple[float, float]]:
        """Return up to `count` points inside the outline, at least `margin` from it and `apart` from each other."""
        inner = self.mask.eroded(margin).centers()
        points: list[tuple[float, float]] = []
        for _ in range(count * 12 if inner else 0):
            x, y = self.random.choice(inner)
            if all(math.hypot(x - a, y - b) > apart for a, b in points):
                points.append((x, y))
                if len(points) == count:
                    break
        return points

    def over(self, markup: str, defs: str = "", below: str | None = None) -> IconDrawing:
        """Return the drawing with `markup` painted over it; `below`, if given, replaces its original markup."""
        name = f"{self.key}-{self.seed}"
        body = self.drawing.body if below is None else below
        clip = self.drawing.clip_path(name)
        return IconDrawing(
            self.drawing.frame,
            f'{body}<g clip-path="url(#{name})">{markup}</g>',
            self.drawing.silhouette,
            f"{self.drawing.defs}{clip}{defs}",
        )

    def cover(self, paint: str, opacity: float = 1.0) -> str:
        """Return a rectangle that covers the whole frame in the given paint."""
        return bar(*self.drawing.frame, paint, opacity)


def text(*numbers: float) -> str:
    """Format numbers as path data."""
    return " ".join(f"{number:.2f}".rstrip("0").rstrip(".") for number in numbers)


def stroke(data: str, color: str, width: float, opacity: float = 1.0) -> str:
    """Return a line along path data."""
    return f'<path d="{data}" fill="none" stroke="{color}" stroke-width="{text(width)}" opacity="{text(opacity)}"/>'


def bar(x: float, y: float, width: float, height: float, color: str, opacity: float = 1.0) -> str:
    """Return a filled rectangle."""
    size = f'width="{text(width)}" height="{text(height)}"'
    return f'<rect x="{text(x)}" y="{text(y)}" {size} fill="{color}" opacity="{text(opacity)}"/>'


def polyline(points: Sequence[tuple[float, float]]) -> str:
    """Return path data through points."""
    return "M" + "L".join(text(x, y) for x, y in points)


def dot(x: float, y: float, radius: float, color: str, more: str = "") -> str:
    """Return a filled circle."""
    return f'<circle cx="{text(x)}" cy="{text(y)}" r="{text(radius)}" fill="{color}"{more}/>'


PALE = frozenset(tones.body for name, tones in palette().colors.items() if name in ("white", "yellow", "pink"))
"""Bodies on which blue and red show better than white."""


_FILL = re.compile(r' fill="#[0-9a-f]{6}"')


def wood(canvas: TextureCanvas) -> IconDrawing:
    """Draw grain along the longer side, bending around knots."""
    frame, unit, tones = canvas.drawing.frame, canvas.fine_unit, canvas.tones
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
            bend = unit * (
                0.12 * math.sin(along / unit / 2.2 + across / unit) + tilt * 0.5 * math.sin(along / unit / 5 + phase)
            )
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
    """Draw rows of bricks in light mortar, with every second row offset by half a brick."""
    frame, tones = canvas.drawing.frame, canvas.tones
    high = max(5.0, canvas.unit * 1.15)
    wide, joint = high * 2.1, max(1.2, high * 0.16)
    marks = [canvas.cover("#e9e2d6", 0.92)]
    for row in range(math.ceil(frame.height / high)):
        left = frame.left - (wide / 2 if row % 2 else 0)
        for column in range(math.ceil(frame.width / wide) + 1):
            shade = canvas.random.choices((tones.body, tones.dark, tones.light), (6, 2, 1))[0]
            x, y = left + column * wide + joint / 2, frame.top + row * high + joint / 2
            size = f'width="{text(wide - joint)}" height="{text(high - joint)}" rx="{text(joint / 2)}"'
            edge = f'stroke="{tones.ink}" stroke-opacity="0.55" stroke-width="{text(max(0.7, joint * 0.4))}"'
            marks.append(f'<rect x="{text(x)}" y="{text(y)}" {size} fill="{shade}" {edge}/>')
    return canvas.over("".join(marks) + icon_lines(canvas.drawing))


def stone(canvas: TextureCanvas) -> IconDrawing:
    """Draw rough interlocking blocks with speckles, lit from above."""
    frame, unit, tones = canvas.drawing.frame, canvas.unit, canvas.tones
    block = unit * 2.3
    marks = [canvas.cover(tones.line, 0.8)]
    corners: dict[tuple[int, int], tuple[float, float]] = {}
    rows, columns = math.ceil(frame.height / block) + 2, math.ceil(frame.width / block) + 2
    for row in range(rows):
        for half in range(2 * columns):  # the corners of bent hexagons, two to a block
            lift = -0.2 if (half + row) % 2 else 0.2
            x = frame.left + (half / 2 - 0.5 + canvas.random.uniform(-0.13, 0.13)) * block
            y = frame.top + (row - 0.6 + lift + canvas.random.uniform(-0.13, 0.13)) * block
            corners[half, row] = x, y
    for row in range(rows - 1):
        for half in range(row % 2, 2 * columns - 2, 2):
            ring = [corners[half + side, row] for side in range(3)] + [
                corners[half + 2 - side, row + 1] for side in range(3)
            ]
            x, y = sum(point[0] for point in ring) / 6, sum(point[1] for point in ring) / 6
            shade = canvas.random.choices((tones.body, tones.dark, tones.light), (5, 2, 2))[0]
            for color, scale, shift in ((tones.dark, 0.84, 0.05), (shade, 0.8, 0), ("#ffffff", 0.5, -0.09)):
                points = [(x + (a - x) * scale, y + (b - y) * scale + shift * block) for a, b in ring]
                opacity = 0.25 if color == "#ffffff" else 1
                marks.append(
                    f'<path d="{polyline(points)}Z" fill="{color}" opacity="{opacity}" stroke="{color}"'
                    f' stroke-width="{text(block * 0.1)}"/>'
                )
    for color, opacity in ((tones.ink, 0.8), ("#ffffff", 0.6)):
        data = ""
        for _ in range(round(frame.width * frame.height / unit**2)):
            x = frame.left + canvas.random.random() * frame.width
            y = frame.top + canvas.random.random() * frame.height
            data += f"M{text(x, y)}l{text(unit * 0.06, unit * 0.04)}"
        marks.append(stroke(data, color, max(0.9, unit * 0.13), opacity))
    return canvas.over("".join(marks) + icon_lines(canvas.drawing))


def fabric(canvas: TextureCanvas) -> IconDrawing:
    """Draw a weave of interlaced threads in a check pattern."""
    frame, tones = canvas.drawing.frame, canvas.tones
    thread = max(3.2, canvas.unit * 0.5)
    marks = []
    band = thread * 6
    for number in range(math.ceil(max(frame.width, frame.height) / band)):
        start = (number + 0.3) * band
        marks.append(bar(frame.left + start, frame.top, band * 0.42, frame.height, tones.dark, 0.6))
        marks.append(bar(frame.left, frame.top + start, frame.width, band * 0.42, tones.dark, 0.6))
    threads: dict[str, list[str]] = {tones.light: [], tones.ink: []}
    for row in range(math.ceil(frame.height / thread)):
        for column in range(math.ceil(frame.width / thread)):
            x, y = frame.left + (column + 0.5) * thread, frame.top + (row + 0.5) * thread
            level = (row + column) % 2
            for side in (-0.24, 0.24):
                across = f"M{text(x - thread * 0.34, y + side * thread)}h{text(thread * 0.68)}"
                upright = f"M{text(x + side * thread, y - thread * 0.34)}v{text(thread * 0.68)}"
                threads[tones.light if level else tones.ink].append(across if level else upright)
    marks += [stroke("".join(data), color, thread * 0.2, 0.7) for color, data in threads.items() if data]
    return canvas.over("".join(marks))


def leather(canvas: TextureCanvas) -> IconDrawing:
    """Draw pebbled grain, a soft sheen, and a seam of thick light thread along the edge."""
    frame, unit, tones = canvas.drawing.frame, canvas.unit, canvas.tones
    pebble = unit * 0.8
    shade, shine = "", ""
    for row in range(math.ceil(frame.height / pebble / 0.8) + 1):
        for column in range(math.ceil(frame.width / pebble) + 1):
            x = frame.left + (column + 0.5 * (row % 2) + canvas.random.uniform(-0.15, 0.15)) * pebble
            y = frame.top + (row * 0.8 + canvas.random.uniform(-0.12, 0.12)) * pebble
            rx, ry = pebble * canvas.random.uniform(0.36, 0.46), pebble * canvas.random.uniform(0.28, 0.38)
            shade += f"M{text(x - rx, y)}A{text(rx, ry)} 0 0 0 {text(x + rx, y)}"
            shine += f"M{text(x - rx * 0.5, y - ry * 0.6)}A{text(rx, ry)} 0 0 1 {text(x + rx * 0.5, y - ry * 0.6)}"
    grain = stroke(shade, tones.ink, max(0.9, unit * 0.14), 0.7) + stroke(shine, tones.light, max(0.8, unit * 0.1), 0.7)
    sheen = (
        f'<radialGradient id="{canvas.key}-sheen" cx="0.35" cy="0.28" r="0.45">'
        '<stop offset="0" stop-color="#ffffff" stop-opacity="0.3"/>'
        '<stop offset="1" stop-color="#ffffff" stop-opacity="0"/></radialGradient>'
    )
    return canvas.over(grain + canvas.cover(f"url(#{canvas.key}-sheen)") + _seam(canvas), sheen)


def paper(canvas: TextureCanvas) -> IconDrawing:
    """Draw a folded sheet of a writing pad: ruled lines with handwriting, a margin and straight creases."""
    frame, unit, tones = canvas.drawing.frame, canvas.unit, canvas.tones
    left, top, right, bottom = frame.left, frame.top, frame.left + frame.width, frame.top + frame.height
    fold = [(left, top + frame.height * 0.62), (right, top + frame.height * 0.4)]
    marks = [
        f'<path d="{polyline([*fold, (right, bottom), (left, bottom)])}Z" fill="{tones.dark}" opacity="0.35"/>',
        stroke(polyline(fold), "#ffffff", max(1.2, unit * 0.18), 0.7),
    ]
    gap = unit * 1.5
    margin = left + frame.width * 0.2
    rules, words = "", ""
    for number in range(math.ceil(frame.height / gap)):
        y = top + (number + 0.8) * gap
        rules += f"M{text(left, y)}H{right}"
        x = margin + unit * 0.5
        while x < right - unit:
            word = unit * canvas.random.uniform(1, 2.4)
            words += f"M{text(x, y - unit * 0.12)}"
            for _ in range(round(word / (unit * 0.42))):
                high = unit * canvas.random.choice((0.5, 0.5, 0.9))
                words += f"q{text(unit * 0.1, -high, unit * 0.21, -high * 0.4)}t{text(unit * 0.21, high * 0.4)}"
            x += word + unit * 0.6
    pale = tones.body in PALE
    marks.append(stroke(rules, "#4a86e0" if pale else "#ffffff", max(1.1, unit * 0.12), 0.85))
    marks.append(stroke(words, tones.ink, max(1.0, unit * 0.14), 0.9))
    marks.append(stroke(f"M{text(margin, top)}V{bottom}", "#e23b3b" if pale else "#ffffff", max(1.2, unit * 0.16), 0.9))
    for loop in canvas.inset(0, unit * 0.45):
        torn = []
        for point in loop:
            depth = unit * canvas.random.uniform(0.1, 0.5)
            torn.append((point.x - point.out_x * depth, point.y - point.out_y * depth))
        marks.append(stroke(polyline(torn) + "Z", tones.ink if pale else tones.line, unit * 0.62, 0.55))
        marks.append(stroke(polyline(torn) + "Z", "#ffffff", unit * 0.48))
    return canvas.over("".join(marks))


def icon_lines(drawing: IconDrawing) -> str:
    """Return the lines of an icon and its faint fills, to be painted over a texture that covers it."""
    lines = _FILL.sub(' fill="none"', drawing.body)
    return f'<g opacity="0.25">{drawing.body}</g><g opacity="0.8">{lines}</g>'


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


def fur(canvas: TextureCanvas) -> IconDrawing:
    """Draw tufts along the outline, shrinking the drawing to make room for them, and hair across its surface."""
    frame, unit, tones = canvas.drawing.frame, canvas.fine_unit, canvas.tones
    long = unit * 1.05
    wide, high = (frame.width - 2 * long) / frame.width, (frame.height - 2 * long) / frame.height
    bound = unit * 0.24
    gaps = [long * times for times in (1.0, 1.6, 2.3)]  # fur that could reach over to another part is short

    def shrunk(x: float, y: float) -> tuple[float, float]:
        return frame.left + long + (x - frame.left) * wide, frame.top + long + (y - frame.top) * high

    def within(x: float, y: float) -> tuple[float, float]:
        return (
            min(max(x, frame.left + bound), frame.left + frame.width - bound),
            min(max(y, frame.top + bound), frame.top + frame.height - bound),
        )

    tufts, locks = [], ""
    for loop in canvas.inset(0, unit * 0.72):
        roots = [shrunk(point.x, point.y) for point in loop]
        data = f"M{text(*roots[0])}"
        for point, (x, y), end in zip(loop, roots, [*roots[1:], roots[0]], strict=True):
            reach = long * canvas.random.uniform(0.8, 1.05)
            if any(canvas.mask.contains(point.x + point.out_x * far, point.y + point.out_y * far) for far in gaps):
                reach *= 0.3
            lean = canvas.random.uniform(0.25, 0.6) * reach * (1 if point.out_x > 0 else -1)
            tip = within(x + point.out_x * reach - point.out_y * lean, y + point.out_y * reach + point.out_x * lean)
            swell = within(x + point.out_x * reach * 0.75, y + point.out_y * reach * 0.75)
            data += f"Q{text(*swell, *tip)}Q{text((tip[0] + end[0]) / 2, (tip[1] + end[1]) / 2, *end)}"
            locks += f"M{text(x - point.out_x * reach * 0.8, y - point.out_y * reach * 0.8)}Q{text(x, y, *tip)}"
        tufts.append(data + "Z")
    pen = max(1.1, unit * 0.1)
    edge = "".join(tufts)  # one path, filled even-odd, so that holes stay open
    rim = f'<path d="{edge}" fill="{tones.body}" fill-rule="evenodd" stroke="{tones.line}" stroke-width="{text(pen)}"/>'
    shrink = (
        f"matrix({wide:.5f} 0 0 {high:.5f} {frame.left * (1 - wide) + long:.3f} {frame.top * (1 - high) + long:.3f})"
    )
    hair = stroke(locks, tones.body, unit * 0.44) + stroke(locks, tones.ink, max(0.7, unit * 0.06), 0.45)
    falling: dict[str, str] = {tones.ink: "", tones.light: "", tones.dark: ""}
    mask, step = canvas.mask.eroded(unit * 0.3), unit * 0.6
    for row in range(math.ceil(frame.height / step)):
        for column in range(math.ceil(frame.width / step)):
            x = frame.left + (column + canvas.random.random()) * step
            y = frame.top + (row + canvas.random.random()) * step
            if mask.contains(x, y):
                lean, length = canvas.random.uniform(-0.35, 0.35) * unit, canvas.random.uniform(0.6, 1.1) * unit
                color = canvas.random.choice(tuple(falling))
                falling[color] += f"M{text(*shrunk(x, y))}q{text(lean, length * 0.4, lean * 0.4, length)}"
    hair += "".join(stroke(data, color, max(1.0, unit * 0.11), 0.75) for color, data in falling.items() if data)
    body = f'{rim}<g transform="{shrink}">{canvas.drawing.body}</g>{hair}'
    return IconDrawing(frame, body, edge, canvas.drawing.defs)
