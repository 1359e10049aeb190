"""Icons bent into a shape: a house as a heart, a round table, a triangular clock.

The shape is painted solid, in the light tone of the object's colour with a thick outline, and the icon is bent to fill
it: first its rows are widened towards a rectangle, then the rectangle is mapped onto the shape. Both the object and its
shape therefore remain recognizable. The result is an icon like any other.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from formalimg.drawing.icon import Icon, IconShape, read_icon
from formalimg.drawing.svg import Point, Polyline, polylines
from formalimg.errors import FormalimgError

if TYPE_CHECKING:
    pass

SHAPES = {
    "circle": "circle",
    "round": "circle",
    "heart": "heart",
    "square": "square",
    "rectangle": "rectangle",
    "rectangular": "rectangle",
    "triangle": "triangle",
    "triangular": "triangle",
    "oval": "oval",
    "cylindrical": "cylinder",
    "cylinder": "cylinder",
}
"""The words for shapes (of concepts and of Natural), and the outline that shows each."""

_EDGE = 0.06  # The free margin between the outline of a shape and the icon in it, as a part of the shape's size
_RIM = 0.03  # The outline of a shape, as a part of its size: a ring inside it, as a thicker pen would leave the frame
_LONGEST = 0.03  # Straight lines are cut into pieces of this part of the icon before they are bent
_WIDENING = 0.75  # How far the rows of an icon are widened towards a rectangle: fully, and a handle would become a wall
_NARROWEST_ROW = 0.7
"""Narrower rows are widened as much as one of this part of the icon's width: more, and a stem would become a beam."""
_MOST_STRETCH = 1.8
"""An icon whose aspect ratio differs by more than this from its shape's keeps a free margin on two sides."""


class ShapeOutline(NamedTuple):
    """A shape: its size, its painted parts, and the mapping of the unit square to it."""

    width: float
    height: float
    parts: tuple[IconShape, ...]
    bend: Callable[[float, float], Point]
    anchored: bool = False


def apply(icon: Icon, shape: str) -> Icon:
    """Return the icon bent into a shape, with the aspect ratio of the shape.

    Rectangles and ovals stand upright if the icon does.
    """
    if shape not in SHAPES:
        raise FormalimgError(f"there is no drawing of the shape {shape!r}: use one of {', '.join(SHAPES)}")
    outline = _outline(SHAPES[shape], icon.aspect < 1)
    widen = _row_widening(icon)
    stretch = outline.width / outline.height / icon.aspect
    across, down = min(1.0, _MOST_STRETCH / stretch), min(1.0, _MOST_STRETCH * stretch)

    def place(x: float, y: float) -> Point:
        u, v = widen(x / icon.width, y / icon.height)
        # A triangle has its room at the bottom.
        return outline.bend(
            0.5 + (u - 0.5) * across, (1 - (1 - v) * down) if outline.anchored else 0.5 + (v - 0.5) * down
        )

    bent = []
    for part in icon.shapes:
        lines = [line.dense(_LONGEST * max(icon.width, icon.height)) for line in polylines(part.commands)]
        moved = [Polyline(tuple(place(x, y) for x, y in line.points), line.closed) for line in lines]
        bent.append(part._replace(commands=tuple(command for line in moved for command in line.commands())))
    rims = [_rim(part) for part in outline.parts if part.line]
    return Icon(icon.label, outline.width, outline.height, icon.other, (*outline.parts, *bent, *rims))


def _rim(part: IconShape) -> IconShape:
    (ring,) = polylines(part.commands)
    points = ring.dense(1).points
    x, y = (sum(values) / len(points) for values in zip(*points, strict=True))
    inner = Polyline(tuple((x + (a - x) * (1 - _RIM), y + (b - y) * (1 - _RIM)) for a, b in ring.points), closed=True)
    return IconShape((*part.commands, *inner.commands()), "line", "line", 1, ())


def _row_widening(icon: Icon) -> Callable[[float, float], Point]:
    """Return a mapping of the unit square that widens each row of the icon's convex hull towards the full width."""
    points = {
        (x / icon.width, y / icon.height)
        for part in icon.shapes
        if part.fill
        for line in polylines(part.commands)
        for x, y in line.points
    }
    start_side, end_side = _hull_side(points, -1), _hull_side(points, 1)

    def place(x: float, y: float) -> Point:
        start, end = _at(start_side, y) * _WIDENING, 1 - (1 - _at(end_side, y)) * _WIDENING
        if end - start < _NARROWEST_ROW:
            middle = min(max((start + end) / 2, _NARROWEST_ROW / 2), 1 - _NARROWEST_ROW / 2)
            start, end = middle - _NARROWEST_ROW / 2, middle + _NARROWEST_ROW / 2
        return min(max((x - start) / (end - start), 0), 1), min(max(y, 0), 1)

    return place


def _hull_side(points: set[Point], side: int) -> list[Point]:
    """Return the left (-1) or right (1) side of the convex hull, from top to bottom."""
    hull: list[Point] = []
    for x, y in sorted(points, key=lambda point: (point[1], -side * point[0])):
        while len(hull) > 1:
            (x0, y0), (x1, y1) = hull[-2:]
            if side * ((x1 - x0) * (y - y0) - (x - x0) * (y1 - y0)) > 0:
                break
            hull.pop()
        hull.append((x, y))
    return hull


def _at(side: Sequence[Point], y: float) -> float:
    for (x0, y0), (x1, y1) in pairwise(side):
        if y0 <= y <= y1:
            return x0 + (x1 - x0) * (y - y0) / (y1 - y0) if y1 > y0 else x0
    return side[0][0] if y < side[0][1] else side[-1][0]


# --- the shapes


@cache
def _outline(shape: str, upright: bool) -> ShapeOutline:
    long, short = (66, 100) if upright else (100, 66)
    match shape:
        case "circle":
            return _ellipse(100, 100)
        case "oval":
            return _ellipse(long, short)
        case "square":
            return _rectangle(100, 100)
        case "rectangle":
            return _rectangle(long, short)
        case "triangle":
            return _triangle(100, 92)
        case "heart":
            return _heart()
        case _:
            return _cylinder(80, 100)


def _parts(width: float, height: float, *elements: str) -> tuple[IconShape, ...]:
    head = f'<svg viewBox="0 0 {width} {height}" data-other="teal" stroke="{{line}}">'
    return read_icon("shape", f"{head}{''.join(elements)}</svg>").shapes


def _rectangle(width: float, height: float) -> ShapeOutline:
    def bend(u: float, v: float) -> Point:
        return width * (_EDGE + (1 - 2 * _EDGE) * u), height * (_EDGE + (1 - 2 * _EDGE) * v)

    return ShapeOutline(
        width, height, _parts(width, height, f'<rect width="{width}" height="{height}" fill="{{light}}"/>'), bend
    )


def _ellipse(width: float, height: float) -> ShapeOutline:
    def bend(u: float, v: float) -> Point:
        x, y = 2 * u - 1, 2 * v - 1
        across, down = x * math.sqrt(1 - y * y / 2), y * math.sqrt(1 - x * x / 2)
        return width / 2 * (1 + across * (1 - 2 * _EDGE)), height / 2 * (1 + down * (1 - 2 * _EDGE))

    x, y = width / 2, height / 2
    ellipse = f'<ellipse cx="{x}" cy="{y}" rx="{x}" ry="{y}" fill="{{light}}"/>'
    return ShapeOutline(width, height, _parts(width, height, ellipse), bend)


def _triangle(width: float, height: float) -> ShapeOutline:
    top, bottom = 0.3, 1 - _EDGE

    def bend(u: float, v: float) -> Point:
        down = top + (bottom - top) * v
        return width / 2 + (2 * u - 1) * (down * width / 2 - width * _EDGE), down * height

    path = f'<path d="M{width / 2} 0L{width} {height}H0Z" fill="{{light}}"/>'
    return ShapeOutline(width, height, _parts(width, height, path), bend, anchored=True)


def _heart() -> ShapeOutline:
    half = "C20 70 0 50 0 27C0 10 12 0 26 0C37 0 46 6 50 16"
    path = f'<path d="M50 92{half}C54 6 63 0 74 0C88 0 100 10 100 27C100 50 80 70 50 92Z" fill="{{light}}"/>'
    parts = _parts(100, 92, path)
    ring = polylines(parts[0].commands)[0].dense(0.5).points
    widths = [max(abs(x - 50) for x, y in ring if abs(y - row) <= 0.6) for row in range(93)]
    # Between the notch and the point, where rows have no gap and are wide enough for what is to be seen there.
    top, bottom = 15, 76

    def bend(u: float, v: float) -> Point:
        y = top + (bottom - top) * v
        row = min(int(y), 91)
        wide = widths[row] + (widths[row + 1] - widths[row]) * (y - row) - 6
        # A little higher in the lobes, at the sides, than below the notch.
        return 50 + (2 * u - 1) * wide, y - 7 * (1 - v) * math.sin(math.pi * abs(2 * u - 1)) + 2

    return ShapeOutline(100, 92, parts, bend)


def _cylinder(width: float, height: float) -> ShapeOutline:
    depth = height / 10

    def bend(u: float, v: float) -> Point:
        across = math.sin((2 * u - 1) * math.pi / 2 * 0.85)
        lower = depth * (math.sqrt(max(0.0, 1 - across * across)) - 0.5)  # the front of a cylinder hangs lower
        return width / 2 * (1 + across * 0.9), 2 * depth + 4 + (height - 3.2 * depth - 6) * v + lower

    ends = f"A{width / 2} {depth} 0 0 0 {width} {height - depth}"
    side = f'<path d="M0 {depth}V{height - depth}{ends}V{depth}Z" fill="{{body}}"/>'
    shade = "".join(
        f'<path d="M{x} {depth}V{height - depth * 0.9}H{x + wide}V{depth}Z" fill="{{{tone}}}" stroke="none"/>'
        for x, wide, tone in ((width * 0.04, width * 0.07, "light"), (width * 0.86, width * 0.13, "dark"))
    )
    lid = f'<ellipse cx="{width / 2}" cy="{depth}" rx="{width / 2}" ry="{depth}" fill="{{light}}"/>'
    return ShapeOutline(width, height, _parts(width, height, side, shade, lid), bend)


# --- the sheet
