"""A judge measured against the majority of people."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from math import isfinite, nan

import pytest
from hypothesis import given
from hypothesis import strategies as st

from formalimg.benchmarks.cfworld.scores import summarize_scores
from formalimg.errors import FormalimgError
from formalimg.stats.agreement import consistency, consistency_matrix, mean_consistency
from formalimg.stats.correlation import pearson, within_level_correlation
from formalimg.stats.intervals import clopper_pearson
from formalimg.stats.observations import Interval, ScoreObservation
from formalimg.stats.precision_recall import (
    Classification,
    DetectionCounts,
    classification,
    detection,
    sensitivity_specificity,
)
from formalimg.stats.ranking import kendall, rank_agreement, rank_correlations, spearman
from formalimg.stats.reliability import cronbach_alpha, krippendorff_alpha
from tests.support.values import not_none

ANSWERS = st.sampled_from([True, False, None])


def _of(true_yes: int, wrong_yes: int, wrong_no: int, true_no: int) -> Classification:
    counts = {(True, True): true_yes, (False, True): wrong_yes, (True, False): wrong_no, (False, False): true_no}
    return classification([pair for pair, count in counts.items() for _ in range(count)])


def test_every_figure_by_hand() -> None:
    found = classification(
        [(True, True)] * 6 + [(False, True)] * 2 + [(True, False)] * 4 + [(False, False)] * 8 + [(None, True)] * 3
    )
    assert found.confusion == (6, 2, 4, 8)
    assert (found.n, found.left_out) == (20, 3)
    assert found.accuracy == (14, 20, 0.7, clopper_pearson(14, 20))
    assert found.precision == (6, 8, 0.75, clopper_pearson(6, 8))
    assert found.recall == found.sensitivity == (6, 10, 0.6, clopper_pearson(6, 10))
    assert found.specificity == (8, 10, 0.8, clopper_pearson(8, 10))
    assert found.f1.value == pytest.approx(12 / 18)
    assert found.balanced_accuracy.value == pytest.approx(0.7)


def test_the_judge_of_formalimg() -> None:
    """Of 400 images 322 are judged as people do, with an F1 of 0.840: so 204 or 205 images pass for both."""
    possible = {both: _of(both, 40, 38, 322 - both) for both in range(203, 207)}
    assert all((it.accuracy.value, it.n) == (0.805, 400) for it in possible.values())
    assert [both for both, it in possible.items() if round(it.f1.value or nan, 3) == 0.840] == [204, 205]
    interval = possible[205].f1.interval
    assert not_none(interval) == pytest.approx((0.80, 0.875), abs=0.01)
    assert possible[205].accuracy.interval == pytest.approx((0.7627, 0.8427), abs=1e-4)


def test_the_parser_of_formalimg() -> None:
    """Precision 96.67 %, recall 97.80 %, F1 97.23 %: for instance 667 objects found, 23 made up, 15 overlooked."""
    found = _of(667, 23, 15, 0)
    figures = (found.precision.value, found.recall.value, found.f1.value)
    assert [round(100 * (value or nan), 2) for value in figures] == [96.67, 97.80, 97.23]


def test_what_is_not_defined_is_not_made_up() -> None:
    nothing = (0, 0, None, None)
    empty = classification([(None, True), (False, None)])
    assert (empty.n, empty.left_out) == (0, 2)
    assert {empty.accuracy, empty.precision, empty.recall, empty.specificity} == {nothing}
    assert empty.f1 == empty.balanced_accuracy == (None, None)
    never = _of(0, 0, 0, 12)
    assert never.precision == never.recall == nothing
    assert never.f1 == never.balanced_accuracy == (None, None)
    assert never.specificity.value == never.accuracy.value == 1
    always_wrong = _of(0, 0, 12, 0)
    assert (always_wrong.f1.value, always_wrong.recall.value) == (0, 0)


def test_all_right_is_not_certain() -> None:
    for statistic in (_of(15, 0, 0, 15).f1, _of(15, 0, 0, 15).balanced_accuracy):
        assert statistic.value == 1
        assert 0.75 < not_none(statistic.interval).low < 0.95
        assert not_none(statistic.interval).high == 1


def test_who_always_says_yes_is_no_better_than_chance() -> None:
    found = _of(90, 10, 0, 0)
    assert found.accuracy.value == 0.9
    assert found.balanced_accuracy.value == 0.5


@given(st.lists(st.tuples(ANSWERS, ANSWERS), max_size=30), st.randoms(use_true_random=False))
def test_counts_add_up_and_order_does_not_matter(
    pairs: list[tuple[bool | None, bool | None]], chance: random.Random
) -> None:
    found = classification(pairs, resamples=100)
    assert classification(chance.sample(pairs, len(pairs)), resamples=100) == found
    agreement = consistency(pairs)
    assert (found.n, found.left_out, sum(found.confusion)) == (agreement.n, agreement.left_out, agreement.n)
    assert found.accuracy == (agreement.equal, agreement.n, agreement.value, agreement.interval)
    turned = classification([(said, truth) for truth, said in pairs], resamples=100)
    assert (turned.precision, turned.recall, turned.f1.value) == (found.recall, found.precision, found.f1.value)
    if found.precision.value and found.recall.value:
        harmonic = 2 / (1 / found.precision.value + 1 / found.recall.value)
        assert found.f1.value == pytest.approx(harmonic)
    for statistic in (found.f1, found.balanced_accuracy):
        assert statistic.value is None or 0 <= statistic.value <= 1


def test_intervals_hold_the_truth_at_least_about_as_often_as_they_say() -> None:
    """Of 60 images people like 6 in 10; the judge finds 8 of 10 of these, and 3 of 10 of the others."""
    chance = random.Random(6)
    precision = 0.48 / (0.48 + 0.12)
    truths = {"f1": 2 / (1 / precision + 1 / 0.8), "balanced_accuracy": 0.75}
    held = Counter[str]()
    trials = 200
    for _ in range(trials):
        likes = [chance.random() < 0.6 for _ in range(60)]
        found = classification([(like, chance.random() < (0.8 if like else 0.3)) for like in likes], resamples=400)
        for name, truth in truths.items():
            interval = getattr(found, name).interval
            held[name] += interval.low <= truth <= interval.high
    assert all(count / trials > 0.92 for count in held.values()), held


def test_questions_about_one_image_are_not_independent() -> None:
    pairs = [(True, True)] * 24 + [(True, False)] * 8 + [(False, True)] * 4 + [(False, False)] * 12
    often = [pair for pair in pairs for _ in range(5)]
    once, naive = classification(pairs), classification(often)
    clustered = classification(often, items=[number // 5 for number in range(len(often))])
    for name in ("accuracy", "recall", "f1", "balanced_accuracy"):
        widths = [getattr(it, name).interval.high - getattr(it, name).interval.low for it in (once, clustered, naive)]
        assert widths[1] == pytest.approx(widths[0], rel=0.1), name
        assert widths[2] < 0.6 * widths[0], name


def test_what_is_no_answer_is_refused() -> None:
    with pytest.raises(FormalimgError, match="not an answer"):
        classification([(True, 1)])  # type: ignore[list-item]  # what merely counts as yes
    with pytest.raises(FormalimgError, match="an item for each"):
        classification([(True, True)], items=["a", "b"])


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
            assert isfinite(interval.low)
            assert isfinite(interval.high)
            assert interval.low - 1e-9 <= not_none(value) <= interval.high + 1e-9
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


def test_counts_by_hand() -> None:
    found = detection(
        [DetectionCounts(3, 4, 5), DetectionCounts(0, 2, 0), DetectionCounts(0, 0, 0), DetectionCounts(1, 1, 2)]
    )
    assert found.counts == (4, 7, 7)
    assert (found.precision.value, found.recall.value) == (4 / 7, 4 / 7)
    assert found.f1.value == pytest.approx(8 / 14)
    assert not_none(found.f1.interval).high - not_none(found.f1.interval).low > 0.9  # three images tell little
    many = detection([DetectionCounts(1, 1, 1)] * 30 + [DetectionCounts(0, 1, 1)] * 10)
    assert many.counts == (30, 40, 40)
    assert many.recall.interval == clopper_pearson(30, 40)


def test_what_is_not_defined_is_none() -> None:
    assert detection([])[1:] == ((0, 0, None, None), (0, 0, None, None), (None, None))
    nothing_found = detection([DetectionCounts(0, 0, 3)])
    assert (nothing_found.precision.value, nothing_found.recall.value, nothing_found.f1.value) == (None, 0, 0)
    right = detection([DetectionCounts(2, 2, 2)] * 50).f1  # no mistake was seen, which does not make it certain
    assert right.value == 1
    assert 0.9 < not_none(right.interval).low < not_none(right.interval).high == 1


def test_several_who_say_what_is_there_make_one_image() -> None:
    one = detection([DetectionCounts(2, 3, 2), DetectionCounts(3, 3, 4)], items=["a", "a"])
    assert one == detection([DetectionCounts(5, 6, 6)])
    with pytest.raises(FormalimgError, match="is not possible"):
        detection([DetectionCounts(3, 2, 4)])


def test_intervals_of_f1_hold_the_truth() -> None:
    """Images of 1 to 20 objects that are missed with a chance of 0.1, or of 0.5 in every fifth image.

    An object that is missed leaves a wrong one in its place, so that F1 is the share of those that are not: 0.82.
    """
    chance = random.Random(3)
    held, studies = 0, 100
    for _ in range(studies):
        images = []
        for _ in range(60):
            objects, miss = chance.randint(1, 20), 0.5 if chance.random() < 0.2 else 0.1
            right = sum(chance.random() >= miss for _ in range(objects))
            images.append(DetectionCounts(right, objects, objects))
        interval = detection(images, resamples=300).f1.interval
        assert interval is not None
        held += interval.low <= 0.82 <= interval.high
    assert held >= 87  # of an interval that holds 95 %, fewer of 100 are less than 1 in 1000
