"""`--protocol`: which judge opens, what it asks on the wire, with which temperature and text, and what is refused."""

from __future__ import annotations

import asyncio
import base64
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from formalimg.api import run
from formalimg.benchmarks.cfworld.items import pair_spec
from formalimg.benchmarks.cfworld.published_judge import PublishedScoreJudge
from formalimg.benchmarks.conceptmix.judge import PublishedQuestionJudge
from formalimg.benchmarks.formal.published_judge import PublishedClauseJudge, PublishedSceneJudge
from formalimg.benchmarks.formal.spec import FormulaSpec
from formalimg.errors import FormalimgError
from formalimg.judges.base import LoadedImage
from formalimg.judges.factory import open_judge
from formalimg.logic.parser import parse
from formalimg.prompts import PromptError
from formalimg.types import Item, Unscored, Verdict
from tests.support.concept_items import CAT, RED, concept_item
from tests.support.loopback import Asked, Fault, Loopback
from tests.support.models import Speckles, speckled
from tests.support.remote_models import stand_alone
from tests.support.score_items import RISES, SHARP, score_item

pytestmark = pytest.mark.usefixtures("no_preflight")

CUP_AND_PEN = "(exists ?x (exists ?y (and (Is ?x 'tea_cup') (Is ?y 'pen') (Above ?x ?y))))"
KNOLLING = Item("knolling", "1", 2, "A cup above a pen.", FormulaSpec(parse(CUP_AND_PEN)), (), "1")
CAT_FORMULA = "(forall ?c (implies (Is ?c 'cat') (HasColor ?c 'black')))"
NATURAL = Item("natural", "1", 1, "Every cat is black.", FormulaSpec(parse(CAT_FORMULA)), (), "1")


@pytest.fixture(autouse=True)
def _alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    stand_alone(monkeypatch, tmp_path)


def image(size: int = 16) -> LoadedImage:
    data = speckled("seen", size)
    return LoadedImage(data, Image.open(io.BytesIO(data)).convert("RGB"))


def asked(
    suite: str,
    item: Item[Any],
    reply: Callable[[Asked], str],
    *,
    model: str = "looker",
    protocol: str = "published",
    size: int = 16,
    **options: str,
) -> tuple[list[dict[str, Any]], Verdict | Unscored]:
    """The bodies of the requests for one image, and what came of it."""
    with Loopback(reply=reply) as server:
        usual = {"base_url": f"{server.url}/v1", "max_attempts": "1", "parse_retries": "0", **options}
        judge = open_judge(suite, f"openai/{model}", usual, protocol=protocol)
        found = asyncio.run(judge.judge(item, image(size)))
        return [request.json for request in server.requests], found


def content(message: dict[str, Any]) -> list[str]:
    """What a message holds, part by part: its texts, and `image` for images."""
    if isinstance(message["content"], str):
        return [message["content"]]
    return [part["text"] if part["type"] == "text" else "image" for part in message["content"]]


def picture(message: dict[str, Any]) -> str:
    (url,) = [part["image_url"]["url"] for part in message["content"] if part["type"] == "image_url"]
    return str(url)


def test_knolling_asks_for_one_class_at_a_time_in_the_system_message() -> None:
    boxes = {"tea_cup": [0, 0, 100, 100], "pen": [0, 200, 100, 300]}

    def reply(question: Asked) -> str:
        (label,) = [label for label in boxes if f'"{label}"' in question.texts[0]]
        return json.dumps({"objects": [{"label": label, "color": "red", "box_2d": boxes[label]}]})

    bodies, found = asked("knolling", KNOLLING, reply)
    assert isinstance(found, Verdict)
    assert found.passed
    assert len(bodies) == 2
    for body, label in zip(bodies, ("pen", "tea_cup"), strict=True):
        assert (body["temperature"], body["max_tokens"]) == (0.1, 2048)
        assert "response_format" not in body
        system, user = body["messages"]
        assert (system["role"], user["role"]) == ("system", "user")
        assert json.dumps([label], indent=4) in system["content"]
        assert json.dumps("gray") in system["content"]
        assert content(user) == ["image"], "the image alone"
        assert picture(user).partition(",")[2] == _base64(image().data)
    assert [answer["asked_for"] for answer in found.evidence["answers"]] == [["pen"], ["tea_cup"]]  # type: ignore[attr-defined]


def test_knolling_keeps_labels_as_answered_and_merges_nothing() -> None:
    both = [{"label": "pen", "color": "red", "box_2d": [0, 200, 100, 300]}] * 2
    reply = json.dumps({"objects": [*both, {"label": "Tea Cup", "color": "RED", "box_2d": [0, 0, 100, 100]}]})
    _, found = asked("knolling", KNOLLING, lambda question: reply)
    assert isinstance(found, Verdict)
    assert not found.passed
    assert len(found.evidence["scene"]["objects"]) == 6  # type: ignore[index]


def test_an_outage_is_unscored_and_never_an_empty_scene() -> None:
    with Loopback(faults=lambda number: Fault("500") if number else None, reply=lambda _: '{"objects": []}') as server:
        options = {"base_url": f"{server.url}/v1", "max_attempts": "1"}
        judge = open_judge("knolling", "openai/looker", options, protocol="published")
        found = asyncio.run(judge.judge(KNOLLING, image()))
    assert isinstance(found, Unscored)
    assert found.reason == "judge failed"
    assert found.detail.startswith("tea_cup: openai/looker did not answer")


def test_natural_asks_for_a_json_object_with_the_text_before_the_image() -> None:
    reply = '{"satisfies_constraint": true, "satisfied_clauses": []}'
    bodies, found = asked("natural", NATURAL, lambda question: reply)
    assert isinstance(found, Verdict)
    assert found.passed
    (body,) = bodies
    assert body["temperature"] == 0.1
    assert "max_tokens" not in body
    assert body["response_format"] == {"type": "json_object"}
    (message,) = body["messages"]
    assert message["role"] == "user"
    text, last = content(message)
    assert last == "image"
    assert "Every cat is black." in text
    assert "(forall ?c (or (not (Is ?c 'cat')) (HasColor ?c 'black')))" in text
    assert "JSON schema" not in text


def test_natural_goes_on_without_json_mode_where_a_server_has_none() -> None:
    reply = '{"satisfies_constraint": false}'
    with Loopback(faults=lambda number: Fault("no schema"), reply=lambda question: reply) as server:
        options = {"base_url": f"{server.url}/v1", "max_attempts": "1"}
        judge = open_judge("natural", "openai/looker", options, protocol="published")
        found = asyncio.run(judge.judge(NATURAL, image()))
        first, second = (request.json for request in server.requests)
    assert isinstance(found, Verdict)
    assert not found.passed
    assert first["messages"] == second["messages"], "no schema is described in its place"


def test_conceptmix_asks_the_plain_question_for_one_token() -> None:
    bodies, found = asked("conceptmix", concept_item(CAT, RED), lambda question: "Yes")
    assert isinstance(found, Verdict)
    assert found.passed
    assert len(bodies) == 2
    for body, concept in zip(bodies, (CAT, RED), strict=True):
        assert (body["temperature"], body["max_tokens"]) == (0, 1)
        assert "response_format" not in body
        (message,) = body["messages"]
        text, last = content(message)
        assert last == "image"
        assert text.startswith(f"{concept.question}\n")
        assert '"Yes" or "No"' in text
        assert "{" not in text


def test_an_answer_cut_off_after_one_token_is_an_answer_and_is_remembered() -> None:
    item = concept_item(CAT)
    with Loopback(faults=lambda number: Fault("length"), reply=lambda question: "YesYes") as server:
        options = {"base_url": f"{server.url}/v1", "max_attempts": "1"}
        judge = open_judge("conceptmix", "openai/looker", options, protocol="published")
        found = [asyncio.run(judge.judge(item, image())) for _ in range(2)]
        assert len(server.requests) == 1
    assert [isinstance(one, Verdict) and one.passed for one in found] == [True, True]


@pytest.mark.parametrize(
    ("model", "sampling", "order"),
    [
        ("gemini-3-pro-preview", {"temperature": 0, "max_tokens": 5500}, ["text", "image"]),
        ("Qwen3-VL-235B", {"temperature": 0.1, "max_tokens": 2048, "top_p": 0.9}, ["image", "text"]),
    ],
)
def test_cf_world_asks_each_family_in_its_own_form(model: str, sampling: dict[str, float], order: list[str]) -> None:
    reply = '{"1": {"reasoning": "sharp", "score": 1}, "2": {"reasoning": "up", "score": 0.5}}'
    texts = set()
    for level in (1, 2):
        item = score_item(SHARP, RISES, level=level)
        bodies, found = asked("cf-world", item, lambda question: reply, model=model, size=1100)
        assert isinstance(found, Verdict)
        assert [part.score for part in found.parts] == [1, 0.5]
        (body,) = bodies
        assert {name: body.get(name) for name in sampling} == sampling
        assert "response_format" not in body
        system, user = body["messages"]
        texts.add(system["content"])
        assert ["image" if part == "image" else "text" for part in content(user)] == order
        (text,) = [part for part in content(user) if part != "image"]
        heading = 'Question ID "2":' if model.startswith("gemini") else 'Question ID: "2"'
        assert f"{heading}\nQuestion: {RISES.question}\nCriteria: {RISES.criteria}" in text
        assert "15" not in text, "weights are not for the judge"
        if model.startswith("gemini"):
            assert picture(user).startswith("data:image/jpeg;")
            assert _size(picture(user)) == (1024, 1024)
        else:
            assert _size(picture(user)) == (1100, 1100)
    assert len(texts) == 2, "factual images have a text of their own"


@pytest.mark.parametrize("model", ["gemini-3-pro-preview", "Qwen3-VL-235B"])
def test_a_pair_is_asked_about_by_its_names_and_has_one_score(model: str) -> None:
    spec = pair_spec("pair-1", "cup", "old { oak }", "A cup in an old { oak }.")
    item = Item("cf-world-attributes", "pair-1-rare", 2, "A cup in an old { oak }.", spec)
    bodies, found = asked(
        "cf-world-attributes", item, lambda question: '{"reasoning": "both", "score": 0.5}', model=model
    )
    (body,) = bodies
    text = next(part for part in content(body["messages"][1]) if part != "image")
    lines = ['"A cup in an old { oak }."', 'A: "cup"', 'B: "old { oak }"']
    assert [line for line in lines if line not in text] == []
    assert "Criteria" not in text
    assert isinstance(found, Verdict)
    assert [(part.score, part.reason) for part in found.parts] == [(0.5, "both")]
    assert found.passed


def test_the_authors_text_about_pairs_keeps_the_names_of_its_placeholders(tmp_path: Path) -> None:
    (tmp_path / "published-score-attributes.txt").write_text(
        'Judge. {{"score": 1}}\n[user]\nPrompt: "{prompt}"\nEntity A to check: "{A}"\nEntity B to check: "{B}"'
    )
    spec = pair_spec("pair-1", "cup", "oak", "A cup in an oak.")
    item = Item("cf-world-attributes", "pair-1-rare", 2, "A cup in an oak.", spec)
    bodies, _ = asked("cf-world-attributes", item, lambda question: '{"score": 1}', prompts=str(tmp_path))
    system, user = bodies[0]["messages"]
    assert system["content"] == 'Judge. {"score": 1}'
    assert [part for part in content(user) if part != "image"] == [
        'Prompt: "A cup in an oak."\nEntity A to check: "cup"\nEntity B to check: "oak"'
    ]


def test_a_pair_without_names_is_unscored_before_anything_is_asked() -> None:
    item = Item("cf-world-attributes", "pair-1-rare", 2, "A cup.", score_item(SHARP, level=2).spec)
    bodies, found = asked("cf-world-attributes", item, lambda question: "{}")
    assert bodies == []
    assert isinstance(found, Unscored)
    assert "does not name two objects" in found.detail


@pytest.mark.parametrize("answer", ['{"reasoning": "?", "score": "high"}', '{"score": 2}', "[]", "yes"])
def test_a_pair_score_that_is_no_number_is_unscored(answer: str) -> None:
    spec = pair_spec("pair-1", "cup", "oak", "A cup in an oak.")
    item = Item("cf-world-attributes", "pair-1-rare", 2, "A cup in an oak.", spec)
    _, found = asked("cf-world-attributes", item, lambda question: answer)
    assert isinstance(found, Unscored)


def test_options_of_the_user_come_before_those_of_the_protocol() -> None:
    reply = '{"satisfies_constraint": true}'
    bodies, _ = asked("natural", NATURAL, lambda question: reply, temperature="default", max_tokens="99")
    assert "temperature" not in bodies[0]
    assert bodies[0]["max_tokens"] == 99


@pytest.mark.parametrize(
    ("suite", "kind", "recorded"),
    [
        ("knolling", PublishedSceneJudge, ["published", "published", "published"]),
        ("natural", PublishedClauseJudge, ["official-code", "paper", "official-code"]),
        ("conceptmix", PublishedQuestionJudge, ["official-code", "paper", "official-code"]),
        ("cf-world", PublishedScoreJudge, ["official-code", "paper", "official-code"]),
    ],
)
def test_each_suite_has_its_judge_and_records_the_protocol(suite: str, kind: type, recorded: list[str]) -> None:
    judges = [open_judge(suite, "openai/x", protocol=name) for name in ("published", "paper", "official-code")]
    assert all(isinstance(judge, kind) for judge in judges)
    assert [judge.settings["protocol"] for judge in judges] == recorded
    assert "protocol" not in open_judge(suite, "openai/x").settings


@pytest.mark.parametrize(
    ("suite", "name", "options", "protocol", "message"),
    [
        ("knolling", None, {}, "published", "no judge for knolling that works offline: name a chat model"),
        ("knolling", "builtin/icons", {}, "published", "the protocol published asks a chat model: name a chat model"),
        ("knolling", "openai/x", {"boxes": "unit"}, "published", "has no option 'boxes': it knows prompts"),
        (
            "natural",
            "openai/x",
            {"decide": "clauses"},
            "paper",
            "natural with the protocol paper has no option 'decide'",
        ),
        ("cf-world", "openai/x", {"persona": "mild"}, "published", "unknown persona 'mild'"),
        (
            "natural",
            "openai/x",
            {},
            "official",
            "unknown protocol 'official': choose from default, published, paper, off",
        ),
    ],
)
def test_what_cannot_be_is_told_in_one_line(
    suite: str, name: str | None, options: dict[str, str], protocol: str, message: str
) -> None:
    with pytest.raises(FormalimgError, match=message) as raised:
        open_judge(suite, name, options, protocol=protocol)
    assert "\n" not in str(raised.value)


OFFICIAL = {
    "knolling": ("published-grounder", 'Find {object_classes} in {colors}: {{"label": "{object_classes2} {colors2}"}}'),
    "natural": ("published-clause-judge", 'Constraint: {nl}\nLogic: {cnf}\nReturn {{"satisfies_constraint": …}}'),
    "conceptmix": ("published-question-judge", "{question} Please reply."),
    "cf-world": ("published-score-counterfactual-gemini", 'Be brief: {"1": {}}\n[user]\nRate:\n{base_q_text}'),
}


@pytest.mark.parametrize(
    ("suite", "item", "sent"),
    [
        ("knolling", KNOLLING, ['Find [\n    "pen"\n] in [\n    "red"', '"\n]: {"label": "[\n    "pen"\n] [']),
        ("natural", NATURAL, ["Constraint: Every cat is black.\nLogic: (forall", 'Return {"satisfies_constraint": …}']),
        ("conceptmix", concept_item(CAT), [f"{CAT.question} Please reply."]),
        ("cf-world", score_item(RISES), ['Be brief: {"1": {}}', 'Rate:\n\nQuestion ID "1":']),
    ],
)
def test_official_texts_work_as_they_are(suite: str, item: Item[Any], sent: list[str], tmp_path: Path) -> None:
    for name, text in OFFICIAL.values():
        (tmp_path / f"{name}.txt").write_text(text, encoding="utf-8")
    bodies, _ = asked(suite, item, lambda question: "{}", prompts=str(tmp_path))
    everything = "\n".join(part for message in bodies[0]["messages"] for part in content(message))
    assert all(part in everything for part in sent), everything
    judge = open_judge(suite, "openai/x", {"prompts": str(tmp_path)}, protocol="published")
    assert any("the user's own" in str(value) for value in judge.settings.values())


@pytest.mark.parametrize(
    ("suite", "name", "text", "message"),
    [
        ("natural", "published-clause-judge", "{nl}", r"has no \{formula\}: .*\{cnf\} for \{formula\}"),
        ("natural", "published-clause-judge", "{nl} {cnf} {k}", r"unknown placeholder \{k\}: choose from"),
        ("conceptmix", "published-question-judge", "Yes or no?", r"has no \{question\}"),
        ("conceptmix", "published-question-judg", "{question}", r"did you mean published-question-judge\.txt"),
    ],
)
def test_texts_that_cannot_be_used_are_one_line(suite: str, name: str, text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / f"{name}.txt").write_text(text)
    with pytest.raises(PromptError, match=message) as raised:
        open_judge(suite, "openai/x", {"prompts": str(tmp_path)}, protocol="published")
    assert "\n" not in str(raised.value)


def test_evaluate_takes_the_protocol_for_judges_by_name(tmp_path: Path) -> None:
    with Loopback(reply=lambda question: "Yes") as server, pytest.MonkeyPatch.context() as patch:
        patch.setenv("OPENAI_BASE_URL", f"{server.url}/v1")
        done = run(
            "conceptmix",
            Speckles(),
            "openai/looker",
            protocol="published",
            items=[concept_item(CAT, RED)],
            size=64,
            folder=tmp_path / "run",
        )
    assert (done.progress.passed, done.progress.unscored) == (1, 0)
    assert done.run.manifest.judge is not None
    assert done.run.manifest.judge.settings["protocol"] == "official-code"
    judge = open_judge("conceptmix", "openai/looker")
    with pytest.raises(FormalimgError, match="needs a judge by its name"):
        run("conceptmix", Speckles(), judge, protocol="published", items=[concept_item(CAT)], folder=tmp_path / "two")


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode()


def _size(url: str) -> tuple[int, int]:
    return Image.open(io.BytesIO(base64.b64decode(url.partition(",")[2]))).size
