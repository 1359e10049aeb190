"""The canvas on which textures are painted, and helpers for drawing marks."""

from __future__ import annotations

import math
import random
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
