"""Building HTML and SVG from values. Text is escaped unless it was built here, so nothing foreign becomes markup."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from html import escape
from itertools import takewhile
from typing import Literal, NamedTuple
from unicodedata import east_asian_width

from formalimg._util.templates import printable
from formalimg.reporting.labels import shorten

_VOID = frozenset({"br", "img", "input", "meta"})


class Markup(str):
    """Text that is markup already. Jinja2 takes it as it is."""

    __slots__ = ()

    def __html__(self) -> str:
        """Return the markup, for template engines."""
        return self


def element(name: str, /, *children: str | Markup | Iterable[Markup], **attributes: object) -> Markup:
    """An element. Attributes that are None or False are left out; `class_` is `class`, `data_run` is `data-run`."""
    opened = f"<{name}{''.join(map(_attribute, attributes, attributes.values()))}>"
    if name in _VOID:
        return Markup(opened)
    return Markup(f"{opened}{join(*children)}</{name}>")


def join(*children: str | Markup | Iterable[Markup]) -> Markup:
    """Children one after the other; plain text is escaped."""
    return Markup("".join(map(_child, children)))


def text(words: str) -> Markup:
    """Plain text as markup. Characters that no page may hold are shown as a dot."""
    return Markup(escape(printable(words)))


def _child(child: str | Markup | Iterable[Markup]) -> str:
    if isinstance(child, Markup):
        return child
    if isinstance(child, str):
        return text(child)
    return "".join(map(_child, child))


def _attribute(name: str, value: object) -> str:
    if value is None or value is False:
        return ""
    name = name.rstrip("_").replace("_", "-")
    if value is True:
        return f" {name}"
    if isinstance(value, float):
        value = f"{value:.1f}".removesuffix(".0")
    return f' {name}="{text(str(value))}"'


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


def short_names(names: Sequence[str], longest: int) -> list[str]:
    """Names of so many letters at most; those that are too long lose first what all of them begin with.

    Cut at the end alone, the names of several versions of one model would all look the same.
    """
    long = {name for name in names if len(name) > longest}
    alike = takewhile(lambda letters: len(set(letters)) == 1, zip(*long, strict=False)) if len(long) > 1 else ()
    whole_words = re.match(r".*[/\-_ ,]", "".join(letters[0] for letters in alike))
    common = len(whole_words[0]) if whole_words else 0
    return [shorten(f"…{name[common:]}" if common and name in long else name, longest) for name in names]


def spread(wanted: Sequence[float], apart: float, top: float, bottom: float) -> list[float]:
    """Heights as near as possible to those wanted, which are sorted, at least `apart` from each other.

    Heights that are too near are moved together, as a block around their common middle, until no two blocks
    overlap. Where there is not room enough between top and bottom, the labels stand closer.
    """
    if not wanted:
        return []
    apart = min(apart, (bottom - top) / max(1, len(wanted) - 1))
    blocks: list[list[float]] = []  # of heights wanted
    for height in wanted:
        blocks.append([height])
        while (
            len(blocks) > 1 and _first(blocks[-1], apart, top, bottom) < _last(blocks[-2], apart, top, bottom) + apart
        ):
            later = blocks.pop()
            blocks[-1].extend(later)
    return [_first(block, apart, top, bottom) + number * apart for block in blocks for number, _ in enumerate(block)]


def _first(block: Sequence[float], apart: float, top: float, bottom: float) -> float:
    extent = apart * (len(block) - 1)
    middle = sum(block) / len(block)
    return min(max(middle - extent / 2, top), bottom - extent)


def _last(block: Sequence[float], apart: float, top: float, bottom: float) -> float:
    return _first(block, apart, top, bottom) + apart * (len(block) - 1)
