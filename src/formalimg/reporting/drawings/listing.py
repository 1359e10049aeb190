"""Many names with a share each, in columns below each other, those with the largest first."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from formalimg.reporting.drawings.drawing import LETTERS, WIDTH, Drawing, breadth, fitting, words_at
from formalimg.reporting.drawings.looks import numbered_look, told
from formalimg.reporting.html.markup import Markup, element, join

_COLUMNS, _GAP = 2, 12.0
_ROW = 8.6
_LONGEST_NAME = 60.0
_FIGURE = 4 * 0.53 * LETTERS


class Listing(NamedTuple):
    """What is listed: for each name a share from 0 to 1, told in percent."""

    title: str
    note: str
    shares: Mapping[str, float]


def listing(name: str, of: Listing) -> Drawing:
    """Names, bars and figures. All bars have the same scale, from 0 to the largest."""
    names = sorted(of.shares, key=lambda one: (-of.shares[one], one))
    rows = -(-len(names) // _COLUMNS)
    most = max(of.shares.values()) or 1.0
    broad = (WIDTH - 2 - _GAP * (_COLUMNS - 1)) / _COLUMNS
    words = min(_LONGEST_NAME, max(map(breadth, names)))
    parts: list[Markup] = []
    for number, one in enumerate(names):
        column, row = divmod(number, rows)
        left, middle = (broad + _GAP) * column, 3 + _ROW * (row + 0.5)
        share = of.shares[one]
        bar = element(
            "rect",
            x=f"{left + words + 3:.2f}",
            y=f"{middle - 2.4:.2f}",
            width=f"{(broad - words - _FIGURE - 5) * share / most:.2f}",
            height="4.8",
            fill=numbered_look(0).color,
        )
        parts += [
            words_at(fitting(one, words), left + words, middle + 2.4, "end"),
            told(bar, f"{one}: {100 * share:.2f} %"),
            words_at(f"{100 * share:.1f}", left + broad, middle + 2.4, "end"),
        ]
    return Drawing(name, of.title, of.note, 3 + _ROW * rows + 3, join(parts))
