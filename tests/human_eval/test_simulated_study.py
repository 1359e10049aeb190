"""A whole study with simulated raters whose error rates are known: what comes out is what was put in."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import combinations
from math import sqrt
from pathlib import Path

import pytest

from formalimg.human_eval.agreement.rating_files import read_votes
from formalimg.human_eval.agreement.vote_study import study_votes
from formalimg.human_eval.protocol import AnswerValue, RatingStep
from formalimg.human_eval.records import read_study
from formalimg.human_eval.study import RatingTask, open_study
from formalimg.human_eval.study_builder import create_study
from formalimg.human_eval.study_export import export_study
from formalimg.runs.reader import StoredRun
from tests.human_eval.concept_runs import PlannedJudge, concept_run
from tests.human_eval.rated_runs import concept_items, opened, take
from tests.support.models import speckled
from tests.support.sizes import tries
from tests.support.values import not_none

ERRORS = {"rater-1": 0.02, "rater-2": 0.05, "rater-3": 0.1, "rater-4": 0.15, "rater-5": 0.25}
JUDGE_ERROR = 0.2
MODELS = ("one", "two", "three", "four")
ITEMS = tries(40, 100)
IMAGES = len(MODELS) * ITEMS


def _truth(run: str, item: str) -> bool:
    return random.Random(f"{run} {item}").random() < 0.3 + 0.15 * MODELS.index(run)


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[StoredRun]]:
    home = tmp_path_factory.mktemp("runs")
    items = concept_items(ITEMS, levels=1)
    for run in MODELS:
        chance = random.Random(run)
        said = {item.id: _truth(run, item.id) ^ (chance.random() < JUDGE_ERROR) for item in items}
        judge = PlannedJudge("test/judge", lambda item, said=said: [said[item.id]] * len(item.spec.concepts))  # type: ignore[misc]
        concept_run(home / run, items, [judge], model=f"test/{run}")
    with opened(*(home / run for run in MODELS)) as found:
        yield found


def _near(found: float | None, expected: float, n: int) -> None:
    assert found is not None
    assert abs(found - expected) < 4 * sqrt(expected * (1 - expected) / n)


def test_error_rates_of_simulated_raters_come_out(runs: list[StoredRun], tmp_path: Path) -> None:
    made = create_study(tmp_path / "study", runs, "questions", raters=5, per_image=5, seed=3)
    truth = {speckled(f"test/{run} {item}", 16): _truth(run, item) for run in MODELS for item in runs[0].items}
    with open_study(made.folder) as study:

        def rate(rater: str) -> int:
            chance = random.Random(rater)
            said: dict[str, bool] = {}

            def say(task: RatingTask, step: RatingStep) -> AnswerValue:
                if step.name == "alignment":
                    said[task.id] = truth[study.image(rater, task.image)] ^ (chance.random() < ERRORS[rater])
                return said[task.id]

            return take(study, rater, say)

        assert sum(map(rate, ERRORS)) == 5 * IMAGES
    done = export_study(made.folder, tmp_path / "out")
    assert (done.finished, done.unfinished) == (5 * IMAGES, 0)

    votes = read_votes(tmp_path / "out" / "votes.csv")
    assert len(votes) == sum(len(task.steps) for task in read_study(made.folder).tasks)
    for rater, error in ERRORS.items():
        wrong = [
            vote.yes != _truth(vote.model, vote.item) for vote in votes if (vote.rater, vote.question) == (rater, None)
        ]
        assert len(wrong) == IMAGES
        _near(sum(wrong) / IMAGES, error, IMAGES)

    found = study_votes(votes, runs)
    whole = not_none(found.whole)
    assert (whole.cases, whole.undecided) == (IMAGES, 0)
    for one, other in combinations(ERRORS, 2):
        both = ERRORS[one] * ERRORS[other] + (1 - ERRORS[one]) * (1 - ERRORS[other])
        _near(whole.matrix[one][other].value, both, IMAGES)
    _near(whole.with_judge.value, 1 - JUDGE_ERROR, IMAGES)  # the majority of five is nearly always right
    people = {score.run: score.human.value for score in whole.scores if score.level is None}
    for run in MODELS:
        share = sum(_truth(run, item) for item in runs[0].items) / ITEMS
        value = not_none(people[run])
        assert abs(value - share) <= 0.03
    assert found.divergence is not None
    assert found.divergence.agreement.value == 1  # they answer the questions as they answered the whole
