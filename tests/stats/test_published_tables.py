"""The intervals that ConceptMix prints follow from its scores and from 300 images at each k."""

from __future__ import annotations

import tomllib
from importlib.resources import files
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from formalimg.benchmarks.registry import suite
from formalimg.errors import FormalimgError
from formalimg.reports.published import reference_rows
from formalimg.stats.intervals import clopper_pearson, mean_interval
from formalimg.stats.observations import Observation
from formalimg.stats.summary import generalizability, summarize
from tests.stats.observing import clopper_pearson_margin
from tests.support.values import not_none

IMAGES_EACH = 300
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
    return (not_none(interval).high - not_none(interval).low) / 2


@pytest.mark.parametrize("table", [GPT, DEEPSEEK])
def test_full_mark_scores_have_the_larger_side_of_the_exact_interval(table: str) -> None:
    cells = _cells(table)
    assert len(cells) == 56
    wrong = [
        cell
        for cell in cells
        if round(clopper_pearson_margin(round(IMAGES_EACH * cell.score), IMAGES_EACH), 2) != cell.side
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
    interval = clopper_pearson(successes, IMAGES_EACH)
    assert (round(interval.low, 4), round(interval.high, 4)) == (low, high)
    assert round(clopper_pearson_margin(successes, IMAGES_EACH), 4) == side


def test_fractions_at_k_1_have_the_normal_interval() -> None:
    """An image shows none, one or both of two concepts; how many show both is the full mark.

    All scores are rounded, so that once a few more images seem to show something than there are.
    """
    both = {(cell.model, cell.k): round(IMAGES_EACH * cell.score) for cell in _cells(GPT)}
    cells = [cell for cell in _cells(FRACTION) if cell.k == 1]
    assert len(cells) == 8
    for cell in cells:
        whole = both[cell.model, 1]
        one = min(round(2 * IMAGES_EACH * cell.score) - 2 * whole, IMAGES_EACH - whole)
        points = [2] * whole + [1] * one + [0] * (IMAGES_EACH - whole - one)
        assert abs(sum(points) / len(points) / 2 - cell.score) <= 0.005 + 1e-9
        assert round(_width(points, 2), 2) == cell.side, cell


def test_fractions_at_higher_k_have_an_interval_that_can_be() -> None:
    """Between the one if all other images showed the same number of concepts, and the one if all or none but one."""
    full_mark = {(cell.model, cell.k): round(IMAGES_EACH * cell.score) for cell in _cells(GPT)}
    cells = [cell for cell in _cells(FRACTION) if cell.k > 1]
    assert len(cells) == 48
    for cell in cells:
        whole, most = full_mark[cell.model, cell.k], cell.k + 1
        others = IMAGES_EACH - whole
        points = round(IMAGES_EACH * cell.score * most) - whole * most
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


ROUNDING = 0.05 + 1e-9
"""The paper rounds halves up in one column and to even in another; a printed mean is off by this at most."""

IMAGES = 200
"""Per level; all printed rates are multiples of one of these."""


class Printed(NamedTuple):
    """A row of the table."""

    suite: str
    model: str
    rates: list[float]
    printed: dict[str, float]


TABLE_1 = [
    Printed(**row)
    for row in tomllib.loads((files("formalimg.benchmarks.formal") / "reference_table1.toml").read_text())["rows"]
]

TABLE_3 = {
    "text and words, Gemini-3-Pro-Image": ([91.0, 89.5, 83.5, 76.5, 71.5, 70.0, 70.0, 62.5, 59.5, 51.0], 72.5, 7),
    "text and words, GPT-Image-1.5": ([95.5, 82.0, 67.5, 55.0, 58.5, 48.5, 39.0, 35.5, 33.0, 21.5], 53.6, 2),
    "text and words, Seedream-4.5": ([77.5, 70.0, 51.0, 38.0, 33.0, 22.5, 16.5, 11.0, 9.5, 4.0], 33.3, 2),
    "text alone, Gemini-3-Pro-Image": ([64.0, 83.5, 74.0, 61.5, 61.5, 54.5, 46.5, 43.5, 42.0, 38.5], 57.0, 0),
    "text alone, GPT-Image-1.5": ([58.5, 78.5, 64.5, 52.0, 41.5, 37.0, 26.5, 21.0, 17.5, 12.5], 41.0, 0),
    "text alone, Seedream-4.5": ([43.5, 40.0, 10.5, 5.0, 6.0, 8.0, 6.5, 1.0, 7.5, 1.5], 13.0, 0),
    "image and words, Gemini-3-Pro-Image": ([94.0, 93.5, 88.0, 86.0, 78.0, 71.5, 71.5, 65.0, 68.5, 59.0], 77.5, 7),
    "image and words, GPT-Image-1.5": ([95.5, 84.0, 74.0, 65.0, 59.0, 57.5, 45.5, 36.0, 33.5, 23.5], 57.4, 3),
    "image and words, Seedream-4.5": ([85.5, 74.5, 61.5, 49.5, 42.5, 39.0, 42.5, 25.5, 28.5, 22.5], 47.2, 2),
    "image alone, Gemini-3-Pro-Image": ([66.5, 87.0, 79.0, 78.0, 70.5, 66.0, 68.0, 59.0, 55.5, 52.5], 68.2, 0),
    "image alone, GPT-Image-1.5": ([64.0, 81.0, 61.5, 53.0, 47.5, 47.0, 37.0, 30.0, 26.5, 22.0], 47.0, 0),
    "image alone, Seedream-4.5": ([51.0, 69.0, 41.5, 38.0, 37.0, 35.0, 24.5, 25.0, 24.0, 23.5], 36.9, 0),
}
"""Layouts given to the model: rates, O and G."""


def _observed(percents: list[float]) -> list[Observation]:
    """Images of which just these shares pass."""
    return [
        Observation(f"{level}-{number}", level, number < round(percent * IMAGES / 100))
        for level, percent in enumerate(percents, start=1)
        for number in range(IMAGES)
    ]


def test_the_whole_table_is_there() -> None:
    assert len(TABLE_1) == 24
    assert len({(row.suite, row.model) for row in TABLE_1}) == 24
    assert all(len(row.rates) == 10 and all(rate % 0.5 == 0 for rate in row.rates) for row in TABLE_1)


@pytest.mark.parametrize("row", TABLE_1, ids=lambda row: f"{row.suite} {row.model}")
def test_table_1_follows_from_its_rates(row: Printed) -> None:
    about = suite(row.suite)
    summary = summarize(_observed(row.rates), bands=about.bands, epsilon=about.epsilon, resamples=40)
    for name, band in summary.bands.items():
        assert abs(100 * not_none(band.value) - row.printed[name]) <= ROUNDING, name
        assert band.coverage == 1
    assert not_none(summary.generalizability).value == row.printed["G"]
    assert summary.overall.value == pytest.approx(summary.bands["Overall"].value)


@pytest.mark.parametrize("row", TABLE_1, ids=lambda row: f"{row.suite} {row.model}")
def test_printed_means_of_table_1_agree_with_each_other(row: Printed) -> None:
    easy, medium, hard = (row.printed[name] for name in ("Easy", "Medium", "Hard"))
    assert abs((3 * easy + 3 * medium + 4 * hard) / 10 - row.printed["Overall"]) <= 0.1 + 1e-9


@pytest.mark.parametrize("name", TABLE_3)
def test_table_3_follows_from_its_rates(name: str) -> None:
    rates, overall, held = TABLE_3[name]
    summary = summarize(_observed(rates), bands={"Overall": range(1, 11)}, epsilon=0.7, resamples=40)
    value = summary.bands["Overall"].value
    assert abs(100 * not_none(value) - overall) <= ROUNDING
    assert not_none(summary.generalizability).value == held


@pytest.mark.parametrize("name", ["knolling", "natural"])
def test_reference_rows_are_the_table_as_fractions(name: str) -> None:
    rows = [row for row in reference_rows(name) if not row.judge]  # Table 5 has another judge
    printed = [row for row in TABLE_1 if row.suite == name]
    assert [row.model for row in rows] == [row.model for row in printed]
    assert {row.source for row in rows} == {"FormalImg, Table 1"}
    for row, line in zip(rows, printed, strict=True):
        assert list(row.rates) == list(range(1, 11))
        assert [100 * rate for rate in row.rates.values()] == pytest.approx(line.rates)
        assert generalizability(row.rates, 0.7) == line.printed["G"]


def test_suites_without_published_rows_have_none() -> None:
    assert reference_rows("another") == ()
