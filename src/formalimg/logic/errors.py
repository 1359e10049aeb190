"""Formula errors with source positions (line, column and an excerpt with carets)."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, NamedTuple

from formalimg._util.text import truncate
from formalimg.errors import FormalimgError

_EXCERPT_WIDTH = 100


@dataclass(frozen=True)
class SourceText:
    """The source text of formulas, with conversion from offsets to lines and columns."""

    text: str

    @cached_property
    def _line_starts(self) -> list[int]:
        return [0, *(end.end() for end in re.finditer("\n", self.text))]

    def line_and_column(self, offset: int) -> tuple[int, int]:
        """Return the line and column of an offset, both counted from 1."""
        line = bisect_right(self._line_starts, offset)
        return line, offset - self._line_starts[line - 1] + 1

    def line_text(self, line: int) -> str:
        """Return the text of a line (counted from 1) without its line ending."""
        start = self._line_starts[line - 1]
        end = self._line_starts[line] - 1 if line < len(self._line_starts) else len(self.text)
        return self.text[start:end]


class Span(NamedTuple):
    """A range of source text: `start` is the offset of its first character and `end` the offset past its last."""

    source: SourceText
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
        """The text in the range."""
        return self.source.text[self.start : self.end]

    def excerpt(self) -> str:
        """Return the source line, cropped if long, followed by a line of carets under the range."""
        line, column = self.source.line_and_column(self.start)
        whole = self.source.line_text(line)
        first = column - 1
        width = max(1, min(self.end - self.start, len(whole) - first))
        start = 0
        if len(whole) > _EXCERPT_WIDTH:
            start = max(0, min(first - _EXCERPT_WIDTH // 3, len(whole) - _EXCERPT_WIDTH))
        end = min(len(whole), start + _EXCERPT_WIDTH)
        cropped = "".join(c if c.isprintable() else "·" for c in whole[start:end])
        before, after = "…" * (start > 0), "…" * (end < len(whole))
        carets = "^" * max(1, min(width, end - first))
        return f"  {before}{cropped}{after}\n  {' ' * (len(before) + first - start)}{carets}"


NOWHERE = Span(SourceText(""), 0, 0)  # The span of a node that was built by code, not parsed


ProblemKind = Literal[
    "syntax",  # not a formula of the language at all
    "scope",  # a variable that no quantifier binds
    "unused",  # a quantifier whose variable is never used
    "predicate",  # a predicate the vocabulary does not know
    "arity",  # a predicate with too many or too few arguments
    "argument",  # an argument of the wrong kind
    "word",  # a word the vocabulary does not know
    "complexity",  # not the expected K, or more than one component
    "size",  # too large, or growing too large
    "plausibility",  # fine as a formula, but no image of everyday objects would show it
    "undecided",  # an atom that the scene cannot decide
]


@dataclass(frozen=True, slots=True)
class Problem:
    """A problem in a formula, with its source position."""

    kind: ProblemKind
    message: str
    span: Span

    def __post_init__(self) -> None:
        # Messages quote the source, which can be very long or contain control characters.
        object.__setattr__(self, "message", truncate(self.message, 150, 200))

    @property
    def line(self) -> int:
        """Line of the problem, counted from 1."""
        return self.span.line

    @property
    def column(self) -> int:
        """Column of the problem, counted from 1."""
        return self.span.column

    def __str__(self) -> str:
        return f"line {self.line}, column {self.column}: {self.message}"

    def render(self) -> str:
        """Return the message followed by the source line with carets under the position."""
        return f"{self}\n{self.span.excerpt()}"

    def to_json(self) -> dict[str, object]:
        """Return the problem as JSON-serializable data."""
        return {"kind": self.kind, "message": self.message, "line": self.line, "column": self.column}


class FormulaError(FormalimgError, ValueError):
    """Raised if a formula is invalid. `problems` lists everything that is wrong with it."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = tuple(problems)
        more = len(self.problems) - 1
        ending = f"\n(and {more} more problem{'s' * (more > 1)})" if more else ""
        super().__init__(self.problems[0].render() + ending)

    def __reduce__(self) -> tuple[type[FormulaError], tuple[tuple[Problem, ...]]]:
        return type(self), (self.problems,)  # so that it can be pickled

    @property
    def line(self) -> int:
        """Line of the first problem, counted from 1."""
        return self.problems[0].line

    @property
    def column(self) -> int:
        """Column of the first problem, counted from 1."""
        return self.problems[0].column
