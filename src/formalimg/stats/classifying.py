"""A judge measured against what is taken for true, such as the majority of people."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from formalimg.errors import FormalimgError
from formalimg.stats.agreeing import Answer
from formalimg.stats.binomial import checked_confidence
from formalimg.stats.clustering import clustered_interval
from formalimg.stats.redrawing import Estimate, interval_between, item_of_each, kinds_of_items, redrawn, tails
from formalimg.stats.resampling import Resampling, checked_resampling
from formalimg.stats.summary import Interval
from formalimg.stats.tallying import Outcome

if TYPE_CHECKING:
    from formalimg.stats.redrawing import Draws


class Confusion(NamedTuple):
    """How often truth and judge say what; a yes is positive.

    Attributes:
        true_positives: both say yes.
        false_positives: the judge says yes, the truth is no.
        false_negatives: the judge says no, the truth is yes.
        true_negatives: both say no.
    """

    true_positives: int
    false_positives: int
    false_negatives: int
    true_negatives: int


class Share(NamedTuple):
    """How often something happened: in so many of n cases."""

    happened: int
    n: int
    value: float | None
    interval: Interval | None


class Classification(NamedTuple):
    """How well a judge tells what is true.

    Shares have the exact interval of Clopper and Pearson, clustered where cases belong to the same item; F1 and the
    balanced accuracy have that of the bootstrap. What is not defined is None.

    Attributes:
        confusion: the counts.
        n: how many cases have both a truth and an answer of the judge.
        left_out: how many have not.
        accuracy: the share of cases that the judge gets right.
        precision: of those with a yes of the judge, the share that is true.
        recall: of those that are true, the share with a yes of the judge; also called sensitivity.
        specificity: of those that are not true, the share with a no of the judge.
        f1: the harmonic mean of precision and recall; None where nothing is true and the judge never says yes.
        balanced_accuracy: the mean of recall and specificity: 0.5 for a judge who always says the same.
    """

    confusion: Confusion
    n: int
    left_out: int
    accuracy: Share
    precision: Share
    recall: Share
    specificity: Share
    f1: Estimate
    balanced_accuracy: Estimate

    @property
    def sensitivity(self) -> Share:
        """The other name of recall."""
        return self.recall


_Kinds: TypeAlias = Mapping[Confusion, int]
"""How many items have which counts."""


def classification(
    pairs: Iterable[tuple[Answer, Answer]],
    *,
    items: Sequence[Hashable] | None = None,
    confidence: float = 0.95,
    resamples: int = 2000,
    seed: int = 0,
) -> Classification:
    """How well a judge tells what is true.

    Args:
        pairs: for each case the truth, such as what the majority of people says, and what the judge says; None where
            there is none. Such cases are left out and counted.
        items: for each case the item it belongs to, where items have several cases; their answers are not independent.
        confidence: of all intervals.
        resamples: how often items are drawn anew for the intervals of F1 and balanced accuracy.
        seed: of the resampling.

    Raises:
        FormalimgError: if an answer is none, or this is no confidence.
    """
    how = checked_resampling(checked_confidence(confidence), resamples, seed)
    given = list(pairs)
    for answer in (answer for pair in given for answer in pair):
        if answer is not None and answer is not True and answer is not False:
            raise FormalimgError(f"{answer!r} is no answer: give True, False, or None where there is none")
    named = [
        (name, (truth, said))
        for name, (truth, said) in zip(item_of_each(len(given), items), given, strict=True)
        if truth is not None and said is not None
    ]
    kinds: Counter[Confusion] = Counter()
    for cases, count in kinds_of_items(named).items():
        kinds[_confusion(cases)] += count
    whole = _confusion([case for _, case in named])
    return Classification(
        whole,
        len(named),
        len(given) - len(named),
        _share(kinds, lambda it: Outcome(it.true_positives + it.true_negatives, sum(it)), confidence),
        _share(kinds, lambda it: Outcome(it.true_positives, it.true_positives + it.false_positives), confidence),
        _share(kinds, lambda it: Outcome(it.true_positives, it.true_positives + it.false_negatives), confidence),
        _share(kinds, lambda it: Outcome(it.true_negatives, it.true_negatives + it.false_positives), confidence),
        _estimate(kinds, whole, _f1, how),
        _estimate(kinds, whole, _balanced_accuracy, how),
    )


def _confusion(cases: Iterable[tuple[bool, bool]]) -> Confusion:
    counts = Counter(cases)
    return Confusion(counts[True, True], counts[False, True], counts[True, False], counts[False, False])


def _share(kinds: _Kinds, outcome: Callable[[Confusion], Outcome], confidence: float) -> Share:
    found: Counter[Outcome] = Counter()
    for kind, items in kinds.items():
        if outcome(kind).counted:
            found[outcome(kind)] += items
    n = sum(kind.counted * items for kind, items in found.items())
    if not n:
        return Share(0, 0, None, None)
    happened = sum(kind.passed * items for kind, items in found.items())
    return Share(happened, n, happened / n, clustered_interval(dict(sorted(found.items())), confidence))


def _estimate(kinds: _Kinds, whole: Confusion, figure: Callable[[Draws], Draws], how: Resampling) -> Estimate:
    """A figure of the counts, with its bootstrap interval.

    Of what was never seen, resampling knows nothing: were all right, so would all resamples be. So there are unseen
    items to draw as well: one wrong yes and one wrong no for the lower end, one right yes and one right no for the
    upper end.
    """
    import numpy as np

    value = float(figure(np.array([whole], dtype=np.float64))[0])
    if np.isnan(value):
        return Estimate(None, None)

    def draws(*unseen: Confusion) -> Draws:
        counts = np.array([*kinds, *unseen], dtype=np.float64)
        return redrawn([*kinds.values(), *(1 for _ in unseen)], lambda drawn: figure(drawn @ counts), how)

    size = max(map(sum, kinds))
    lower = draws(Confusion(0, size, 0, 0), Confusion(0, 0, size, 0))
    upper = draws(Confusion(size, 0, 0, 0), Confusion(0, 0, 0, size))
    return Estimate(value, interval_between(lower, upper, *tails(how.confidence)))


def _f1(counts: Draws) -> Draws:
    true, wrong_yes, wrong_no, _ = counts.T
    return _ratio(2 * true, 2 * true + wrong_yes + wrong_no)


def _balanced_accuracy(counts: Draws) -> Draws:
    true, wrong_yes, wrong_no, right_no = counts.T
    return (_ratio(true, true + wrong_no) + _ratio(right_no, right_no + wrong_yes)) / 2


def _ratio(part: Draws, whole: Draws) -> Draws:
    import numpy as np

    return np.asarray(np.divide(part, whole, out=np.full_like(whole, np.nan), where=whole > 0))
