"""Means of scores corrected by labels that were drawn with different probabilities: they cover the true mean."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest

from formalimg.stats.corrected import estimate_corrected_mean
from formalimg.stats.corrected_summary import CellScore, ScoreCell, estimate_cell_mean
from tests.support.sizes import tries


def _level(rng: random.Random, skill: float, images: int, labels: int) -> list[ScoreCell]:
    """Images of four parts each; the judge takes a third of what is wrong for right, and both answers are labelled."""
    cells: dict[bool, list[tuple[float, float]]] = {True: [], False: []}
    for _ in range(images):
        shown = [rng.random() < skill for _ in range(4)]
        said = [yes or rng.random() < 1 / 3 for yes in shown]
        cells[all(said)].append((sum(said) / 4, sum(shown) / 4))
    return [_cell(cell, rng.sample(range(len(cell)), min(labels, len(cell)))) for cell in cells.values()]


def _cell(scores: Sequence[tuple[float, float]], labelled: Sequence[int]) -> ScoreCell:
    return [CellScore(object(), judge, human if n in labelled else None) for n, (judge, human) in enumerate(scores)]


@pytest.mark.parametrize(("images", "labels"), [(40, 3), (60, 8)])
def test_the_true_mean_is_covered_where_the_judge_is_too_lenient(images: int, labels: int) -> None:
    rng, skills, seen = random.Random(labels), (0.9, 0.7, 0.5), tries(100, 1000)
    held = lowered = 0
    for _ in range(seen):
        found = estimate_cell_mean([cell for skill in skills for cell in _level(rng, skill, images, labels)])
        assert found is not None
        held += found.low <= 0.7 <= found.high
        lowered += found.estimate < found.raw
    assert held / seen >= 0.93
    assert lowered / seen >= 0.95  # a few labels can mislead


def _scores(rng: random.Random, mood: float, level: int) -> tuple[float, float, bool]:
    """Four parts each of an image, by people and by a judge that takes some wrong ones for right."""
    shown = [rng.random() < min(1.0, max(0.0, 0.8 - 0.2 * level + mood)) for _ in range(4)]
    said = [rng.random() < (0.85 if yes else 0.3) for yes in shown]
    return sum(shown) / 4, sum(said) / 4, all(said)


@pytest.mark.parametrize(("labels", "of_items"), [(100, False), (320, False), (100, True)])
def test_the_true_mean_is_covered_with_four_images_an_item_that_are_alike(labels: int, of_items: bool) -> None:
    rng, seen, held = random.Random(labels), tries(100, 1000), 0
    # What an item adds to all of its images is symmetric, and never leaves the probabilities.
    truth = 0.6
    for _ in range(seen):
        images = [
            (f"{level}-{item}", level, _scores(rng, mood, level))
            for level in range(3)
            for item in range(30)
            for mood in [rng.choice([-0.2, 0.2])]
            for _ in range(4)
        ]
        items = sorted({name for name, _, _ in images})
        chosen = set(rng.sample(items, labels // 4)) if of_items else set(rng.sample(range(len(images)), labels))
        cells: dict[tuple[int, bool], list[CellScore]] = {}
        for n, (name, level, (human, judge, passed)) in enumerate(images):
            label = human if (name if of_items else n) in chosen else None
            cells.setdefault((level, passed), []).append(CellScore(name, judge, label))
        corrected = estimate_cell_mean([*cells.values()])
        assert corrected is not None
        held += corrected.low <= truth <= corrected.high
    assert held / seen >= 0.93


def test_one_cell_is_a_plain_corrected_mean() -> None:
    judge = [0.25, 0.5, 0.75, 1.0] * 10
    labelled = [(0.25, 0.0), (0.5, 0.5), (0.75, 0.5), (1.0, 1.0), (0.5, 0.25), (1.0, 0.75)]
    images = [CellScore(n, score) for n, score in enumerate(judge)]
    for pair in labelled:
        place = next(n for n, image in enumerate(images) if image.human is None and image.judge == pair[0])
        images[place] = CellScore(place, *pair)
    found, plain = estimate_cell_mean([images, []]), estimate_corrected_mean(judge, labelled)
    assert found is not None
    assert (found.estimate, found.raw, found.labels) == (plain.estimate, plain.raw, 6)
    assert found.low == pytest.approx(plain.low, abs=0.02)
    assert found.high == pytest.approx(plain.high, abs=0.02)


def test_cells_weigh_by_their_images_and_unlabelled_ones_could_have_any_mean() -> None:
    full = [CellScore(n, 1.0, 1.0 if n < 6 else None) for n in range(30)]
    half = [CellScore(n, 0.5) for n in range(30, 40)]
    found = estimate_cell_mean([full, half])
    assert found is not None
    assert found.estimate == pytest.approx(0.75 * 1 + 0.25 * 0.5)
    assert found.low < 0.76
    assert found.high == 1
    assert estimate_cell_mean([half]) is None
