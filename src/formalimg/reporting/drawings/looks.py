"""How runs can be told from each other: by colour and by shape, so that a print in grey will do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from formalimg.reporting.comparison import Row
from formalimg.reporting.drawings.drawing import QUIET
from formalimg.reporting.html.markup import Markup, element
from formalimg.reporting.html.tones import CEILING, tones_of

_COLORS = ("#1d5ba6", "#ad4c22", "#2f7247", "#76488f", "#7c610c", "#14747b")
"""The tones of the page, in its light form."""

_PALE = "#94979c"
_SHAPES = ("circle", "square", "diamond", "up", "down", "bar")

_OUTLINES = {
    "square": ((-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9)),
    "diamond": ((0, -1.3), (1.3, 0), (0, 1.3), (-1.3, 0)),
    "up": ((0, -1.2), (1.15, 0.9), (-1.15, 0.9)),
    "down": ((0, 1.2), (1.15, -0.9), (-1.15, -0.9)),
    "bar": ((-0.55, -1.3), (0.55, -1.3), (0.55, 1.3), (-0.55, 1.3)),
}
"""Corners around the middle, for a mark of the size 1."""


class Look(NamedTuple):
    """The colour of a run, the shape of its points (none if empty) and how its line is broken (empty if it is not)."""

    color: str
    shape: str = ""
    dash: str = ""

    @property
    def is_run(self) -> bool:
        """Is it a run, and not published figures?"""
        return self != PUBLISHED


PUBLISHED = Look("#b4b6b9")
PLAIN = Look(QUIET, "circle")


def looks_of(rows: Sequence[Row]) -> tuple[Look, ...]:
    """For each run how it looks; floor and ceiling are grey and dashed."""
    found: list[Look] = []
    for row, tone in zip(rows, tones_of(rows), strict=True):
        if tone == "bound":
            is_ceiling = row.manifest.model.name == CEILING
            found.append(Look(QUIET, dash="3.5 1.5") if is_ceiling else Look(_PALE, dash="1 1.5"))
            continue
        found.append(numbered_look(sum(not look.dash for look in found)))
    return tuple(found)


def numbered_look(number: int) -> Look:
    """The look of the first, second … of those that are told apart; from 0."""
    # From the seventh on the colours come again, with other shapes.
    shape = _SHAPES[(number + number // len(_COLORS)) % len(_SHAPES)]
    return Look(_COLORS[number % len(_COLORS)], shape)


def mark(look: Look, x: float, y: float, size: float, *, hollow: bool = False) -> Markup:
    """A point. A hollow one stands for a figure for which not all images were scored."""
    paint = {"fill": "#ffffff" if hollow else look.color, "stroke": look.color, "stroke_width": "0.8"}
    if look.shape not in _OUTLINES:
        return element("circle", cx=f"{x:.2f}", cy=f"{y:.2f}", r=f"{size:g}", **paint)
    corners = "L".join(f"{x + size * across:.2f} {y + size * down:.2f}" for across, down in _OUTLINES[look.shape])
    return element("path", d=f"M{corners}Z", **paint)


def told(sign: Markup, words: str) -> Markup:
    """A sign that says what it stands for when it is pointed at."""
    return element("g", element("title", words), sign)
