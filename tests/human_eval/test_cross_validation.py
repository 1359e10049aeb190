"""How good a threshold is on images that it was not chosen by."""

from __future__ import annotations

import math
import random
from contextlib import closing
from pathlib import Path
from statistics import mean

import pytest

from formalimg.benchmarks.cfworld.calibration import calibrate_gate, calibration_text
from formalimg.errors import FormalimgError
from formalimg.human_eval.agreement.rating_files import Rating
from formalimg.human_eval.agreement.thresholds import FOLDS, LabelledScore, best_threshold, cross_validate
from formalimg.runs.reader import open_run
from tests.human_eval.counterfactual_runs import scored_item, scored_run
from tests.support.sizes import tries


def _coins(chance: random.Random, images: int, per_item: int = 1) -> list[LabelledScore]:
    """Scores that say nothing of the labels."""
    return [LabelledScore(chance.random(), chance.random() < 0.5, str(at // per_item)) for at in range(images)]


def test_a_score_that_knows_nothing_looks_good_only_on_its_own_images() -> None:
    chance = random.Random(4)
    own, others = [], []
    for _ in range(40):
        images = _coins(chance, 50)
        best, validated = best_threshold(images, resamples=40), cross_validate(images)
        assert best is not None
        assert validated is not None
        assert validated.value is not None
        own.append(best.reached)
        others.append(validated.value)
    assert mean(own) > 0.58
    assert mean(others) < 0.53


def _blurred(chance: random.Random, images: int) -> list[LabelledScore]:
    scores = [chance.random() for _ in range(images)]
    return [LabelledScore(it, chance.random() < 1 / (1 + math.exp((0.5 - it) / 0.1))) for it in scores]


@pytest.mark.parametrize("images", [40, 150][: tries(1, 2)])
def test_the_interval_holds_the_accuracy_on_other_images(images: int) -> None:
    """The truth is what thresholds that are chosen by so many images reach on the average of many other images."""
    chance = random.Random(images)
    grid = [(at + 0.5) / 500 for at in range(500)]
    yes = [1 / (1 + math.exp((0.5 - it) / 0.1)) for it in grid]

    def accuracy(threshold: float) -> float:
        return mean(p if it >= threshold else 1 - p for it, p in zip(grid, yes, strict=True))

    truths, intervals = [], []
    for _ in range(tries(60, 300)):
        seen = _blurred(chance, images)
        found, best = cross_validate(seen), best_threshold(seen, resamples=40)
        assert found is not None
        assert found.interval is not None
        assert best is not None
        truths.append(accuracy(best.value))
        intervals.append(found.interval)
    held = mean(it.low <= mean(truths) <= it.high for it in intervals)
    assert held >= 0.9


def test_images_of_one_item_are_in_one_fold() -> None:
    """Each item is five images with one label and nearly one score, so that a fold apart from its item is foretold."""
    chance = random.Random(1)
    images = []
    for item in range(24):
        score, label = chance.random(), chance.random() < 0.5
        images += [LabelledScore(score + extra / 1e6, label, str(item)) for extra in range(5)]
    found = cross_validate(images)
    alone = cross_validate([image._replace(item=None) for image in images])
    once = cross_validate(images[::5])
    assert found is not None
    assert alone is not None
    assert once is not None
    assert found.smallest % 5 == 0
    assert found.interval is not None
    assert alone.interval is not None
    assert found.interval.high - found.interval.low > 1.5 * (alone.interval.high - alone.interval.low)
    assert found == cross_validate(images[::-1])
    assert found != cross_validate(images, seed=1) or found.folds < FOLDS


def test_few_labels_are_said_to_be_few() -> None:
    few = [LabelledScore(0.1 * at, at > 5) for at in range(10)]
    found = cross_validate(few)
    assert found is not None
    assert (found.folds, found.too_small) == (4, True)
    assert cross_validate(few[:7]) is None  # only one is recognisable
    assert cross_validate(few[:5]) is None
    with pytest.raises(FormalimgError, match="use 0 or more"):
        cross_validate(few, seed=-1)
    many = cross_validate(_blurred(random.Random(3), 80), "F1")
    assert many is not None
    assert (many.folds, many.too_small) == (FOLDS, False)
    assert many.thresholds[0] <= many.thresholds[1]


def test_a_calibration_says_both(tmp_path: Path) -> None:
    scores = {f"i{at}-l1": at / 12 for at in range(12)}
    run = scored_run(
        tmp_path / "run", [scored_item(name) for name in scores], {name: [score] for name, score in scores.items()}
    )
    labels = [Rating("run", name, 0, None, "ann", float(score > 0.4), 0) for name, score in scores.items()]
    with closing(open_run(run)) as opened:
        found = calibrate_gate(labels, [opened])
    assert found.best is not None
    assert found.validated is not None
    assert found.best.reached == 1
    table = calibration_text(found, "md")
    assert "cross-validated" in table
    assert "Fewer than 10 items have the rarer label" in table
    assert "cross-validated accuracy," in calibration_text(found, "csv")
    assert '"validated": {' in calibration_text(found, "json")
