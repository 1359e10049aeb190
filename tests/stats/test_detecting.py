"""Precision, recall and F1 of objects in images, with intervals that hold what they promise."""

from __future__ import annotations

import random

import pytest

from formalimg.errors import FormalimgError
from formalimg.stats.intervals import clopper_pearson
from formalimg.stats.precision_recall import DetectionCounts, detection


def test_counts_by_hand() -> None:
    found = detection(
        [DetectionCounts(3, 4, 5), DetectionCounts(0, 2, 0), DetectionCounts(0, 0, 0), DetectionCounts(1, 1, 2)]
    )
    assert found.counts == (4, 7, 7)
    assert (found.precision.value, found.recall.value) == (4 / 7, 4 / 7)
    assert found.f1.value == pytest.approx(8 / 14)
    assert found.f1.interval is not None
    assert found.f1.interval.high - found.f1.interval.low > 0.9  # three images tell little
    many = detection([DetectionCounts(1, 1, 1)] * 30 + [DetectionCounts(0, 1, 1)] * 10)
    assert many.counts == (30, 40, 40)
    assert many.recall.interval == clopper_pearson(30, 40)


def test_what_is_not_defined_is_none() -> None:
    assert detection([])[1:] == ((0, 0, None, None), (0, 0, None, None), (None, None))
    nothing_found = detection([DetectionCounts(0, 0, 3)])
    assert (nothing_found.precision.value, nothing_found.recall.value, nothing_found.f1.value) == (None, 0, 0)
    right = detection([DetectionCounts(2, 2, 2)] * 50).f1  # no mistake was seen, which does not make it certain
    assert right.value == 1
    assert right.interval is not None
    assert 0.9 < right.interval.low < right.interval.high == 1


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
