"""Thresholds of gates, calibration and cross-validation."""

from __future__ import annotations

import csv
import io
import json
import math
import random
from collections.abc import Sequence
from contextlib import ExitStack, closing
from itertools import pairwise
from pathlib import Path
from statistics import mean

import pytest
import typer
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from formalimg.benchmarks.cfworld.calibration import GateCalibration, calibrate_gate, calibration_text
from formalimg.cli.group_studies import calibrate_command
from formalimg.errors import FormalimgError
from formalimg.human_eval.agreement.rating_files import Rating, RatingsError, load_label_file
from formalimg.human_eval.agreement.thresholds import (
    FOLDS,
    LabelledScore,
    at_thresholds,
    best_threshold,
    cross_validate,
)
from formalimg.runs.reader import open_run
from formalimg.stats.intervals import clopper_pearson
from formalimg.stats.observations import Profile
from tests.human_eval.counterfactual_runs import Scores, scored_item, scored_run
from tests.support.sizes import tries
from tests.support.values import not_none

BY_HAND = {"a": 0.2, "b": 0.4, "c": 0.45, "d": 0.6, "e": 0.8, "f": 0.9}
RECOGNISABLE = {"a": 0, "b": 1, "c": 0, "d": 1, "e": 1, "f": 1}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The six by hand, one more that was refused, one left unscored, one that nobody labels, and one of level 2."""
    names = [*BY_HAND, "refused", "dark", "unlabelled"]
    items = [*(scored_item(f"{name}-l1") for name in names), scored_item("a-l2", 2)]
    scores: dict[str, list[float | None]] = {f"{name}-l1": [BY_HAND.get(name, 0.5)] for name in names}
    scores |= {"dark-l1": [None], "a-l2": [1.0]}
    return scored_run(tmp_path_factory.mktemp("runs") / "run", items, scores, refused=frozenset({"refused-l1"}))


@pytest.fixture
def labels(tmp_path: Path) -> Path:
    rows = [f"run,{name}-l1,ann,{label}" for name, label in RECOGNISABLE.items()]
    rows += ["run,refused-l1,ann,1", "run,dark-l1,ann,no"]
    (tmp_path / "labels.csv").write_text("\n".join(["model,item,rater,label", *rows]))
    return tmp_path / "labels.csv"


def _calibrated(labels: Path, *folders: Path, profile: Profile = "paper") -> GateCalibration:
    with ExitStack() as opened:
        runs = [opened.enter_context(closing(open_run(each))) for each in folders]
        return calibrate_gate(load_label_file(labels).require_valid(), runs, profile=profile)


def test_accuracy_and_f1_by_hand(folder: Path, labels: Path) -> None:
    found = _calibrated(labels, folder)
    assert [(it.threshold, it.accuracy, it.f1) for it in found.table] == [
        (0.3, 5 / 6, 8 / 9),
        (0.4, 5 / 6, 8 / 9),  # a score of 0.4 passes
        (0.5, 5 / 6, 6 / 7),
        (0.6, 5 / 6, 6 / 7),
        (0.7, 4 / 6, 4 / 6),
    ]
    assert (found.table[2][1:5], found.table[0].interval) == ((3, 0, 2, 1), clopper_pearson(5, 6))
    assert {0.45, 0.9, 0.35, 0.0, 1.0} <= {it.threshold for it in found.curve}


def test_of_equally_good_ranges_the_one_nearest_to_a_half_is_taken(folder: Path, labels: Path) -> None:
    found = _calibrated(labels, folder)
    best, best_f1 = not_none(found.best), not_none(found.best_f1)
    assert best.equally_good == ((0.2, 0.4, False), (0.45, 0.6, False))
    assert best.value == pytest.approx(0.525)
    assert best.reached == 5 / 6
    assert best.interval.low <= 0.525 <= best.interval.high
    assert best_f1.value == pytest.approx(0.3)
    assert best_f1.equally_good == ((0.2, 0.4, False),)


def test_what_cannot_enter_is_counted(folder: Path, labels: Path) -> None:
    more = "\nrun,nowhere-l1,ann,1\nrun,a-l1,bob,1\nrun,b-l1,bob,1"
    labels.write_text(labels.read_text() + more)
    found = _calibrated(labels, folder)
    assert (found.images, found.recognisable, found.labels) == (5, 4, 11)
    assert found.undecided == 1  # ann and bob differ on a
    assert found.unscored == {"not understood": 1, "refused": 1}
    assert found.without_image == ("line 10: run has no sample 0 of item nowhere-l1",)
    assert (found.not_labelled, found.raters) == (1, ("ann", "bob"))


def test_labels_that_make_no_sense_beside_the_runs_are_refused_together(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "labels.csv").write_text(
        "item,model,label,rater\na-l2,run,1,ann\na-l1,other,1,ann\na-l1,run,1,\na-l1,test/speckles,0,\n"
    )
    with pytest.raises(RatingsError) as caught:
        _calibrated(tmp_path / "labels.csv", folder)
    for finding, expected in zip(
        caught.value.findings,
        [
            "line 2: item a-l2 is of level 2",
            "line 3: no run is called other",
            "line 5: without a rater, somebody rates",
        ],
        strict=True,
    ):
        assert finding.startswith(expected)


def test_bad_rows_are_named_by_line(tmp_path: Path) -> None:
    (tmp_path / "labels.csv").write_text("model,item,label\nrun,a,1\nrun,a,0.5\n,a,1\nrun,a\n")
    with pytest.raises(RatingsError) as caught:
        load_label_file(tmp_path / "labels.csv").require_valid()
    assert [finding.split(":")[1] for finding in caught.value.findings] == ["3", "4", "5"]
    for text, expected in (
        ("model,item\n", "no column label"),
        ("model,item,label,sampel\n", "mean sample"),
        ("", "no labels"),
    ):
        (tmp_path / "labels.csv").write_text(text)
        with pytest.raises(RatingsError, match=expected):
            load_label_file(tmp_path / "labels.csv").require_valid()


def test_scores_of_several_judges_or_other_suites_are_not_mixed(folder: Path, labels: Path, tmp_path: Path) -> None:
    other = scored_run(tmp_path / "other", [scored_item("a-l1")], {"a-l1": [0.5]}, judge="test/strict")
    with pytest.raises(FormalimgError, match="test/scorer and test/strict"):
        _calibrated(labels, folder, other)
    rules = scored_run(tmp_path / "rules", [scored_item("a-l1", suite="cf-world-rules")], {"a-l1": [0.5]})
    with pytest.raises(FormalimgError, match="only cf-world has a gate"):
        _calibrated(labels, rules)
    with pytest.raises(FormalimgError, match="nobody has judged"):
        _calibrated(labels, scored_run(tmp_path / "new", [scored_item("a-l1")], {"a-l1": [0.5]}, judge=None))


def test_full_weights_move_scores_and_blank_images_score_nothing(tmp_path: Path) -> None:
    """Two questions about logic: 3 + 16 of 34 with full weights, and 3 + 8 of 26 as the paper has it."""
    items = [scored_item(f"{name}-l1", dimensions=("integrity", "logic", "logic", "assessment")) for name in "ab"]
    scores: Scores = {"a-l1": [[1.0, 1.0, 1.0, 0.0]], "b-l1": [1.0]}
    folder = scored_run(tmp_path / "run", items, scores, blank=frozenset({"b-l1"}))
    (tmp_path / "labels.csv").write_text("model,item,label\nrun,a-l1,1\nrun,b-l1,0")
    by_profile: dict[Profile, float] = {"paper": 11 / 26, "official-code": 19 / 34}
    for profile, score in by_profile.items():
        best = not_none(_calibrated(tmp_path / "labels.csv", folder, profile=profile).best)
        assert [good.high for good in best.equally_good] == [pytest.approx(score)]
        assert best.equally_good[0].low == 0


def test_a_planted_threshold_is_found_again() -> None:
    """People see through noise of 0.08 whether a score is above 0.62."""
    draw = random.Random(7)
    scores = [draw.betavariate(2, 2) for _ in range(600)]
    images = [LabelledScore(score, score + draw.gauss(0, 0.08) > 0.62) for score in scores]
    best = not_none(best_threshold(images))
    assert abs(best.value - 0.62) < 0.05
    assert best.interval.low <= 0.62 <= best.interval.high
    assert 0.01 < best.interval.high - best.interval.low < 0.2
    assert best == best_threshold(images[::-1])


def test_one_kind_of_label_has_no_best_threshold() -> None:
    assert best_threshold([LabelledScore(0.3, True), LabelledScore(0.8, True)]) is None


@settings(deadline=None)
@given(
    st.lists(st.builds(LabelledScore, st.sampled_from([step / 10 for step in range(11)]), st.booleans()), min_size=2)
)
def test_no_threshold_is_better_than_the_best(images: Sequence[LabelledScore]) -> None:
    best = best_threshold(images, resamples=40)
    if best is None:
        return
    tried = at_thresholds(images, [step / 20 for step in range(21)])
    assert best.reached == pytest.approx(max(it.accuracy for it in tried))
    good = {it.threshold for it in tried if it.accuracy == pytest.approx(best.reached)}
    inside = {
        step / 20
        for step in range(21)
        for low, high, with_low in best.equally_good
        if low < step / 20 <= high or (with_low and step / 20 == low)
    }
    assert good == inside
    assert all(one.high < other.low for one, other in pairwise(best.equally_good)), "neighbours are one range"
    middles = [round((low + high) / 2, 9) for low, high, _ in best.equally_good]
    assert best.value == min(middles, key=lambda middle: (round(abs(middle - 0.5), 9), middle))
    assert at_thresholds(images, [best.value])[0].accuracy == pytest.approx(best.reached)


def test_the_command_prints_and_writes(folder: Path, labels: Path, tmp_path: Path) -> None:
    app = typer.Typer()
    app.command()(calibrate_command)

    def run(*arguments: object) -> str:
        command = [str(folder), "--labels", str(labels), *map(str, arguments)]
        return CliRunner().invoke(app, command, env={"COLUMNS": "120"}).output

    printed = run()
    for expected in ("83.3 (35.9–99.6)", "0.525", "(refused): 1"):
        assert expected in printed
    run("--judge", "test/scorer", "--out", tmp_path / "found.json")
    assert json.loads((tmp_path / "found.json").read_text())["best"]["value"] == pytest.approx(0.525)
    rows = list(csv.DictReader(io.StringIO(run("--format", "csv"))))
    assert [row["accuracy"] for row in rows if row["threshold"] == "0.7"] == [str(4 / 6)]
    assert run("--format", "md").startswith("## Thresholds")


def _coins(chance: random.Random, images: int, per_item: int = 1) -> list[LabelledScore]:
    return [LabelledScore(chance.random(), chance.random() < 0.5, str(at // per_item)) for at in range(images)]


def test_a_score_that_knows_nothing_looks_good_only_on_its_own_images() -> None:
    chance = random.Random(4)
    own, others = [], []
    for _ in range(40):
        images = _coins(chance, 50)
        own.append(not_none(best_threshold(images, resamples=40)).reached)
        others.append(not_none(not_none(cross_validate(images)).value))
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
        truths.append(accuracy(not_none(best_threshold(seen, resamples=40)).value))
        intervals.append(not_none(not_none(cross_validate(seen)).interval))
    held = mean(it.low <= mean(truths) <= it.high for it in intervals)
    assert held >= 0.9


def test_images_of_one_item_are_in_one_fold() -> None:
    """Each item is five images with one label and nearly one score, so that a fold apart from its item is foretold."""
    chance = random.Random(1)
    images = []
    for item in range(24):
        score, label = chance.random(), chance.random() < 0.5
        images += [LabelledScore(score + extra / 1e6, label, str(item)) for extra in range(5)]
    found = not_none(cross_validate(images))
    alone = not_none(cross_validate([image._replace(item=None) for image in images]))
    assert cross_validate(images[::5]) is not None
    assert found.smallest % 5 == 0
    wide, narrow = not_none(found.interval), not_none(alone.interval)
    assert wide.high - wide.low > 1.5 * (narrow.high - narrow.low)
    assert found == cross_validate(images[::-1])
    assert found != cross_validate(images, seed=1) or found.folds < FOLDS


def test_few_labels_are_said_to_be_few() -> None:
    few = [LabelledScore(0.1 * at, at > 5) for at in range(10)]
    found = not_none(cross_validate(few))
    assert (found.folds, found.too_small) == (4, True)
    assert cross_validate(few[:7]) is None  # only one is recognisable
    assert cross_validate(few[:5]) is None
    with pytest.raises(FormalimgError, match="use 0 or more"):
        cross_validate(few, seed=-1)
    many = not_none(cross_validate(_blurred(random.Random(3), 80), "F1"))
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
    assert found.validated is not None
    assert not_none(found.best).reached == 1
    table = calibration_text(found, "md")
    assert "cross-validated" in table
    assert "Fewer than 10 items have the rarer label" in table
    assert "cross-validated accuracy," in calibration_text(found, "csv")
    assert '"validated": {' in calibration_text(found, "json")
