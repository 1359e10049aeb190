"""Icons: one SVG drawing per class, fitted to a box by moving its points and painted in the tones of `palette.toml`.

Fitting moves points without scaling the pen, so that outlines are equally thin however far an icon is stretched. To
keep that simple, the files use a small part of SVG: `path` (without rotated arcs), `rect`, `circle`, `ellipse`, no
transforms, and paints that name a role of the palette (`fill="{body}"`). A `stroke-width` is a multiple of the
outline's. The viewBox has the natural aspect ratio of the class, and the icon touches all four of its sides.
"""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import NamedTuple
from xml.etree import ElementTree

from formalimg.errors import FormalimgError


class Tones(NamedTuple):
    """The shades of one colour, as `#rrggbb`."""

    body: str
    dark: str
    light: str
    line: str
    ink: str


@dataclass(frozen=True)
class Palette:
    """The background, and the tones of each colour, of uncoloured objects and of parts with a fixed colour."""

    background: str
    colors: Mapping[str, Tones]
    others: Mapping[str, Tones]
    accents: Mapping[str, str]

    @property
    def roles(self) -> frozenset[str]:
        """The paint roles that an icon can use."""
        return frozenset([*Tones._fields, *self.accents])

    def paints(self, color: str | None, other: str) -> dict[str, str]:
        """Return the paint of each role for a colour, or for the tint `other` without one."""
        return {**self.accents, **self.colors.get(color or "", self.others[other])._asdict()}


@cache
def palette() -> Palette:
    """Load the palette of all icons."""
    folder = files("formalimg.drawing")
    table = tomllib.loads((folder / "palette.toml").read_text(encoding="utf-8"))
    accents = table["accents"] | tomllib.loads((folder / "accents.toml").read_text(encoding="utf-8"))
    return Palette(
        table["background"],
        {name: Tones(**tones) for name, tones in table["colors"].items()},
        {name: Tones(**tones) for name, tones in table["others"].items()},
        accents,
    )


_SVG = "{http://www.w3.org/2000/svg}"
_COMMAND = re.compile(r"([A-Za-z])([^A-Za-z]*)")
_NUMBER = re.compile(r"-?(?:\d+\.?\d*|\.\d+)")
_NUMBERS_PER_COMMAND = {"M": 2, "L": 2, "H": 1, "V": 1, "C": 6, "S": 4, "Q": 4, "T": 2, "A": 7, "Z": 0}

MIN_LINE_WIDTH = 1.1  # in pixels: a line of a pixel or less is a hairline, which bleeds into the next pixel
MIN_ROTATION_GAIN = 0.5  # in the logarithm: how much closer rotation brings the aspect ratio to that of the box


class PathCommand(NamedTuple):
    """A command of an SVG path with its numbers."""

    command: str
    numbers: tuple[float, ...]


class IconShape(NamedTuple):
    """A shape of an icon with its paint roles; line widths are multiples of the outline width."""

    commands: tuple[PathCommand, ...]
    fill: str | None
    line: str | None
    width: float
    dashes: tuple[float, ...]


class PixelFrame(NamedTuple):
    """The frame of an icon, in whole pixels."""

    left: int
    top: int
    width: int
    height: int


@dataclass(frozen=True)
class Icon:
    """The icon of a class in its natural aspect ratio, with `other` as its tint when uncoloured."""

    label: str
    width: float
    height: float
    other: str
    shapes: tuple[IconShape, ...]

    @property
    def aspect(self) -> float:
        """The natural ratio of width to height."""
        return self.width / self.height

    def svg(self, frame: PixelFrame, paints: Mapping[str, str], pen: float) -> str:
        """Return SVG elements that fill the frame exactly, with outlines of `pen` pixels or the minimum width."""
        pen = max(pen, MIN_LINE_WIDTH)
        return "".join(_element(shape, self._fit(frame, pen), paints, pen) for shape in self.shapes)

    def _fit(self, frame: PixelFrame, pen: float) -> _IconTransform:
        # The outline is half outside the points, so these stay half a pen inside the frame.
        left, top, width, height = frame.left + pen / 2, frame.top + pen / 2, frame.width - pen, frame.height - pen
        shape = frame.width / frame.height
        gain = abs(math.log(shape / self.aspect)) - abs(math.log(shape * self.aspect))
        if gain > MIN_ROTATION_GAIN:
            return _IconTransform(True, width / self.height, height / self.width, left + width, top)
        return _IconTransform(False, width / self.width, height / self.height, left, top)


class _IconTransform(NamedTuple):
    """A transform that scales the points of an icon and, if `rotated`, turns it clockwise by a quarter."""

    rotated: bool
    across: float
    down: float
    left: float
    top: float

    def transform(self, step: PathCommand) -> str:
        command, numbers = step
        kind, absolute = command.upper(), command.isupper()
        if kind in "HV":
            x, y = self.point(numbers[0] if kind == "H" else 0, numbers[0] if kind == "V" else 0, absolute)
            upright = (kind == "V") != self.rotated
            name = "V" if upright else "H"
            return f"{name if absolute else name.lower()}{_text(y if upright else x)}"
        if kind == "A":
            rx, ry, _, large, sweep, *end = numbers
            radii = (ry * self.across, rx * self.down) if self.rotated else (rx * self.across, ry * self.down)
            return f"{command}{_text(*radii, 0, large, sweep, *self.point(end[0], end[1], absolute))}"
        points = [self.point(x, y, absolute) for x, y in zip(numbers[::2], numbers[1::2], strict=True)]
        return f"{command}{_text(*(number for point in points for number in point))}"

    def point(self, x: float, y: float, absolute: bool) -> tuple[float, float]:
        """Transform a point, without translation if it is relative."""
        moved = (-y * self.across, x * self.down) if self.rotated else (x * self.across, y * self.down)
        return (moved[0] + self.left, moved[1] + self.top) if absolute else moved


def _text(*numbers: float) -> str:
    return " ".join(f"{number:.3f}".rstrip("0").rstrip(".") for number in numbers)


def _element(shape: IconShape, fit: _IconTransform, paints: Mapping[str, str], pen: float) -> str:
    line = ""
    if shape.line:
        line = f' stroke="{paints[shape.line]}" stroke-width="{_text(max(shape.width * pen, MIN_LINE_WIDTH))}"'
        if shape.dashes:
            line += f' stroke-dasharray="{_text(*(dash * pen for dash in shape.dashes))}"'
    path = "".join(map(fit.transform, shape.commands))
    return f'<path d="{path}" fill="{paints[shape.fill] if shape.fill else "none"}"{line}/>'


# --- reading the files


@cache
def icons() -> Mapping[str, Icon]:
    """Load all icons, keyed by class."""
    entries = sorted((files("formalimg.drawing") / "flat_icons").iterdir(), key=lambda entry: entry.name)
    return {
        entry.name[:-4]: read_icon(entry.name[:-4], entry.read_text("utf-8"))
        for entry in entries
        if entry.name.endswith(".svg")
    }


def read_icon(label: str, text: str) -> Icon:
    """Parse an icon from the text of an SVG file."""
    try:
        root = ElementTree.fromstring(text)
        left, top, width, height = map(float, root.get("viewBox", "").split())
        if (left, top) != (0, 0) or width <= 0 or height <= 0:
            raise ValueError("its viewBox must start at 0 0 and have a size")
        other = root.get("data-other", "")
        if other not in palette().others:
            raise ValueError(f"its data-other must be one of {', '.join(palette().others)}")
        shapes = tuple(
            IconShape(
                tuple(_path_commands(element)),
                _role(element, root, "fill"),
                _role(element, root, "stroke"),
                float(element.get("stroke-width", "1")),
                tuple(map(float, element.get("stroke-dasharray", "").split())),
            )
            for element in root
        )
        if not shapes:
            raise ValueError("it is empty")
    except (ElementTree.ParseError, ValueError) as error:
        raise FormalimgError(f"the drawing {label}.svg cannot be read: {error}") from error
    return Icon(label, width, height, other, shapes)


def _role(element: ElementTree.Element, root: ElementTree.Element, name: str) -> str | None:
    paint = element.get(name, root.get(name, "none"))
    if paint == "none":
        return None
    if not (paint[:1] == "{" and paint[-1:] == "}" and paint[1:-1] in palette().roles):
        raise ValueError(f'{name}="{paint}" is not none or one of {{{"}, {".join(sorted(palette().roles))}}}')
    return paint[1:-1]


def _path_commands(element: ElementTree.Element) -> Iterator[PathCommand]:
    def numbers(*names: str) -> list[float]:
        return [float(element.get(name, "0")) for name in names]

    match element.tag.removeprefix(_SVG):
        case "path":
            yield from path_commands(element.get("d", ""))
        case "rect":
            yield from _rect(*numbers("x", "y", "width", "height", "rx"))
        case "circle":
            x, y, r = numbers("cx", "cy", "r")
            yield from _ellipse(x, y, r, r)
        case "ellipse":
            yield from _ellipse(*numbers("cx", "cy", "rx", "ry"))
        case tag:
            raise ValueError(f"<{tag}> is not one of path, rect, circle, ellipse")


def path_commands(text: str) -> Iterator[PathCommand]:
    """Parse SVG path data."""
    for number, (command, rest) in enumerate(_COMMAND.findall(text)):
        count = _NUMBERS_PER_COMMAND.get(command.upper())
        values = [float(value) for value in _NUMBER.findall(rest)]
        if count is None or (len(values) % count if count else values) or (count and not values):
            raise ValueError(f"the path has a bad step {command}{rest}")
        if number == 0 and command != "M":
            raise ValueError("a path must begin with M")
        for start in range(0, len(values), count) if count else [0]:
            if command in "Aa" and values[start + 2]:
                raise ValueError("a path has a rotated arc")
            # Points that follow those of a move are lines.
            name = command if command not in "Mm" or start == 0 else "L" if command == "M" else "l"
            yield PathCommand(name, tuple(values[start : start + count]))


def _rect(x: float, y: float, width: float, height: float, r: float) -> Iterator[PathCommand]:
    r = min(r, width / 2, height / 2)
    across, down = width - 2 * r, height - 2 * r
    if not r:
        return path_commands(f"M{x} {y}h{width}v{height}h{-width}z")
    corners = [f"a{r} {r} 0 0 1 {end}" for end in (f"{r} {r}", f"{-r} {r}", f"{-r} {-r}", f"{r} {-r}")]
    return path_commands(
        f"M{x + r} {y}h{across}{corners[0]}v{down}{corners[1]}h{-across}{corners[2]}v{-down}{corners[3]}z"
    )


def _ellipse(x: float, y: float, rx: float, ry: float) -> Iterator[PathCommand]:
    yield from path_commands(f"M{x - rx} {y}a{rx} {ry} 0 0 1 {2 * rx} 0a{rx} {ry} 0 0 1 {-2 * rx} 0z")
