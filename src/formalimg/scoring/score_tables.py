"""The table of scores: image, prompt, score, whether it passes, and what failed; and what they come to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol

from formalimg._util.installing import import_pandas
from formalimg._util.text import truncate
from formalimg.reports.tables.format import NOTHING
from formalimg.reports.tables.model import Column, TableRow
from formalimg.types import Table

if TYPE_CHECKING:
    from pandas import DataFrame

    from formalimg.scoring.scoring import Score

# Texts alone are wrapped where a terminal is narrow, and what failed is a sentence.
_COLUMNS = (Column("image"), Column("prompt"), Column("score", align="right"), Column("pass"), Column("what failed"))
_PROMPT = 1


_FRAME = ("image", "prompt", "score", "passed", "reason", "form", "item")
_PART = ("name", "kind", "score", "weight", "reason")


class _Scored(Protocol):
    @property
    def score(self) -> float | None: ...
    @property
    def passed(self) -> bool | None: ...


class ScoreTotals(NamedTuple):
    """What scores come to."""

    images: int  # how many images and prompts there are
    mean: float | None  # the mean score of those that could be scored; None if there are none
    passed: int  # how many pass
    unscored: int  # how many could not be scored

    def __str__(self) -> str:
        """Return it as a line: `3 images: mean 0.67, 2 passed`."""
        images = "1 image" if self.images == 1 else f"{self.images:,} images"
        scored = "" if not self.unscored or self.mean is None else f" of {self.images - self.unscored:,}"
        counts = [] if self.mean is None else [f"mean {self.mean:.2f}{scored}", f"{self.passed:,} passed"]
        return f"{images}: {', '.join([*counts, *([f'{self.unscored:,} unscored'] if self.unscored else [])])}"


def summarize_scores(scores: Sequence[_Scored]) -> ScoreTotals:
    """Return the mean of scores, and how many pass; what could not be scored is in neither."""
    values = [one.score for one in scores if one.score is not None]
    mean = sum(values) / len(values) if values else None
    return ScoreTotals(len(scores), mean, sum(one.passed is True for one in scores), len(scores) - len(values))


def score_table(scores: Sequence[Score]) -> Table:
    """Return scores as a table, one row each; what could not be scored says so, and has no number.

    A prompt that all images share is the title. The caption sums up.
    """
    rows: list[tuple[str, ...]] = [
        (one.image, one.prompt, NOTHING if one.score is None else f"{one.score:.2f}", _passed(one.passed), one.reason)
        for one in scores
    ]
    columns: tuple[Column, ...] = _COLUMNS
    title = "Scores"
    if len({one.prompt for one in scores}) == 1:
        title = f"Scores: {truncate(scores[0].prompt, 300, 100)}"
        columns = columns[:_PROMPT] + columns[_PROMPT + 1 :]
        rows = [row[:_PROMPT] + row[_PROMPT + 1 :] for row in rows]
    return Table("scores", title, columns, tuple(map(TableRow, rows)), (str(summarize_scores(scores)),))


def score_frame(scores: Sequence[Score], *, parts: bool) -> DataFrame:
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
