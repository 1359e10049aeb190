"""Build SVG elements from values, escaping all text that was not built as markup here."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from html import escape
from itertools import accumulate, takewhile
from typing import Literal, NamedTuple
from unicodedata import east_asian_width

from formalimg._util.templates import printable
from formalimg.reports.tables.format import shorten_text

_VOID = frozenset({"br", "img", "input", "meta"})


class Markup(str):
    """A string of markup that needs no escaping, recognized by Jinja2."""

    __slots__ = ()

    def __html__(self) -> str:
        """Return the markup for template engines."""
        return self


def element(name: str, /, *children: str | Markup | Iterable[Markup], **attributes: object) -> Markup:
    """Build an element, omitting attributes that are None or False and writing `class_` and `data_run` as HTML does."""
    tag = f"<{name}{''.join(map(_attribute_text, attributes, attributes.values()))}>"
    return Markup(tag if name in _VOID else f"{tag}{join(*children)}</{name}>")


def join(*children: str | Markup | Iterable[Markup]) -> Markup:
    """Concatenate children, escaping plain text."""
    return Markup("".join(map(_child_text, children)))


def escape_text(text: str) -> Markup:
    """Escape plain text, replacing characters that are not allowed on a page with a dot."""
    return Markup(escape(printable(text)))


def _child_text(child: str | Markup | Iterable[Markup]) -> str:
    if isinstance(child, Markup):
        return child
    return escape_text(child) if isinstance(child, str) else "".join(map(_child_text, child))


def _attribute_text(name: str, value: object) -> str:
    if value is None or value is False:
        return ""
    name = name.rstrip("_").replace("_", "-")
    if value is True:
        return f" {name}"
    if isinstance(value, float):
        value = f"{value:.1f}".removesuffix(".0")
    return f' {name}="{escape_text(str(value))}"'


WIDTH = 238.0  # In points: the width of a column of a two-column paper
FONT_SIZE = 7.0
INK, QUIET, RULE = "#1c1e21", "#63676d", "#deddd7"

_BROAD, _NARROW = 1.0, 0.53
"""The width of letters of size 1. The font of the reader is unknown: rather too wide than too narrow."""


class Figure(NamedTuple):
    """A figure of a report."""

    name: str  # what its file is called, without the ending, such as `knolling-rates`
    title: str  # what it shows
    note: str  # how its figures were made and what its marks mean; for the caption
    height: float  # in points. All are `WIDTH` wide
    inside: Markup  # what is drawn

    def svg(self, unit: Literal["pt", ""] = "pt") -> str:
        """Return the figure as a self-contained SVG file without external styles, fonts or network access."""
        size = {"width": f"{WIDTH:g}{unit}", "height": f"{self.height:g}{unit}"}
        return f'<?xml version="1.0" encoding="UTF-8"?>\n{self.element(xmlns="http://www.w3.org/2000/svg", **size)}\n'

    def __repr__(self) -> str:
        return f"<Figure {self.name}: {self.title}>"

    def _repr_html_(self) -> str:
        """Return the figure for notebooks, with its caption and on white in every theme."""
        image = self.element(width="640", style="max-width: 100%; height: auto; border-radius: 4px")
        return str(join(image, element("p", self.note, style="max-width: 640px; font-size: 12px; opacity: 0.7")))

    def element(self, **attributes: str) -> Markup:
        """Return the figure as a page element, which fills the available width by default."""
        return element(
            "svg",
            element("title", self.title),
            element("desc", self.note),
            element("rect", width=WIDTH, height=self.height, fill="#ffffff"),
            self.inside,
            **attributes,
            viewBox=f"0 0 {WIDTH:g} {self.height:g}",
            role="img",
            font_family="sans-serif",
            font_size=FONT_SIZE,
            fill=INK,
        )


def text_width(text: str) -> float:
    """Return the approximate width of text, in points."""
    return FONT_SIZE * sum(map(_letter_width, text))


def _letter_width(letter: str) -> float:
    return _BROAD if east_asian_width(letter) in "WF" else _NARROW


def fit_text(text: str, room: float) -> str:
    """Shorten text to fit on a line of the given width."""
    line = " ".join(text.split())
    if text_width(line) <= room:
        return line
    # Letter by letter from the beginning: names may have thousands of them.
    widths = accumulate(map(_letter_width, line))
    count = sum(1 for _ in takewhile(lambda width: FONT_SIZE * (width + _letter_width("…")) <= room, widths))
    return f"{line[:count].rstrip()}…"


def text_at(
    text: str, x: float, y: float, anchor: Literal["start", "middle", "end"] = "start", *, color: str = INK
) -> Markup:
    """Draw a line of text."""
    return element("text", text, x=x, y=y, text_anchor=anchor, fill=color)


def vertical_text(text: str, x: float, y: float) -> Markup:
    """Draw a line of vertical text that reads upwards, centred at the given point."""
    return element("text", text, text_anchor="middle", transform=f"translate({x:.1f} {y:.1f}) rotate(-90)")


def draw_line(
    ends: Sequence[float], color: str = RULE, width: float = 0.5, dash: str = "", opacity: float = 1
) -> Markup:
    """Draw a straight line from (x1, y1) to (x2, y2)."""
    return element(
        "path",
        d="M{:.2f} {:.2f}L{:.2f} {:.2f}".format(*ends),
        fill="none",
        stroke=color,
        stroke_width=f"{width:g}",
        stroke_dasharray=dash or None,
        stroke_opacity=f"{opacity:g}" if opacity < 1 else None,
    )


def draw_rect(x: float, y: float, width: float, height: float, **attributes: str) -> Markup:
    """Draw a rectangle."""
    sides = {"x": x, "y": y, "width": width, "height": height}
    return element("rect", **{name: f"{value:.2f}" for name, value in sides.items()}, **attributes)


def draw_polyline(
    points: Iterable[tuple[float, float] | None], color: str, width: float, dash: str = ""
) -> list[Markup]:
    """Draw a line through points, broken at each None."""
    path, command = "", "M"
    for point in points:
        if point is not None:
            path += "{}{:.2f} {:.2f}".format(command, *point)
        command = "M" if point is None else "L"
    if not path:
        return []
    stroke = {"stroke": color, "stroke_width": f"{width:g}", "stroke_dasharray": dash or None}
    return [element("path", d=path, fill="none", stroke_linejoin="round", **stroke)]


def short_names(names: Sequence[str], max_length: int) -> list[str]:
    """Shorten names to `max_length`, removing their common prefix first where needed.

    Cut at the end alone, the names of several versions of one model would all style the same.
    """
    long = {name for name in names if len(name) > max_length}
    alike = takewhile(lambda letters: len(set(letters)) == 1, zip(*long, strict=False)) if len(long) > 1 else ()
    whole_words = re.match(r".*[/\-_ ,]", "".join(letters[0] for letters in alike))
    common = len(whole_words[0]) if whole_words else 0
    return [shorten_text(f"…{name[common:]}" if common and name in long else name, max_length) for name in names]


def spread_labels(targets: Sequence[float], apart: float, top: float, bottom: float) -> list[float]:
    """Return heights close to the sorted targets, at least `apart` from each other.

    Heights that are too near are moved together, as a block around their common middle, until no two blocks
    overlap. Where there is not room enough between top and bottom, the labels stand closer.
    """
    apart = min(apart, (bottom - top) / max(1, len(targets) - 1))

    def start(block: Sequence[float]) -> float:
        extent = apart * (len(block) - 1)
        return min(max(sum(block) / len(block) - extent / 2, top), bottom - extent)

    blocks: list[list[float]] = []  # of targets
    for height in targets:
        blocks.append([height])
        while len(blocks) > 1 and start(blocks[-1]) < start(blocks[-2]) + apart * len(blocks[-2]):
            later = blocks.pop()
            blocks[-1].extend(later)
    return [start(block) + number * apart for block in blocks for number in range(len(block))]
