"""Inter-rater agreement on yes/no answers: percent agreement, Cohen's kappa, majority vote, compliance."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from itertools import chain, combinations
from typing import Literal, NamedTuple, TypeAlias, TypeVar

from formalimg.errors import FormalimgError
from formalimg.stats.bootstrap import item_ids
from formalimg.stats.correlation import MIN_ITEMS, UNSEEN, WithoutItem, jackknife_limit, unseen_limits
from formalimg.stats.intervals import binomial_interval, item_clustered_interval, validate_confidence
from formalimg.stats.observations import Interval, PassCount

BinaryAnswer: TypeAlias = bool | None  # True, False, or None for no answer
Case = TypeVar("Case", bound=Hashable)

# What has to reach the pass rating: the mean of the ratings, or more than half of them
ComplianceRule: TypeAlias = Literal["mean", "majority"]
PASS_RATING = 4


class Consistency(NamedTuple):
    """Percent agreement between two raters."""

    equal: int  # number of cases with the same answer
    n: int  # number of cases that both answered
    left_out: int  # number of cases that one or both did not answer
    value: float | None  # the share, 0 to 1; None if there is no case that both answered
    # its exact confidence interval, clustered where cases belong to the same item; None without a value
    interval: Interval | None
    kappa: float | None  # Cohen's kappa of the same cases
    # its jackknife interval over items; None without a kappa, and for fewer than four items
    kappa_interval: Interval | None = None


class MeanConsistency(NamedTuple):
    """Equally weighted mean consistency over all pairs of raters."""

    value: float | None  # the mean; None if no two raters have answered the same case
    pairs: int  # how many pairs of raters entered
    left_out: int  # how many pairs have no case in common
    # its confidence interval, for other items and the same raters; None without a value, and where the answers were
    # not given
    interval: Interval | None = None


def consistency(
    pairs: Iterable[tuple[BinaryAnswer, BinaryAnswer]],
    *,
    items: Sequence[Hashable] | None = None,
    confidence: float = 0.95,
) -> Consistency:
    """Compute the percent agreement of two raters, its confidence interval and Cohen's kappa.

    Args:
        pairs: the two answers to each case; None where one is missing.
        items: the item of each case, where items have several cases, such as the questions about one image; their
            answers are not independent. None if each case is independent, and then the interval is Clopper-Pearson.
        confidence: of the interval.
    """
    answers = validate_answers(pairs)
    names = item_ids(len(answers), items)
    validate_confidence(confidence)
    tables: dict[Hashable, Counter[tuple[bool, bool]]] = {}
    for name, (first, second) in zip(names, answers, strict=True):
        if first is not None and second is not None:
            tables.setdefault(name, Counter())[first, second] += 1
    kinds = Counter(_AnswerTable(*(item_counts[cell] for cell in _CELLS)) for item_counts in tables.values())
    whole = _AnswerTable(*(sum(kind[at] * times for kind, times in kinds.items()) for at in range(4)))
    n, equal = int(sum(whole)), int(whole.yes_yes + whole.no_no)
    if not n:
        return Consistency(0, 0, len(answers), None, None, None)
    shares: Counter[PassCount] = Counter()
    for kind, times in kinds.items():
        shares[PassCount(int(kind.yes_yes + kind.no_no), int(sum(kind)))] += times
    return Consistency(
        equal,
        n,
        len(answers) - n,
        equal / n,
        item_clustered_interval(dict(sorted(shares.items())), confidence),
        _cohens_kappa(whole),
        _kappa_interval(whole, kinds, confidence),
    )


class _AnswerTable(NamedTuple):  # Counts of each pair of answers by two raters, integers except for unseen items
    yes_yes: float
    yes_no: float
    no_yes: float
    no_no: float


_CELLS = ((True, True), (True, False), (False, True), (False, False))


def _cohens_kappa(table: _AnswerTable) -> float | None:
    n, first, second = sum(table), table.yes_yes + table.yes_no, table.yes_yes + table.no_yes
    # Whole numbers stay whole, so that no rounding decides whether there is a kappa.
    by_chance = first * second + (n - first) * (n - second)
    if by_chance >= n * n:
        return None
    return (n * (table.yes_yes + table.no_no) - by_chance) / (n * n - by_chance)


def _kappa_interval(whole: _AnswerTable, kinds: Mapping[_AnswerTable, int], confidence: float) -> Interval | None:
    """Return the jackknife interval of kappa, adding unseen items that favour each limit."""
    value, items = _cohens_kappa(whole), sum(kinds.values())
    if value is None or items < MIN_ITEMS:
        return None
    weight = UNSEEN * sum(whole) / items

    def limit(upper: bool) -> float:
        agree = (_AnswerTable(weight, 0, 0, 0), _AnswerTable(0, 0, 0, weight))
        differ = (_AnswerTable(0, weight, 0, 0), _AnswerTable(0, 0, weight, 0))
        unseen = agree if upper else differ
        more = _AnswerTable(*map(sum, zip(whole, *unseen, strict=True)))
        without = []
        for kind, times in [*sorted(kinds.items()), *((kind, 1) for kind in unseen)]:
            rest = _AnswerTable(*(count - mine for count, mine in zip(more, kind, strict=True)))
            without.append(WithoutItem(_cohens_kappa(rest), times))
        return jackknife_limit(_cohens_kappa(more) or 0.0, without, items - 1, confidence, upper=upper)

    return unseen_limits(value, limit)


def majority(votes: Iterable[bool]) -> bool | None:
    """Return the majority vote, or None for a tie or no votes."""
    balance = sum(1 if vote else -1 for vote in votes)
    return None if balance == 0 else balance > 0


def consistency_matrix(
    raters: Mapping[str, Mapping[Case, BinaryAnswer]],
    *,
    items: Mapping[Case, Hashable] | None = None,
    confidence: float = 0.95,
) -> dict[str, dict[str, Consistency]]:
    """Compute the consistency of every pair of raters."""
    cases = list(dict.fromkeys(case for answers in raters.values() for case in answers))
    belongs = None if items is None else [items[case] for case in cases]
    matrix: dict[str, dict[str, Consistency]] = {rater: {} for rater in raters}
    for first, second in combinations(raters, 2):
        pairs = [(raters[first].get(case), raters[second].get(case)) for case in cases]
        matrix[first][second] = matrix[second][first] = consistency(pairs, items=belongs, confidence=confidence)
    return {rater: {other: row[other] for other in raters if other != rater} for rater, row in matrix.items()}


def mean_consistency(
    matrix: Mapping[str, Mapping[str, Consistency]],
    raters: Iterable[str],
    *,
    answers: Mapping[str, Mapping[Case, BinaryAnswer]] | None = None,
    items: Mapping[Case, Hashable] | None = None,
    confidence: float = 0.95,
) -> MeanConsistency:
    """Compute the mean consistency over all pairs of the selected raters in a matrix."""
    pairs = list(combinations(raters, 2))
    defined_pairs = {pair: consistency for pair in pairs if (consistency := matrix[pair[0]][pair[1]]).value is not None}
    if not defined_pairs:
        return MeanConsistency(None, 0, len(pairs))
    mean = sum(pair.equal / pair.n for pair in defined_pairs.values()) / len(defined_pairs)
    interval = None
    if len(defined_pairs) == 1:
        interval = next(iter(defined_pairs.values())).interval
    elif answers is not None:
        interval = _mean_interval(mean, defined_pairs, answers, items, confidence)
    return MeanConsistency(mean, len(defined_pairs), len(pairs) - len(defined_pairs), interval)


def _mean_interval(
    mean: float,
    pairs: Mapping[tuple[str, str], Consistency],
    answers: Mapping[str, Mapping[Case, BinaryAnswer]],
    items: Mapping[Case, Hashable] | None,
    confidence: float,
) -> Interval:
    """Return the exact interval of the mean for an effective number of independent cases.

    As for `design_effect`, an imagined item on which all pairs agree and one on which none does are added.
    """
    moved: dict[Hashable, float] = {}
    for (first, other), consistency in pairs.items():
        for case, answer in answers[first].items():
            if answer is not None and (second := answers[other].get(case)) is not None:
                name = case if items is None else items[case]
                # How far the item moves the mean of all pairs, times the number of items.
                moved[name] = (
                    moved.get(name, 0.0) + ((answer == second) - consistency.equal / consistency.n) / consistency.n
                )
    count, compared = len(moved), sum(pair.n for pair in pairs.values())
    shares = [count / len(pairs) * item_moved for item_moved in moved.values()]
    middle = (mean * count + 1) / (count + 2)
    spread = sum((mean + share - middle) ** 2 for share in shares) + (1 - middle) ** 2 + middle**2
    effect = spread / ((count + 2) * middle * (1 - middle))
    cases = min(float(compared), count / effect)
    return binomial_interval(mean * cases, cases, confidence)


def validate_answers(pairs: Iterable[tuple[BinaryAnswer, BinaryAnswer]]) -> list[tuple[BinaryAnswer, BinaryAnswer]]:
    """Return the pairs as a list, and raise an error if an answer is not True, False or None."""
    answers = list(pairs)
    for answer in chain.from_iterable(answers):
        if answer is not None and answer is not True and answer is not False:
            raise FormalimgError(f"{answer!r} is not an answer: use True, False, or None where there is none")
    return answers


def complies(ratings: Iterable[int | None], rule: ComplianceRule = "mean") -> bool | None:
    """Return whether an image complies with its prompt, given ratings from 1 to 5.

    Args:
        ratings: the ratings of one image; None entries are ignored.
        rule: `mean`, as in FormalImg (3.3): the mean is 4 or more. `majority`: more than half of the ratings are 4 or
            more.

    Returns:
        The verdict; None without ratings, and by majority also for a tie.
    """
    answered = [rating for rating in ratings if rating is not None]
    for rating in answered:
        if isinstance(rating, bool) or rating not in range(1, 6):
            raise FormalimgError(f"{rating!r} is not a rating on five points: use 1 to 5, or None where it is missing")
    match rule:
        case "mean":
            return sum(answered) >= PASS_RATING * len(answered) if answered else None
        case "majority":
            return majority(rating >= PASS_RATING for rating in answered)
    raise FormalimgError(f"the rule {rule!r} is unknown: use mean or majority")
