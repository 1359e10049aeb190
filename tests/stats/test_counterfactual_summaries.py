"""Means, gates and rates of a run of CF-World, with intervals that hold what they say."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from formalimg.benchmarks.cfworld.scores import ScoreSummary, score_difference, summarize_scores
from formalimg.errors import FormalimgError
from formalimg.stats.observations import ScoreObservation
from tests.support.sizes import tries

SCORES = st.none() | st.sampled_from([0.0, 0.25, 0.4, 0.5, 0.7, 1.0])


def simulated(groups: int, means: tuple[float, ...], chance: np.random.Generator) -> list[ScoreObservation]:
    """Groups that are easy or hard at all levels; scores in steps of a quarter."""
    found = []
    for group in range(groups):
        easy = chance.normal(0, 0.15)
        for level, mean in enumerate(means, 1):
            score = chance.binomial(4, min(max(mean + easy, 0.02), 0.98)) / 4
            found.append(ScoreObservation(str(group), level, 0, float(score)))
    return found


def small() -> list[ScoreObservation]:
    groups = {
        "a": (1.0, 0.8, 0.6),
        "b": (0.5, 0.4, 0.2),
        "c": (0.4, 0.9, 0.9),  # closed
        "d": (None, 0.7, 0.7),  # unknown
        "e": (0.9, None, 0.5),
    }
    return [
        ScoreObservation(group, level, 0, score)
        for group, scores in groups.items()
        for level, score in enumerate(scores, 1)
    ]


def values(summary: ScoreSummary) -> list[float | None]:
    return [*(mean.value for mean in summary.levels.values()), summary.prr.value, summary.rrr.value]


def test_means_are_over_what_counts() -> None:
    summary = summarize_scores(small())
    l1, l2, l3 = summary.levels.values()
    assert l1.value == pytest.approx((1 + 0.5 + 0.4 + 0.9) / 4)
    assert l2.value == pytest.approx((0.8 + 0.4 + 0) / 3)
    assert l3.value == pytest.approx((0.6 + 0.2 + 0 + 0.5) / 4)
    assert [(mean.scored, mean.expected, mean.gated) for mean in (l1, l2, l3)] == [(4, 5, 0), (3, 5, 1), (4, 5, 1)]
    assert summary.prr.value == pytest.approx(0.4 / 0.7**0.5)
    assert summary.rrr.value == pytest.approx(0.325 / 0.4**0.5)


def test_missing_scores_may_count_as_0_or_be_refused() -> None:
    failed = summarize_scores(small(), missing="fail")
    assert [mean.value for mean in failed.levels.values()] == pytest.approx([2.8 / 5, 1.2 / 5, 1.3 / 5])
    assert [mean.scored for mean in failed.levels.values()] == [4, 3, 4]
    with pytest.raises(FormalimgError, match="4 of 15 images have no score"):
        summarize_scores(small(), missing="error")


def test_without_a_gate_the_scores_are_as_they_came() -> None:
    summary = summarize_scores(small(), threshold=None)
    assert summary.levels[2].value == pytest.approx((0.8 + 0.4 + 0.9 + 0.7) / 4)
    assert [mean.gated for mean in summary.levels.values()] == [0, 0, 0]


def test_the_published_code_closes_unknown_gates_and_divides_rounded_means() -> None:
    summary = summarize_scores(small(), profile="official-code")
    l1, l2, l3 = (mean.value for mean in summary.levels.values())
    assert (l1, l2, l3) == pytest.approx((0.7, 1.2 / 4, 1.3 / 5))
    assert [mean.gated for mean in summary.levels.values()] == [0, 2, 2]
    uneven = [ScoreObservation(str(n), level, 0, score) for n in range(3) for level, score in ((1, 0.777), (2, 0.333))]
    assert summarize_scores(uneven, profile="official-code").prr.value == pytest.approx(0.33 / 0.78**0.5)
    assert summarize_scores(uneven).prr.value == pytest.approx(0.333 / 0.777**0.5)


def test_without_level_1_nothing_counts_in_any_profile() -> None:
    above = [one for one in small() if one.level > 1]
    for profile in ("paper", "official-code"):
        summary = summarize_scores(above, profile=profile)
        assert values(summary) == [None] * 4
        assert [(mean.scored, mean.expected, mean.gated) for mean in summary.levels.values()] == [(0, 5, 0)] * 2


def test_rates_are_undefined_where_a_mean_is_0_or_not_there() -> None:
    nothing = [ScoreObservation(str(n), level, 0, 0.0) for n in range(9) for level in (1, 2, 3)]
    summary = summarize_scores(nothing)
    assert (summary.prr, summary.rrr) == ((None, None), (None, None))
    assert summary.levels[1].interval is not None
    assert summary.levels[1].interval.high > 0.2  # nine groups prove little
    alone = summarize_scores([ScoreObservation("a", 2, 0, 0.4)])
    assert values(alone) == [None, None, None]
    assert summarize_scores([]).levels == {}


@given(st.dictionaries(st.integers(0, 8), st.tuples(SCORES, SCORES, SCORES), min_size=1), st.randoms())
def test_order_does_not_matter_and_the_gate_only_takes(
    groups: dict[int, tuple[float | None, ...]], dice: random.Random
) -> None:
    seen = [ScoreObservation(str(g), level, 0, s) for g, those in groups.items() for level, s in enumerate(those, 1)]
    summary = summarize_scores(seen, resamples=50)
    mixed = list(seen)
    dice.shuffle(mixed)
    assert summarize_scores(mixed, resamples=50) == summary
    raw, gated = (summarize_scores(seen, resamples=50, missing="fail", threshold=t) for t in (None, 0.5))
    for level in (1, 2, 3):
        before, after = raw.levels[level].value, gated.levels[level].value
        assert before is not None
        assert after is not None
        assert after <= before + 1e-12
        found = summary.levels[level]
        if found.value is not None:
            assert found.interval is not None
            assert 0 <= found.interval.low <= found.value <= found.interval.high <= 1
    for rate in (summary.prr, summary.rrr):
        assert rate.value is not None or rate.interval is None
        if rate.interval is not None and rate.value is not None:
            assert rate.interval.low <= rate.value <= rate.interval.high


def test_intervals_are_those_of_groups_drawn_one_by_one() -> None:
    """A plain bootstrap, written out: 300 groups are so many that one more unseen group changes little."""
    seen = simulated(300, (0.8, 0.45, 0.3), np.random.default_rng(1))
    summary = summarize_scores(seen)
    table = np.array([[one.score for one in seen[3 * n : 3 * n + 3]] for n in range(300)], dtype=float)
    table[table[:, 0] < 0.5, 1:] = 0
    dice = np.random.default_rng(2)
    means = np.array([table[dice.integers(300, size=300)].mean(axis=0) for _ in range(2000)])
    drawn = [means[:, 0], means[:, 1], means[:, 2], means[:, 1] / means[:, 0] ** 0.5, means[:, 2] / means[:, 1] ** 0.5]
    found = [*(mean.interval for mean in summary.levels.values()), summary.prr.interval, summary.rrr.interval]
    for one, interval in zip(drawn, found, strict=True):
        assert interval == pytest.approx(np.quantile(one, [0.025, 0.975]), abs=0.012)


@pytest.mark.parametrize(
    ("groups", "means"), [(60, (0.8, 0.4, 0.3)), (12, (0.7, 0.3, 0.3)), (3, (0.6, 0.5, 0.2))][:: tries(2, 1)]
)
def test_intervals_cover(groups: int, means: tuple[float, ...]) -> None:
    chance = np.random.default_rng(5)
    truth = values(summarize_scores(simulated(20_000, means, chance), resamples=50))
    trials, covered = tries(60, 120), np.zeros(5)
    for _ in range(trials):
        summary = summarize_scores(simulated(groups, means, chance), resamples=300)
        found = [*(mean.interval for mean in summary.levels.values()), summary.prr.interval, summary.rrr.interval]
        for number, (interval, value) in enumerate(zip(found, truth, strict=True)):
            assert value is not None
            covered[number] += interval is None or interval.low <= value <= interval.high
    assert min(covered) >= 0.9 * trials


def test_differences_are_taken_group_by_group() -> None:
    seen = [
        ScoreObservation(group, level, sample, score)
        for group, level, sample, score in (
            ("a", 1, 0, 0.8), ("a", 1, 1, 0.6), ("a", 2, 0, 0.2), ("b", 1, 0, 0.4), ("b", 2, 0, 0.5), ("c", 1, 0, 0.9),
            ("d", 1, 0, None), ("d", 2, 0, 1.0),
        )
    ]  # fmt: skip
    found = score_difference(seen)
    assert found.value == pytest.approx((-0.5 + 0.1) / 2)
    assert (found.groups, found.left_out) == (2, ("c", "d"))
    assert found.interval is not None
    assert found.interval.low <= -0.5 < 0.1 <= found.interval.high
    assert score_difference([]).value is None
