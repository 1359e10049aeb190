"""Scores, gate and rates of CF-World: as the paper has them, and as its code does."""

from __future__ import annotations

import tomllib
from fractions import Fraction
from importlib.resources import files

import pytest
from hypothesis import given
from hypothesis import strategies as st

from formalimg.benchmarks.cfworld.scores import (
    apply_gate,
    gate_states,
    prior_resistance,
    reasoning_retention,
    rescore,
    summarize_scores,
    weighted_score,
)
from formalimg.errors import FormalimgError
from formalimg.stats.observations import ScoreObservation

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
            assert value is not None
            if round(value, 2) != row["ratios"][name]:
                wrong.append((judge, row["model"], name))
    assert wrong == []


def test_rates_without_a_mean_or_over_0_are_undefined() -> None:
    assert prior_resistance(0.0, 0.0) is None
    assert prior_resistance(None, 0.3) is None
    assert reasoning_retention(0.3, None) is None
    assert reasoning_retention(0.25, 0.0) == 0.0
    with pytest.raises(FormalimgError, match="does not lie between 0 and 1"):
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
    with pytest.raises(FormalimgError, match=r"1\.5 does not lie between"):
        rescore(0.5, [(logic, 8, 1.5)], "paper")


def test_scores_weights_and_profiles_that_are_none_are_refused() -> None:
    for parts, profile, match in (
        ([(logic, 8, 1.5)], "paper", "1.5 does not lie between"),
        ([(logic, 0, 1)], "paper", "above 0"),
        ([], "readme", "known are paper, official-code"),
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
