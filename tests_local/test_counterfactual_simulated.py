"""A judge whose rates are known, over all that was published: what a report says of it is where theory puts it."""

from __future__ import annotations

import contextlib
import random
import signal
from collections.abc import Mapping, Sequence
from functools import cache
from itertools import product
from math import prod
from pathlib import Path
from statistics import fmean

import pytest
from tests.reports.counterfactual_runs import WEIGHTS, ScoringJudge, groups_of, scored_run
from tests.support.models import speckled
from tests.support.run_contents import contents

from formalimg.benchmarks.cfworld.spec import CounterfactualSpec
from formalimg.benchmarks.loader import load
from formalimg.judges.base import LoadedImage
from formalimg.models.registry import open_image_model
from formalimg.reports.comparison import compare
from formalimg.reports.comparison_model import Comparison, Section
from formalimg.reports.tables.model import Number, number_in
from formalimg.runs.config import RunConfig
from formalimg.runs.execution import execute
from formalimg.runs.reader import open_run
from formalimg.stats.observations import Interval
from formalimg.types import Item

PUBLISHED = Path(__file__).parents[2] / "shared" / "official" / "cf-world"

CHANCES: Mapping[tuple[int, str], tuple[float, float, float]] = {
    # chances of the scores 0, 0.5 and 1
    (1, "integrity"): (0.05, 0.15, 0.80),
    (1, "assessment"): (0.15, 0.10, 0.75),
    (1, "logic"): (0.20, 0.10, 0.70),
    (2, "integrity"): (0.10, 0.20, 0.70),
    (2, "assessment"): (0.50, 0.15, 0.35),
    (2, "logic"): (0.45, 0.20, 0.35),
    (3, "integrity"): (0.10, 0.20, 0.70),
    (3, "assessment"): (0.70, 0.10, 0.20),
    (3, "logic"): (0.60, 0.15, 0.25),
}


def _chances(level: int, dimension: str) -> tuple[float, float, float]:
    return CHANCES[level, "logic" if dimension == "adherence" else dimension]


def _simulated(item: Item[CounterfactualSpec], image: LoadedImage) -> list[float]:
    dice = random.Random(f"4 {item.id}")
    return [dice.choices([0.0, 0.5, 1.0], _chances(item.level, asked.dimension))[0] for asked in item.spec.questions]


def _score(dimensions: Sequence[str], scores: Sequence[float]) -> float:
    """The paper's formula, written out: a mean for each dimension, and the weighted mean of these."""
    means = {d: fmean(s for one, s in zip(dimensions, scores, strict=True) if one == d) for d in dimensions}
    weights: dict[str, float] = {str(dimension): weight for dimension, weight in WEIGHTS.items()}
    return sum(weights[d] * mean for d, mean in means.items()) / sum(weights[d] for d in means)


@cache
def _expected(level: int, dimensions: tuple[str, ...]) -> tuple[float, float]:
    """The mean score of an image with these questions, and the chance that it opens the gate."""
    mean = opens = 0.0
    for choice in product(range(3), repeat=len(dimensions)):
        chance = prod(_chances(level, d)[n] for d, n in zip(dimensions, choice, strict=True))
        score = _score(dimensions, [n / 2 for n in choice])
        mean += chance * score
        opens += chance * (score >= 0.5 - 1e-9)
    return mean, opens


def _within(interval: Interval | None, expected: float, narrow: float) -> None:
    assert interval is not None
    assert interval.low <= expected <= interval.high
    assert interval.high - interval.low < narrow


@pytest.fixture(scope="module")
def items() -> list[Item[CounterfactualSpec]]:
    if not PUBLISHED.is_dir():
        pytest.skip(f"the published groups are not at {PUBLISHED}")
    return list(load("cf-world", PUBLISHED))


@pytest.fixture(scope="module")
def comparison(items: list[Item[CounterfactualSpec]], tmp_path_factory: pytest.TempPathFactory) -> Comparison:
    folder = scored_run(tmp_path_factory.mktemp("runs") / "all", items, ScoringJudge(_simulated))
    with contextlib.closing(open_run(folder)) as run:
        return compare([run])


def _table(section: Section, name: str) -> dict[tuple[str, ...], list[Number]]:
    (table,) = [table for table in section.tables if table.name == name]
    return {
        tuple(cell for cell in row.cells if isinstance(cell, str)): [
            number
            for column, cell in enumerate(row.cells)
            if not isinstance(cell, str) and (number := number_in(table, row, column)) is not None
        ]
        for row in table.rows
    }


def test_nothing_of_the_published_set_is_dropped(comparison: Comparison) -> None:
    (section,) = comparison.sections
    (row,) = section.rows
    levels = row.summary.levels
    assert {level: rate.expected for level, rate in levels.items()} == {1: 1092, 2: 1092, 3: 1092}
    # One group has no questions for its factual image, so that nobody knows its gate; six have none above.
    assert {level: rate.scored for level, rate in levels.items()} == {1: 1091, 2: 1085, 3: 1085}
    assert row.unscored == {"no questions": 1 + 6 + 6, "gate unknown": 2}
    assert sum(tally.asked for tally in row.kinds.values()) == 10_888
    without = _table(section, "groups without scores")
    assert len(without) == 7
    assert ("chemical-47", "L1: no questions; L2, L3: gate unknown") in without
    assert ("geography-0", "L2, L3: no questions") in without


def test_means_gates_and_rates_lie_where_the_judges_rates_put_them(
    comparison: Comparison, items: list[Item[CounterfactualSpec]]
) -> None:
    (section,) = comparison.sections
    summary = section.rows[0].summary
    by_group: dict[str, dict[int, tuple[float, float]]] = {}
    for item in items:
        if item.spec.questions:
            dimensions = tuple(sorted(asked.dimension for asked in item.spec.questions))
            by_group.setdefault(item.spec.group, {})[item.level] = _expected(item.level, dimensions)
    l1 = fmean(levels[1][0] for levels in by_group.values() if 1 in levels)
    l2, l3 = (
        fmean(levels[1][1] * levels[n][0] for levels in by_group.values() if 1 in levels and n in levels)
        for n in (2, 3)
    )
    for level, expected in ((1, l1), (2, l2), (3, l3)):
        _within(summary.levels[level].interval, expected, 0.06)
    _within(summary.bands["PRR"].interval, l2 / l1**0.5, 0.07)
    _within(summary.bands["RRR"].interval, l3 / l2**0.5, 0.07)
    figures = _table(section, "raw and gated")
    closed = fmean(1 - levels[1][1] for levels in by_group.values() if {1, 2} <= set(levels))
    raw, gated, count, share, unknown = figures["test/speckles", "L2"]
    assert share.value == pytest.approx(closed, abs=0.035)
    assert count.value == pytest.approx((share.value or 0) * 1085)
    assert unknown.value == 1
    assert (raw.value or 0) > (gated.value or 0) + 0.05
    assert raw.interval is not None
    assert not raw.interval.low <= l2 <= raw.interval.high, "a forgotten gate would not be seen"


def test_an_interrupted_run_that_is_resumed_says_the_same(
    items: list[Item[CounterfactualSpec]], tmp_path: Path
) -> None:
    kept = {group for n, group in enumerate(dict.fromkeys(item.spec.group for item in items)) if n % 5 == 0}
    fifth = [item for item in items if item.spec.group in kept]
    seen: list[str] = []

    def interrupted(item: Item[CounterfactualSpec], image: LoadedImage) -> list[float]:
        seen.append(item.id)
        if len(seen) == 200:
            signal.raise_signal(signal.SIGINT)
        return _simulated(item, image)

    scored_run(tmp_path / "broken", fifth, ScoringJudge(interrupted))
    with contextlib.closing(open_run(tmp_path / "broken")) as run:
        half = compare([run]).sections[0].rows[0].summary
        judged = sum(outcome.score is not None for outcome in run.outcomes())
    assert 200 <= judged < half.overall.expected == len(fifth)
    assert half.overall.scored <= judged  # what is behind a gate counts only when the factual image is judged too
    scored_run(tmp_path / "broken", fifth, ScoringJudge(interrupted))
    scored_run(tmp_path / "whole", fifth, ScoringJudge(_simulated))
    assert contents(tmp_path / "broken") == contents(tmp_path / "whole")
    with (
        contextlib.closing(open_run(tmp_path / "broken")) as one,
        contextlib.closing(open_run(tmp_path / "whole")) as other,
    ):
        rows = [compare([run]).sections[0].rows[0] for run in (one, other)]
    assert rows[0].summary == rows[1].summary
    assert rows[0].gated == rows[1].gated


def test_a_repaired_factual_image_is_judged_again_and_opens_the_gate_of_its_group(tmp_path: Path) -> None:
    images, folder = tmp_path / "pictures", tmp_path / "run"
    images.mkdir()
    items = groups_of(6)
    for item in items:
        (images / f"{item.id}.png").write_bytes(speckled(item.id, 16))
    good = speckled("good", 16)
    asked: list[str] = []

    def judge(item: Item[CounterfactualSpec], image: LoadedImage) -> list[float]:
        asked.append(item.id)
        bad = item.id == "g2-l1" and image.data != good
        return [1.0, 0.0, 0.0] if bad else [1.0, 1.0, 1.0]

    def report() -> Section:
        order = RunConfig(items, open_image_model(f"folder/{images}"), size=16)
        execute(order, folder, ScoringJudge(judge))
        with contextlib.closing(open_run(folder)) as run:
            return compare([run]).sections[0]

    (before,) = report().rows
    assert before.gated == {("g2-l2", 0), ("g2-l3", 0)}
    assert before.summary.levels[2].value == pytest.approx(5 / 6)
    asked.clear()
    (images / "g2-l1.png").write_bytes(good)
    (after,) = report().rows
    assert asked == ["g2-l1"]
    assert not after.gated
    assert [rate.value for rate in after.summary.levels.values()] == [1, 1, 1]
