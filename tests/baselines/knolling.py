"""The default suite, loaded once."""

from __future__ import annotations

from functools import cache

from formalimg.suites import FormulaSpec, Item, load


@cache
def knolling() -> list[Item[FormulaSpec]]:
    return load("knolling")
