"""Planning: layouts in place of images, by the solver or by a chat model, and painted again."""

from __future__ import annotations

import asyncio
import io
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from PIL import Image

from formalimg import FormalimgError, Scene, verify
from formalimg.benchmarks.conditions import Condition
from formalimg.drawing.icon_scene import read_layout
from formalimg.judges.base import LoadedImage
from formalimg.judges.scene_judge import LayoutJudge
from formalimg.models.base import (
    Answered,
    Failed,
    Generated,
    ImageRequest,
    ImageResult,
    Message,
    Refused,
    Reply,
    Unanswered,
)
from formalimg.models.builtin.baselines import open_baseline
from formalimg.models.builtin.planner import ChatPlanner, SolverPlanner, open_planner
from formalimg.reports.comparison import compare
from formalimg.runs.config import RunConfig
from formalimg.runs.execution import execute
from formalimg.runs.reader import load_layouts, open_run
from formalimg.types import AnswerType, ImageModel, Setting, Unscored, Verdict
from tests.models_builtin.knolling import knolling
from tests.support.sizes import tries

ONE_OF_EACH = [item for item in knolling() if int(item.id) % 200 == 3]


class Scripted:
    name = "test/scripted"
    settings: Mapping[str, Setting] = {"temperature": 0}
    concurrency = 2

    def __init__(self, answer: object) -> None:
        self.answer = answer
        self.asked: list[str] = []

    async def ask(self, messages: Sequence[Message], answer_type: type[AnswerType]) -> Reply[AnswerType]:
        self.asked.append(str(messages[0].parts[0]))
        if isinstance(self.answer, Unanswered):
            return self.answer
        return Answered(answer_type.model_validate(self.answer, strict=True), "raw", cost=0.5)


def asked(model: ImageModel, prompt: str = "There is a red cup.") -> ImageResult:
    async def first() -> ImageResult:
        (answer,) = [answer async for answer in model.generate([ImageRequest("0", 0, prompt, 1)])]
        return answer

    return asyncio.run(first())


def layout_in(answer: ImageResult) -> Scene:
    assert isinstance(answer, Generated), answer
    with Image.open(io.BytesIO(answer.data)) as image:
        return read_layout(image)


def test_a_chat_model_plans() -> None:
    chat = Scripted({"thoughts": "easy", "objects": [{"label": "cup", "color": "red", "box_2d": [1, 2, 30, 40]}]})
    answer = asked(ChatPlanner(chat))
    assert layout_in(answer).to_json() == {"objects": [{"label": "cup", "color": "red", "box_2d": [1, 2, 30, 40]}]}
    assert isinstance(answer, Generated)
    assert answer.cost == 0.5
    assert answer.served["thoughts"] == "easy"
    assert "There is a red cup." in chat.asked[0]
    assert "cutting_board" in chat.asked[0]


@pytest.mark.parametrize(
    ("given", "rule", "problem"),
    [
        ([30, 2, 1, 40], "unreadable layout", "has its corners swapped"),
        ([0, 0, 2000, 10], "layout outside the canvas", "leaves the canvas"),
        (Unanswered("unreadable", "no\nJSON", "Sure! Here is", cost=0.5), "unreadable layout", "no JSON"),
    ],
    ids=["corners", "canvas", "no-json"],
)
def test_a_layout_that_cannot_be_read_is_a_failure_and_not_missing(
    given: list[int] | Unanswered, rule: str, problem: str, tmp_path: Path
) -> None:
    plan = {"thoughts": "", "objects": [{"label": "cup", "color": "red", "box_2d": given}]}
    planner = ChatPlanner(Scripted(given if isinstance(given, Unanswered) else plan))
    done = execute(RunConfig(ONE_OF_EACH[:2], planner, task="layout"), tmp_path / "run", LayoutJudge())
    assert (done.passed, done.not_passed, done.unscored) == (0, 2, 0)
    run = open_run(tmp_path / "run")
    judged = next(run.judged())
    assert isinstance(judged.verdict, Verdict)
    assert judged.verdict.evidence["rule"] == rule
    assert problem in str(judged.verdict.evidence["explanation"])
    assert "\n" not in str(judged.verdict.evidence["explanation"])
    assert run.spent().dollars == 1.0  # what the answers cost
    if isinstance(given, Unanswered):
        assert judged.served["answer"] == "Sure! Here is"
    # It is no layout to paint by, so that the painter is told which item has none.
    assert load_layouts(run) == {}
    (section,) = compare([run], missing="error").sections
    assert section.rows[0].summary.overall[:3] == (0, 2, 2)
    assert section.rows[0].by_rule == {rule: 2}
    assert "A layout that cannot be read or leaves the canvas counts as a failure of the model." in section.notes


def test_a_picture_without_a_layout_is_still_not_understood() -> None:
    picture = LoadedImage(b"", Image.new("RGB", (8, 8)))
    verdict = asyncio.run(LayoutJudge().judge(ONE_OF_EACH[0], picture))
    assert isinstance(verdict, Unscored)
    assert "use another judge" in verdict.detail


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (Unanswered("refused", "I will not"), Refused("I will not")),
        (Unanswered("failed", "busy: 429"), Failed("failed: busy: 429")),
    ],
)
def test_no_answer_is_no_layout(given: Unanswered, expected: ImageResult) -> None:
    assert asked(ChatPlanner(Scripted(given))) == expected


def test_a_text_of_ones_own(tmp_path: Path) -> None:
    (tmp_path / "plan.txt").write_text("Plan {prompt} with {classes} in {colors}.")
    chat = Scripted({"thoughts": "", "objects": []})
    planner = ChatPlanner(chat, tmp_path)
    asked(planner, "a {cup}")
    assert chat.asked[0].startswith("Plan a {cup} with ")
    assert planner.settings != ChatPlanner(chat).settings


def test_names_of_planners() -> None:
    assert open_planner("builtin/solver").name == "builtin/solver"
    with pytest.raises(FormalimgError, match="plans no layouts"):
        open_planner("builtin/reader")
    with pytest.raises(FormalimgError, match="no options"):
        open_planner("builtin/solver", {"x": "1"})


def test_the_solver_plans_what_is_asked_and_the_painter_paints_it(tmp_path: Path) -> None:
    planned = tmp_path / "planned"
    samples = tries(1, 2)
    done = execute(RunConfig(ONE_OF_EACH, SolverPlanner(), samples=samples), planned, LayoutJudge())
    assert (done.passed, done.not_passed, done.unscored) == (10 * samples, 0, 0)
    layouts = load_layouts(open_run(planned))
    assert all(verify(item.spec.formula, layouts[item.id]) for item in ONE_OF_EACH)

    for form in ("text-layout", "image-layout"):
        for words in (True, False):
            condition = Condition(form, words)
            painter = open_baseline("painter", {})
            painted = ONE_OF_EACH[:: tries(4, 1)]
            order = RunConfig(painted, painter, size=512, condition=condition, layouts=layouts)
            folder = tmp_path / condition.name
            execute(order, folder)
            assert {outcome.reason for outcome in open_run(folder).outcomes()} == {"not judged"}
            assert open_run(folder).manifest.condition == condition.name
