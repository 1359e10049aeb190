"""Ratings laid out for Cronbach's alpha: a row for each thing that was rated, a column for each rater."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import NamedTuple

from formalimg.stats import Reliability, cronbach_alpha
from formalimg.studies.cases import in_order


class ColumnsAlpha(NamedTuple):
    """Cronbach's alpha, and what its columns are.

    Attributes:
        alpha: Cronbach's alpha.
        one_rater_per_column: False where nothing was rated by everybody. Then several people take turns in each column,
            as in the study of FormalImg, and alpha depends a little on who sits where.
    """

    alpha: Reliability
    one_rater_per_column: bool


def alpha_of_columns(
    ratings: Sequence[Mapping[str, float]], *, items: Sequence[Hashable], confidence: float
) -> ColumnsAlpha:
    """Cronbach's alpha of what people gave.

    Each person has a column if there is anything that all of them rated. Otherwise the first rating of each thing, in
    the order of the raters' names, makes the first column, the second rating the second, and so on. Things with fewer
    ratings than others are left out and counted.

    Args:
        ratings: for each thing that was rated, what each person gave to it.
        items: for each thing the item it belongs to.
        confidence: of the interval.
    """
    raters = in_order(rater for row in ratings for rater in row)
    most = max(map(len, ratings), default=0)
    everybody = most == len(raters)
    rows: list[list[float | None]] = []
    for row in ratings:
        given = [row.get(rater) for rater in raters]
        if not everybody:
            given = [rating for rating in given if rating is not None]
            given += [None] * (most - len(given))
        rows.append(given)
    return ColumnsAlpha(cronbach_alpha(rows, items=items, confidence=confidence), everybody)
