"""Means of scores corrected by labels that were drawn with different probabilities: they cover the true mean."""

from __future__ import annotations

import random

import pytest

from formalimg.stats.corrected import corrected_mean
from formalimg.stats.stratified_mean import ScoreCell, corrected_cell_mean
from tests.support.sizes import tries


def _level(rng: random.Random, skill: float, images: int, labels: int) -> list[ScoreCell]:
    """Images of four parts each; the judge takes a third of what is wrong for right, and both answers are labelled."""
    cells: dict[bool, list[tuple[float, float]]] = {True: [], False: []}
    for _ in range(images):
        shown = [rng.random() < skill for _ in range(4)]
        said = [yes or rng.random() < 1 / 3 for yes in shown]
        cells[all(said)].append((sum(said) / 4, sum(shown) / 4))
    return [
        ScoreCell([judge for judge, _ in cell], rng.sample(cell, min(labels, len(cell)))) for cell in cells.values()
    ]


@pytest.mark.parametrize(("images", "labels"), [(40, 3), (60, 8)])
def test_the_true_mean_is_covered_where_the_judge_is_too_lenient(images: int, labels: int) -> None:
    rng, skills, seen = random.Random(labels), (0.9, 0.7, 0.5), tries(100, 1000)
    held = lowered = 0
    for _ in range(seen):
        found = corrected_cell_mean([cell for skill in skills for cell in _level(rng, skill, images, labels)])
        assert found is not None
        held += found.low <= 0.7 <= found.high
        lowered += found.estimate < found.raw
    assert held / seen >= 0.93
    assert lowered / seen >= 0.95  # a few labels can mislead


def test_one_cell_is_a_plain_corrected_mean() -> None:
    judge = [0.25, 0.5, 0.75, 1.0] * 10
    labelled = [(0.25, 0.0), (0.5, 0.5), (0.75, 0.5), (1.0, 1.0), (0.5, 0.25), (1.0, 0.75)]
    found, plain = corrected_cell_mean([ScoreCell(judge, labelled), ScoreCell([], [])]), corrected_mean(judge, labelled)
    assert found is not None
    assert (found.estimate, found.raw, found.labels) == (plain.estimate, plain.raw, 6)
    assert found.low == pytest.approx(plain.low, abs=0.02)
    assert found.high == pytest.approx(plain.high, abs=0.02)


def test_cells_weigh_by_their_images_and_unlabelled_ones_could_have_any_mean() -> None:
    full, half = ScoreCell([1.0] * 30, [(1.0, 1.0)] * 6), ScoreCell([0.5] * 10, [])
    found = corrected_cell_mean([full, half])
    assert found is not None
    assert found.estimate == pytest.approx(0.75 * 1 + 0.25 * 0.5)
    assert found.low < 0.76
    assert found.high == 1
    assert corrected_cell_mean([half]) is None
