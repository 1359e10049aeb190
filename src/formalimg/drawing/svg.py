"""SVG markup: drawings of single icons, path data with transformed points, rendering, and the ground of drawings."""

from __future__ import annotations

import io
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from random import Random
from typing import TYPE_CHECKING, NamedTuple

from formalimg.drawing.icon import Icon, PathCommand, PixelFrame, path_commands

if TYPE_CHECKING:
    from PIL.Image import Image

HORIZON = 0.6  # Where the wall meets the floor, as a fraction of the height
_SOFTNESS = 0.03  # Half of the height over which wall and floor blend
_WALL, _FLOOR = ("#eae8e3", "#e6e2da"), ("#d9d0c0", "#cfc4b1")
_FILLED = re.compile(r'<path d="([^"]*)" fill="(?!none)')
_PATH_DATA = re.compile(r'(?<= d=")[^"]*(?=")')
_LONGEST = 5.0  # The longest straight piece in pixels when points are moved, so that lines can bend


@dataclass(frozen=True)
class IconDrawing:
    """The markup of an icon in its frame."""

    frame: PixelFrame  # the pixels that the drawing fills, and that it never leaves
    body: str  # SVG elements, in pixels of the image
    # path data of the filled shapes, one line per shape; each is filled even-odd, their union is the outline of the
    # drawing
    silhouette: str
    defs: str = ""  # gradients, patterns and clips that `body` refers to, under ids that are unique in the image

    def clip_path(self, name: str) -> str:
        """Return a `<clipPath>` with the given id that clips to the silhouette."""
        paths = "".join(f'<path d="{line}" clip-rule="evenodd"/>' for line in self.silhouette.splitlines())
        return f'<clipPath id="{name}">{paths}</clipPath>'


def icon_drawing(icon: Icon, frame: PixelFrame, paints: Mapping[str, str], pen: float) -> IconDrawing:
    """Draw an icon into a frame, with outlines of `pen` pixels."""
    body = icon.svg(frame, paints, pen)
    return IconDrawing(frame, body, "\n".join(_FILLED.findall(body)))


def render_svg(elements: str, width: int, height: int, view: str = "") -> Image:
    """Render SVG elements to an RGBA image; `view` is further attributes of the root, such as a viewBox."""
    import resvg_py
    from PIL import Image

    svg = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}"{view}'
        f' fill-rule="evenodd" stroke-linecap="round" stroke-linejoin="round">{elements}</svg>'
    )
    with Image.open(io.BytesIO(resvg_py.svg_to_bytes(svg_string=svg, skip_system_fonts=True))) as image:
        return image.convert("RGBA")


@lru_cache(maxsize=4)
def ground(size: int) -> Image:
    """Return the empty ground as a square image; it is cached, so copy it before painting on it."""
    return render_on_ground("", size)


def render_on_ground(elements: str, size: int) -> Image:
    """Render SVG elements, in pixel coordinates, on a plain light wall and floor with a soft horizon.

    The tones of the ground differ from those of all colours, so that even a white object stands out from it.
    """
    stops = [(0, _WALL[0]), (HORIZON - _SOFTNESS, _WALL[1]), (HORIZON + _SOFTNESS, _FLOOR[0]), (1, _FLOOR[1])]
    gradient = "".join(f'<stop offset="{offset:.3f}" stop-color="{tone}"/>' for offset, tone in stops)
    ground_elements = (
        f'<defs><linearGradient id="ground" x1="0" y1="0" x2="0" y2="1">{gradient}</linearGradient></defs>'
        f'<rect width="{size}" height="{size}" fill="url(#ground)"/>'
    )
    return render_svg(ground_elements + elements, size, size).convert("RGB")


# --- path data


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


def curve_through(points: Sequence[Point]) -> str:
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
    return curve_through(points)


def move_paths(markup: str, move: Callable[[float, float], Point]) -> str:
    """Apply `move` to every point of every path in SVG markup, converting curves to short straight lines."""
    return _PATH_DATA.sub(lambda match: move_path(match.group(), move), markup)


def move_path(data: str, move: Callable[[float, float], Point]) -> str:
    """Apply `move` to every point of path data."""
    parts = []
    for line in polylines(path_commands(data)):
        points = line.dense(_LONGEST).points
        parts.append(polyline([move(x, y) for x, y in points]) + ("Z" if line.closed else ""))
    return "".join(parts)


Point = tuple[float, float]

_CURVE_STEPS = 12  # Points on a curve; with the outline's width, no corner shows


class Polyline(NamedTuple):
    """The points of a line, which may be closed."""

    points: tuple[Point, ...]
    closed: bool

    def dense(self, longest: float) -> Polyline:
        """Subdivide the line so that consecutive points are at most `longest` apart and straight parts can bend."""
        ends = [*self.points[1:], self.points[0]] if self.closed else self.points[1:]
        points = [self.points[0]]
        for (x0, y0), (x1, y1) in zip(self.points, ends, strict=False):
            steps = max(1, math.ceil(math.hypot(x1 - x0, y1 - y0) / longest))
            points += [(x0 + (x1 - x0) * step / steps, y0 + (y1 - y0) * step / steps) for step in range(1, steps + 1)]
        return Polyline(tuple(points[:-1] if self.closed else points), self.closed)

    def commands(self) -> Iterator[PathCommand]:
        """Yield the line as path commands."""
        yield PathCommand("M", self.points[0])
        for point in self.points[1:]:
            yield PathCommand("L", point)
        if self.closed:
            yield PathCommand("Z", ())


def polylines(commands: Iterable[PathCommand]) -> list[Polyline]:
    """Flatten a path of an icon by converting curves and arcs to points."""
    lines: list[Polyline] = []
    points: list[Point] = []
    control: Point | None = None

    def finish(closed: bool) -> None:
        if len(points) > 1:
            lines.append(Polyline(tuple(points), closed))

    position = start = (0.0, 0.0)
    for command, numbers in commands:
        kind = command.upper()
        base = (0.0, 0.0) if command.isupper() else position
        pairs = [(x + base[0], y + base[1]) for x, y in zip(numbers[::2], numbers[1::2], strict=False)]
        if kind == "M":
            finish(closed=False)
            position = start = pairs[0]
            points, control = [position], None
            continue
        if kind == "Z":
            finish(closed=True)
            position, points, control = start, [start], None
            continue
        if not points:
            points = [position]
        onward: list[Point]
        next_control: Point | None = None
        if kind == "H":
            onward = [(numbers[0] + base[0], position[1])]
        elif kind == "V":
            onward = [(position[0], numbers[0] + base[1])]
        elif kind == "A":
            end = (numbers[5] + base[0], numbers[6] + base[1])
            onward = list(_arc(position, numbers[0], numbers[1], bool(numbers[3]), bool(numbers[4]), end))
        elif kind == "L":
            onward = pairs
        else:
            if kind in "ST":  # the first control point mirrors the last of the curve before
                pairs = [(2 * position[0] - control[0], 2 * position[1] - control[1]) if control else position, *pairs]
            onward, next_control = list(_bezier([position, *pairs])), pairs[-2]
        points += onward
        position, control = onward[-1], next_control
    finish(closed=False)
    return lines


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
