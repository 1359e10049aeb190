"""Boxes on the canvas and what can be measured on them."""

from __future__ import annotations

from typing import NamedTuple

CANVAS = 1000
"""Width and height of the canvas; x points right, y points down, the origin is the top left corner."""


class Box(NamedTuple):
    """An upright rectangle on the canvas."""

    xmin: float
    ymin: float
    xmax: float
    ymax: float

    @property
    def center_x(self) -> float:
        """Where the centre stands from left to right."""
        return (self.xmin + self.xmax) / 2

    @property
    def center_y(self) -> float:
        """Where the centre stands from top to bottom."""
        return (self.ymin + self.ymax) / 2

    @property
    def area(self) -> float:
        """Width times height."""
        return (self.xmax - self.xmin) * (self.ymax - self.ymin)

    def __str__(self) -> str:
        return "[" + " ".join(f"{number:g}" for number in self) + "]"
