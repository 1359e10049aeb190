"""How many images and labels a wanted precision needs, against the intervals themselves."""

from __future__ import annotations

import numpy as np
import pytest

from formalimg.errors import FormalimgError
from formalimg.stats.planning import allocate_labels, images_for_width, items_for_difference, labels_for_width
from tests.stats.observing import clopper_pearson_margin


@pytest.mark.parametrize("width", [0.02, 0.05, 0.2])
def test_images_for_a_width_are_just_enough(width: float) -> None:
    images = images_for_width(width)
    even = images + images % 2
    assert clopper_pearson_margin(even // 2, even) <= width
    fewer = images - 2 - images % 2
    assert clopper_pearson_margin(fewer // 2, fewer) > width


def test_rates_far_from_a_half_need_fewer() -> None:
    assert images_for_width(0.05, rate=0.95) < images_for_width(0.05, rate=0.8) < images_for_width(0.05)
    assert images_for_width(0.05, confidence=0.8) < images_for_width(0.05)


def test_a_difference_needs_as_many_items_as_its_spread_asks_for() -> None:
    items = items_for_difference(0.05, discordant=0.3)
    draw = np.random.default_rng(1)
    differences = draw.choice([-1, 0, 1], p=[0.15, 0.7, 0.15], size=(4000, items)).mean(axis=1)
    assert 1.96 * differences.std() == pytest.approx(0.05, rel=0.05)


def test_labels_for_a_width_are_just_enough() -> None:
    cells = {(level, passed): 100 for level in range(1, 11) for passed in (True, False)}
    labels = labels_for_width(cells, 0.05)
    assert labels is not None
    assert allocate_labels(cells, labels).half_width <= 0.05 < allocate_labels(cells, labels - 1).half_width
    assert labels_for_width(cells, 0.005) is None  # there are not so many images


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: images_for_width(5), "5 points are 0.05"),
        (lambda: images_for_width(0.0), "half width"),
        (lambda: images_for_width(0.05, rate=2), "between 0 and 1"),
        (lambda: items_for_difference(0.05, discordant=0), "above 0"),
    ],
)
def test_widths_that_cannot_be_are_refused(call: object, message: str) -> None:
    with pytest.raises(FormalimgError, match=message):
        call()  # type: ignore[operator]
