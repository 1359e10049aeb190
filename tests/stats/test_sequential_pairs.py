"""Two models compared item by item until they are separated."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from formalimg.errors import FormalimgError
from formalimg.stats.sequential_pairs import PairedDesign, PairedResult, PairedTest
from tests.support.sizes import tries


def _compare(items: int, discordant: float, won: float, draw: np.random.Generator) -> PairedResult:
    test, wins, losses, seen = PairedTest(PairedDesign(items)), 0, 0, 0
    while (needs := test.needs) is not None:
        different = int(draw.binomial(needs - seen, discordant))
        new = int(draw.binomial(different, won))
        wins, losses, seen = wins + new, losses + different - new, needs
        test.look(wins, losses, needs)
    return test.result()


@pytest.mark.parametrize(("discordant", "won"), [(0.3, 0.5), (0.3, 0.75), (0.5, 0.95)])
def test_the_interval_covers_and_leaves_out_0_only_where_the_models_are_separated(
    discordant: float, won: float
) -> None:
    draw, runs, covered = np.random.default_rng(5), tries(40, 1000), 0
    for _ in range(runs):
        result = _compare(100, discordant, won, draw)
        assert result.interval is not None
        low, high = result.interval
        covered += low <= discordant * (2 * won - 1) <= high
        assert (low > 0) == (result.decision == "better")
        assert (high < 0) == (result.decision == "worse")
    assert covered / runs >= 0.95 - 3 * (0.05 * 0.95 / runs) ** 0.5


def test_equal_models_are_separated_no_more_often_than_allowed_by_enumeration() -> None:
    """All wins and losses on 20 discordant items, weighted by their chance: the exact type-I error."""
    separated = 0.0
    for first, second in product(range(11), range(11)):
        test = PairedTest(PairedDesign(20))
        chance = float(_chances[first] * _chances[second])
        if test.look(first, 10 - first, 10).decision == "going on":
            test.look(first + second, 20 - first - second, 20)
        separated += chance * (test.looks[-1].decision in ("better", "worse"))
    assert 0.01 < separated <= 0.05


_chances = np.array([1.0])
for _ in range(10):
    _chances = np.convolve(_chances, (0.5, 0.5))


def test_clear_differences_take_few_items_and_equal_models_end_without_all() -> None:
    draw = np.random.default_rng(2)
    clear = _compare(2000, 0.4, 0.95, draw)
    assert (clear.decision, clear.counted < 200) == ("better", True)
    assert _compare(2000, 0.4, 0.05, draw).decision == "worse"
    equal = PairedTest(PairedDesign(400))
    while (needs := equal.needs) is not None:
        equal.look(needs // 10, needs // 10, needs)
    assert equal.result().decision == "hopeless"
    assert equal.result().counted < 400
    assert equal.result().difference == 0


def test_models_that_never_differ() -> None:
    test = PairedTest(PairedDesign(200))
    while (needs := test.needs) is not None:
        test.look(0, 0, needs)
    result = test.result()
    assert result.decision == "hopeless"
    assert result.interval is not None
    assert -0.1 < result.interval.low < 0 < result.interval.high < 0.1


def test_items_that_cannot_be_scored_end_the_comparison_early() -> None:
    test = PairedTest(PairedDesign(30))
    test.look(3, 1, 10)
    assert test.look(5, 2, 17, exhausted=True).decision == "undecided"
    assert test.needs is None
    with pytest.raises(FormalimgError, match="has ended"):
        test.look(5, 2, 30)


@pytest.mark.parametrize(("wins", "losses", "counted"), [(1, 1, 5), (8, 3, 10), (-1, 0, 10)])
def test_looks_that_cannot_be_are_refused(wins: int, losses: int, counted: int) -> None:
    with pytest.raises(FormalimgError, match=r"not time to look|count them again"):
        PairedTest(PairedDesign(30)).look(wins, losses, counted)


def test_nothing_to_compare_is_refused() -> None:
    with pytest.raises(FormalimgError, match="no items"):
        PairedDesign(0)
    assert PairedTest(PairedDesign(10)).result().difference is None


@pytest.mark.parametrize("is_better", [True, False])
def test_missing_verdicts_of_the_loser_end_the_certainty_before_they_turn_the_difference(is_better: bool) -> None:
    test = PairedTest(PairedDesign(200))
    while test.needs is not None:
        often, rarely = round(0.3 * test.needs), round(0.05 * test.needs)
        test.look(*((often, rarely) if is_better else (rarely, often)), test.needs)
    last = test.looks[-1]
    assert last.decision == ("better" if is_better else "worse")
    certain = [missing for missing in range(abs(last.wins - last.losses)) if test.is_certain(missing)]
    assert certain == [*range(len(certain))]
    assert 0 < len(certain) < abs(last.wins - last.losses)


def test_models_that_are_not_separated_are_not_certain() -> None:
    test = PairedTest(PairedDesign(20))
    assert not test.is_certain(0)
    test.look(1, 1, 10)
    assert not test.is_certain(0)
