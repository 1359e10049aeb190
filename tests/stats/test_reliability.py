"""Whether several rate alike: Cronbach's and Krippendorff's alpha, and when five points are a yes."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from itertools import permutations
from statistics import variance

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from formalimg.errors import FormalimgError
from formalimg.stats.agreement import complies
from formalimg.stats.reliability import RatingScale, cronbach_alpha, krippendorff_alpha
from tests.support.sizes import tries
from tests.support.values import not_none

OBSERVERS = (
    "123321412---",
    "1233224125-3",
    "-3332342251-",
    "12332441251-",
)
"""The example of Krippendorff: four observers, twelve units, five values; a stroke is missing."""

TWELVE = [[None if mark == "-" else int(mark) for mark in unit] for unit in zip(*OBSERVERS, strict=True)]

SCALES: tuple[RatingScale, ...] = ("nominal", "ordinal", "interval")
UNITS = st.lists(st.lists(st.sampled_from([1, 2, 3, 4, 5, None]), min_size=1, max_size=5), max_size=12)
SQUARES = st.integers(2, 5).flatmap(
    lambda raters: st.lists(st.lists(st.integers(1, 5), min_size=raters, max_size=raters), min_size=2, max_size=10)
)


def _by_pairs(units: Sequence[Sequence[int | None]], scale: RatingScale) -> float | None:
    """Alpha by its definition: every pair of ratings, one by one."""
    known = [[rating for rating in unit if rating is not None] for unit in units]
    paired = [unit for unit in known if len(unit) > 1]
    everything = [rating for unit in paired for rating in unit]
    counts = Counter(everything)

    def apart(one: int, other: int) -> float:
        if scale == "nominal":
            return float(one != other)
        if scale == "interval":
            return float((one - other) ** 2)
        low, high = sorted((one, other))
        between = sum(count for value, count in counts.items() if low <= value <= high)
        return float((between - (counts[one] + counts[other]) / 2) ** 2)

    n = len(everything)
    by_chance = sum(apart(*pair) for pair in permutations(everything, 2))
    if not by_chance:
        return None
    seen = sum(sum(apart(*pair) for pair in permutations(unit, 2)) / (len(unit) - 1) for unit in paired)
    return 1 - (seen / n) / (by_chance / (n * (n - 1)))


@pytest.mark.parametrize(("scale", "alpha"), [("nominal", 0.743), ("ordinal", 0.815), ("interval", 0.849)])
def test_the_example_of_krippendorff(scale: RatingScale, alpha: float) -> None:
    found = krippendorff_alpha(TWELVE, scale)
    assert round(not_none(found.value), 3) == alpha
    assert (found.n, found.left_out) == (11, 1)


def test_krippendorff_by_hand() -> None:
    """Yes yes, yes no, no no: 2 pairs of 6 ratings differ, and by chance 18 of 30 would: 1 − (2 / 6) / (18 / 30)."""
    ratings = [(True, True), (True, False), (False, False), (True, None), (None, None)]
    found = krippendorff_alpha(ratings)
    assert found.value == pytest.approx(4 / 9)
    assert found[1:] == (None, 3, 2)
    words = {True: "yes", False: "no", None: None}
    assert krippendorff_alpha([[words[it] for it in row] for row in ratings]).value == pytest.approx(4 / 9)


@given(UNITS, st.sampled_from(SCALES), st.randoms(use_true_random=False))
@example([[1, 1, 1], [1, 1, 1, 1], [1, 1, 1, 1], [1, 2], [1, 2]], "nominal", random.Random(0))  # as many of two sizes
def test_krippendorff_is_what_its_definition_says(
    units: list[list[int | None]], scale: RatingScale, chance: random.Random
) -> None:
    found = krippendorff_alpha(units, scale)
    expected = _by_pairs(units, scale)
    assert found.value == (None if expected is None else pytest.approx(expected, abs=1e-9))
    assert found.n + found.left_out == len(units)
    assert found.value is None or found.value <= 1
    shuffled = [chance.sample(unit, len(unit)) for unit in chance.sample(units, len(units))]
    assert krippendorff_alpha(shuffled, scale) == found  # nobody comes first


def test_the_scale_says_what_a_difference_means() -> None:
    units: list[list[int | None]] = [[1, 2], [2, 2], [4, 5], [5, 5], [1, 1], [3, 4]]
    near = [krippendorff_alpha(units, scale).value or 0 for scale in SCALES]
    assert near[0] < 0.5 < 0.85 < min(near[1:])
    moved = [[10 * rating - 7 if rating else None for rating in unit] for unit in units]
    assert [krippendorff_alpha(moved, scale).value for scale in SCALES] == pytest.approx(near)


def test_cronbach_by_hand() -> None:
    """The raters vary by 1 and 7/3, their sums 3, 5 and 8 by 19/3: 2 / 1 · (1 − (10/3) / (19/3))."""
    found = cronbach_alpha([(1, 2), (2, 3), (3, 5), (None, 4)])
    assert found.value == pytest.approx(18 / 19)
    assert found[1:] == (None, 3, 1)
    assert cronbach_alpha([(1, 2, 9), (2, 3, 9), (3, 5, 9)]).value == pytest.approx(1.5 * 9 / 19)


@given(SQUARES, st.randoms(use_true_random=False))
def test_cronbach_is_what_its_definition_says(rows: list[list[int]], chance: random.Random) -> None:
    raters, sums = list(zip(*rows, strict=True)), [sum(row) for row in rows]
    found = cronbach_alpha(rows).value
    if len(set(sums)) == 1:
        assert found is None
        return
    assert found is not None
    unshared = sum(map(variance, raters)) / variance(sums)
    assert found == pytest.approx(len(raters) / (len(raters) - 1) * (1 - unshared))
    assert found <= 1 + 1e-12
    others = chance.sample(raters, len(raters))
    assert cronbach_alpha(list(zip(*others, strict=True))).value == pytest.approx(found)
    stricter = [(row[0] + 0.1, *row[1:]) for row in rows]  # one who is milder throughout
    assert cronbach_alpha(stricter).value == pytest.approx(found)


@given(st.lists(st.integers(1, 5), min_size=2, max_size=30), st.integers(2, 5))
def test_who_all_rate_alike_are_perfectly_reliable(ratings: list[int], raters: int) -> None:
    assume(len(set(ratings)) > 1)
    rows = [[rating / 10] * raters for rating in ratings]
    for found in (cronbach_alpha(rows), *(krippendorff_alpha(rows, scale) for scale in SCALES)):
        assert found.value == pytest.approx(1, abs=1e-12)
        if found.interval is not None:  # from five items on, and not certain for all that
            assert found.interval.low < found.interval.high == pytest.approx(1, abs=1e-12)


def test_without_anything_to_compare_there_is_no_alpha() -> None:
    nothing = (None, None)
    assert cronbach_alpha([]) == (*nothing, 0, 0)
    assert cronbach_alpha([(1,), (2,), (4,)]) == (*nothing, 3, 0)  # one rater
    assert cronbach_alpha([(1, 2), (None, 3)]) == (*nothing, 1, 1)
    assert cronbach_alpha([(4, 4)] * 30) == (*nothing, 30, 0)
    assert cronbach_alpha([(0.1, 0.2), (0.2, 0.1)] * 15) == (*nothing, 30, 0)  # the sums do not vary
    assert krippendorff_alpha([]) == (*nothing, 0, 0)
    assert krippendorff_alpha([(1, None), (2,)]) == (*nothing, 0, 2)
    assert krippendorff_alpha([(True, True)] * 30) == (*nothing, 30, 0)


def test_what_is_no_rating_is_refused() -> None:
    with pytest.raises(FormalimgError, match="use a number"):
        krippendorff_alpha([("good", "bad")], "ordinal")
    with pytest.raises(FormalimgError, match="use a number"):
        krippendorff_alpha([("good", 1)])
    with pytest.raises(FormalimgError, match="use a number"):
        cronbach_alpha([(1.0, float("nan"))])
    with pytest.raises(FormalimgError, match="different numbers of ratings"):
        cronbach_alpha([(1, 2), (1, 2, 3)])
    with pytest.raises(FormalimgError, match="an item for each"):
        krippendorff_alpha([(1, 2)], items=["a", "b"])
    with pytest.raises(FormalimgError, match="use nominal"):
        krippendorff_alpha([(1, 2)], "ratio")  # type: ignore[arg-type]


def _ratings(chance: random.Random, objects: int, raters: int = 4) -> list[list[int]]:
    """Each object has a worth, and each rating is off it by as much again: alpha of single ratings is about 0.5."""
    worths = [chance.gauss(0, 1) for _ in range(objects)]
    return [[round(10 * (effective_count + chance.gauss(0, 1))) for _ in range(raters)] for effective_count in worths]


def test_intervals_hold_the_truth_about_as_often_as_they_say() -> None:
    """Of ratings with equal variances of worth and error, Krippendorff's alpha is 1/2 and Cronbach's 4 / (4 + 1)."""
    chance = random.Random(3)
    held = Counter[str]()
    trials = tries(60, 120)
    for _ in range(trials):
        rows = _ratings(chance, 40)
        for name, found, truth in (
            ("cronbach", cronbach_alpha(rows, resamples=200), 0.8),
            ("krippendorff", krippendorff_alpha(rows, "interval", resamples=200), 0.5),
        ):
            held[name] += not_none(found.interval).low <= truth <= not_none(found.interval).high
    assert all(count / trials > 0.93 for count in held.values()), held


@pytest.mark.parametrize("rate", [0.02, 0.5])
def test_few_raters_of_few_images_are_not_taken_for_certain(rate: float) -> None:
    """Four raters who are right about nine in ten images, of which few or half show it: alpha has a formula."""
    chance = random.Random(round(100 * rate))
    yes = 0.9 * rate + 0.1 * (1 - rate)
    truth = 1 - (1 - 0.82) / (2 * yes * (1 - yes))
    held, known = 0, 0
    for _ in range(100):
        shown = [chance.random() < rate for _ in range(12)]
        rows = [[it == (chance.random() < 0.9) for _ in range(4)] for it in shown]
        interval = krippendorff_alpha(rows, resamples=200).interval
        if interval is not None:
            known += 1
            held += interval.low <= truth <= interval.high
    assert known > 80
    assert held >= 0.93 * known


def test_objects_of_one_item_are_not_independent() -> None:
    rows = _ratings(random.Random(8), 60)
    once = krippendorff_alpha(rows, "interval")
    often = krippendorff_alpha([row for row in rows for _ in range(4)], "interval", items=[n // 4 for n in range(240)])
    naive = krippendorff_alpha([row for row in rows for _ in range(4)], "interval")
    width = not_none(once.interval).high - not_none(once.interval).low
    assert not_none(often.interval).high - not_none(often.interval).low == pytest.approx(width, rel=0.05)
    assert not_none(naive.interval).high - not_none(naive.interval).low < 0.6 * width
    assert krippendorff_alpha(rows[::-1], "interval") == once
    assert cronbach_alpha(rows[::-1]) == cronbach_alpha(rows)


@pytest.mark.parametrize(
    ("ratings", "by_mean", "by_majority"),
    [
        ([4, 4, 4, 4, 4], True, True),
        ([5, 5, 5, 4, 1], True, True),
        ([5, 5, 3, 3, 4], True, True),
        ([5, 5, 4, 3, 2], False, True),
        ([5, 5, 5, 3, 3], True, True),
        ([3, 3, 5, 5], True, None),
        ([4, 3], False, None),
        ([5, None, 3], True, None),
        ([None], None, None),
        ([], None, None),
    ],
)
def test_a_mean_of_four_passes(ratings: list[int | None], by_mean: bool | None, by_majority: bool | None) -> None:
    assert complies(ratings) is by_mean
    assert complies(ratings, "majority") is by_majority


@pytest.mark.parametrize("rating", [0, 6, 4.5, True, "5"])
def test_only_five_points_are_rated(rating: object) -> None:
    with pytest.raises(FormalimgError, match="1 to 5"):
        complies([4, rating])  # type: ignore[list-item]
