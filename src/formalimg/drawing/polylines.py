"""The shapes of an icon as polylines, which can be bent."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from formalimg.drawing.icon import PathCommand

Point = tuple[float, float]

_CURVE_STEPS = 12  # Points on a curve; with the outline's width, no corner shows


class Polyline(NamedTuple):
    """The points of a line, which may be closed."""

    points: tuple[Point, ...]
    closed: bool

    def dense(self, longest: float) -> Polyline:
        """Subdivide the line so that consecutive points are at most `longest` apart and straight parts can bend."""
        ends = [*self.points[1:], self.points[0]] if self.closed else self.points[1:]
        found = [self.points[0]]
        for (x0, y0), (x1, y1) in zip(self.points, ends, strict=False):
            steps = max(1, math.ceil(math.hypot(x1 - x0, y1 - y0) / longest))
            found += [(x0 + (x1 - x0) * step / steps, y0 + (y1 - y0) * step / steps) for step in range(1, steps + 1)]
        return Polyline(tuple(found[:-1] if self.closed else found), self.closed)

    def commands(self) -> Iterator[PathCommand]:
        """Yield the line as path commands."""
        yield PathCommand("M", self.points[0])
        for point in self.points[1:]:
            yield PathCommand("L", point)
        if self.closed:
            yield PathCommand("Z", ())


def polylines(commands: Iterable[PathCommand]) -> list[Polyline]:
    """Flatten a path of an icon by converting curves and arcs to points."""
    found: list[Polyline] = []
    points: list[Point] = []
    control: Point | None = None

    def finish(closed: bool) -> None:
        if len(points) > 1:
            found.append(Polyline(tuple(points), closed))

    here = start = (0.0, 0.0)
    for command, numbers in commands:
        kind = command.upper()
        base = (0.0, 0.0) if command.isupper() else here
        pairs = [(x + base[0], y + base[1]) for x, y in zip(numbers[::2], numbers[1::2], strict=False)]
        if kind == "M":
            finish(closed=False)
            here = start = pairs[0]
            points, control = [here], None
            continue
        if kind == "Z":
            finish(closed=True)
            here, points, control = start, [start], None
            continue
        if not points:
            points = [here]
        onward: list[Point]
        next_control: Point | None = None
        if kind == "H":
            onward = [(numbers[0] + base[0], here[1])]
        elif kind == "V":
            onward = [(here[0], numbers[0] + base[1])]
        elif kind == "A":
            end = (numbers[5] + base[0], numbers[6] + base[1])
            onward = list(_arc(here, numbers[0], numbers[1], bool(numbers[3]), bool(numbers[4]), end))
        elif kind == "L":
            onward = pairs
        else:
            if kind in "ST":  # the first control point mirrors the last of the curve before
                pairs = [(2 * here[0] - control[0], 2 * here[1] - control[1]) if control else here, *pairs]
            onward, next_control = list(_bezier([here, *pairs])), pairs[-2]
        points += onward
        here, control = onward[-1], next_control
    finish(closed=False)
    return found


def _bezier(points: Sequence[Point]) -> Iterator[Point]:
    for step in range(1, _CURVE_STEPS + 1):
        part = step / _CURVE_STEPS
        row = list(points)
        while len(row) > 1:
            row = [(x0 + (x1 - x0) * part, y0 + (y1 - y0) * part) for (x0, y0), (x1, y1) in pairwise(row)]
        yield row[0]


def _arc(start: Point, rx: float, ry: float, large: bool, sweep: bool, end: Point) -> Iterator[Point]:
    """Yield points on an arc of an unrotated ellipse, following the SVG implementation notes."""
    half_x, half_y = (start[0] - end[0]) / 2, (start[1] - end[1]) / 2
    if not rx or not ry or (half_x, half_y) == (0, 0):
        yield end
        return
    excess = math.sqrt((half_x / rx) ** 2 + (half_y / ry) ** 2)
    rx, ry = rx * max(1, excess), ry * max(1, excess)
    below = (rx * half_y) ** 2 + (ry * half_x) ** 2
    factor = math.sqrt(max(0.0, ((rx * ry) ** 2 - below) / below)) * (-1 if large == sweep else 1)
    x = factor * rx * half_y / ry + (start[0] + end[0]) / 2
    y = -factor * ry * half_x / rx + (start[1] + end[1]) / 2
    first = math.atan2((start[1] - y) / ry, (start[0] - x) / rx)
    turn = math.atan2((end[1] - y) / ry, (end[0] - x) / rx) - first
    if sweep and turn < 0:
        turn += 2 * math.pi
    elif not sweep and turn > 0:
        turn -= 2 * math.pi
    steps = max(2, math.ceil(abs(turn) / math.pi * 2 * _CURVE_STEPS))
    for step in range(1, steps):
        angle = first + turn * step / steps
        yield x + rx * math.cos(angle), y + ry * math.sin(angle)
    yield end
