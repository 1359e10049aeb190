"""A problem in a formula, and the error that carries problems."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from formalimg._util.text import truncate
from formalimg.errors import FormalimgError
from formalimg.logic.source import Span

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
    "undecided",  # a question that the given scene cannot answer
]


@dataclass(frozen=True, slots=True)
class Problem:
    """One object that is wrong with a formula, and where."""

    kind: ProblemKind
    message: str
    span: Span

    def __post_init__(self) -> None:
        # Messages quote what was written, which can be endless or hold control characters.
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
        """The message, then the source line with carets under the place."""
        return f"{self}\n{self.span.excerpt()}"

    def to_json(self) -> dict[str, object]:
        """The problem as plain data."""
        return {"kind": self.kind, "message": self.message, "line": self.line, "column": self.column}


class FormulaError(FormalimgError, ValueError):
    """A formula that cannot be used; `problems` says everything that is wrong with it."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = tuple(problems)
        more = len(self.problems) - 1
        ending = f"\n(and {more} more problem{'s' * (more > 1)})" if more else ""
        super().__init__(self.problems[0].render() + ending)

    def __reduce__(self) -> tuple[type[FormulaError], tuple[tuple[Problem, ...]]]:
        return type(self), (self.problems,)  # survives the way between processes

    @property
    def line(self) -> int:
        """Line of the first problem, counted from 1."""
        return self.problems[0].line

    @property
    def column(self) -> int:
        """Column of the first problem, counted from 1."""
        return self.problems[0].column
