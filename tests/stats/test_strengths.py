"""Bradley–Terry strengths: against published numbers, another implementation, and planted strengths."""

from __future__ import annotations

from collections import Counter
from itertools import combinations
from math import fsum, log, sqrt
from typing import Literal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from formalimg.errors import FormalimgError
from formalimg.stats.strengths import BradleyTerry, PairOutcome, bradley_terry
from tests.support.sizes import tries
from tests.support.values import not_none

Result = Literal[1, 0, -1]

CITED = {
    "Biometrika": {"Comm Statist": 730, "JASA": 498, "JRSS-B": 221},
    "Comm Statist": {"Biometrika": 33, "JASA": 68, "JRSS-B": 17},
    "JASA": {"Biometrika": 320, "Comm Statist": 813, "JRSS-B": 142},
    "JRSS-B": {"Biometrika": 284, "Comm Statist": 276, "JASA": 325},
}
"""How often four journals cite each other (Stigler 1994): to be cited is to win."""


def _strengths(found: BradleyTerry | None) -> dict[str, float]:
    return {it.model: it.strength for it in not_none(found).models}


def test_published_strengths_of_journals() -> None:
    outcomes = [PairOutcome(a, b, 1) for a, cited in CITED.items() for b, count in cited.items() for _ in range(count)]
    found = bradley_terry(outcomes, prior=0)
    value = _strengths(found)
    published = {"Biometrika": 0, "Comm Statist": -2.949, "JASA": -0.480, "JRSS-B": 0.269}
    assert {name: round(value[name] - value["Biometrika"], 3) for name in CITED} == pytest.approx(published, abs=6e-4)
    assert found is not None
    assert [it.model for it in found.models] == ["JRSS-B", "Biometrika", "JASA", "Comm Statist"]
    assert [it.ranks for it in found.models] == [(1, 1), (2, 2), (3, 3), (4, 4)]
    assert found.tie == 0
    assert found.n == found.items == 3727


def _fitted_elsewhere(outcomes: list[PairOutcome], models: list[str]) -> dict[str, float]:
    """Davidson's model by the iteration of his paper over worths and the tie parameter, without a prior."""
    worth, tie = dict.fromkeys(models, 1.0), 1.0
    points = dict.fromkeys(models, 0)
    for it in outcomes:
        points[it.first] += 1 + it.result
        points[it.second] += 1 - it.result
    ties = sum(it.result == 0 for it in outcomes)
    for _ in range(400):
        expected = dict.fromkeys(models, 0.0)
        drawn = 0.0
        for pair, count in Counter(it[:2] for it in outcomes).items():
            one, other = worth[pair[0]], worth[pair[1]]
            root = sqrt(one * other)
            whole = one + other + tie * root
            drawn += count * root / whole
            for name, own, foreign in ((pair[0], one, other), (pair[1], other, one)):
                expected[name] += count * (2 + tie * sqrt(foreign / own)) / whole
        worth = {name: points[name] / expected[name] for name in models}
        tie = ties / drawn
    logs = {name: log(value) for name, value in worth.items()}
    return {name: value - fsum(logs.values()) / len(logs) for name, value in logs.items()}


@pytest.mark.parametrize("seed", range(3))
def test_ties_as_another_implementation_has_them(seed: int) -> None:
    chance = np.random.default_rng(seed)
    models = ["a", "b", "c", "d"]
    outcomes = _simulated(dict(zip(models, (0.9, 0.2, 0.0, -0.8), strict=True)), 0.7, 30, 2, 0.0, chance)
    found = bradley_terry(outcomes, prior=0)
    assert _strengths(found) == pytest.approx(_fitted_elsewhere(outcomes, models), abs=1e-6)


def _simulated(
    strengths: dict[str, float], tie: float, items: int, raters: int, alike: float, chance: np.random.Generator
) -> list[PairOutcome]:
    """Comparisons of all pairs on all items; what raters say of an item goes together if it is alike."""
    found = []
    for item in range(items):
        for one, other in combinations(strengths, 2):
            shift = alike * chance.normal()
            for _ in range(raters):
                apart = strengths[one] - strengths[other] + shift
                odds = np.array([np.exp(apart / 2), tie, np.exp(-apart / 2)])
                result = chance.choice([1, 0, -1], p=odds / odds.sum())
                found.append(PairOutcome(one, other, int(result), item))  # type: ignore[arg-type]
    return found


TRIALS = tries(60, 400)
LEAST = {60: 0.87, 400: 0.92}[TRIALS]
"""What so many trials of a true 95 % fall below once in a hundred cases or less; all is seeded."""


def test_planted_strengths_lie_within_the_intervals_as_often_as_stated() -> None:
    chance = np.random.default_rng(5)
    planted = {"a": 0.75, "b": 0.25, "c": -0.25, "d": -0.75}
    held = wrong_ranks = 0
    for _ in range(TRIALS):
        found = bradley_terry(_simulated(planted, 0.6, 30, 3, 0.0, chance))
        for it in not_none(found).models:
            held += not_none(it.interval).low <= planted[it.model] <= not_none(it.interval).high
            wrong_ranks += not it.ranks.best <= 1 + list(planted).index(it.model) <= it.ranks.worst
    assert held >= LEAST * 4 * TRIALS
    assert wrong_ranks <= 0.05 * 4 * TRIALS


def test_raters_of_one_item_are_not_independent() -> None:
    chance = np.random.default_rng(6)
    planted = {"a": 0.0, "b": 0.0, "c": 0.0}
    by_item = alone = 0
    for _ in range(TRIALS):
        outcomes = _simulated(planted, 0.6, 25, 8, 1.5, chance)
        for together in (True, False):
            found = bradley_terry(outcomes if together else [it._replace(item=None) for it in outcomes])
            covered = sum(it.interval.low <= 0 <= it.interval.high for it in not_none(found).models if it.interval)
            by_item, alone = (by_item + covered, alone) if together else (by_item, alone + covered)
    assert by_item >= LEAST * 3 * TRIALS
    assert alone < LEAST * 3 * TRIALS, "the simulation would not show a forgotten clustering"


_outcomes = st.lists(
    st.builds(
        PairOutcome,
        st.just("a"),
        st.sampled_from(["b", "c"]),
        st.sampled_from([1, 0, -1]),
        st.integers(0, 4),
    ),
    min_size=1,
    max_size=20,
)


@given(_outcomes)
def test_sides_do_not_matter_and_all_is_finite(outcomes: list[PairOutcome]) -> None:
    found = bradley_terry(outcomes)
    turned = bradley_terry([PairOutcome(b, a, -said, item) for a, b, said, item in outcomes])
    assert found is not None
    assert _strengths(turned) == pytest.approx(_strengths(found), abs=1e-6)
    assert sum(_strengths(found).values()) == pytest.approx(0, abs=1e-9)
    assert np.mean([it.win_rate for it in found.models]) == pytest.approx(0.5)
    for it in found.models:
        assert abs(it.strength) < 10
        assert (it.interval is None) == (found.items == 1)
        assert 1 <= it.ranks.best <= it.ranks.worst <= len(found.models)
        assert it.wins + it.ties + it.losses == sum(it.model in pair[:2] for pair in outcomes)


def test_what_cannot_be_ranked() -> None:
    assert bradley_terry([]) is None
    with pytest.raises(FormalimgError, match="the comparisons do not connect a and c"):
        bradley_terry([PairOutcome("a", "b", 1), PairOutcome("c", "d", 1)])
    with pytest.raises(FormalimgError, match="compared with itself"):
        bradley_terry([PairOutcome("a", "a", 0)])
    only_wins = bradley_terry([PairOutcome("a", "b", 1, item) for item in range(20)])
    assert not_none(only_wins).models[0].model == "a"
    assert np.isfinite(not_none(only_wins).models[0].strength)
