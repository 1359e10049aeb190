"""The table of scores: image, prompt, score, whether it passes, and what failed."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from formalimg._util.installing import import_pandas
from formalimg.reports.tables.format import NOTHING
from formalimg.reports.tables.model import Column, TableRow
from formalimg.types import Table

if TYPE_CHECKING:
    from pandas import DataFrame

    from formalimg.scoring.scoring import Score

# Texts alone are wrapped where a terminal is narrow, and what failed is a sentence.
_COLUMNS = (Column("image"), Column("prompt"), Column("score", align="right"), Column("pass"), Column("what failed"))


_FRAME = ("image", "prompt", "score", "passed", "reason", "form", "item")
_PART = ("name", "kind", "score", "weight", "reason")


def score_table(scores: Iterable[Score]) -> Table:
    """Return scores as a table, one row each; what could not be scored says so, and has no number."""
    rows = (
        (one.image, one.prompt, NOTHING if one.score is None else f"{one.score:.2f}", _passed(one.passed), one.reason)
        for one in scores
    )
    return Table("scores", "Scores", _COLUMNS, tuple(map(TableRow, rows)))


def score_frame(scores: Iterable[Score], *, parts: bool) -> DataFrame:
    """Return scores as a data frame: one row for each image, or for each part of each of them."""
    pandas = import_pandas()
    if not parts:
        rows = [{name: getattr(one, name) for name in _FRAME} for one in scores]
        frame: DataFrame = pandas.DataFrame(rows, columns=[*_FRAME])
        return frame.astype({"passed": "boolean", "score": "Float64"})  # nullable: no verdict is neither False nor 0
    of_parts = [
        {"image": one.image, "prompt": one.prompt, "item": one.item, **{name: getattr(part, name) for name in _PART}}
        for one in scores
        for part in one.parts
    ]
    return pandas.DataFrame(of_parts, columns=["image", "prompt", "item", *_PART])


def _passed(passed: bool | None) -> str:
    return "unscored" if passed is None else "yes" if passed else "no"
