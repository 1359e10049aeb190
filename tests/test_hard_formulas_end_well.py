"""Wherever formulas are decided, one that is too hard ends with a word, and leaves alone what stands beside it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from formalimg.benchmarks.formal.authoring.checks import find_agreement
from formalimg.benchmarks.formal.spec import FormulaSpec
from formalimg.judges.base import Grounding, LoadedImage
from formalimg.judges.scene_judge import SceneJudge, judge_grounding
from formalimg.logic import world as logic_world
from formalimg.logic.parser import parse
from formalimg.rewards.result import RewardScore
from formalimg.rewards.scorer import Scorer
from formalimg.runs.execution import execute
from formalimg.scenes.solver.results import SolverLimitError
from formalimg.scenes.solver.search import solve
from formalimg.types import Item, Setting, Unscored
from formalimg.web.playground.jobs import JOBS
from tests.rewards_server.servers import visitor
from tests.support.command import formalimg
from tests.support.hard_formulas import crowd, far_apart
from tests.support.run_contents import order, outcomes

CROWD = crowd(60)
HARD = far_apart(9)
EASY = "(exists ?a (exists ?b (and (Is ?a 'cup') (Is ?b 'cup') (LeftOf ?a ?b))))"
WRONG = "(exists ?a (and (Is ?a 'cup') (Has ?a 'blue')))"
TOO_HARD = "this takes too many steps to decide among 60 objects: use fewer variables that are linked"


@pytest.fixture(autouse=True)
def _few_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logic_world, "MAX_STEPS", 20_000)


def the_hard_one_is_missing(scored: Sequence[RewardScore]) -> None:
    easy, hard, wrong = scored
    assert (easy.score, wrong.score) == (1, 0.5)
    assert (hard.score, hard.passed, hard.unscored) == (None, None, "not understood")
    assert TOO_HARD in hard.reason


@pytest.mark.parametrize("parts", [True, False])
def test_in_a_batch_of_rewards(parts: bool) -> None:
    the_hard_one_is_missing(Scorer().score_all([(CROWD, text) for text in (EASY, HARD, WRONG)], parts=parts))


def test_in_a_request_to_the_reward_server() -> None:
    items = [{"formula": text, "vocabulary": "knolling"} for text in (EASY, HARD, WRONG)]
    answer = visitor().post("/v1/score", json={"items": items, "images": [{"scene": CROWD.to_json()}] * 3})
    assert answer.status_code == 200
    the_hard_one_is_missing([RewardScore.from_json(result) for result in answer.json()["results"]])


def test_a_judge_that_cannot_decide_does_not_fail_the_image() -> None:
    verdict = judge_grounding(parse(HARD), Grounding(CROWD, cost=0.25))
    assert isinstance(verdict, Unscored)
    assert (verdict.reason, verdict.cost) == ("not understood", 0.25)
    assert TOO_HARD in verdict.detail
    assert verdict.evidence["scene"] == CROWD.to_json()


class SeesTheCrowd:
    """A grounder that sees the same in every image."""

    name, concurrency = "test/crowd", 2
    settings: Mapping[str, Setting] = {}

    async def ground(self, image: LoadedImage, classes: Sequence[str]) -> Grounding:
        return Grounding(CROWD)


def test_in_a_run(tmp_path: Path) -> None:
    items = [
        Item("knolling", str(number), 1, "words", FormulaSpec.of(parse(text)))
        for number, text in enumerate((EASY, HARD, WRONG))
    ]
    execute(order(items=items), tmp_path / "run", SceneJudge(SeesTheCrowd()))
    found = outcomes(tmp_path / "run")
    assert [outcome.passed for outcome in found] == [True, None, False]
    assert found[1].reason == "not understood"


def test_on_the_command_line(tmp_path: Path) -> None:
    scene = tmp_path / "scene.json"
    scene.write_text(json.dumps(CROWD.to_json()), encoding="utf-8")
    code, out, err = formalimg(
        "formula", "verify", "--formula", HARD, "--scene", str(scene), "--suite", "knolling", "--explain"
    )
    assert (code, out) == (2, "")
    assert f"error: line 1, column 1: {TOO_HARD}" in err


def test_in_the_playground() -> None:
    asked = {"formula": HARD, "scene": json.dumps(CROWD.to_json()), "vocabulary": "knolling", "draws": False}
    with pytest.raises(ValueError, match=TOO_HARD):
        JOBS["verify"]({**asked, "semantics": "strict", "style": None})


def test_a_witness_that_is_too_hard_to_check_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logic_world, "MAX_STEPS", 10)
    with pytest.raises(SolverLimitError, match="whether it is a witness is unknown"):
        solve(EASY)
    code, _, err = formalimg("formula", "solve", "--formula", EASY)
    assert (code, err.count("\n")) == (2, 1)
    assert find_agreement("A cup is to the left of a pen.", parse(EASY), "knolling") == "undecided"
