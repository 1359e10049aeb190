"""Scores, gate and rates of CF-World: as the paper has them, and as its code does."""

from __future__ import annotations

import random
import tomllib
from fractions import Fraction
from importlib.resources import files

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from formalimg.benchmarks.cfworld.scores import (
    ScoreSummary,
    apply_gate,
    gate_states,
    prior_resistance,
    reasoning_retention,
    rescore,
    score_difference,
    summarize_scores,
    weighted_score,
)
from formalimg.errors import FormalimgError
from formalimg.stats.observations import ScoreObservation
from tests.support.sizes import tries
from tests.support.values import not_none

TABLES = tomllib.loads((files("formalimg.benchmarks.cfworld") / "reference.toml").read_text("utf-8"))["tables"]
ROWS = [(table["judge"], row) for table in TABLES if table["suite"] == "cf-world" for row in table["rows"]]

integrity, assessment, logic = "integrity", "assessment", "logic"


def see(*scores: tuple[str, int, float | None], sample: int = 0) -> list[ScoreObservation]:
    return [ScoreObservation(group, level, sample, score) for group, level, score in scores]


def test_all_56_printed_rates_follow_from_the_printed_means() -> None:
    assert len(ROWS) == 28
    wrong = []
    for judge, row in ROWS:
        l1, l2, l3 = row["scores"]
        found = {"PRR": prior_resistance(l1, l2), "RRR": reasoning_retention(l2, l3)}
        assert set(found) == set(row["ratios"])
        for name, value in found.items():
            if round(not_none(value), 2) != row["ratios"][name]:
                wrong.append((judge, row["model"], name))
    assert wrong == []


def test_rates_without_a_mean_or_over_0_are_undefined() -> None:
    assert prior_resistance(0.0, 0.0) is None
    assert prior_resistance(None, 0.3) is None
    assert reasoning_retention(0.3, None) is None
    assert reasoning_retention(0.25, 0.0) == 0.0
    with pytest.raises(FormalimgError, match="is not between 0 and 1"):
        prior_resistance(0.5, 7)


@pytest.mark.parametrize(
    ("scores", "expected"),
    [
        ((1, 0.5, 1), Fraction(37, 52)),  # 18.5 of 26
        ((1, 0, 1), Fraction(11, 26)),
        ((1, 1, 0), Fraction(18, 26)),
        ((0, 1, 1), Fraction(23, 26)),
    ],
)
@pytest.mark.parametrize("profile", ["paper", "official-code"])
def test_three_questions_weigh_3_15_and_8(scores: tuple[float, ...], expected: Fraction, profile: str) -> None:
    parts = list(zip((integrity, assessment, logic), (3, 15, 8), scores, strict=True))
    assert weighted_score(parts, profile) == pytest.approx(float(expected), abs=1e-12)  # type: ignore[arg-type]


def test_several_questions_of_a_dimension_share_its_weight_unless_the_published_code_is_followed() -> None:
    parts = [(integrity, 3, 1), (logic, 8, 0), (logic, 8, 1), (assessment, 15, 1)]
    assert weighted_score(parts, "official-code") == pytest.approx(26 / 34)
    assert weighted_score(parts) == pytest.approx(22 / 26)
    # With two questions about logic the published code lets an image through the gate that fails its assessment.
    failed = [(integrity, 3, 1), (logic, 8, 1), (logic, 8, 1), (assessment, 15, 0)]
    assert weighted_score(failed, "official-code") == pytest.approx(19 / 34)
    assert weighted_score(failed) == pytest.approx(11 / 26)
    assert weighted_score([]) is None


def test_stored_scores_are_given_the_weights_of_a_profile() -> None:
    shared = [(integrity, 3, 1), (logic, 4, 0), (logic, 4, 1), (assessment, 15, 1)]
    assert rescore(22 / 26, shared, "paper") == 22 / 26
    assert rescore(22 / 26, shared, "official-code") == pytest.approx(26 / 34)
    assert rescore(0.0, [], "official-code") == 0.0  # failed as a whole, before anyone asked a question
    with pytest.raises(FormalimgError, match=r"1\.5 is not between"):
        rescore(0.5, [(logic, 8, 1.5)], "paper")


def test_scores_weights_and_profiles_that_are_none_are_refused() -> None:
    for parts, profile, match in (
        ([(logic, 8, 1.5)], "paper", "1.5 is not between"),
        ([(logic, 0, 1)], "paper", "above 0"),
        ([], "readme", "choose from paper, official-code"),
    ):
        with pytest.raises(FormalimgError, match=match):
            weighted_score(parts, profile)  # type: ignore[arg-type]


@given(
    st.lists(
        st.tuples(st.sampled_from([integrity, assessment, logic]), st.sampled_from([0, 1, 2])), min_size=1, max_size=8
    )
)
def test_the_papers_score_is_that_of_the_means_of_the_dimensions(answers: list[tuple[str, int]]) -> None:
    weights = {integrity: 3, assessment: 15, logic: 8}
    there = {name for name, _ in answers}
    means = {
        name: Fraction(sum(n for one, n in answers if one == name), 2 * sum(one == name for one, _ in answers))
        for name in there
    }
    expected = sum(weights[name] * means[name] for name in there) / sum(weights[name] for name in there)
    found = weighted_score([(name, weights[name], n / 2) for name, n in answers])
    assert found == pytest.approx(float(expected), abs=1e-12)


def test_the_gate_is_closed_strictly_below_the_threshold() -> None:
    seen = see(("a", 1, 0.5), ("a", 2, 0.8), ("a", 3, 0.7), ("b", 1, 0.49), ("b", 2, 0.8), ("b", 3, 0.7))
    assert [one.score for one in apply_gate(seen, 0.5)] == [0.5, 0.8, 0.7, 0.49, 0.0, 0.0]
    assert [one.score for one in apply_gate(seen, 0.6)] == [0.5, 0.0, 0.0, 0.49, 0.0, 0.0]
    assert [one.score for one in apply_gate(seen, 0)] == [one.score for one in seen]
    # 13 of 26, with a third of the weight of logic for each of its questions: half, but for the rounding of floats.
    half = weighted_score([(integrity, 3, 1.0), (assessment, 15, 0.4), (logic, 8, 1), (logic, 8, 0), (logic, 8, 0.5)])
    assert apply_gate(see(("a", 1, half), ("a", 2, 1.0)), 0.5)[1].score == 1.0


def test_each_sample_has_its_own_gate_and_the_first_where_there_are_fewer() -> None:
    seen = [
        *(ScoreObservation("a", 1, n, score) for n, score in enumerate([0.9, 0.1])),
        *(ScoreObservation("a", 2, n, 1.0) for n in range(3)),
    ]
    assert [one.score for one in apply_gate(seen, 0.5)][2:] == [1.0, 0.0, 1.0]


def test_an_unknown_gate_gives_no_score_and_0_in_the_published_code() -> None:
    seen = see(("a", 1, None), ("a", 2, 0.8), ("b", 2, 0.8), ("c", 1, 0.2), ("c", 2, None))
    assert [one.score for one in apply_gate(seen, 0.5)] == [None, None, None, 0.2, None]
    # b was never asked for at level 1, so that the published code would have nothing to close its gate either.
    assert [one.score for one in apply_gate(seen, 0.5, profile="official-code")] == [None, 0.0, None, 0.2, None]
    assert gate_states(seen, 0.5) == ["open", "unknown", "not in the run", "open", "closed"]
    assert gate_states(seen, 0.5, profile="official-code") == ["open", "closed", "not in the run", "open", "closed"]
    assert [one.score for one in seen] == [None, 0.8, 0.8, 0.2, None]  # what the judge said is as it was


def test_a_gate_of_no_profile_or_threshold_is_refused() -> None:
    with pytest.raises(FormalimgError, match="profile"):
        gate_states(see(("a", 1, 0.3)), 0.5, profile="code")  # type: ignore[arg-type]
    with pytest.raises(FormalimgError, match="threshold"):
        gate_states(see(("a", 1, 0.3)), 50)


def test_two_gates_for_one_image_are_refused() -> None:
    with pytest.raises(FormalimgError, match="two images of level 1"):
        apply_gate(see(("a", 1, 0.3), ("a", 1, 0.4)), 0.5)
    assert summarize_scores(see(("a", 1, 0.3), ("a", 1, 0.4)), threshold=None).levels[1].value == pytest.approx(0.35)


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
    assert not_none(summary.levels[1].interval).high > 0.2  # nine groups prove little
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
        assert not_none(after) <= not_none(before) + 1e-12
        found = summary.levels[level]
        if found.value is not None:
            assert 0 <= not_none(found.interval).low <= found.value <= not_none(found.interval).high <= 1
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
            covered[number] += interval is None or interval.low <= not_none(value) <= interval.high
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
    assert not_none(found.interval).low <= -0.5 < 0.1 <= not_none(found.interval).high
    assert score_difference([]).value is None
