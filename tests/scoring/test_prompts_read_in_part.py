"""Prompts read in part or not at all: what is left over is asked or named, and no prompt refuses the others."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

import pytest

import formalimg
from formalimg.judges.base import Grounding, LoadedImage
from formalimg.reports.sharing.verdict_replay import score_problem
from formalimg.runs.reader import open_run
from formalimg.scenes.objects import Box, SceneObject
from formalimg.scenes.scene import Scene
from formalimg.types import Verdict
from tests.support.command import formalimg as command
from tests.support.loopback import Loopback
from tests.support.seeing import SeeingModel

pytestmark = pytest.mark.usefixtures("no_preflight")

IN_PART, UNREAD = "One cup in the morning.", "A cup dreams of tea."
MORNING = f"Does the image show “in the morning”, as in “{IN_PART}”?"


@pytest.mark.parametrize("sees_morning", [True, False])
def test_a_chat_model_is_asked_for_what_is_left_over(
    images: Path, monkeypatch: pytest.MonkeyPatch, sees_morning: bool
) -> None:
    digest = hashlib.sha256((images / "red.png").read_bytes()).hexdigest()
    shown = {"(exactly 1 ?cup_1 (Is ?cup_1 'cup'))"} | ({MORNING} if sees_morning else set())
    monkeypatch.setenv("OPENAI_API_KEY", "no-key-at-all-but-long-enough")
    with Loopback(reply=SeeingModel({digest: shown}, written={})) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", f"{server.url}/v1")
        image = images / "red.png"
        read, unread = formalimg.score([image] * 2, [IN_PART, UNREAD], judge="openai/seeing", form="formula")
    assert (read.passed, len(read.parts), read.form) == (sees_morning, 2, "formula")
    assert read.parts[1].name == MORNING
    assert (unread.passed, unread.form) == (None, "unread")
    assert "the prompt cannot be read as a formula ('dreams' is not understood here)" in unread.reason


class _CupDetector:
    """A detector that finds a cup on a table, whatever it is shown."""

    name = "detector/cups"
    settings: ClassVar[dict[str, Any]] = {}
    concurrency = 1
    classes = ("cup", "table")

    async def ground(self, image: LoadedImage, classes: Sequence[str]) -> Grounding:
        boxes = {"cup": Box(400, 300, 500, 450), "table": Box(200, 420, 800, 900)}
        return Grounding(Scene.of([SceneObject(name, boxes[name], "blue") for name in classes]))


def test_a_detector_names_what_it_did_not_check(images: Path) -> None:
    scores = formalimg.score(
        images / "red.png", ["Two red cups on top of a table in the morning."], judge=_CupDetector(), folder="run"
    )
    assert scores.warnings == (
        "1 prompt: only objects, colors, numbers and places are checked; not checked: 'on top of; in the morning'",
    )
    run = open_run(Path("run"))
    [judged] = run.judged()
    run.close()
    assert isinstance(judged.verdict, Verdict)
    assert judged.verdict.evidence["not_checked"] == "on top of; in the morning"
    assert score_problem(judged.verdict, judged.outcome.score) is None


def test_relations_are_seen_in_boxes(images: Path) -> None:
    prompts = ["a cup on top of a table", "a cup underneath a table", "a table next to a cup", "a cup in a table"]
    scores = formalimg.score([images / "red.png"] * 4, prompts, judge=_CupDetector())
    assert [one.passed for one in scores] == [True, False, False, True]
    assert scores[1].reason == "the cup is not under the table"


def test_all_prompts_unread_are_refused_at_once(images: Path) -> None:
    code, _, err = command("score", str(images), "--prompt", UNREAD, "--judge", "builtin/icons", "--as", "formula")
    assert code == 2
    assert "'A cup dreams of tea.' cannot be read as a formula ('dreams' is not understood here)" in err
