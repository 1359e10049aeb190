"""Images without a verdict are reported, and never silently a failure or a smaller number of images."""

from __future__ import annotations

import pytest
from hypothesis import given

from formalimg.errors import FormalimgError
from formalimg.stats.intervals import clopper_pearson
from formalimg.stats.observations import Observation
from formalimg.stats.summary import missing_bounds, summarize
from tests.stats.observing import observations

SEEN = [
    *(Observation(f"a{number}", 1, True) for number in range(6)),
    *(Observation(f"b{number}", 1, False) for number in range(2)),
    *(Observation(f"c{number}", 1, None) for number in range(2)),
]

BANDS = {"all": [1, 2, 3, 4], "first": [1]}


def test_excluded_they_leave_the_rate_and_lower_the_coverage() -> None:
    summary = summarize(SEEN, bands={"first": [1]}, epsilon=0.7)
    assert summary.levels[1] == (6, 8, 10, 0.75, clopper_pearson(6, 8))
    assert summary.overall.coverage == summary.bands["first"].coverage == 0.8
    assert summary.generalizability is not None
    assert summary.generalizability.value == 1


def test_counted_as_failures_they_lower_the_rate() -> None:
    summary = summarize(SEEN, bands={"first": [1]}, epsilon=0.7, missing="fail")
    assert summary.levels[1] == (6, 8, 10, 0.6, clopper_pearson(6, 10))
    assert summary.overall.coverage == summary.bands["first"].coverage == 0.8
    assert summary.generalizability is not None
    assert summary.generalizability.value == 0


def test_refused_they_are_counted_in_the_message() -> None:
    with pytest.raises(FormalimgError, match="2 of 10 images have no verdict: resume the run"):
        summarize(SEEN, bands={}, epsilon=None, missing="error")


def test_a_level_without_any_verdict_counts_as_lost_only_if_asked() -> None:
    seen = [Observation("a", 1, None)]
    assert summarize(seen, bands={}, epsilon=0.7).levels[1].value is None
    assert summarize(seen, bands={}, epsilon=0.7, missing="fail").levels[1].value == 0


def test_bounds_of_an_example() -> None:
    worst, best = missing_bounds(SEEN, bands={"first": [1], "more": [1, 2]}, epsilon=0.7)
    assert worst == ({1: 0.6}, 0.6, {"first": 0.6, "more": None}, 0)
    assert best == ({1: 0.8}, 0.8, {"first": 0.8, "more": None}, None)


@given(observations())
def test_bounds_are_the_summaries_of_the_two_extremes(seen: list[Observation]) -> None:
    bounds = missing_bounds(seen, bands=BANDS, epsilon=0.7)
    for figures, verdict in ((bounds.worst, False), (bounds.best, True)):
        known = [each._replace(passed=verdict if each.passed is None else each.passed) for each in seen]
        summary = summarize(known, bands=BANDS, epsilon=0.7, resamples=40)
        assert figures.levels == {level: rate.value for level, rate in summary.levels.items()}
        assert figures.overall == summary.overall.value
        assert figures.bands == {name: band.value for name, band in summary.bands.items()}
        assert summary.generalizability is not None
        assert figures.generalizability == summary.generalizability.value


@given(observations())
def test_values_lie_within_their_bounds(seen: list[Observation]) -> None:
    worst, best = missing_bounds(seen, bands=BANDS, epsilon=None)
    for missing in ("exclude", "fail"):
        summary = summarize(seen, bands=BANDS, epsilon=None, missing=missing, resamples=40)
        for level, rate in summary.levels.items():
            if rate.value is not None:
                assert worst.levels[level] <= rate.value <= best.levels[level]
        assert worst.generalizability is best.generalizability is None


@given(observations())
def test_the_worst_bound_is_what_counting_failures_gives(seen: list[Observation]) -> None:
    summary = summarize(seen, bands=BANDS, epsilon=0.5, missing="fail", resamples=40)
    worst = missing_bounds(seen, bands=BANDS, epsilon=0.5).worst
    assert worst.overall == summary.overall.value
    assert worst.bands == {name: band.value for name, band in summary.bands.items()}
