"""Two judges of CF-World over the same images: their scores are compared, and not only whether images pass."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

from formalimg.benchmarks.cfworld.score_studies import compare_scores
from formalimg.benchmarks.cfworld.spec import Dimension
from formalimg.cli.agree import agree_command
from formalimg.errors import FormalimgError
from formalimg.human_eval.agreement.judge_agreement import score_agreement_tables
from formalimg.human_eval.agreement.score_agreement import JudgeScoreAgreement
from formalimg.runs.execution import judge_run
from tests.human_eval.concept_runs import PlannedJudge, concept_item, concept_run
from tests.reports.counterfactual_runs import Scores, judge_by, scored_item, scored_run
from tests.support.values import not_none

DIMENSIONS: tuple[Dimension, ...] = ("integrity", "logic", "logic", "assessment")
ITEMS = [scored_item(group, level, DIMENSIONS) for group in "abc" for level in (1, 2)]
FIRST: dict[str, Scores] = {
    "a-l1": [1, 1, 1, 1], "a-l2": [1, 0, 1, 1], "b-l1": [1, 1, 1, 0], "b-l2": [0.5, 0, 0, 0.5], "c-l1": [1, 1, 1, 1],
    "c-l2": "judge failed",
}  # fmt: skip
SECOND: dict[str, Scores] = {
    "a-l1": [1, 1, 1, 1], "a-l2": [1, 1, 0, 1], "b-l1": [1, 0, 0, 1], "b-l2": [1, 0, 0, 0.5], "c-l1": [0, 0, 0, 0],
    "c-l2": [1, 1, 1, 1],
}  # fmt: skip


def total(scores: Scores, logic: float = 4) -> float:
    """The weighted mean, in which questions about logic share the weight of 8 or have it each."""
    weights = [3, logic, logic, 15]
    assert not isinstance(scores, str)
    return float(np.average(scores, weights=weights))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    judges = judge_by(FIRST, "test/one"), judge_by(SECOND, "test/two")
    return scored_run(tmp_path_factory.mktemp("runs") / "run", ITEMS, *judges)


@pytest.fixture(scope="module")
def found(folder: Path) -> JudgeScoreAgreement:
    return compare_scores(folder)


def test_scores_by_hand(found: JudgeScoreAgreement) -> None:
    assert (found.first.name, found.second.name, found.images) == ("test/one", "test/two", (5, 0, 1, 0))
    both = [name for name, scores in FIRST.items() if scores != "judge failed"]
    first, second = ([total(given[name]) for name in both] for given in (FIRST, SECOND))
    apart = np.subtract(first, second)
    it = found.scores
    assert (it.n, it.left_out) == (5, 1)
    assert (it.first, it.second, it.difference) == pytest.approx((np.mean(first), np.mean(second), np.mean(apart)))
    assert it.sd == pytest.approx(np.std(apart, ddof=1))
    assert it.r.value == pytest.approx(np.corrcoef(first, second)[0, 1])
    assert (it.near.happened, it.near.n) == (sum(abs(apart) <= 0.125), 5) == (3, 5)
    assert {level: (each.n, each.left_out) for level, each in found.scores_by_level.items()} == {1: (3, 0), 2: (2, 1)}


def test_scores_begin_with_what_a_reader_needs(found: JudgeScoreAgreement) -> None:
    table = next(iter(score_agreement_tables(found)))
    rows = {str(row.cells[0]): str(row.cells[1]) for row in table.rows}
    assert rows["agreement"].endswith(f"of {found.scores.n} images differ by no more than 0.125")
    assert f": {not_none(found.scores.difference):+.2f}" in rows["direction"]
    assert list(rows) == ["agreement", "direction", "within levels"]
    assert found.within_levels.n == found.scores.n
    levels = [int(name[-1]) for name, scores in FIRST.items() if scores != "judge failed"]
    centred = []
    for given in (FIRST, SECOND):
        own = np.array([total(given[name]) for name, scores in FIRST.items() if scores != "judge failed"])
        centred.append(own - np.array([own[np.array(levels) == level].mean() for level in levels]))
    assert found.within_levels.value == pytest.approx(
        centred[0] @ centred[1] / np.sqrt((centred[0] @ centred[0]) * (centred[1] @ centred[1]))
    )


def test_dimensions_are_the_means_of_their_questions(found: JudgeScoreAgreement) -> None:
    logic = found.scores_by_dimension["logic"]
    assert (logic.first, logic.second) == pytest.approx(((1 + 0.5 + 1 + 0 + 1) / 5, (1 + 0.5 + 0 + 0 + 0) / 5))
    assert list(found.scores_by_dimension) == ["integrity", "assessment", "logic"]
    assert {it.left_out for it in found.scores_by_dimension.values()} == {1}


def test_agreement_on_passing_is_at_one_half(found: JudgeScoreAgreement) -> None:
    # b-l1 passes by the second alone, c-l1 by the first alone; b-l2 has 9/26 and 10.5/26 and fails by both.
    assert (found.passed.equal, found.passed.n, found.passed.left_out) == (3, 5, 1)
    assert {level: it.equal for level, it in found.passed_by_level.items()} == {1: 1, 2: 2}


def test_the_largest_differences_come_first_with_their_questions(found: JudgeScoreAgreement) -> None:
    assert [it.item for it in found.disagreements] == ["c-l1", "b-l1", "b-l2", "a-l2"]
    last = found.disagreements[-1]
    assert last.first == last.second  # the same in sum, and not in the questions
    assert [(it.dimension, it.first, it.second) for it in last.questions if it.distance] == [
        ("logic", 0, 1),
        ("logic", 1, 0),
    ]
    most = not_none(found.disagreements[1].largest)
    assert (most.first_reason, most.second_reason) == ("it is 1", "it is 0")


def test_the_published_weights_may_be_asked_for(folder: Path) -> None:
    found = compare_scores(folder, profile="official-code")
    both = [name for name in FIRST if name != "c-l2"]
    assert found.scores.first == pytest.approx(np.mean([total(FIRST[name], 8) for name in both]))
    # 19 of 34: two questions about logic carry an image over the line that fails its assessment.
    assert (found.passed.equal, found.profile) == (4, "official-code")


def test_every_format_tells_scores_and_not_full_marks(folder: Path) -> None:
    app = typer.Typer()
    app.command()(agree_command)

    def said(*more: str) -> str:
        done = CliRunner().invoke(app, [str(folder), *more], catch_exceptions=False)
        assert done.exit_code == 0
        return done.output

    for form in ("terminal", "md", "csv"):
        assert "full mark" not in said("--format", form)
    text = " ".join(said("--format", "md").split())
    for expected in (
        "| score 1 | score 2 | difference | sd | near | r |",
        "with a score of 0.5 or more",
        "| c-l1 | 0 | 1 |",
    ):
        assert expected in text
    data = json.loads(said("--format", "json", "--profile", "official-code"))
    assert (data["judges"], data["scores_of_judges"][0]["profile"]) == ([], "official-code")
    rows = list(csv.DictReader(io.StringIO(said("--format", "csv"))))
    (near,) = (row for row in rows if row["figure"] == "within 0.125" and not row["level"] and not row["kind"])
    assert (near["value"], near["n"], near["left_out"], near["first"]) == ("0.6", "5", "1", "test/one")
    assert {row["kind"] for row in rows if row["figure"] == "difference"} == {"", "integrity", "assessment", "logic"}


def test_images_that_failed_by_rule_have_0_in_every_dimension(tmp_path: Path) -> None:
    from tests.human_eval.counterfactual_runs import PlannedScorer
    from tests.human_eval.counterfactual_runs import scored_item as planned
    from tests.human_eval.counterfactual_runs import scored_run as planned_run

    items = [planned("g-l1", dimensions=("integrity", "assessment"))]
    run = planned_run(tmp_path / "run", items, {"g-l1": [[1.0, 1.0]]}, blank=frozenset({"g-l1"}))
    judge_run(run, PlannedScorer({}, "test/other"))
    found = compare_scores(run)
    assert [(it.first, it.second, it.n) for it in found.scores_by_dimension.values()] == [(0, 0, 1)] * 2


def test_only_runs_of_cf_world_have_scores_to_compare(tmp_path: Path) -> None:
    judges = [PlannedJudge(name, lambda item: [True, True], {}) for name in ("test/one", "test/two")]
    other = concept_run(tmp_path / "run", [concept_item("a", ["object", "color"])], judges)
    with pytest.raises(FormalimgError, match="is a run of conceptmix: name runs of cf-world"):
        compare_scores(other)
