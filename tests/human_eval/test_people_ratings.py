"""`formalimg agree --ratings`: studies of people by every protocol, attention checks, and what is refused."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from formalimg.cli.agree import agree_command
from formalimg.errors import FormalimgError
from formalimg.human_eval.protocol import AnswerValue, RatingProtocol, RatingStep
from formalimg.human_eval.ratings import human_ratings
from formalimg.human_eval.study import RatingTask, open_study
from formalimg.human_eval.study_builder import create_study
from formalimg.human_eval.study_export import export_study
from formalimg.runs.config import RunConfig
from formalimg.runs.execution import execute
from tests.human_eval.concept_runs import PlannedJudge, concept_run
from tests.human_eval.counterfactual_runs import scored_item, scored_run
from tests.human_eval.rated_runs import SEEN, concept_items, formula_items, grounded_run, opened, rated_run, take
from tests.support.models import NumberJudge, Speckles

Say = Callable[[str, RatingTask, RatingStep], AnswerValue]

APP = typer.Typer()
APP.command()(agree_command)


def _agree(*arguments: object) -> Any:
    done = CliRunner().invoke(APP, [*map(str, arguments), "--format", "json"], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


def _study(folder: Path, protocol: RatingProtocol, runs: list[Path], say: Say, **how: Any) -> Path:
    with opened(*runs) as there:
        made = create_study(folder, there, protocol, **{"raters": 2, "per_image": 2, **how})
    with open_study(made.folder) as study:
        for rater in made.links:
            take(study, rater, lambda task, step, rater=rater: say(rater, task, step))  # type: ignore[misc]
    return folder


def test_who_misses_attention_checks_is_named_and_left_out_on_demand(tmp_path: Path) -> None:
    """The second rater gives five points to everything, also where the words are those of another image."""
    run = concept_run(
        tmp_path / "run", concept_items(28, levels=1), [PlannedJudge("test/judge", lambda item: [True, True])]
    )

    def say(rater: str, task: RatingTask, step: RatingStep) -> AnswerValue:
        return 5 if rater == "rater-2" else 2

    study = _study(tmp_path / "study", "likert", [run], say, per_level=8, checks=0.2)
    (people,) = _agree(run, "--ratings", study)["people"]
    conduct = people["conduct"]
    assert [(it["checks"], it["checks_passed"], it["left_out"]) for it in conduct["raters"]] == [
        (2, 2, False),
        (2, 0, False),
    ]
    assert (people["votes"], people["whole"]["cases"]) == (16, 8)  # checks are no ratings
    assert people["points"]["histogram"] == {"1": 0, "2": 8, "3": 0, "4": 0, "5": 8}
    assert people["whole"]["classified"]["left_out"] == 8  # 2 and 5: as many ratings of 4 or more as below
    (by_mean,) = _agree(run, "--ratings", study, "--rule", "mean")["people"]
    assert by_mean["whole"]["classified"]["accuracy"]["value"] == 0  # 3.5 does not pass, and the judge says yes
    (without,) = _agree(run, "--ratings", study, "--exclude-inattentive", "0.5")["people"]
    assert [it["left_out"] for it in without["conduct"]["raters"]] == [False, True]
    assert (without["raters"], without["votes"]) == (["rater-1"], 8)
    (all_there,) = _agree(run, "--ratings", study, "--exclude-inattentive", "1")["people"]
    assert (all_there["votes"], all_there["whole"]) == (people["votes"], people["whole"])
    result = CliRunner().invoke(
        APP, [str(run), "--ratings", str(study), "--exclude-inattentive", "0"], env={"COLUMNS": "200"}
    )
    assert "Excluded for missing more than 0 % of theirs: rater-2." in result.stdout
    with opened(run) as runs, pytest.raises(FormalimgError, match="not a share"):
        human_ratings(study, runs, 1.5)


def test_votes_of_a_study_are_those_of_its_export(tmp_path: Path) -> None:
    judge = PlannedJudge("test/judge", lambda item: [item.id < "003", True])
    run = concept_run(tmp_path / "run", concept_items(6, levels=1), [judge])

    def say(rater: str, task: RatingTask, step: RatingStep) -> AnswerValue:
        return random.Random(f"{rater} {task.words} {step.name}").random() < 0.7

    study = _study(tmp_path / "study", "questions", [run], say)
    export_study(study, tmp_path / "out")
    (from_study,) = _agree(run, "--ratings", study)["people"]
    (from_table,) = _agree(run, "--ratings", tmp_path / "out" / "votes.csv")["people"]
    (from_votes,) = _agree(run, "--votes", tmp_path / "out" / "votes.csv")["people"]
    assert from_table == from_votes
    assert from_study.pop("conduct")["unfinished"] == 0
    from_table.pop("conduct")
    assert from_study == from_table
    assert len(from_study["divergence_by_rater"]) == 2
    assert len(from_study["questions"]["told"]) == 12


def test_scores_of_a_study_beside_those_of_the_judge(tmp_path: Path) -> None:
    """Two images; 0.9 and 0.3 by the judge, 0.8 and 0.6 by the first rater, 0.4 and 0.2 by the second."""
    items = [scored_item("a-l2", 2), scored_item("b-l2", 2)]
    run = scored_run(tmp_path / "run", items, {"a-l2": [0.9], "b-l2": [0.3]})
    given = {"rater-1": {"a": 0.8, "b": 0.6}, "rater-2": {"a": 0.4, "b": 0.2}}

    def say(rater: str, task: RatingTask, step: RatingStep) -> AnswerValue:
        return given[rater]["a" if "a-l2" in task.words else "b"]

    study = _study(tmp_path / "study", "scores", [run], say)
    (found,) = _agree(run, "--ratings", study)["scores"]
    pairs = {it["item"]: it for it in found["pairs"]}
    assert pairs["a-l2"]["people"] == pytest.approx(0.6)
    assert pairs["b-l2"]["by_rater"] == {"rater-1": 0.6, "rater-2": 0.2}
    assert found["cronbach"]["value"] == pytest.approx(1)  # one gives 0.4 more throughout
    # Krippendorff's, by squares: 0.16 within both images; of all pairs, six differ by 0.2, four by 0.4 and so on.
    seen, chance = 0.16, (6 * 0.04 + 4 * 0.16 + 2 * 0.36) / 12
    assert found["alpha"]["value"] == pytest.approx(1 - seen / chance)
    passing = found["passing"]
    assert passing["classified"]["confusion"] == {
        "true_positives": 1,
        "false_positives": 0,
        "false_negatives": 0,
        "true_negatives": 1,
    }
    assert passing["matrix"]["rater-1"]["rater-2"]["equal"] == 0
    assert found["by_tag"]["physics"]["mean"] == pytest.approx((0.3 - 0.1) / 2)
    assert found["questions"]["overall"]["n"] == 2


def test_corrected_boxes_measure_the_grounder(tmp_path: Path) -> None:
    run = grounded_run(tmp_path / "run", formula_items(4), unread=frozenset("3"))
    pen = {"label": "pen", "color": "blue", "box_2d": [500, 500, 700, 600]}

    def say(rater: str, task: RatingTask, step: RatingStep) -> AnswerValue:
        if task.grounded is None:
            return {"objects": [pen]}
        return SEEN if rater == "rater-1" else {"objects": [*SEEN["objects"], pen]}

    study = _study(tmp_path / "study", "boxes", [run], say)
    (found,) = _agree(run, "--ratings", study, "--iou", "0.5")["boxes"]
    assert (found["iou"], found["refused"], found["unchanged"]) == (0.5, 2, 3)
    counts = {name: found["overall"][name] for name in ("things", "found", "matched")}
    assert counts == {"things": 3 + 6 + 2, "found": 6, "matched": 6}
    assert found["between_mean"] == 2 * 4 / (4 + 7)
    assert found["judges"] == {"run": "test/number"}
    assert found["conduct"]["unfinished"] == 0


def test_what_is_refused(tmp_path: Path) -> None:
    items = concept_items(4, levels=1)
    runs = [rated_run(tmp_path / name, items) for name in ("one", "two")]
    study = _study(tmp_path / "study", "likert", runs, lambda rater, task, step: 4)

    def refused(*arguments: object) -> str:
        with pytest.raises(FormalimgError) as caught:
            CliRunner().invoke(APP, [*map(str, arguments)], catch_exceptions=False)
        return str(caught.value)

    other = rated_run(tmp_path / "three", items)
    assert "is about one, two: name at least one of these runs" in refused(other, "--ratings", study)
    assert "leave --iou out" in refused(*runs, "--ratings", study, "--iou", "0.5")
    assert "no rater has had an attention check" in refused(*runs, "--ratings", study, "--exclude-inattentive", "0.1")
    assert "give --votes, --scores or --ratings" in refused(*runs, "--ratings", study, "--votes", "votes.csv")
    assert "give it with --ratings" in refused(*runs, "--iou", "0.5")
    assert "is not a study" in refused(*runs, "--ratings", tmp_path)
    table = tmp_path / "table.csv"
    table.write_text("model,item,rater,mark\n")
    assert "one of the columns vote, score or rating" in refused(*runs, "--ratings", table)
    assert "has no attention checks" in refused(*runs, "--ratings", table, "--exclude-inattentive", "0")
    assert "cannot read" in refused(*runs, "--ratings", tmp_path / "nowhere.csv")
    other = tmp_path / "elsewhere" / "two"
    execute(RunConfig(items, Speckles(), size=16), other, NumberJudge())
    assert "are not those that raters saw" in refused(runs[0], other, "--ratings", study)
