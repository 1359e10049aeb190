"""Formulas to begin with: the first of the shipped items at some levels."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

from formalimg.logic import to_pretty_text
from formalimg.suites import FormulaSpec, load
from formalimg.web.formula import WIDTH

_LEVELS = (1, 2, 4, 7, 10)


class Example(NamedTuple):
    """A formula to begin with, and its K."""

    k: int
    formula: str


@cache
def examples(suite: str) -> tuple[Example, ...]:
    """Some formulas of a suite, easy ones first."""
    first: dict[int, str] = {}
    for item in load(suite):
        if item.level not in first and isinstance(item.spec, FormulaSpec):
            first[item.level] = to_pretty_text(item.spec.formula, WIDTH)
    return tuple(Example(level, first[level]) for level in _LEVELS if level in first)
