"""The intervals that ConceptMix prints follow from its scores and from 300 images at each k."""

from __future__ import annotations

import tomllib
from importlib.resources import files
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from formalimg.errors import FormalimgError
from formalimg.stats.intervals import clopper_pearson, mean_interval
from tests.stats.observing import clopper_pearson_margin

IMAGES = 300
GPT, DEEPSEEK, FRACTION = "ConceptMix, Table 4", "ConceptMix, Table 10", "ConceptMix, Table 9"
PRINTED = files("formalimg.benchmarks.conceptmix") / "reference.toml"
TABLES = {table["source"]: table["rows"] for table in tomllib.loads(PRINTED.read_text("utf-8"))["tables"]}


class Cell(NamedTuple):
    """A score and what is printed after its ±."""

    model: str
    k: int
    score: float
    side: float


def _cells(table: str) -> list[Cell]:
    return [
        Cell(row["model"], k, score, side)
        for row in TABLES[table]
        for k, (score, side) in enumerate(zip(row["rates"], row["margins"], strict=True), 1)
    ]


def _width(points: list[int], most: int) -> float:
    """What would be printed after ± if images showed so many of their concepts."""
    interval = mean_interval([point / most for point in points])
    assert interval is not None
    return (interval.high - interval.low) / 2


@pytest.mark.parametrize("table", [GPT, DEEPSEEK])
def test_full_mark_scores_have_the_larger_side_of_the_exact_interval(table: str) -> None:
    cells = _cells(table)
    assert len(cells) == 56
    wrong = [
        cell for cell in cells if round(clopper_pearson_margin(round(IMAGES * cell.score), IMAGES), 2) != cell.side
    ]
    assert wrong == []


@pytest.mark.parametrize(
    ("successes", "low", "high", "side"),
    [
        (0, 0, 0.0122, 0.0122),
        (1, 0.0001, 0.0184, 0.0151),
        (3, 0.0021, 0.0289, 0.0189),
        (9, 0.0138, 0.0562, 0.0262),
        (24, 0.0519, 0.1167, 0.0367),
        (81, 0.2206, 0.3240, 0.0540),
        (150, 0.4420, 0.5580, 0.0580),
        (156, 0.4618, 0.5778, 0.0582),
        (249, 0.7826, 0.8707, 0.0474),
        (300, 0.9878, 1, 0.0122),
    ],
)
def test_reference_values(successes: int, low: float, high: float, side: float) -> None:
    interval = clopper_pearson(successes, IMAGES)
    assert (round(interval.low, 4), round(interval.high, 4)) == (low, high)
    assert round(clopper_pearson_margin(successes, IMAGES), 4) == side


def test_fractions_at_k_1_have_the_normal_interval() -> None:
    """An image shows none, one or both of two concepts; how many show both is the full mark.

    All scores are rounded, so that once a few more images seem to show something than there are.
    """
    both = {(cell.model, cell.k): round(IMAGES * cell.score) for cell in _cells(GPT)}
    cells = [cell for cell in _cells(FRACTION) if cell.k == 1]
    assert len(cells) == 8
    for cell in cells:
        whole = both[cell.model, 1]
        one = min(round(2 * IMAGES * cell.score) - 2 * whole, IMAGES - whole)
        points = [2] * whole + [1] * one + [0] * (IMAGES - whole - one)
        assert abs(sum(points) / len(points) / 2 - cell.score) <= 0.005 + 1e-9
        assert round(_width(points, 2), 2) == cell.side, cell


def test_fractions_at_higher_k_have_an_interval_that_can_be() -> None:
    """Between the one if all other images showed the same number of concepts, and the one if all or none but one."""
    full_mark = {(cell.model, cell.k): round(IMAGES * cell.score) for cell in _cells(GPT)}
    cells = [cell for cell in _cells(FRACTION) if cell.k > 1]
    assert len(cells) == 48
    for cell in cells:
        whole, most = full_mark[cell.model, cell.k], cell.k + 1
        others = IMAGES - whole
        points = round(IMAGES * cell.score * most) - whole * most
        each, more = divmod(points, others)
        assert 0 <= each < most
        alike = [most] * whole + [each + 1] * more + [each] * (others - more)
        nearly, rest = divmod(points, most - 1)
        unlike = [most] * whole + [most - 1] * nearly + [rest] + [0] * (others - nearly - 1)
        assert sum(alike) == sum(unlike)
        assert round(_width(alike, most), 2) <= cell.side <= round(_width(unlike, most), 2), cell


def test_a_mean_without_spread_has_no_interval() -> None:
    assert mean_interval([]) is None
    assert mean_interval([0.3]) is None
    assert mean_interval([0.1] * 30) is None
    assert mean_interval([0.0, 1.0, 1.0, 0.0], items=["a", "a", "b", "b"]) is None
    assert mean_interval([0.0, 1.0], items=["a", "a"]) is None
    assert mean_interval([0.4, 0.6]) == pytest.approx((0.5 - 1.96 * 0.1, 0.5 + 1.96 * 0.1), abs=1e-5)


def test_a_mean_of_what_is_no_number_is_refused() -> None:
    with pytest.raises(FormalimgError, match="numbers only"):
        mean_interval([0.5, float("nan")])
    with pytest.raises(FormalimgError, match="an item for each"):
        mean_interval([0.5, 0.7], items=["a"])
    with pytest.raises(FormalimgError, match="confidence"):
        mean_interval([0.5, 0.7], 95)


def test_the_interval_of_a_mean_by_hand() -> None:
    """Mean 5, variance 32/7 of eight values."""
    interval = mean_interval([2, 4, 4, 4, 5, 5, 7, 9])
    assert interval == pytest.approx((5 - 1.959964 * (32 / 7 / 8) ** 0.5, 5 + 1.959964 * (32 / 7 / 8) ** 0.5), abs=1e-6)


@given(st.lists(st.integers(0, 8), min_size=2, max_size=30), st.integers(2, 5))
def test_images_that_are_alike_count_once(points: list[int], times: int) -> None:
    """The same value several times for each item tells no more than once."""
    values = [point / 8 for point in points]
    names = [name for name in range(len(values)) for _ in range(times)]
    once, often = mean_interval(values), mean_interval([values[name] for name in names], items=names)
    assert (once is None) == (often is None)
    if once and often:
        assert often == pytest.approx(once, abs=1e-12)
