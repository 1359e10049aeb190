"""Corrected levels, bands, Overall and G of a run, and which images to label."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from math import comb, sqrt
from statistics import fmean

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from formalimg.errors import FormalimgError
from formalimg.stats.corrected import CorrectedRate, corrected_rate, estimate_corrected_mean
from formalimg.stats.corrected_summary import LabelledObservation, summarize_corrected
from formalimg.stats.intervals import jeffreys_interval, mean_interval, student_quantile
from formalimg.stats.observations import Observation
from formalimg.stats.planning import allocate_labels
from formalimg.stats.summary import generalizability, summarize
from tests.support.sizes import tries
from tests.support.values import not_none


def observed(level: int, passed: bool, human: bool | None, times: int, first: int = 0) -> list[LabelledObservation]:
    return [
        LabelledObservation(f"{level} {passed} {human} {number}", level, passed, human)
        for number in range(first, first + times)
    ]


def one_level(level: int, counts: Mapping[tuple[bool, bool | None], int]) -> list[LabelledObservation]:
    return [one for (passed, human), times in counts.items() for one in observed(level, passed, human, times)]


EASY = {(True, True): 18, (True, False): 2, (True, None): 140, (False, True): 6, (False, False): 4, (False, None): 30}
HARD = {(True, True): 6, (True, False): 6, (True, None): 28, (False, True): 1, (False, False): 19, (False, None): 140}


def test_levels_are_corrected_each_by_its_own_labels() -> None:
    found = summarize_corrected(one_level(1, EASY) + one_level(2, HARD), bands={"Both": [1, 2]}, epsilon=0.7)
    pairs = [pair for pair, times in HARD.items() for _ in range(times) if pair[1] is not None]
    hard = found.levels[2]
    assert hard == pytest.approx(corrected_rate(40, 200, [(judge, bool(human)) for judge, human in pairs]))
    easy = found.levels[1]
    assert easy is not None
    assert easy.estimate == pytest.approx(0.8 * 0.9 + 0.2 * 0.6)
    assert easy.raw == 0.8
    assert found.labels == 62
    assert (not_none(found.generalizability).value, not_none(found.generalizability).low) == (1, 0)
    band, overall = found.bands["Both"], found.overall
    assert not_none(band).estimate == pytest.approx((easy.estimate + not_none(hard).estimate) / 2)
    assert not_none(overall) == pytest.approx(not_none(band)), "there are equally many images of both levels"


def test_overall_goes_by_images_and_bands_by_levels() -> None:
    """However differently labels were drawn: here a tenth of one level, and nine tenths of the other."""
    seen = one_level(1, {(True, True): 10, (True, None): 90, (False, False): 10, (False, None): 90})
    seen += one_level(2, {(True, False): 90, (True, None): 10})
    found = summarize_corrected(seen, bands={"Both": [2, 1]}, epsilon=None)
    assert found.generalizability is None
    assert found.bands["Both"] is not None
    assert not_none(found.overall).estimate == pytest.approx(100 / 300)
    assert found.bands["Both"].estimate == pytest.approx(0.25)
    assert (not_none(found.overall).raw, found.bands["Both"].raw) == pytest.approx((200 / 300, 0.75))


def test_images_without_a_verdict_are_left_out_with_their_labels() -> None:
    seen = one_level(1, EASY)
    unscored = [LabelledObservation(f"unscored {number}", 1, None, True) for number in range(20)]
    alone, together = (summarize_corrected(those, bands={}, epsilon=0.7) for those in (seen, seen + unscored))
    assert together == alone


def test_levels_without_labels_have_no_rate() -> None:
    seen = one_level(1, EASY) + one_level(2, {(True, None): 50, (False, None): 50})
    found = summarize_corrected(seen, bands={"Hard": [2], "Both": [1, 2], "None": [3]}, epsilon=0.7)
    assert found.levels[2] is None
    assert found.bands["Hard"] is None
    assert found.bands["None"] is None
    assert found.overall is not None, "level 1 has labels of both answers, which stand for those of level 2"
    assert not_none(found.generalizability).value is None
    assert summarize_corrected([], bands={}, epsilon=None).overall is None


def test_where_most_images_are_of_levels_without_labels_all_of_them_may_pass_or_none() -> None:
    seen = [*one_level(1, {(True, True): 10, (False, False): 10})]
    for level in (2, 3):
        seen += one_level(level, {(True, None): 50, (False, None): 50})
    found = summarize_corrected(seen, bands={}, epsilon=None).overall
    assert found is not None
    assert found.low < 0.05
    assert found.high > 0.95
    assert found.effective_labels < 2


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (LabelledObservation("a", 1, True, "yes"), "the label of item 'a'"),  # type: ignore[arg-type]
        (LabelledObservation("a", 1, "yes", True), "the verdict on item 'a'"),  # type: ignore[arg-type]
        (LabelledObservation("a", -1, True, True), "level -1"),
    ],
)
def test_impossible_observations_are_refused(wrong: LabelledObservation, message: str) -> None:
    with pytest.raises(FormalimgError, match=message):
        summarize_corrected([wrong], bands={}, epsilon=None)


@given(st.lists(st.tuples(st.integers(1, 3), st.booleans(), st.booleans()), min_size=1, max_size=60))
def test_with_labels_that_all_agree_estimates_are_the_raw_ones(seen: list[tuple[int, bool, bool]]) -> None:
    labelled = [
        LabelledObservation(str(number), level, passed, passed) for number, (level, passed, _) in enumerate(seen)
    ]
    found = summarize_corrected(labelled, bands={"All": [1, 2, 3]}, epsilon=0.5)
    raw = summarize((Observation(*one[:3]) for one in labelled), bands={"All": [1, 2, 3]}, epsilon=0.5, resamples=40)
    for level, rate in raw.levels.items():
        of_level = found.levels[level]
        assert not_none(of_level).estimate == pytest.approx(rate.value)
    assert not_none(found.overall).estimate == pytest.approx(raw.overall.value)
    assert not_none(found.generalizability).value == not_none(raw.generalizability).value


def test_several_images_of_an_item_that_are_all_alike_count_once() -> None:
    """Nothing is won by labelling the same image several times."""
    seen = one_level(1, EASY)
    once = summarize_corrected(seen, bands={}, epsilon=None).overall
    often = summarize_corrected([one for one in seen for _ in range(4)], bands={}, epsilon=None).overall
    apart = summarize_corrected(
        [one._replace(item=f"{one.item} {copy}") for one in seen for copy in range(4)], bands={}, epsilon=None
    ).overall
    assert once is not None
    assert often is not None
    assert often.estimate == once.estimate
    assert (often.low, often.high) == pytest.approx((once.low, once.high), abs=0.02)
    assert not_none(apart).high - not_none(apart).low < 0.6 * (often.high - often.low)


CURVE = [0.9, 0.78, 0.6, 0.35]


@pytest.mark.parametrize(("labels", "samples"), [(48, 1), (160, 1), (120, 3)][:: tries(2, 1)])
def test_truths_are_covered_by_stratified_labels(labels: int, samples: int) -> None:
    """Labels by `allocate_labels`, a judge that is lenient the more the worse a model is."""
    chance, trials = np.random.default_rng(6), tries(60, 400)
    held = generalizability(dict(enumerate(CURVE, start=1)), 0.7)
    covered = {"overall": 0, "levels": 0.0, "G": 0}
    for _ in range(trials):
        found = summarize_corrected(_simulated(chance, labels, samples), bands={}, epsilon=0.7)
        covered["overall"] += _holds(found.overall, fmean(CURVE))
        covered["levels"] += fmean(_holds(found.levels[level], rate) for level, rate in enumerate(CURVE, start=1))
        low, high = not_none(found.generalizability).low, not_none(found.generalizability).high
        covered["G"] += not_none(low) <= held <= not_none(high)
    assert min(covered.values()) >= (0.88 if trials == 60 else 0.925) * trials, covered


def _simulated(chance: np.random.Generator, labels: int, samples: int) -> list[LabelledObservation]:
    seen: list[LabelledObservation] = []
    humans: list[bool] = []
    for level, rate in enumerate(CURVE, start=1):
        of_items = chance.beta(2 * rate, 2 * (1 - rate), 120)[:, None] if samples > 1 else np.full((120, 1), rate)
        good = chance.random((120, samples)) < of_items
        passed = np.where(good, chance.random(good.shape) < 0.93, chance.random(good.shape) < 0.5 - 0.08 * level)
        for item in range(120):
            for number in range(samples):
                seen.append(LabelledObservation(f"{level}-{item}", level, bool(passed[item, number])))
                humans.append(bool(good[item, number]))
    cells: dict[tuple[int, bool], list[int]] = {}
    for number, one in enumerate(seen):
        cells.setdefault((one.level, bool(one.passed)), []).append(number)
    plan = allocate_labels({cell: len(those) for cell, those in cells.items()}, labels)
    for cell, wanted in plan.cells.items():
        for number in chance.choice(cells[cell], wanted, replace=False):
            seen[number] = seen[number]._replace(human=humans[number])
    return seen


def _holds(found: CorrectedRate | None, truth: float) -> bool:
    return not_none(found).low <= truth <= not_none(found).high


CELLS = st.dictionaries(st.tuples(st.integers(1, 4), st.booleans()), st.integers(0, 60), min_size=1)


@given(CELLS, st.data())
def test_labels_go_to_images_that_have_none(cells: dict[tuple[int, bool], int], data: st.DataObject) -> None:
    known = {}
    for cell, images in cells.items():
        done = data.draw(st.integers(0, images))
        known[cell] = (data.draw(st.integers(0, done)), done)
    left = sum(cells.values()) - sum(done for _, done in known.values())
    if not sum(cells.values()):
        return
    labels = data.draw(st.integers(0, left))
    found = allocate_labels(cells, labels, cells_known=known)
    assert sum(found.cells.values()) == labels
    assert all(0 <= number <= cells[cell] - known[cell][1] for cell, number in found.cells.items())
    after = {cell: number + known[cell][1] for cell, number in found.cells.items()}
    if labels >= 2 * len(cells):
        assert all(number >= min(2, cells[cell]) for cell, number in after.items())
    assert 0 <= found.half_width <= 0.5


def test_labels_are_shared_as_neyman_says() -> None:
    """In proportion to images and to the standard deviation of what people say, as far as it is known."""
    cells = {(1, True): 600, (1, False): 400}
    even = allocate_labels(cells, 100).cells
    assert even[1, True] == pytest.approx(60, abs=1)
    known = {(1, True): (60, 60), (1, False): (20, 40)}
    found = allocate_labels(cells, 100, cells_known=known).cells
    assert found[1, False] > 60, "people agree with what the judge passes; the rest is a coin toss"
    shares = {(1, True): 600 * sqrt(0.0122 * 0.9878), (1, False): 400 * 0.5}
    after = found[1, True] + 60, found[1, False] + 40
    if found[1, True]:
        assert after[0] / after[1] == pytest.approx(shares[1, True] / shares[1, False], rel=0.2)


def test_the_width_to_be_expected_is_about_that_of_the_interval() -> None:
    """With judges as they are guessed to be: one in five of either answer is wrong."""
    cells = {(1, True): 160, (1, False): 40, (2, True): 60, (2, False): 140}
    widths = []
    for labels in (40, 160):
        plan = allocate_labels(cells, labels)
        seen: list[LabelledObservation] = []
        for (level, passed), number in plan.cells.items():
            wrong = round(number / 5)
            seen += observed(level, passed, passed, number - wrong) + observed(level, passed, not passed, wrong)
            seen += observed(level, passed, None, cells[level, passed] - number)
        found = summarize_corrected(seen, bands={}, epsilon=None).overall
        assert plan.half_width == pytest.approx((not_none(found).high - not_none(found).low) / 2, rel=0.05)
        widths.append(plan.half_width)
    assert widths[1] < 0.7 * widths[0]


@pytest.mark.parametrize(
    ("cells", "labels", "known", "message"),
    [
        ({(1, True): 5}, 6, None, "6 labels were asked for, of 5 images"),
        ({(1, True): 5}, -1, None, "-1 labels were asked for"),
        ({}, 0, None, "no images to label"),
        ({(1, True): 5}, 1, {(1, True): (3, 2)}, "3 of 2 labels say yes"),
        ({(1, True): 5}, 1, {(1, True): (3, 6)}, "of 5 images at level 1 that the judge passed"),
        ({(1, True): 5}, 1, {(2, False): (0, 1)}, "of 0 images at level 2 that the judge failed"),
    ],
)
def test_impossible_allocations_are_refused(
    cells: dict[tuple[int, bool], int],
    labels: int,
    known: dict[tuple[int, bool], tuple[int, int]] | None,
    message: str,
) -> None:
    with pytest.raises(FormalimgError, match=message):
        allocate_labels(cells, labels, cells_known=known)


PAIRS = ((True, True), (True, False), (False, True), (False, False))
"""Judge and human."""


@st.composite
def labelled_runs(draw: st.DrawFn) -> tuple[list[int], list[int]]:
    """Images by the pairs above, and how many of each are labelled."""
    images = [draw(st.integers(0, 60)) for _ in PAIRS]
    labels = [draw(st.integers(0, most)) for most in images]
    assume(sum(labels))
    return images, labels


def corrected(images: Sequence[int], labels: Sequence[int], confidence: float = 0.95) -> CorrectedRate:
    return corrected_rate(images[0] + images[1], sum(images), pairs_of(labels), confidence)


def pairs_of(counts: Iterable[int]) -> list[tuple[bool, bool]]:
    return [pair for pair, times in zip(PAIRS, counts, strict=True) for _ in range(times)]


def test_the_estimate_is_the_sum_over_both_answers() -> None:
    """590 of 795 passed; people pass 49 of 74 of those labelled, and 5 of 26 of those that the judge failed."""
    found = corrected_rate(590, 795, pairs_of([49, 25, 5, 21]))
    assert found.estimate == pytest.approx(590 / 795 * 49 / 74 + 205 / 795 * 5 / 26)
    assert found.raw == pytest.approx(590 / 795)
    assert found.labels == 100
    assert found.low < 0.538 < found.high < found.raw


@given(labelled_runs())
def test_the_interval_holds_the_estimate_and_stays_within_0_and_1(run: tuple[list[int], list[int]]) -> None:
    found, wider = corrected(*run), corrected(*run, confidence=0.99)
    assert 0 <= wider.low <= found.low <= found.estimate <= found.high <= wider.high <= 1
    assert found.effective_labels > 0


@given(labelled_runs())
def test_yes_and_no_can_be_exchanged(run: tuple[list[int], list[int]]) -> None:
    """A rate of failures is 1 less the rate of passes."""
    images, labels = run
    found, other = corrected(images, labels), corrected(images[::-1], labels[::-1])
    assert (1 - other.high, 1 - other.estimate, 1 - other.low) == pytest.approx(
        (found.low, found.estimate, found.high), abs=1e-9
    )


@given(labelled_runs())
def test_a_contrary_judge_is_as_good_as_its_opposite(run: tuple[list[int], list[int]]) -> None:
    images, labels = run
    contrary = corrected([*images[2:], *images[:2]], [*labels[2:], *labels[:2]])
    assert contrary[:3] == pytest.approx(corrected(images, labels)[:3], abs=1e-9)


@given(st.tuples(*[st.integers(0, 300)] * 4))
def test_with_all_images_labelled_only_the_sampling_of_images_is_left(counts: tuple[int, int, int, int]) -> None:
    passed, n = counts[0] + counts[2], sum(counts)
    assume(n >= 20)
    found, plain = corrected(counts, counts), jeffreys_interval(passed, n, 0.95)
    assert found.estimate == pytest.approx(passed / n)
    assert (found.low, found.high) == pytest.approx(plain, abs=2.5 / n + 0.015)
    assert found.effective_labels <= n + 1


def test_a_judge_that_always_says_yes_leaves_the_labels_alone() -> None:
    found = corrected_rate(500, 500, [(True, True)] * 30 + [(True, False)] * 10)
    assert (found.low, found.high) == pytest.approx(jeffreys_interval(30, 40, 0.95))
    assert found.effective_labels == pytest.approx(40)
    assert (found.estimate, found.raw) == (0.75, 1.0)


def test_a_judge_that_is_noise_is_worth_no_label() -> None:
    found = corrected_rate(1000, 2000, pairs_of([30, 20, 30, 20]))
    assert found.estimate == pytest.approx(0.6)
    assert found.effective_labels == pytest.approx(100, rel=0.03)


def test_a_good_judge_is_worth_many_labels() -> None:
    found = corrected_rate(1000, 2000, pairs_of([50, 0, 0, 50]))
    assert found.estimate == 0.5
    assert found.effective_labels > 800
    assert 0.02 < found.high - found.low < 0.07, "that all labels agree does not show that the judge never errs"


def test_nothing_is_known_of_an_answer_without_labels() -> None:
    found = corrected_rate(100, 200, [(True, True)] * 50)
    assert found.estimate == 0.75
    assert found.low < 0.5
    assert found.high == 1
    assert found.effective_labels < 4
    few = corrected_rate(1999, 2000, [(True, True), (True, False)] * 50)
    assert few.effective_labels == pytest.approx(100, rel=0.02), "a single image hardly matters"


@pytest.mark.parametrize(
    ("passes", "total", "labelled", "message"),
    [
        (5, 4, [(True, True)], "not a rate"),
        (0, 0, [], "not a rate"),
        (-1, 4, [(True, True)], "not a rate"),
        (2, 4, [], "no labels"),
        (2, 4, [(True, True)] * 3, "3 labelled images were passed by the judge, of only 2"),
        (2, 4, [(False, True)] * 3, "3 labelled images were failed by the judge, of only 2"),
        (2, 4, [(True, "yes")], "not a label"),
        (2, 4, [(None, True)], "not a label"),
    ],
)
def test_impossible_labels_are_refused(
    passes: int, total: int, labelled: list[tuple[bool, bool]], message: str
) -> None:
    with pytest.raises(FormalimgError, match=message) as raised:
        corrected_rate(passes, total, labelled)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("confidence", [0, 1, 95])
def test_impossible_confidences_are_refused(confidence: float) -> None:
    with pytest.raises(FormalimgError, match="confidence"):
        corrected_rate(2, 4, [(True, True)], confidence)


@pytest.mark.parametrize(("rate", "error"), [(0.5, 0.2), (0.3, 0.4), (0.8, 0.2), (0.15, 0.3)])
def test_coverage_by_enumeration(rate: float, error: float) -> None:
    """All samples of 12 labels of 10^9 images whose pass rate is known: their chances are binomial."""
    passes = round(1e9 * (rate * (1 - error) + (1 - rate) * error))
    p = passes / 1e9
    good, bad = rate * (1 - error) / p, rate * error / (1 - p)
    covered = 0.0
    for yes in range(13):
        for agreed, denied in product(range(yes + 1), range(13 - yes)):
            chance = (
                comb(12, yes)
                * p**yes
                * (1 - p) ** (12 - yes)
                * _binomial(agreed, yes, good)
                * _binomial(denied, 12 - yes, bad)
            )
            found = corrected_rate(passes, 10**9, pairs_of([agreed, yes - agreed, denied, 12 - yes - denied]))
            covered += chance * (found.low <= rate <= found.high)
    assert 0.92 < covered < 0.99


@pytest.mark.parametrize(
    ("rate", "sensitivity", "specificity"),
    [(0.538, 388 / 428, 165 / 367), (0.538, 0.85, 0.8), (0.05, 0.85, 0.8), (0.97, 388 / 428, 165 / 367)],
)
@pytest.mark.parametrize("labels", [25, 100][: tries(1, 2)])
def test_the_truth_is_covered_where_the_judge_errs(
    rate: float, sensitivity: float, specificity: float, labels: int
) -> None:
    chance, trials = np.random.default_rng(3), tries(60, 1000)
    good, bad = rate * sensitivity, (1 - rate) * (1 - specificity)
    covered = 0
    for _ in range(trials):
        images = chance.multinomial(800, [good, bad, rate - good, 1 - rate - bad])
        labelled = chance.multivariate_hypergeometric(images, labels)
        found = corrected(images.tolist(), labelled.tolist())
        covered += found.low <= rate <= found.high
    assert covered >= (0.9 if trials == 150 else 0.925) * trials


@given(st.integers(0, 200), st.integers(1, 200), st.sampled_from([0.8, 0.95, 0.99]))
def test_jeffreys_limits_are_beta_quantiles(passed: int, n: int, confidence: float) -> None:
    """By the incomplete beta function as an integral."""
    assume(passed <= n)
    low, high = jeffreys_interval(passed, n, confidence)
    chance = (1 - confidence) / 2
    for limit, count in ((low, passed), (1 - high, n - passed)):
        if count:
            assert _beta_below(limit, count + 0.5, n - count + 0.5) == pytest.approx(chance, rel=2e-3)
        else:
            assert limit == 0


@pytest.mark.parametrize(
    ("freedom", "quantile"), [(1, 12.706), (2, 4.303), (5, 2.571), (23, 2.069), (98, 1.984), (10_000, 1.960)]
)
def test_known_quantiles_of_student(freedom: int, quantile: float) -> None:
    assert student_quantile(0.95, freedom) == pytest.approx(quantile, abs=6e-4)


def test_a_judge_of_scores_that_is_noise_leaves_the_mean_of_the_labels() -> None:
    """Its scores go along with the labels in no way, so they weigh nothing."""
    labelled = [(judge, human) for judge in (0.0, 1.0) for human in (0.2, 0.6, 0.7)] * 10
    found = estimate_corrected_mean([0.0] * 100 + [1.0] * 900, labelled)
    assert found.estimate == pytest.approx(0.5)
    assert found.raw == 0.9
    assert found.effective_labels == pytest.approx(60, rel=0.02)


def test_a_judge_of_scores_that_is_always_right_leaves_its_mean_of_all_images() -> None:
    scores = [number % 5 / 4 for number in range(1000)] + [1.0] * 200
    found = estimate_corrected_mean(scores, [(score, score) for score in scores[:40]])
    assert found.estimate == pytest.approx(fmean(scores))
    assert found.effective_labels > 200


def test_a_contrary_judge_of_scores_weighs_nothing() -> None:
    found = estimate_corrected_mean([0.1] * 50 + [0.9] * 150, [(0.1, 0.9), (0.9, 0.1)] * 10)
    assert found.estimate == pytest.approx(0.5)


@given(labelled_runs())
def test_scores_of_0_and_1_give_the_corrected_rate(run: tuple[list[int], list[int]]) -> None:
    """The best weight makes of PPI++ the double sampling of yes and no, where it lies between 0 and 1."""
    images, labels = run
    yes, no = labels[0] + labels[1], labels[2] + labels[3]
    assume(yes and no and labels[0] / yes >= labels[2] / no)
    scores = [float(judge) for judge, _ in pairs_of(images)]
    found = estimate_corrected_mean(scores, [(float(judge), float(human)) for judge, human in pairs_of(labels)])
    assert found.estimate == pytest.approx(corrected(images, labels).estimate, abs=1e-9)


@given(
    st.lists(st.tuples(st.integers(1, 5), st.integers(1, 5)), min_size=1, max_size=30),
    st.lists(st.integers(1, 5), max_size=50),
)
def test_means_move_with_their_scale(labelled: list[tuple[int, int]], others: list[int]) -> None:
    scores = [judge for judge, _ in labelled] + others
    wide = estimate_corrected_mean(scores, labelled, bounds=(1, 5))
    unit = estimate_corrected_mean(
        [(score - 1) / 4 for score in scores], [((judge - 1) / 4, (human - 1) / 4) for judge, human in labelled]
    )
    assert wide[:3] == pytest.approx([1 + 4 * each for each in unit[:3]], abs=1e-9)
    assert 1 <= wide.low <= wide.estimate <= wide.high <= 5
    assert wide.effective_labels == pytest.approx(unit.effective_labels)


@pytest.mark.parametrize(("mean", "labels"), [(0.5, 25), (0.8, 25), (0.95, 25), (0.98, 100)])
def test_means_are_covered_with_few_labels_and_near_the_bounds(mean: float, labels: int) -> None:
    chance, trials = np.random.default_rng(4), tries(60, 1000)
    covered = normal = 0
    for _ in range(trials):
        true = chance.binomial(4, chance.beta(mean * 2, (1 - mean) * 2, 600)) / 4
        judged = np.where(chance.random(600) < 0.7, true, chance.integers(0, 5, 600) / 4)
        found = estimate_corrected_mean(judged.tolist(), list(zip(judged[:labels], true[:labels], strict=True)))
        covered += found.low <= mean <= found.high
        alone = mean_interval(true[:labels].tolist())
        normal += alone is not None and alone.low <= mean <= alone.high
    assert covered >= (0.9 if trials == 150 else 0.925) * trials
    if mean > 0.9:
        assert normal < covered, "the simulation would not show that normal intervals fail"


@pytest.mark.parametrize(
    ("scores", "labelled", "bounds", "message"),
    [
        ([0.5], [], (0, 1), "0 labels were given for 1 images"),
        ([0.5], [(0.5, 0.5)] * 2, (0, 1), "2 labels were given for 1 images"),
        ([1.5], [(0.5, 0.5)], (0, 1), "1.5 is not between 0 and 1"),
        ([0.5], [(0.5, float("nan"))], (0, 1), "nan is not between"),
        ([0.5], [(0.5, 0.5)], (1, 1), "not a range"),
    ],
)
def test_impossible_scores_are_refused(
    scores: list[float], labelled: list[tuple[float, float]], bounds: tuple[float, float], message: str
) -> None:
    with pytest.raises(FormalimgError, match=message):
        estimate_corrected_mean(scores, labelled, bounds=bounds)


def _binomial(successes: int, n: int, p: float) -> float:
    return comb(n, successes) * p**successes * (1 - p) ** (n - successes)


def _beta_below(limit: float, a: float, b: float) -> float:
    """The share of a beta distribution below a limit; with x = sin^2 the integrand is smooth for a, b >= 1/2."""
    angles = (np.arange(20_000) + 0.5) / 20_000 * np.pi / 2
    logs = (2 * a - 1) * np.log(np.sin(angles)) + (2 * b - 1) * np.log(np.cos(angles))
    density = np.exp(logs - logs.max())
    edge = np.arcsin(np.sqrt(limit)) / (np.pi / 2) * 20_000
    whole = int(edge)
    return float((density[:whole].sum() + density[min(whole, 19_999)] * (edge - whole)) / density.sum())
