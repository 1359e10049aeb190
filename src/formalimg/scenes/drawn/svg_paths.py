"""Path data: numbers as text, closed curves, and paths whose points are moved."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Sequence
from random import Random

from formalimg.scenes.icon import PathCommand, PixelFrame, path_commands

Point = tuple[float, float]
"""A point of the image, in pixels."""

_PATH_DATA = re.compile(r'(?<= d=")[^"]*(?=")')
_STEPS = 12
"""The straight pieces that stand for one curve or long line when its points are moved."""


def number_text(*numbers: float) -> str:
    """Return numbers as SVG text, to a hundredth of a pixel."""
    return " ".join(f"{number:.2f}".rstrip("0").rstrip(".") for number in numbers)


def path_element(data: str, fill: str | None = None, line: str | None = None, width: float = 0.0) -> str:
    """Return a path in these paints; without a fill it is only a line."""
    stroke = f' stroke="{line}" stroke-width="{number_text(width)}"' if line else ""
    return f'<path d="{data}" fill="{fill or "none"}"{stroke}/>'


def polyline(points: Sequence[Point]) -> str:
    """Return path data of straight lines."""
    return "M" + "L".join(number_text(*point) for point in points)


def closed_curve(points: Sequence[Point]) -> str:
    """Return path data of a smooth closed curve through the points."""
    count = len(points)
    steps = [f"M{number_text(*points[0])}"]
    for at in range(count):
        before, start, end, after = (points[(at + offset) % count] for offset in (-1, 0, 1, 2))
        first = (start[0] + (end[0] - before[0]) / 6, start[1] + (end[1] - before[1]) / 6)
        second = (end[0] - (after[0] - start[0]) / 6, end[1] - (after[1] - start[1]) / 6)
        steps.append(f"C{number_text(*first, *second, *end)}")
    return "".join(steps) + "Z"


def puddle_curve(frame: PixelFrame, height: float, pen: float, random: Random) -> str:
    """Return path data of a puddle that fills the frame's width at its bottom, drawn by a pen of this width."""
    across, down = (frame.width - pen) / 2, (height - pen) / 2
    x, y = frame.left + frame.width / 2, frame.top + frame.height - height / 2
    points = []
    for number in range(16):
        angle = number * math.pi / 8
        # The four ends touch the sides; between them the edge wobbles.
        reach = 1.0 if number % 4 == 0 else random.uniform(0.84, 0.95)
        points.append((x + across * reach * math.cos(angle), y + down * reach * math.sin(angle)))
    return closed_curve(points)


def moved_paths(markup: str, move: Callable[[float, float], Point]) -> str:
    """Return SVG markup in which every point of every path is moved; curves become short straight lines."""
    return _PATH_DATA.sub(lambda found: moved_path(found.group(), move), markup)


def moved_path(data: str, move: Callable[[float, float], Point]) -> str:
    """Return path data with every point moved."""
    return "".join(
        polyline([move(x, y) for x, y in points]) + ("Z" if closed else "") for points, closed in flattened(data)
    )


def flattened(data: str) -> Iterator[tuple[list[Point], bool]]:
    """Yield the parts of a path as points close to each other, and whether the part is closed."""
    points: list[Point] = []
    control: Point | None = None
    for command, numbers in path_commands(data):
        kind = command.upper()
        if kind == "M":
            if len(points) > 1:
                yield points, False
            origin = points[-1] if points and command == "m" else (0.0, 0.0)
            points = [(origin[0] + numbers[0], origin[1] + numbers[1])]
            continue
        if kind == "Z":
            yield [*points, *_line(points[-1], points[0])], True
            points = points[:1]
            continue
        points_of_step, control = _step(points[-1], PathCommand(command, numbers), control)
        points.extend(points_of_step)
    if len(points) > 1:
        yield points, False


def _step(here: Point, step: PathCommand, control: Point | None) -> tuple[list[Point], Point | None]:
    """Return the points of one command from here, and the control point that a smooth command after it mirrors."""
    kind, numbers = step.command.upper(), step.numbers
    dx, dy = (0.0, 0.0) if step.command.isupper() else here
    if kind == "H":
        return _line(here, (numbers[0] + dx, here[1])), None
    if kind == "V":
        return _line(here, (here[0], numbers[0] + dy)), None
    if kind == "A":
        end = (numbers[5] + dx, numbers[6] + dy)
        return _arc(here, numbers[0], numbers[1], bool(numbers[3]), bool(numbers[4]), end), None
    ends = [(x + dx, y + dy) for x, y in zip(numbers[::2], numbers[1::2], strict=True)]
    if kind == "L":
        return _line(here, ends[0]), None
    if kind in "ST":
        ends.insert(0, here if control is None else (2 * here[0] - control[0], 2 * here[1] - control[1]))
    return _bezier([here, *ends]), ends[-2]


def _line(start: Point, end: Point) -> list[Point]:
    return _bezier([start, end])


def _bezier(controls: Sequence[Point]) -> list[Point]:
    """Return points on the curve, without its start."""
    degree = len(controls) - 1
    found = []
    for step in range(1, _STEPS + 1):
        t = step / _STEPS
        weights = [math.comb(degree, k) * t**k * (1 - t) ** (degree - k) for k in range(degree + 1)]
        x = sum(weight * point[0] for weight, point in zip(weights, controls, strict=True))
        y = sum(weight * point[1] for weight, point in zip(weights, controls, strict=True))
        found.append((x, y))
    return found


def _arc(start: Point, rx: float, ry: float, large: bool, sweep: bool, end: Point) -> list[Point]:
    """Return points on an arc of an upright ellipse, without its start."""
    if not rx or not ry or start == end:
        return [end]
    # In units of the radii the ellipse is a circle of radius 1, which grows if the ends are too far apart for it.
    half_x, half_y = (start[0] - end[0]) / (2 * rx), (start[1] - end[1]) / (2 * ry)
    half = math.hypot(half_x, half_y)
    radius = max(1.0, half)
    rise = math.sqrt(max(0.0, radius**2 - half**2)) / half * (1 if large == sweep else -1)
    x = (start[0] + end[0]) / (2 * rx) - half_y * rise
    y = (start[1] + end[1]) / (2 * ry) + half_x * rise
    first = math.atan2(start[1] / ry - y, start[0] / rx - x)
    turn = math.atan2(end[1] / ry - y, end[0] / rx - x) - first
    turn = turn % (2 * math.pi) if sweep else turn % (2 * math.pi) - 2 * math.pi
    steps = math.ceil(abs(turn) / math.pi * 2 * _STEPS)
    angles = [first + turn * step / steps for step in range(1, steps + 1)]
    return [(rx * (x + radius * math.cos(angle)), ry * (y + radius * math.sin(angle))) for angle in angles]
