"""One case, two, five; all the same; all missing: an interval holds its value, or there is none, and nothing breaks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from math import isfinite

import pytest

from formalimg.benchmarks.cfworld.scores import summarize_scores
from formalimg.stats.agreement import consistency, consistency_matrix, mean_consistency
from formalimg.stats.correlation import pearson, within_level_correlation
from formalimg.stats.intervals import clopper_pearson
from formalimg.stats.observations import Interval, ScoreObservation
from formalimg.stats.precision_recall import DetectionCounts, classification, detection, sensitivity_specificity
from formalimg.stats.ranking import kendall, rank_agreement, rank_correlations, spearman
from formalimg.stats.reliability import cronbach_alpha, krippendorff_alpha

Figure = tuple[float | None, Interval | None]
Pairs = Sequence[tuple[float | None, float | None]]

CASES: dict[str, Callable[[int], Pairs]] = {
    "all yes": lambda n: [(1.0, 1.0)] * n,
    "all differ": lambda n: [(1.0, 0.0)] * n,
    "all missing": lambda n: [(None, None)] * n,
    "one missing": lambda n: [(None, 1.0), *[(0.0, 0.0), (1.0, 1.0)] * n][: n + 1],
    "perfect": lambda n: [(float(at % 2), float(at % 2)) for at in range(n)],
    "opposite": lambda n: [(float(at % 2), float(1 - at % 2)) for at in range(n)],
    "scores on a line": lambda n: [(at / n, at / n) for at in range(n)],
    "scores": lambda n: [(at / n, at * 7 % n / n) for at in range(n)],
}


def _figures(pairs: Pairs, items: Sequence[int]) -> Iterator[Figure]:
    levels = [at % 2 for at in range(len(pairs))]
    for found in (
        pearson(pairs),
        pearson(pairs, items=items),
        spearman(pairs),
        *rank_correlations(pairs, items=items),
        kendall(pairs),
        within_level_correlation(pairs, levels, items=items),
        krippendorff_alpha(pairs, "interval", items=items, resamples=100),
        cronbach_alpha(pairs, items=items, resamples=100),
    ):
        yield found.value, found.interval
    ranks = rank_agreement({1: pairs, 2: pairs})
    yield ranks.mean, ranks.interval


def _answers(pairs: Pairs, items: Sequence[int]) -> Iterator[Figure]:
    answers = [tuple(None if score is None else score >= 0.5 for score in pair) for pair in pairs]
    both = [(one, other) for one, other in answers]
    agreement = consistency(both, items=items)
    yield agreement.value, agreement.interval
    yield agreement.kappa, agreement.kappa_interval
    found = classification(both, items=items, resamples=100)
    errors = sensitivity_specificity(both, items=items)
    for each in (*found[3:], *errors[2:]):
        yield each.value, each.interval
    raters = {who: {at: pair[who == "b"] for at, pair in enumerate(both)} for who in ("a", "b")}
    raters["c"] = raters["a"]
    mean = mean_consistency(consistency_matrix(raters), raters, answers=raters)
    yield mean.value, mean.interval


def _groups(pairs: Pairs) -> Iterator[Figure]:
    seen = [
        ScoreObservation(str(at), level, 0, score)
        for at, pair in enumerate(pairs)
        for level, score in enumerate(pair, 1)
    ]
    summary = summarize_scores(seen, threshold=None, resamples=100)
    for level in summary.levels.values():
        yield level.value, level.interval
    for ratio in (summary.prr, summary.rrr):
        yield ratio.value, ratio.interval


def _check(figures: Iterable[Figure]) -> None:
    for value, interval in figures:
        assert value is None or isfinite(value)
        if interval is not None:
            assert value is not None
            assert isfinite(interval.low)
            assert isfinite(interval.high)
            assert interval.low - 1e-9 <= value <= interval.high + 1e-9
            assert interval.high > interval.low, "no certainty from so little"


@pytest.mark.parametrize("n", [1, 2, 5])
@pytest.mark.parametrize("case", list(CASES))
def test_nothing_breaks_and_nothing_is_certain(case: str, n: int) -> None:
    pairs = CASES[case](n)
    for items in (range(len(pairs)), [0] * len(pairs), [at // 2 for at in range(len(pairs))]):
        _check(_figures(pairs, items))
        _check(_answers(pairs, items))
    _check(_groups(pairs))


def test_boxes_and_counts_at_the_ends() -> None:
    for n in (1, 2, 5):
        for counts in (
            DetectionCounts(0, 0, 3),
            DetectionCounts(0, 3, 0),
            DetectionCounts(3, 3, 3),
            DetectionCounts(0, 0, 0),
        ):
            found = detection([counts] * n, resamples=100)
            _check((each.value, each.interval) for each in (found.precision, found.recall, found.f1))
        for successes in range(n + 1):
            _check([(successes / n, clopper_pearson(successes, n))])


def test_sensitivity_and_specificity_by_hand() -> None:
    """Ten that are true, of which nine are found; five that are not, of which two are rejected; one unknown."""
    pairs = [(True, True)] * 9 + [(True, False)] + [(False, True)] * 3 + [(False, False)] * 2 + [(None, True)]
    found = sensitivity_specificity(pairs)
    assert (found.n, found.left_out) == (15, 1)
    assert found.sensitivity == (9, 10, 0.9, clopper_pearson(9, 10))
    assert found.specificity == (2, 5, 0.4, clopper_pearson(2, 5))
    assert (found.judge_yes[:2], found.truth_yes[:2]) == ((12, 15), (10, 15))
    whole = classification(pairs)
    assert (found.sensitivity, found.specificity) == (whole.sensitivity, whole.specificity)
