"""Inter-rater agreement on yes/no answers: percent agreement, Cohen's kappa, majority vote, compliance."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from itertools import combinations
from typing import Literal, NamedTuple, TypeAlias, TypeVar

from formalimg.errors import FormalimgError
from formalimg.stats.bootstrap import item_ids
from formalimg.stats.intervals import clustered_interval, validate_confidence
from formalimg.stats.observations import Interval, PassCount

BinaryAnswer: TypeAlias = bool | None
"""True, False, or None for no answer."""

Case = TypeVar("Case", bound=Hashable)

ComplianceRule: TypeAlias = Literal["mean", "majority"]
"""What has to reach the pass rating: the mean of the ratings, or more than half of them."""

PASS_RATING = 4
_POINTS = 5


class Consistency(NamedTuple):
    """Percent agreement of two raters.

    Attributes:
        equal: number of cases with the same answer.
        n: number of cases that both answered.
        left_out: number of cases that one or both did not answer.
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
    """Mean consistency over all pairs of raters, each pair with the same weight.

    Attributes:
        value: the mean; None if no two raters have answered the same case.
        pairs: how many pairs of raters entered.
        left_out: how many pairs have no case in common.
    """

    value: float | None
    pairs: int
    left_out: int


def consistency(
    pairs: Iterable[tuple[BinaryAnswer, BinaryAnswer]],
    *,
    items: Sequence[Hashable] | None = None,
    confidence: float = 0.95,
) -> Consistency:
    """Return the percent agreement of two raters, with its confidence interval and Cohen's kappa.

    Args:
        pairs: the two answers to each case; None where one is missing.
        items: the item of each case, where items have several cases, such as the questions about one image; their
            answers are not independent. None if each case is independent, and then the interval is Clopper-Pearson.
        confidence: of the interval.

    Raises:
        FormalimgError: if an answer or the confidence is invalid.
    """
    answers = validate_answers(pairs)
    names = item_ids(len(answers), items)
    validate_confidence(confidence)
    equal, answered = Counter[Hashable](), Counter[Hashable]()
    for name, (one, other) in zip(names, answers, strict=True):
        if one is not None and other is not None:
            answered[name] += 1
            equal[name] += one == other
    n = answered.total()
    if not n:
        return Consistency(0, 0, len(answers), None, None, None)
    kinds = dict(sorted(Counter(PassCount(equal[name], count) for name, count in answered.items()).items()))
    return Consistency(
        equal.total(),
        n,
        len(answers) - n,
        equal.total() / n,
        clustered_interval(kinds, confidence),
        cohen_kappa(answers),
    )


def cohen_kappa(pairs: Iterable[tuple[BinaryAnswer, BinaryAnswer]]) -> float | None:
    """Return Cohen's kappa: agreement of two raters beyond what their own yes rates would give by chance.

    Cases that one or both did not answer are ignored. None if there are no others, or if both always give the same
    answer: chance alone would then agree everywhere.
    """
    both = [(one, other) for one, other in validate_answers(pairs) if one is not None and other is not None]
    n = len(both)
    first, second = sum(one for one, _ in both), sum(other for _, other in both)
    # In whole numbers, so that no rounding decides whether there is a kappa.
    by_chance = first * second + (n - first) * (n - second)
    if by_chance == n * n:
        return None
    equal = n * sum(one == other for one, other in both)
    return (equal - by_chance) / (n * n - by_chance)


def majority(votes: Iterable[bool]) -> bool | None:
    """Return the answer of more than half of the votes; None for a tie or without votes."""
    balance = sum(1 if vote else -1 for vote in votes)
    return None if balance == 0 else balance > 0


def consistency_matrix(
    raters: Mapping[str, Mapping[Case, BinaryAnswer]],
    *,
    items: Mapping[Case, Hashable] | None = None,
    confidence: float = 0.95,
) -> dict[str, dict[str, Consistency]]:
    """Return the consistency of every pair of raters.

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
    """Return the mean consistency over all pairs of these raters of a matrix, such as the people without the judge."""
    values = [matrix[one][other].value for one, other in combinations(raters, 2)]
    known = [value for value in values if value is not None]
    return MeanConsistency(sum(known) / len(known) if known else None, len(known), len(values) - len(known))


def validate_answers(pairs: Iterable[tuple[BinaryAnswer, BinaryAnswer]]) -> list[tuple[BinaryAnswer, BinaryAnswer]]:
    """Return the pairs as a list, or raise if an answer is not True, False or None."""
    answers = list(pairs)
    for pair in answers:
        for answer in pair:
            if answer is not None and answer is not True and answer is not False:
                raise FormalimgError(f"{answer!r} is not an answer: use True, False, or None where there is none")
    return answers


def complies(ratings: Iterable[int | None], rule: ComplianceRule = "mean") -> bool | None:
    """Return whether an image complies with its prompt, by ratings from 1 to 5.

    Args:
        ratings: the ratings of one image; None entries are ignored.
        rule: `mean`, as in FormalImg (3.3): the mean is 4 or more. `majority`: more than half of the ratings are 4 or
            more.

    Returns:
        The verdict; None without ratings, and by majority also for a tie.

    Raises:
        FormalimgError: if a rating is not one of the five points, or the rule is unknown.
    """
    known = [rating for rating in ratings if rating is not None]
    for rating in known:
        if isinstance(rating, bool) or rating not in range(1, _POINTS + 1):
            raise FormalimgError(f"{rating!r} is not a rating on five points: use 1 to 5, or None where it is missing")
    match rule:
        case "mean":
            return sum(known) >= PASS_RATING * len(known) if known else None
        case "majority":
            return majority(rating >= PASS_RATING for rating in known)
    raise FormalimgError(f"the rule {rule!r} is unknown: use mean or majority")
