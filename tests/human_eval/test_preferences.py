"""A/B studies: pairs on blind sides, ties, the rule that was stated, and planted strengths that come out."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from itertools import combinations
from math import exp
from pathlib import Path

import pytest

from formalimg.errors import FormalimgError
from formalimg.human_eval.agreement.preferences import PreferenceStudy
from formalimg.human_eval.agreement.studies import human_study_text, study_human_ratings
from formalimg.human_eval.attention_checks import StudyRules
from formalimg.human_eval.protocol import AnswerValue, RatingStep
from formalimg.human_eval.ratings import human_labels, human_ratings
from formalimg.human_eval.records import read_study, summarize_raters
from formalimg.human_eval.study import RatingTask, open_study
from formalimg.human_eval.study_builder import create_study
from formalimg.human_eval.study_export import export_study
from formalimg.runs.reader import StoredRun
from tests.human_eval.rated_runs import concept_items, image_in, opened, rated_run, take
from tests.support.values import not_none

STRENGTHS = {"alpha": 0.9, "beta": 0.0, "gamma": -0.9}
ITEMS = concept_items(30)


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[StoredRun]]:
    home = tmp_path_factory.mktemp("runs")
    with opened(*(rated_run(home / name, ITEMS) for name in STRENGTHS)) as found:
        yield found


IMAGES = {image_in(run, item.id): (run, item) for run in STRENGTHS for item in ITEMS}


def _rater(study: object, rater: str, *, attentive: bool) -> object:
    chance = random.Random(f"{rater} of four")

    def say(task: RatingTask, _step: RatingStep) -> AnswerValue:
        if not attentive:
            return "left"
        assert task.other is not None
        (one, item), (other, beside) = (IMAGES[study.image(rater, it)] for it in (task.image, task.other))  # type: ignore[attr-defined]
        if item is not beside:  # a check
            return "left" if item.prompt == task.words else "right"
        apart = STRENGTHS[one] - STRENGTHS[other]
        return chance.choices(["left", "tie", "right"], [exp(apart / 2), 0.5, exp(-apart / 2)])[0]

    return say


def test_a_simulated_study(runs: list[StoredRun], tmp_path: Path) -> None:
    made = create_study(tmp_path / "study", runs, "ab", raters=4, per_image=4, checks=None, seed=2, rules=StudyRules())
    assert made.checks == 11  # two of which may be missed
    with open_study(made.folder) as study:
        for rater in made.links:
            take(study, rater, _rater(study, rater, attentive=rater != "rater-3"))  # type: ignore[arg-type]
    summaries = {it.rater: it for it in summarize_raters(read_study(made.folder))}
    assert [it.checks for it in summaries.values()] == [11] * 4
    assert {rater for rater, it in summaries.items() if it.excluded} == {"rater-3"}

    ratings = human_ratings(made.folder, runs)
    found = study_human_ratings(ratings, runs)
    assert isinstance(found, PreferenceStudy)
    assert (found.raters, found.answers) == (("rater-1", "rater-2", "rater-4"), 3 * 90)
    assert found.overall is not None
    for it in found.overall.models:
        assert it.interval is not None
        assert it.interval.low <= STRENGTHS[it.model] <= it.interval.high
    assert [it.model for it in found.overall.models] == list(STRENGTHS)
    assert found.overall.models[0].ranks.best == 1
    assert found.left.interval is not None
    assert found.left.interval.low < 0.5 < found.left.interval.high

    text = human_study_text([found], "md")
    assert "rater-3 (missed" in text
    assert "As stated before the first answer: Excluded are raters who miss more than 2 of 11 attention checks" in text
    everybody = study_human_ratings(human_ratings(made.folder, runs, exclude_inattentive=1), runs)
    assert isinstance(everybody, PreferenceStudy)
    assert everybody.answers == 4 * 90
    assert not_none(everybody.left.value) > 0.55  # the inattentive one always says left

    export_study(made.folder, tmp_path / "out")
    lines = (tmp_path / "out" / "preferences.csv").read_text().splitlines()
    assert lines[0] == "item,sample,level,left,right,rater,preferred,seconds,at"
    assert len(lines) == 1 + 270
    assert not any(",rater-3," in line for line in lines)
    refused = human_labels(made.folder, runs)
    assert all("in pairs" in labels.refused for labels in refused.values())


def test_pairs_are_balanced_and_blind(runs: list[StoredRun], tmp_path: Path) -> None:
    made = create_study(tmp_path / "study", runs, "ab", raters=3, per_image=2, checks=0.1)
    tasks = read_study(made.folder).tasks
    real = [task for task in tasks if not task.is_check]
    pairs = Counter((task.item, *sorted((task.run, task.other.run))) for task in real if task.other)
    assert (set(pairs.values()), len(pairs)) == ({2}, 30 * len(list(combinations(STRENGTHS, 2))))
    sides = Counter(task.run for task in real)
    assert all(40 < sides[run] < 80 for run in STRENGTHS), "left and right by lot"
    for check in (task for task in tasks if task.is_check):
        assert (check.words_of == check.item) != (check.words_of == not_none(check.other).item)


def test_who_cannot_tell_is_counted_and_nothing_else(runs: list[StoredRun], tmp_path: Path) -> None:
    made = create_study(tmp_path / "study", runs[:2], "ab", raters=1, per_image=1, per_level=3)
    with open_study(made.folder) as study:
        answers = iter(["left", "cannot tell", "tie", "cannot tell", "right", "left"])
        take(study, "rater-1", lambda task, step: next(answers))
    with opened(*(run.folder for run in runs[:2])) as two:
        found = study_human_ratings(human_ratings(made.folder, two), two)
    assert isinstance(found, PreferenceStudy)
    assert (found.answers, found.cannot_tell) == (4, 2)
    (pair,) = found.pairs
    assert (pair.first_better + pair.second_better, pair.ties, pair.cannot_tell) == (3, 1, 2)
    assert "2 that they cannot tell" in human_study_text([found], "md")


def test_one_run_has_nothing_to_be_compared_with(runs: list[StoredRun], tmp_path: Path) -> None:
    with pytest.raises(FormalimgError, match="compares two runs or more"):
        create_study(tmp_path / "study", runs[:1], "ab", raters=1, per_image=1)
    assert not (tmp_path / "study").exists()
