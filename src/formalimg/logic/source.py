"""Where in the text something stands: spans, lines, columns and the caret under them."""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

_EXCERPT_WIDTH = 100


@dataclass(frozen=True)
class Source:
    """A text that formulas are read from; turns offsets into lines and columns on demand."""

    text: str

    @cached_property
    def _line_starts(self) -> list[int]:
        return [0, *(end.end() for end in re.finditer("\n", self.text))]

    def line_and_column(self, offset: int) -> tuple[int, int]:
        """Line and column of an offset, both counted from 1."""
        line = bisect_right(self._line_starts, offset)
        return line, offset - self._line_starts[line - 1] + 1

    def line_text(self, line: int) -> str:
        """The text of a line, counted from 1, without its end."""
        start = self._line_starts[line - 1]
        end = self._line_starts[line] - 1 if line < len(self._line_starts) else len(self.text)
        return self.text[start:end]


class Span(NamedTuple):
    """A stretch of source text, by offsets: `start` is its first character, `end` is past its last."""

    source: Source
    start: int
    end: int

    @property
    def line(self) -> int:
        """Line of the first character, counted from 1."""
        return self.source.line_and_column(self.start)[0]

    @property
    def column(self) -> int:
        """Column of the first character, counted from 1."""
        return self.source.line_and_column(self.start)[1]

    @property
    def text(self) -> str:
        """The stretch itself."""
        return self.source.text[self.start : self.end]

    def excerpt(self) -> str:
        """Two lines: the source line (cropped if long) and carets under the stretch."""
        line, column = self.source.line_and_column(self.start)
        whole = self.source.line_text(line)
        first = column - 1
        width = max(1, min(self.end - self.start, len(whole) - first))
        left = 0
        if len(whole) > _EXCERPT_WIDTH:
            left = max(0, min(first - _EXCERPT_WIDTH // 3, len(whole) - _EXCERPT_WIDTH))
        right = min(len(whole), left + _EXCERPT_WIDTH)
        shown = "".join(c if c.isprintable() else "·" for c in whole[left:right])
        before, after = "…" * (left > 0), "…" * (right < len(whole))
        carets = "^" * max(1, min(width, right - first))
        return f"  {before}{shown}{after}\n  {' ' * (len(before) + first - left)}{carets}"


NOWHERE = Span(Source(""), 0, 0)
"""The span of a node that was built by code and stands in no text."""
