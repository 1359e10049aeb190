"""Ratings laid out for Cronbach's alpha: a row for each object that was rated, a column for each rater."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from typing import NamedTuple

from formalimg.analysis.cases import in_order
from formalimg.stats import Reliability, cronbach_alpha


class ColumnsAlpha(NamedTuple):
    """Cronbach's alpha, and what its columns are.

    Attributes:
        alpha: Cronbach's alpha.
        one_rater_per_column: False where less than half was rated by everybody. Then several people take turns in each
            column, as in the study of FormalImg, and alpha depends a little on who sits where.
    """

    alpha: Reliability
    one_rater_per_column: bool


def alpha_of_columns(
    ratings: Sequence[Mapping[str, float]], *, items: Sequence[Hashable], confidence: float
) -> ColumnsAlpha:
    """Cronbach's alpha of what people gave.

    Each person has a column if at least half of the objects were rated by all of them. Otherwise the first rating of
    each object, in the order of the raters' names, makes the first column, the second rating the second, and so on, with
    as many columns as objects usually have ratings. Objects with fewer ratings are left out and counted; of those with
    more, the first ones count.

    Args:
        ratings: for each object that was rated, what each person gave to it.
        items: for each object the item it belongs to.
        confidence: of the interval.
    """
    raters = in_order(rater for row in ratings for rater in row)
    given = [[row.get(rater) for rater in raters] for row in ratings]
    everybody = 2 * sum(None not in row for row in given) >= len(given)
    if not everybody:
        columns = usual_number(ratings)
        turns = [[rating for rating in row if rating is not None] for row in given]
        given = [(row + [None] * columns)[:columns] for row in turns]
    return ColumnsAlpha(cronbach_alpha(given, items=items, confidence=confidence), everybody)


def usual_number(ratings: Sequence[Mapping[str, float]]) -> int:
    """How many ratings most objects have, of those that have any; the larger of two numbers that are equally usual."""
    counts = Counter(len(row) for row in ratings if row)
    return max(counts, key=lambda number: (counts[number], number), default=0)
