"""The published layout task: what is asked, how answers are read, and that they score as in the published script."""

from __future__ import annotations

import asyncio
import io
import json
import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from formalimg.benchmarks.formal.evaluator import judge_objects
from formalimg.benchmarks.formal.spec import FormulaSpec
from formalimg.drawing.icon_scene import read_layout, read_written_layout
from formalimg.judges.base import LoadedImage
from formalimg.judges.factory import open_judge
from formalimg.judges.scene_judge import PublishedLayoutJudge
from formalimg.logic.parser import parse
from formalimg.logic.vocabulary import vocabulary
from formalimg.models.base import Attachment, Failed, Generated
from formalimg.models.builtin.planner import ChatPlanner, LayoutAnswer, PublishedPlanner
from formalimg.models.provider_models import build_chat_model
from formalimg.models.retry import RetryPolicy
from formalimg.prompts import PromptError
from formalimg.scenes.objects import SceneError
from formalimg.types import Item, Verdict
from tests.support import published_scoring as official
from tests.support.odd_objects import knolling_formula, objects
from tests.support.remote_models import answers, request
from tests.support.sizes import tries
from tests.support.telling_chat import TellingProvider, telling

CASES = tries(100, 1000)


def planned(text: str) -> bytes:
    (found,) = answers(PublishedPlanner(telling([text])), [request("A cup.")])
    assert isinstance(found, Generated)
    return found.data


def loaded(data: bytes) -> LoadedImage:
    image = Image.open(io.BytesIO(data))
    image.load()
    return LoadedImage(data, image)


def verdict(formula: str, text: str) -> Verdict:
    item = Item("knolling", "1", 1, "A cup.", FormulaSpec(parse(formula)), (), "1")
    found = asyncio.run(PublishedLayoutJudge().judge(item, loaded(planned(text))))
    assert isinstance(found, Verdict)
    return found


def layout_text(chance: random.Random) -> str:
    seen = objects(chance)
    text = chance.choice([json.dumps, json.dumps, repr])(seen)
    kind = chance.random()
    if kind < 0.2:
        return f"```json\n{text}\n```"
    if kind < 0.3:
        return f"<think>[perhaps {{so}}]</think>Here:\n```\n{text}\n```\nand [more]."
    if kind < 0.35:
        return f"left [1] and {text}"
    if kind < 0.4:
        return chance.choice(
            [text[:-1], "nothing", "[", "][", f"{text}]", "[1, 2]", "[{1, 2}]", "</think>", "[{}]", "[b'']"]
        )
    return text


def test_layouts_score_as_in_the_published_script() -> None:
    chance = random.Random(31)
    found: Counter[bool] = Counter()
    for case in range(CASES):
        formula, text = knolling_formula(chance), layout_text(chance)
        expected = official.layout(formula, text)
        judged = judge_objects(parse(formula), LayoutAnswer.from_text(text).objects)
        assert isinstance(judged, Verdict)
        assert judged.passed is expected, (formula, text)
        if case % 20 == 0:  # the same by way of a file
            assert verdict(formula, text).passed is expected, (formula, text)
        found[expected] += 1
    assert min(found.values()) > 0.04 * CASES, found


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ('[{"label": "cup"}]', [{"label": "cup"}]),
        ("[{'label': 'cup', 'box_2d': (1, 2, 3, 4)}]", [{"label": "cup", "box_2d": [1, 2, 3, 4]}]),
        ('<think>[{"label": "pen"}]</think> [{"label": "cup"}]', [{"label": "cup"}]),
        ('So:\n```json\n[{"label": "cup"}]\n```\nor [{"label": "pen"}', [{"label": "cup"}]),
        ("[]", []),
        ("[1]", [1]),
        ('{"thoughts": "", "objects": [{"label": "cup"}]}', [{"label": "cup"}]),
        ("a cup in the middle", None),
        ('[{"label": "cup"', None),
        ("[{1, 2}]", None),
    ],
)
def test_the_list_is_found_in_three_ways_and_may_be_python(text: str, read: Any) -> None:
    assert LayoutAnswer.from_text(text).objects == read


def test_endless_brackets_are_read_in_linear_time() -> None:
    for text in ("[{" * 200_000, "[ " * 200_000 + "{", "}]" * 200_000, "```json [{" * 50_000, "[" * 400_000):
        assert LayoutAnswer.from_text(text).objects is None


def test_what_cannot_be_read_fails_and_is_not_asked_again() -> None:
    provider = TellingProvider(["a cup in the middle", "[]"])
    planner = PublishedPlanner(build_chat_model(provider, retry_policy=RetryPolicy(cache=False)))
    (found,) = answers(planner, [request("A cup.")])
    assert isinstance(found, Generated)
    assert len(provider.asked) == 1
    assert read_written_layout(loaded(found.data).pil) == {"objects": None}
    with pytest.raises(SceneError, match="null"):
        read_layout(loaded(found.data).pil)
    assert not verdict("(exists ?x (Is ?x 'cup'))", "a cup in the middle").passed


def test_a_layout_that_leaves_the_canvas_is_kept_as_it_was_written() -> None:
    text = '[{"label": "cup", "color": "red", "box_2d": [-5, 0, 1200, 90]}]'
    assert read_written_layout(loaded(planned(text)).pil) == {"objects": json.loads(text)}
    assert verdict("(exists ?x (Is ?x 'cup'))", text).passed


def test_the_whole_vocabulary_goes_in_one_user_message_and_no_thoughts_are_asked_for() -> None:
    provider = TellingProvider(["[]"])
    planner = PublishedPlanner(build_chat_model(provider, retry_policy=RetryPolicy(cache=False)))
    answers(planner, [request("A red cup above a pen.")])
    ((messages, schema),) = provider.asked
    assert schema is None, "a bare list, in plain text"
    ((role, parts),) = [(message.role, message.parts) for message in messages]
    assert role == "user"
    (text,) = parts
    assert not isinstance(text, Attachment)
    words = vocabulary("knolling").words
    assert str(list(words["class"])) in text
    assert str(list(words["color"])) in text
    assert text.endswith("A red cup above a pen.")
    assert "thought" not in text.lower()
    assert "think" not in text.lower()


def test_neither_plan_tells_how_near_is_aligned() -> None:
    for planner in (ChatPlanner(telling([])), PublishedPlanner(telling([]))):
        text = planner.sent(request("…"))
        assert "at about the same height" in text
        assert "less than 100" not in text


def test_the_official_text_takes_the_place_of_ours(tmp_path: Path) -> None:
    (tmp_path / "published-plan.txt").write_text('Use {objs} in {colors}.\n[{{"label": "x"}}]\n\nDescription:\n')
    planner = PublishedPlanner(telling([]), tmp_path)
    text = planner.sent(request("A {cup}."))
    assert text.startswith("Use ['laptop', ")
    assert text.endswith('[{"label": "x"}]\n\nDescription:\nA {cup}.')
    assert "the user's own" in str(planner.settings["prompt"])
    (tmp_path / "published-plan.txt").write_text("{objs} {colors} {canvas}")
    with pytest.raises(PromptError, match=r"unknown placeholder \{canvas\}: choose from .*\{objs\} for \{classes\}"):
        _ = PublishedPlanner(telling([]), tmp_path).settings
    (tmp_path / "published-plan.txt").write_text("{objs}")
    with pytest.raises(PromptError, match=r"has no \{colors\}"):
        _ = PublishedPlanner(telling([]), tmp_path).settings


def test_a_chat_model_that_does_not_answer_made_no_layout() -> None:
    provider = TellingProvider([""], ended="refusal")
    planner = PublishedPlanner(build_chat_model(provider, retry_policy=RetryPolicy(cache=False)))
    (found,) = answers(planner, [request("A cup.")])
    assert not isinstance(found, Generated | Failed)


def test_layouts_are_judged_by_the_protocol() -> None:
    judge = open_judge("knolling", task="layout", protocol="published")
    assert isinstance(judge, PublishedLayoutJudge)
    assert judge.settings != open_judge("knolling", task="layout").settings
