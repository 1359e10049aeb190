"""Who is who in a figure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from formalimg.reporting.drawings.drawing import WIDTH, breadth, fitting, line_between, words_at
from formalimg.reporting.drawings.looks import PLAIN, PUBLISHED, Look, mark
from formalimg.reporting.drawings.series import Chart
from formalimg.reporting.html.markup import Markup, element, join

_LINE, _SIGN, _GAP = 9.5, 14.0, 9.0
"""The height of a line, the room of a sign, and the room between two entries."""

Sign = Callable[[Look, float, float], Markup]


class Legend(NamedTuple):
    """The signs of the runs and their names, at the top of a figure, and how much room they take."""

    inside: Markup
    height: float


def legend(chart: Chart, sign: Sign) -> Legend:
    """The runs of a chart, and what hollow signs mean if there are any; nothing for one run that needs no telling."""
    shown = {one.name: one.look for one in chart.series if one.look.is_run}
    entries = [(name, sign(look, 0, 0)) for name, look in shown.items() if name]
    if any(not one.look.is_run for one in chart.series):
        entries.append(("published", stroke_sign(PUBLISHED, 0, 0)))
    if not chart.is_complete:
        entries.append(("not all scored", hollow_sign(0, 0) if sign is not block_sign else pale_sign(0, 0)))
    return legend_of(entries)


def legend_of(entries: Sequence[tuple[str, Markup]]) -> Legend:
    """Names with their signs, which stand around (0, 0), in as many lines as they need."""
    if not entries:
        return Legend(Markup(""), 3)
    x, y, parts = 2.0, 8.0, []
    for name, sign in entries:
        words = fitting(name, WIDTH - _SIGN - 6)
        room = _SIGN + breadth(words)
        if x > 2 and x + room > WIDTH - 2:
            x, y = 2.0, y + _LINE
        parts.append(element("g", sign, transform=f"translate({x + 5:.1f} {y - 2.5:.1f})"))
        parts.append(words_at(words, x + _SIGN, y))
        x += room + _GAP
    return Legend(join(parts), y + 4)


def stroke_sign(look: Look, x: float, y: float) -> Markup:
    """A piece of a run's line with its mark."""
    line = line_between((x - 5, y, x + 6, y), look.color, 1.1, look.dash)
    return join(line, mark(look, x + 0.5, y, 1.9)) if look.shape else line


def mark_sign(look: Look, x: float, y: float) -> Markup:
    """A run's mark alone."""
    return mark(look, x + 2, y, 2.1)


def block_sign(look: Look, x: float, y: float) -> Markup:
    """A piece of a run's bar."""
    return element("rect", x=x - 3, y=y - 2.5, width=9.0, height=5.0, fill=look.color, stroke=look.color)


def hollow_sign(x: float, y: float) -> Markup:
    """A point for which not all images were scored."""
    return mark(PLAIN, x + 2, y, 1.9, hollow=True)


def pale_sign(x: float, y: float) -> Markup:
    """A bar for which not all images were scored."""
    return element("rect", x=x - 3, y=y - 2.5, width=9.0, height=5.0, fill="#ffffff", stroke=PLAIN.color)
