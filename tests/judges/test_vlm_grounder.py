"""The grounder that asks a chat model: the scene that is there comes back, in every convention of boxes."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from formalimg import Box, Scene, SceneObject, load
from formalimg.benchmarks.formal.spec import FormulaSpec
from formalimg.errors import FormalimgError
from formalimg.judges.base import Grounding
from formalimg.judges.grounders.vlm import VlmGrounder
from formalimg.judges.scene_judge import SceneJudge
from formalimg.models.base import Completion, Message, Unanswered
from formalimg.models.provider_models import build_chat_model
from formalimg.types import Grounder, Item, Setting, Unscored, Verdict
from tests.support.scripted_chat import Known, ScriptedChat, Spoil, numbered, tells_objects
from tests.support.sizes import tries

DESK = Scene.of(
    [
        SceneObject("cutting_board", Box(100, 100, 500, 400), "brown"),
        SceneObject("cup", Box(640, 329, 760, 449), "white"),
        SceneObject("cup", Box(800, 700, 901, 777), "other"),
        SceneObject("pen", Box(151, 560, 450, 590), "blue"),
    ]
)
CLASSES = ("cup", "cutting_board", "pen")
CONVENTIONS = ("xyxy-1000", "yxyx-1000", "pixels", "unit")


def grounded(
    spoil: Spoil = lambda raw, before: raw, scene: Scene = DESK, size: tuple[int, int] = (1024, 1024), **options: Any
) -> tuple[Grounding | Unscored, ScriptedChat]:
    chat = ScriptedChat({1: Known(scene)}, tells_objects, spoil)
    grounder: Grounder = VlmGrounder(chat, **options)
    return asyncio.run(grounder.ground(numbered(1, *size), CLASSES)), chat


@cache
def knolling() -> list[Item[FormulaSpec]]:
    return load("knolling")


def seen(answer: Grounding | Unscored) -> list[SceneObject]:
    assert isinstance(answer, Grounding), answer
    return sorted(answer.scene.objects, key=str)


def plain(answer: Grounding | Unscored) -> Any:
    """The evidence as it comes back from a file."""
    return json.loads(json.dumps(answer.evidence))


def for_class(word: str, change: Any) -> Spoil:
    """Answers about one class with something changed in them; the others are left alone."""

    def spoil(raw: str, before: int) -> str | Unanswered:
        answer = json.loads(raw)
        if not any(entry["label"] == word for entry in answer["objects"]):
            return raw
        changed = change(answer["objects"], before)
        return changed if isinstance(changed, Unanswered) else json.dumps(answer)

    return spoil


@pytest.mark.parametrize("requests", ["per class", "all at once"])
@pytest.mark.parametrize("boxes", CONVENTIONS)
@pytest.mark.parametrize("size", [(1024, 1024), (1536, 640), (2048, 2048)][tries(1, 0) : tries(2, 3)])
def test_the_scene_comes_back_within_a_unit(requests: str, boxes: str, size: tuple[int, int]) -> None:
    answer, chat = grounded(size=size, requests=requests, boxes=boxes)
    found, there = seen(answer), sorted(DESK.objects, key=str)
    assert [(obj.label, obj.color) for obj in found] == [(obj.label, obj.color) for obj in there]
    for one, other in zip(found, there, strict=True):
        assert all(abs(a - b) <= 1 for a, b in zip(one.box, other.box, strict=True)), (one, other)
    assert len(chat.conversations) == (3 if requests == "per class" else 1)
    assert isinstance(answer, Grounding)
    assert answer.cost == 0.25 * len(chat.conversations)
    assert set(answer.evidence) == {"answers", "served"}


def test_whole_suites_of_witnesses_come_back_and_pass() -> None:
    items = [item for item in knolling() if item.spec.witness][::97]
    images = {n: Known(item.spec.witness) for n, item in enumerate(items) if item.spec.witness}
    judge = SceneJudge(VlmGrounder(ScriptedChat(images, tells_objects)))
    for number, item in enumerate(items):
        verdict = asyncio.run(judge.judge(item, numbered(number)))
        assert isinstance(verdict, Verdict)
        assert verdict.passed, item.prompt
        assert verdict.cost == 0.25 * len(item.spec.object_classes)
        assert "answers" in verdict.evidence["grounder"]  # type: ignore[operator]


def test_a_class_that_is_not_there_is_not_a_failure() -> None:
    answer, _ = grounded(scene=Scene.of(DESK.objects[:1]))
    assert [obj.label for obj in seen(answer)] == ["cutting_board"]
    assert seen(grounded(scene=Scene.of([]))[0]) == []


# --- what the rules do


def test_other_labels_are_dropped_and_counted() -> None:
    wrong = for_class("cup", lambda entries, before: entries[0].update(label="glass"))
    answer, chat = grounded(wrong)
    assert [obj.label for obj in seen(answer)] == ["cup", "cutting_board", "pen"]
    assert answer.evidence["dropped"] == [
        {"label": "glass", "color": "white", "box_2d": [640.0, 329.0, 760.0, 449.0], "asked_for": ["cup"]}
    ]
    assert len(chat.conversations) == 3


def test_another_target_class_does_not_slip_in_under_the_wrong_question() -> None:
    """The published script keeps such an answer, so that one object can be two."""
    answer, _ = grounded(for_class("pen", lambda entries, before: entries[0].update(label="cup")))
    assert [obj.label for obj in seen(answer)].count("cup") == 2
    assert "pen" not in [obj.label for obj in seen(answer)]


@pytest.mark.parametrize("label", ["Cutting Board", "cutting-board", " cutting  board "])
def test_case_and_blanks_of_labels_do_not_matter(label: str) -> None:
    answer, _ = grounded(for_class("cutting_board", lambda entries, before: entries[0].update(label=label)))
    assert "cutting_board" in [obj.label for obj in seen(answer)]
    assert "dropped" not in answer.evidence


@pytest.mark.parametrize(("said", "color"), [("White", "white"), ("grey", "gray"), ("ivory", "other"), ("", "other")])
def test_colours_are_those_of_the_vocabulary_or_other(said: str, color: str) -> None:
    answer, _ = grounded(for_class("cup", lambda entries, before: entries[0].update(color=said)))
    [cup] = [obj for obj in seen(answer) if obj.label == "cup" and obj.box.xmin == 640]
    assert cup.color == color
    assert ("recolored" in answer.evidence) is (color == "other")


def test_two_reports_of_one_object_are_one_and_the_first_stays() -> None:
    twice = [
        {"label": "cup", "color": "pink", "box_2d": [642, 330, 761, 450]},
        {"label": "cup", "color": "red", "box_2d": [640, 329, 760, 449]},
    ]
    answer, _ = grounded(for_class("cup", lambda entries, before: entries.extend(twice)))
    assert seen(answer) == sorted(DESK.objects, key=str)
    assert [entry["color"] for entry in plain(answer)["merged"]] == ["pink", "red"]


def test_one_box_under_two_classes_is_kept_and_counted() -> None:
    scene = Scene.of([*DESK.objects, SceneObject("pen", DESK.objects[1].box, "white")])
    answer, _ = grounded(scene=scene)
    assert len(seen(answer)) == 5
    assert [[obj["label"] for obj in pair] for pair in plain(answer)["two_labels"]] == [["cup", "pen"]]
    assert "merged" not in answer.evidence


# --- what is no answer

BAD_BOXES = {
    "corners swapped": [760, 449, 640, 329],
    "leaves the image": [640, 329, 1001, 449],
    "too small": [640, 329, 640, 449],
    "is not [xmin": [640, 329, 760],
}


@pytest.mark.parametrize("problem", BAD_BOXES)
def test_a_box_that_cannot_be_is_asked_for_again_and_then_not_understood(problem: str) -> None:
    box = BAD_BOXES[problem]
    answer, chat = grounded(for_class("cup", lambda entries, before: entries[1].update(box_2d=box)))
    assert isinstance(answer, Unscored)
    assert answer.reason == "not understood"
    assert problem in answer.detail
    assert answer.detail.startswith("cup: test/scripted")
    assert answer.cost == 0.5
    assert [(asked["asked_for"], len(asked["raw"])) for asked in plain(answer)["answers"]] == [(["cup"], 2)]
    assert problem in str(chat.conversations[1][-1].parts[0])

    def mended(entries: Any, before: int) -> None:
        if not before:
            entries[1].update(box_2d=box)

    answer, chat = grounded(for_class("cup", mended))
    assert seen(answer) == sorted(DESK.objects, key=str)
    assert len(chat.conversations) == 4


def test_fractions_are_not_taken_for_thousandths() -> None:
    unit = for_class("pen", lambda entries, before: entries[0].update(box_2d=[0.151, 0.56, 0.45, 0.59]))
    answer, _ = grounded(unit)
    assert isinstance(answer, Unscored)
    assert "looks like unit coordinates" in answer.detail


@pytest.mark.parametrize("requests", ["per class", "all at once"])
@pytest.mark.parametrize(
    ("kind", "reason"), [("failed", "judge failed"), ("refused", "judge failed"), ("unreadable", "not understood")]
)
def test_no_answer_for_one_class_is_unscored_and_never_a_scene_without_it(
    kind: Any, reason: str, requests: str
) -> None:
    outage = for_class("cutting_board", lambda entries, before: Unanswered(kind, "unavailable: 503", cost=0.1))
    answer, chat = grounded(outage, requests=requests)
    assert isinstance(answer, Unscored)
    assert answer.reason == reason
    assert "cutting_board" in answer.detail
    assert "unavailable: 503" in answer.detail
    assert answer.cost == pytest.approx(0.35 if requests == "per class" else 0.1)
    assert len(chat.conversations) == (2 if requests == "per class" else 1)


def test_a_verdict_needs_all_classes_too() -> None:
    item = next(item for item in knolling() if len(item.spec.object_classes) > 2)
    assert item.spec.witness
    last = item.spec.object_classes[-1]
    outage = for_class(last, lambda entries, before: Unanswered("failed", "time-out"))
    chat = ScriptedChat({1: Known(item.spec.witness)}, tells_objects, outage)
    answer = asyncio.run(SceneJudge(VlmGrounder(chat)).judge(item, numbered(1)))
    assert isinstance(answer, Unscored)
    assert answer.reason == "judge failed"


def test_a_formula_without_classes_is_not_an_empty_scene() -> None:
    chat = ScriptedChat({1: Known(DESK)}, tells_objects)
    answer = asyncio.run(VlmGrounder(chat).ground(numbered(1), ()))
    assert isinstance(answer, Unscored)
    assert answer.cost == 0
    assert not chat.conversations


@pytest.mark.parametrize(("requests", "asked"), [("per class", [3, 1, 0]), ("all at once", [1, 1, 0])])
def test_so_many_questions_are_told_beforehand_as_are_asked(requests: Any, asked: list[int]) -> None:
    chat = ScriptedChat({1: Known(DESK)}, tells_objects)
    grounder = VlmGrounder(chat, requests=requests)
    assert [grounder.questions(classes) for classes in (CLASSES, CLASSES[:1], ())] == asked
    asyncio.run(grounder.ground(numbered(1), CLASSES))
    assert len(chat.conversations) == asked[0]


def test_an_unknown_price_makes_the_sum_unknown() -> None:
    chat = ScriptedChat({1: Known(DESK)}, tells_objects, cost=None)
    answer = asyncio.run(VlmGrounder(chat).ground(numbered(1), CLASSES))
    assert answer.cost is None


# --- behind a real chat model


@dataclass
class Provider:
    """Answers the first question of a conversation with a wrong box, and the second with a right one."""

    name: str = "test/provider"
    settings: Mapping[str, Setting] = field(default_factory=dict)
    calls: int = 0

    async def complete(self, messages: Sequence[Message], schema: Mapping[str, object] | None) -> Completion:
        self.calls += 1
        assert schema is not None
        box = [100, 100, 300, 200] if len(messages) == 3 else [300, 200, 100, 100]
        return Completion(json.dumps({"objects": [{"label": "cup", "color": "red", "box_2d": box}]}))


def test_a_remembered_answer_is_not_taken_for_a_second_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORMALIMG_CACHE", str(tmp_path))
    provider = Provider()
    for calls in (2, 2):  # the second time, both answers are remembered
        answer = asyncio.run(VlmGrounder(build_chat_model(provider)).ground(numbered(1), ["cup"]))
        assert seen(answer) == [SceneObject("cup", Box(100, 100, 300, 200), "red")]
        assert provider.calls == calls


# --- who it is


def test_the_grounder_is_known_by_its_model_its_options_and_its_texts(tmp_path: Path) -> None:
    chat = ScriptedChat({}, tells_objects, name="openai/Qwen/Qwen2.5-VL-7B-Instruct")
    grounder = VlmGrounder(chat)
    assert (grounder.name, grounder.concurrency) == (chat.name, 3)
    assert grounder.settings == {
        "temperature": 0.1,
        "requests": "per class",
        "boxes": "pixels",
        "colors": "red, green, blue, yellow, black, white, brown, pink, gray",
        "prompt": "grounder-per-class, version 2",
        "prompt_again": "grounder-again, version 1",
        "grounding_rules": 1,
    }
    assert VlmGrounder(chat, requests="all at once").settings["prompt"] == "grounder-all-at-once, version 2"
    (tmp_path / "grounder-per-class.txt").write_text("Where is the {class}? Colours are {colors}.")
    own = str(VlmGrounder(chat, prompts=tmp_path).settings["prompt"])
    assert own.startswith("grounder-per-class, the user's own, sha256 ")


@pytest.mark.parametrize("option", [{"requests": "sometimes"}, {"boxes": "round"}])
def test_wrong_options_are_told(option: Any) -> None:
    with pytest.raises(FormalimgError, match="choose from"):
        VlmGrounder(ScriptedChat({}, tells_objects), **option)


def test_more_objects_than_an_image_shows_are_unscored_and_repeated_ones_are_one() -> None:
    def listing(count: int) -> Spoil:
        entry = {"label": "cup", "color": "red"}
        boxes = [[n % 90 * 10, n // 90 % 90 * 10, n % 90 * 10 + 9, n // 90 % 90 * 10 + 9] for n in range(count)]
        return lambda raw, before: json.dumps({"objects": [{**entry, "box_2d": box} for box in boxes]})

    answer, _ = grounded(listing(3000))
    assert isinstance(answer, Unscored)
    assert answer.reason == "not understood"
    assert answer.detail == "test/scripted lists more than 1,000 different objects: look at its answers"
    assert len(plain(answer)["answers"]) == 3
    again = json.dumps({"objects": [{"label": "cup", "color": "red", "box_2d": [10, 10, 90, 90]}] * 3000})
    answer, _ = grounded(lambda raw, before: again)
    assert len(seen(answer)) == 1
