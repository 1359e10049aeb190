"""The default suite, loaded once."""

from __future__ import annotations

from functools import cache

from formalimg.benchmarks.formal.spec import FormulaSpec
from formalimg.benchmarks.loader import load
from formalimg.types import Item


@cache
def knolling() -> list[Item[FormulaSpec]]:
    return load("knolling")
