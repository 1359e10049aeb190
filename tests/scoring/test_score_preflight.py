"""The pre-flight of `score`: judges are asked what they can answer, before anybody is paid for writing questions."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

import pytest

import formalimg
from formalimg.judges.base import Grounding, LoadedImage
from formalimg.judges.preflight import SIZE
from formalimg.scenes.objects import Box, SceneObject
from formalimg.scenes.scene import Scene
from formalimg.types import Unscored
from tests.scoring.conftest import PROMPT, WRITTEN
from tests.support.command import formalimg as command
from tests.support.loopback import Asked, Loopback
from tests.support.seeing_server import shown, word_answer


class _Detector:
    """A detector of cups and bottles, which finds one of whatever it looks for in the middle."""

    name = "detector/mine"
    settings: ClassVar[dict[str, Any]] = {}
    concurrency = 1
    classes = ("cup", "bottle")

    def __init__(self) -> None:
        self.looked_for: list[tuple[str, ...]] = []

    def unknown_classes(self, classes: Sequence[str]) -> tuple[str, ...]:
        return tuple(name for name in classes if name not in self.classes)

    async def ground(self, image: LoadedImage, classes: Sequence[str]) -> Grounding | Unscored:
        if unknown := self.unknown_classes(classes):
            return Unscored("not understood", f"cannot look for {unknown}")
        self.looked_for.append(tuple(classes))
        return Grounding(Scene.of([SceneObject(name, Box(400, 400, 600, 600)) for name in classes]))


def test_a_detector_is_asked_for_objects(images: Path) -> None:
    judge = _Detector()
    scores = formalimg.score([images / "red.png", images / "blue.png"], "There is a cup.", judge=judge)
    assert [one.passed for one in scores] == [True, True]
    assert judge.looked_for == [("bottle",), ("cup",), ("cup",)]


def test_a_detector_without_the_class_that_is_drawn_is_not_asked_for_it(
    images: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    judge = _Detector()
    monkeypatch.setattr(judge, "classes", ("cup", "motorcycle"), raising=False)
    [score] = formalimg.score(images / "red.png", "There is a motorcycle.", judge=judge)
    assert (score.passed, judge.looked_for) == (True, [("motorcycle",)])


def test_prompts_that_a_detector_cannot_judge_are_refused_with_the_reason(images: Path) -> None:
    judge = _Detector()
    for prompt, reason in {
        "There is a rocket.": "detector/mine cannot look for rocket: name a chat model",
        "A cup dreams of tea": "cannot answer questions, and 'A cup dreams of tea' is no formula",
    }.items():
        with pytest.raises(formalimg.FormalimgError, match=reason):
            formalimg.score(images / "red.png", prompt, judge=judge)
    scores = formalimg.score([images / "red.png"] * 2, ["There is a cup.", "There is a rocket."], judge=judge)
    assert [one.passed for one in scores] == [True, None]
    assert "rocket" not in [name for names in judge.looked_for for name in names]


class _Server:
    """A chat model that writes questions, and sees what is drawn, or not."""

    def __init__(self, sees: bool) -> None:
        self.sees, self.wrote = sees, 0

    def __call__(self, asked: Asked) -> str:
        if not asked.images:
            self.wrote += 1
            return json.dumps({"questions": WRITTEN})
        is_fork = shown(asked) == "fork"
        return word_answer(is_fork == any("a fork" in text for text in asked.texts) if self.sees else True)


@pytest.fixture
def chat(images: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "no-key-at-all-but-long-enough")


def _score(server: Loopback, *more: str) -> Any:
    url = f"base_url={server.url}/v1"
    judge = ("--judge", "openai/looker", "-J", url, "-J", "initial_backoff=0")
    return command("score", "images", "--prompt", PROMPT, *judge, *more)


def test_nobody_writes_for_a_judge_that_does_not_see(chat: None) -> None:
    with Loopback(reply=(model := _Server(sees=False))) as server:
        done = _score(server)
    assert (done.code, model.wrote) == (2, 0)
    assert "it does not see the images" in done.err
    assert "(nothing was begun; --no-preflight, in Python preflight=False, skips this check)" in done.err
    assert not Path("runs").exists()


def test_what_the_message_names_works(chat: None) -> None:
    with Loopback(reply=(model := _Server(sees=False))) as server:
        done = _score(server, "--no-preflight")
    assert (done.code, model.wrote) == (0, 1), done.err
    assert "pre-flight" not in done.err


def test_a_judge_that_sees_is_tried_once_and_then_questions_are_written(chat: None) -> None:
    with Loopback(reply=(model := _Server(sees=True))) as server:
        done = _score(server, "--out", "mine")
        before = len(server.requests)
        again = _score(server, "--out", "mine")
        assert len(server.requests) == before
    assert (done.code, again.code, model.wrote) == (0, 0, 1), done.err
    assert done.err.count("pre-flight: openai/looker looked at 1 drawing") == 1
    kept = [json.loads(line) for line in Path("mine/preflight.jsonl").read_text().splitlines()]
    assert [one["passed"] for one in kept] == [True]
    assert SIZE == 448  # the size by which `shown` tells drawings


def test_the_prompt_is_printed_once_and_a_line_sums_up(images: Path) -> None:
    done = command("score", "images", "--prompt", "There is a cup.", "--judge", "builtin/icons")
    assert done.out.count("There is a cup.") == 1
    assert "2 images: 2 unscored" in done.out
    assert done.code == 1
