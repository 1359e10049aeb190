"""One figure, and the letters and axes that all figures share."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple
from unicodedata import east_asian_width

from formalimg.reporting.html.markup import Markup, element

WIDTH = 238.0
"""In points: the column of a paper in two columns."""

LETTERS = 7.0
INK, QUIET, RULE = "#1c1e21", "#63676d", "#deddd7"

_BROAD, _NARROW = 1.0, 0.53
"""How broad letters of the size 1 are. Nobody knows the font of the reader: rather too much than too little."""


class Drawing(NamedTuple):
    """A figure of a report.

    Attributes:
        name: what its file is called, without the ending, such as `knolling-rates`.
        title: what it shows.
        note: how its figures were made and what its marks mean; for the caption.
        height: in points. All are `WIDTH` wide.
        inside: what is drawn.
    """

    name: str
    title: str
    note: str
    height: float
    inside: Markup

    def svg(self, unit: Literal["pt", ""] = "pt") -> str:
        """The drawing as an SVG file of its own, which needs nothing from outside: no style, no fonts, no network."""
        page = element(
            "svg",
            element("title", self.title),
            element("desc", self.note),
            element("rect", width=WIDTH, height=self.height, fill="#ffffff"),
            self.inside,
            xmlns="http://www.w3.org/2000/svg",
            width=f"{WIDTH:g}{unit}",
            height=f"{self.height:g}{unit}",
            viewBox=f"0 0 {WIDTH:g} {self.height:g}",
            role="img",
            font_family="sans-serif",
            font_size=LETTERS,
            fill=INK,
        )
        return f'<?xml version="1.0" encoding="UTF-8"?>\n{page}\n'


def breadth(words: str) -> float:
    """About how broad words are, in points."""
    return LETTERS * sum(_BROAD if east_asian_width(one) in "WF" else _NARROW for one in words)


def fitting(words: str, room: float) -> str:
    """The words on one line, cut where they would need more room."""
    line = " ".join(words.split())
    if breadth(line) <= room:
        return line
    while line and breadth(f"{line}…") > room:
        line = line[:-1]
    return f"{line.rstrip()}…"


def words_at(
    words: str, x: float, y: float, anchor: Literal["start", "middle", "end"] = "start", *, color: str = INK
) -> Markup:
    """A line of words."""
    return element("text", words, x=x, y=y, text_anchor=anchor, fill=color)


def words_upwards(words: str, x: float, y: float) -> Markup:
    """A line of words that runs upwards, around its middle."""
    return element("text", words, text_anchor="middle", transform=f"translate({x:.1f} {y:.1f}) rotate(-90)")


def line_between(
    ends: Sequence[float], color: str = RULE, width: float = 0.5, dash: str = "", opacity: float = 1
) -> Markup:
    """A straight line from (x1, y1) to (x2, y2)."""
    return element(
        "path",
        d="M{:.2f} {:.2f}L{:.2f} {:.2f}".format(*ends),
        fill="none",
        stroke=color,
        stroke_width=f"{width:g}",
        stroke_dasharray=dash or None,
        stroke_opacity=f"{opacity:g}" if opacity < 1 else None,
    )


def line_along(points: Iterable[tuple[float, float] | None], color: str, width: float, dash: str = "") -> list[Markup]:
    """A line through the points, broken where there is None."""
    drawn, command = "", "M"
    for point in points:
        if point is not None:
            drawn += "{}{:.2f} {:.2f}".format(command, *point)
        command = "M" if point is None else "L"
    if not drawn:
        return []
    stroke = {"stroke": color, "stroke_width": f"{width:g}", "stroke_dasharray": dash or None}
    return [element("path", d=drawn, fill="none", stroke_linejoin="round", **stroke)]
