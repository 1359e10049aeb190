"""How often two who judge the same objects say the same."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from itertools import combinations
from typing import NamedTuple, TypeAlias, TypeVar

from formalimg.errors import FormalimgError
from formalimg.stats.binomial import checked_confidence
from formalimg.stats.clustering import clustered_interval
from formalimg.stats.summary import Interval
from formalimg.stats.tallying import Outcome

Answer: TypeAlias = bool | None
"""Yes, no, or none."""

Case = TypeVar("Case", bound=Hashable)


class Consistency(NamedTuple):
    """The share of cases in which two say the same.

    Attributes:
        equal: in how many cases they do.
        n: how many cases both have answered.
        left_out: how many cases one or both have not answered.
        value: the share, 0 to 1; None if there is no case that both answered.
        interval: its exact confidence interval, clustered where cases belong to the same item; None without a value.
        kappa: Cohen's kappa of the same cases.
    """

    equal: int
    n: int
    left_out: int
    value: float | None
    interval: Interval | None
    kappa: float | None


class MeanConsistency(NamedTuple):
    """The mean of the consistency of all pairs of raters; each pair weighs the same.

    Attributes:
        value: the mean; None if no two raters have answered the same case.
        pairs: how many pairs of raters entered.
        left_out: how many pairs have no case in common.
    """

    value: float | None
    pairs: int
    left_out: int


def consistency(
    pairs: Iterable[tuple[Answer, Answer]], *, items: Sequence[Hashable] | None = None, confidence: float = 0.95
) -> Consistency:
    """How often two say the same.

    Args:
        pairs: for each case what the first and what the second says; None where one says nothing.
        items: for each case the item it belongs to, where items have several cases, such as the questions about one
            image; their answers are not independent. None if each case stands for itself, and then the interval is
            that of Clopper and Pearson.
        confidence: of the interval.

    Raises:
        FormalimgError: if an answer is none, or this is no confidence.
    """
    answers = _checked(pairs)
    if items is not None and len(items) != len(answers):
        raise FormalimgError(f"{len(answers)} cases belong to {len(items)} items: name an item for each case")
    checked_confidence(confidence)
    names: Sequence[Hashable] = range(len(answers)) if items is None else items
    equal, asked = Counter[Hashable](), Counter[Hashable]()
    for name, (one, other) in zip(names, answers, strict=True):
        if one is not None and other is not None:
            asked[name] += 1
            equal[name] += one == other
    n = asked.total()
    if not n:
        return Consistency(0, 0, len(answers), None, None, None)
    kinds = dict(sorted(Counter(Outcome(equal[name], count) for name, count in asked.items()).items()))
    return Consistency(
        equal.total(),
        n,
        len(answers) - n,
        equal.total() / n,
        clustered_interval(kinds, confidence),
        cohen_kappa(answers),
    )


def cohen_kappa(pairs: Iterable[tuple[Answer, Answer]]) -> float | None:
    """Cohen's kappa: how much more often two say the same than two would who toss coins as biased as they are.

    Cases that one or both have not answered take no part. None if there are no others, or if both always say the same
    one object: chance alone would then agree everywhere, and there is nothing to be better than.
    """
    both = [(one, other) for one, other in _checked(pairs) if one is not None and other is not None]
    n = len(both)
    first, second = sum(one for one, _ in both), sum(other for _, other in both)
    # In whole numbers, so that no rounding decides whether there is a kappa.
    by_chance = first * second + (n - first) * (n - second)
    if by_chance == n * n:
        return None
    equal = n * sum(one == other for one, other in both)
    return (equal - by_chance) / (n * n - by_chance)


def majority(votes: Iterable[bool]) -> bool | None:
    """What more than half of the votes say; None for a tie, and where nobody voted."""
    balance = sum(1 if vote else -1 for vote in votes)
    return None if balance == 0 else balance > 0


def consistency_matrix(
    raters: Mapping[str, Mapping[Case, Answer]],
    *,
    items: Mapping[Case, Hashable] | None = None,
    confidence: float = 0.95,
) -> dict[str, dict[str, Consistency]]:
    """How often any two of several raters say the same.

    Args:
        raters: for each rater the answers, by case. A rater need not have answered all cases.
        items: for each case the item it belongs to; None if each stands for itself.
        confidence: of the intervals.

    Returns:
        For each rater and each other one their consistency over all cases that anybody has answered.
    """
    cases = list(dict.fromkeys(case for answers in raters.values() for case in answers))
    belongs = None if items is None else [items[case] for case in cases]
    found: dict[str, dict[str, Consistency]] = {rater: {} for rater in raters}
    for one, other in combinations(raters, 2):
        pairs = [(raters[one].get(case), raters[other].get(case)) for case in cases]
        found[one][other] = found[other][one] = consistency(pairs, items=belongs, confidence=confidence)
    return {rater: {other: row[other] for other in raters if other != rater} for rater, row in found.items()}


def mean_consistency(matrix: Mapping[str, Mapping[str, Consistency]], raters: Iterable[str]) -> MeanConsistency:
    """The mean consistency of all pairs of some raters of a matrix, such as the people in it without the judge."""
    values = [matrix[one][other].value for one, other in combinations(raters, 2)]
    known = [value for value in values if value is not None]
    return MeanConsistency(sum(known) / len(known) if known else None, len(known), len(values) - len(known))


def _checked(pairs: Iterable[tuple[Answer, Answer]]) -> list[tuple[Answer, Answer]]:
    answers = list(pairs)
    for pair in answers:
        for answer in pair:
            if answer is not None and answer is not True and answer is not False:
                raise FormalimgError(f"{answer!r} is no answer: give True, False, or None where there is none")
    return answers
