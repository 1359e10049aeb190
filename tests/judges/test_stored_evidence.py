"""Verdicts made again from their records are the verdicts, whichever judge made them, and however it was asked."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

import formalimg
from formalimg._util.images import png_bytes
from formalimg.benchmarks.geneval.form import parse_metadata
from formalimg.benchmarks.questions.spec import GraphQuestion, QuestionSpec
from formalimg.benchmarks.t2i_compbench.composition import read_prompt
from formalimg.drawing.icon_scene import draw
from formalimg.judges.base import LoadedImage
from formalimg.judges.factory import open_judge
from formalimg.judges.recorded_judge import EvidenceError, RecordedJudge, UnknownJudgeError
from formalimg.models.base import Answered, Message, Reply, Unanswered
from formalimg.models.structured_output import ParseFailure, parse_answer
from formalimg.scenes.objects import Box, SceneObject
from formalimg.scenes.scene import Scene
from formalimg.types import Item, Setting, Unscored, Verdict

QUESTIONS = (
    GraphQuestion("1", "Is there a cup?", (), "yes", "entity", 2.0),
    GraphQuestion("2", "Is the cup red?", ("1",), "yes", "color"),
    GraphQuestion("3", "Is there a dog?", (), "no", "entity"),
)
OBJECTS = parse_metadata({"tag": "colors", "include": [{"class": "cup", "count": 1, "color": "red"}]})
SIZE = (400, 300)


def _item(suite: str) -> Item[Any]:
    match suite:
        case "free-prompts":
            return Item(suite, "1", 1, "A red cup, no dog.", QuestionSpec(QUESTIONS))
        case "geneval2":
            return Item(suite, "1", 1, "A red cup, no dog.", QuestionSpec(QUESTIONS))
        case "geneval":
            return Item(suite, "1", 1, "a photo of a red cup", OBJECTS)
        case "t2i-compbench":
            return Item(
                suite, "color-0000", 1, "a red cup and a blue bowl", read_prompt("color", "a red cup and a blue bowl")
            )
        case "boxes":
            return Item("t2i-compbench", "numeracy-0000", 1, "two cups", read_prompt("numeracy", "two cups"))
    return formalimg.load(suite)[7]


@dataclass
class AnyChat:
    """Answers whatever is asked in the form that is asked for: sometimes yes, and first in a form that cannot be."""

    name: str = "openai/any"
    settings: Mapping[str, Setting] = field(default_factory=lambda: {"temperature": 0.0, "asking": 1})
    concurrency: int = 3
    chance: float | None = None

    async def ask(self, messages: Sequence[Message], answer_type: Any) -> Reply[Any]:
        text = "\n".join(
            str(part) for one in messages[:2] if one.role != "assistant" for part in one.parts if isinstance(part, str)
        )
        odd = int(hashlib.sha256(text[-60:].encode()).hexdigest(), 16)
        raw = f"```json\n{json.dumps(_said(answer_type, text, odd, len(messages) == 1))}\n```"
        if answer_type.__name__ == "WordAnswer":
            raw = "Yes" if odd % 3 else "No"
        value = parse_answer(raw, answer_type)
        if isinstance(value, ParseFailure):
            return Unanswered("unreadable", value.reason, raw)
        chances = {} if self.chance is None else {"yes": self.chance, "no": 1 - self.chance}
        return Answered(value, raw, p_yes=self.chance, first_tokens=chances, served={"model": "any-1"})


def _said(answer_type: Any, text: str, odd: int, first: bool) -> Any:
    yes, box = "yes" if odd % 3 else "no", [100, 100, 300, 300]
    asked = text.rpartition("uestions:\n")[2].splitlines()
    lines = [line for line in asked if line[:1].isdigit() and ". " in line]
    match answer_type.__name__:
        case "YesNoAnswer":
            return {"observation": "seen", "answer": "perhaps" if first and odd % 2 else yes}
        case "NumberedAnswers":
            return {"answers": [{"number": n, "observation": "", "answer": yes} for n in range(1, len(lines) + 1)]}
        case "ClauseAnswer":
            listed = text.split("one on each line:\n")[1].split("\n\n")[0].splitlines()
            clauses = [{"clause": clause, "because": "look", "holds": bool(n)} for n, clause in enumerate(listed)]
            return {"observations": ["a"], "clauses": clauses, "fulfilled": odd % 2 == 0}
        case "PublishedAnswer" | "ConstraintAnswer":
            return {"satisfies_constraint": True, "satisfied_clauses": []}
        case "NumberedScores":
            return {"answers": [{"number": n, "reasoning": "", "score": 0.7} for n in range(1, len(lines) + 1)]}
        case "Numbered" | "ScoreSheet":
            count = text.count("\nQuestion ID") or len(lines)
            return {str(n): {"reasoning": "", "score": n / (count + 1)} for n in range(1, count + 1)}
        case "SeenThings" | "ObjectsAnswer":
            label = text.splitlines()[-1].split(", ")[0].strip('[] "')
            return {"objects": [{"label": label, "color": "red", "box_2d": box[: 3 if first and odd % 2 else 4]}]}
    return {}


CASES = [
    ("knolling", "", {}, "default"),
    ("knolling", "", {"requests": "all-at-once", "boxes": "pixels"}, "default"),
    ("knolling", "", {}, "published"),
    ("natural", "", {"decide": "clauses"}, "default"),
    ("natural", "", {"answers": "published"}, "default"),
    ("natural", "", {}, "paper"),
    ("natural", "", {}, "official-code"),
    ("conceptmix", "", {}, "default"),
    ("conceptmix", "", {"requests": "all-at-once"}, "default"),
    ("conceptmix", "", {}, "official-code"),
    ("cf-world", "", {}, "default"),
    ("cf-world", "", {"persona": "strict", "answers": "published"}, "default"),
    ("cf-world", "", {"persona": "standard"}, "paper"),
    ("cf-world", "", {"persona": "strict"}, "official-code"),
    ("cf-world-rules", "", {}, "default"),
    ("free-prompts", "", {}, "default"),
    ("free-prompts", "", {"requests": "all-at-once", "zeroing": "direct"}, "default"),
    ("geneval2", "", {}, "default"),
    ("geneval2", "", {"grounder": "builtin/icons"}, "default"),
    ("geneval", "", {}, "default"),
    ("geneval", "", {"colors": "pixels", "profile": "strict"}, "default"),
    ("geneval", "builtin/icons", {"profile": "logic"}, "default"),
    ("t2i-compbench", "", {}, "default"),
    ("t2i-compbench", "", {"grounder": "builtin/icons", "profile": "official-code"}, "default"),
    ("boxes", "", {}, "default"),
    ("boxes", "", {"grounder": "builtin/icons"}, "default"),
    ("boxes", "builtin/icons", {"colors": "pixels"}, "default"),
    ("knolling", "builtin/icons", {}, "default"),
]


def _judged(
    suite: str, name: str, options: Mapping[str, str], protocol: str, chance: float | None, patch: pytest.MonkeyPatch
) -> tuple[Item[Any], RecordedJudge, Verdict | Unscored]:
    patch.setattr("formalimg.models.registry.open_chat_model", lambda name, options: AnyChat(chance=chance))
    item = _item(suite)
    judge = open_judge(item.suite, name or "openai/any", options, protocol=protocol)
    objects = [SceneObject("cup", Box(100, 100, 300, 300), "red"), SceneObject("bowl", Box(600, 500, 800, 700), "blue")]
    pixels = draw(Scene.of(objects), 400).convert("RGB").resize(SIZE if not name else (400, 400))
    stored = asyncio.run(judge.judge(item, LoadedImage(png_bytes(pixels), pixels)))
    kept = json.loads(json.dumps(dict(stored.evidence)))
    settings = json.loads(json.dumps(dict(judge.settings)))
    return item, RecordedJudge(item.suite, "image", judge.name, settings), replace(stored, evidence=kept)


@pytest.mark.parametrize("chance", [None, 0.7])
@pytest.mark.parametrize(("suite", "name", "options", "protocol"), CASES)
def test_a_verdict_is_made_again_from_its_records(
    suite: str,
    name: str,
    options: Mapping[str, str],
    protocol: str,
    chance: float | None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    item, recorded, stored = _judged(suite, name, options, protocol, chance, monkeypatch)
    assert isinstance(stored, Verdict), stored
    made = asyncio.run(recorded.judge(item, stored, SIZE if not name else (400, 400)))
    assert isinstance(made, Verdict)
    assert made.passed == stored.passed
    assert made.score == pytest.approx(stored.score)
    assert [(part.name, part.kind, part.score, part.weight, part.about) for part in made.parts] == [
        (part.name, part.kind, part.score, part.weight, part.about) for part in stored.parts
    ]
    assert [part.p_yes for part in made.parts] == pytest.approx([part.p_yes for part in stored.parts])
    for key in made.evidence.keys() - {"served", "grounder", "explanation"}:
        assert json.loads(json.dumps(made.evidence[key])) == stored.evidence[key], key


def test_evidence_without_its_source_is_no_evidence(monkeypatch: pytest.MonkeyPatch) -> None:
    for suite, name, missing in (("conceptmix", "", "answers"), ("knolling", "builtin/icons", "scene")):
        item, recorded, stored = _judged(suite, name, {}, "default", None, monkeypatch)
        kept = {key: value for key, value in stored.evidence.items() if key != missing}
        with pytest.raises(EvidenceError, match="always stores"):
            asyncio.run(recorded.judge(item, replace(stored, evidence=kept), SIZE))


def test_answers_to_no_question_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    item, recorded, stored = _judged("conceptmix", "", {}, "default", None, monkeypatch)
    answers: Any = stored.evidence["answers"]
    with pytest.raises(EvidenceError, match="to no question of the item"):
        asyncio.run(recorded.judge(item, replace(stored, evidence={"answers": [*answers, answers[0]]}), SIZE))


@pytest.mark.parametrize(
    ("name", "settings", "is_own"),
    [
        ("openai/gpt", {"requests": "each question", "judging_rules": 7}, True),
        ("openai/gpt", {"judging_rules": 1}, True),
        ("builtin/icons", {}, True),
        ("python/mine", {"threshold": 0.5}, False),
    ],
)
def test_settings_that_no_judge_has_are_told(name: str, settings: Mapping[str, Setting], is_own: bool) -> None:
    with pytest.raises(UnknownJudgeError) as caught:
        RecordedJudge("conceptmix", "image", name, settings)
    assert caught.value.is_own is is_own
