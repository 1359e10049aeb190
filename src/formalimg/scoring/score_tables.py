"""The table of scores: image, prompt, score, whether it passes, and what failed."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from formalimg.reports.tables.format import NOTHING
from formalimg.reports.tables.model import Column, TableRow
from formalimg.types import Table

if TYPE_CHECKING:
    from formalimg.scoring.scoring import Score

# Texts alone are wrapped where a terminal is narrow, and what failed is a sentence.
_COLUMNS = (Column("image"), Column("prompt"), Column("score", align="right"), Column("pass"), Column("what failed"))


def score_table(scores: Iterable[Score]) -> Table:
    """Return scores as a table, one row each; what could not be scored says so, and has no number."""
    rows = (
        (one.image, one.prompt, NOTHING if one.score is None else f"{one.score:.2f}", _passed(one.passed), one.reason)
        for one in scores
    )
    return Table("scores", "Scores", _COLUMNS, tuple(map(TableRow, rows)))


def _passed(passed: bool | None) -> str:
    return "unscored" if passed is None else "yes" if passed else "no"
