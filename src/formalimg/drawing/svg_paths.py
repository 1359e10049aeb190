"""SVG path data: number formatting, closed curves, and paths with transformed points."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from random import Random

from formalimg.drawing.icon import PixelFrame, path_commands
from formalimg.drawing.polylines import Point, polylines

_PATH_DATA = re.compile(r'(?<= d=")[^"]*(?=")')
_LONGEST = 5.0  # The longest straight piece in pixels when points are moved, so that lines can bend


def number_text(*numbers: float) -> str:
    """Format numbers as SVG text, rounded to a hundredth of a pixel."""
    return " ".join(f"{number:.2f}".rstrip("0").rstrip(".") for number in numbers)


def path_element(data: str, fill: str | None = None, line: str | None = None, width: float = 0.0) -> str:
    """Return a path element with the given paints, unfilled by default."""
    stroke = f' stroke="{line}" stroke-width="{number_text(width)}"' if line else ""
    return f'<path d="{data}" fill="{fill or "none"}"{stroke}/>'


def polyline(points: Sequence[Point]) -> str:
    """Return path data of straight lines through the points."""
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
    """Return path data of a puddle across the bottom of the frame, leaving room for a pen of the given width."""
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
    """Apply `move` to every point of every path in SVG markup, converting curves to short straight lines."""
    return _PATH_DATA.sub(lambda found: moved_path(found.group(), move), markup)


def moved_path(data: str, move: Callable[[float, float], Point]) -> str:
    """Apply `move` to every point of path data."""
    parts = []
    for line in polylines(path_commands(data)):
        points = line.dense(_LONGEST).points
        parts.append(polyline([move(x, y) for x, y in points]) + ("Z" if line.closed else ""))
    return "".join(parts)
