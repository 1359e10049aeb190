"""Published figures, to be shown beside one's own."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import NamedTuple


class ReferenceRow(NamedTuple):
    """What was published about a model.

    Attributes:
        model: the model, as it was called there.
        source: where it was published.
        rates: the rate of each level, 0 to 1.
    """

    model: str
    source: str
    rates: Mapping[int, float]


def reference_rows(suite: str) -> tuple[ReferenceRow, ...]:
    """The published figures for a suite, in the order of their table; empty if there are none."""
    return _rows().get(suite, ())


@cache
def _rows() -> Mapping[str, tuple[ReferenceRow, ...]]:
    table = tomllib.loads((files("formalimg.report.reference") / "formalimg_table1.toml").read_text(encoding="utf-8"))
    rows: dict[str, tuple[ReferenceRow, ...]] = {}
    for row in table["rows"]:
        rates = {level: percent / 100 for level, percent in enumerate(row["rates"], start=1)}
        rows[row["suite"]] = (*rows.get(row["suite"], ()), ReferenceRow(row["model"], table["source"], rates))
    return rows


__all__ = ["ReferenceRow", "reference_rows"]
