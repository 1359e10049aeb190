"""ConceptMix by texts of the authors' form: the conversation goes on as in the published code, in plain words."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from formalimg.benchmarks.authoring.engine import author_suite
from formalimg.benchmarks.authoring.task import AuthoringPlan, Slot
from formalimg.benchmarks.conceptmix.authoring.choices import ConceptChoices
from formalimg.benchmarks.conceptmix.authoring.templates import WrittenBinding, draw_mixture, make_mixture
from formalimg.benchmarks.conceptmix.completion import complete_binding
from formalimg.benchmarks.conceptmix.pools import load_pools
from formalimg.benchmarks.conceptmix.questions import template_questions
from formalimg.benchmarks.conceptmix.realization import write_prompt
from formalimg.benchmarks.download.texts import pull_texts
from formalimg.models.base import Answered, Message, Reply, Usage
from formalimg.types import AnswerType
from tests.support.published_scripts import authors_scripts, script_text, write_scripts


@dataclass
class Author:
    """Answers in plain words, in the order of what is asked, and remembers the conversations."""

    said: list[str]
    name: str = "scripted/model"
    settings: dict[str, Any] = field(default_factory=dict)
    concurrency: int = 1
    asked: list[list[tuple[str, str]]] = field(default_factory=list)

    async def ask(self, messages: Sequence[Message], answer_type: type[AnswerType]) -> Reply[AnswerType]:
        self.asked.append([(message.role, str(message.parts[0])) for message in messages])
        raw = self.said[len(self.asked) - 1]
        return Answered(answer_type.from_text(raw), raw, Usage(1, 1), 0.0, {})  # type: ignore[attr-defined]


@pytest.fixture(params=["own words", "the authors'"])
def texts(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Path, Path]:
    """The script, and the folder of the texts that were pulled from there."""
    own = request.param == "own words"
    scripts = write_scripts(tmp_path / "scripts", "conceptmix") if own else authors_scripts("conceptmix")
    pull_texts("conceptmix", tmp_path / "texts", scripts)
    return scripts / "dynamix/utils.py", tmp_path / "texts"


CHOICES = ConceptChoices(only="spatial", binder="model", questions="model", profile="official-code")
POOLS = load_pools(None, profile="official-code", difficulty=CHOICES.difficulty)


def test_an_item_is_written_as_by_the_published_code(texts: tuple[Path, Path], tmp_path: Path) -> None:
    script, folder = texts
    plan = AuthoringPlan("conceptmix", (1,), 1, attempts=1, version="mine", choices=CHOICES)
    drawn = draw_mixture(plan, POOLS, Slot(0, 1), 0)
    binding = complete_binding(drawn.binding, drawn.rng)
    mix = make_mixture(drawn.concepts, binding, POOLS)
    caption = write_prompt(mix.concepts, binding, random.Random(0))
    questions = template_questions(mix.concepts, mix.binding)
    author = Author(
        ["I add one.", f"```json{json.dumps(binding.to_json())}```", caption, caption, "\n".join([*questions, ""])]
    )
    written = author_suite(plan, author, tmp_path / "out", prompts=folder)
    assert not written.rejections, written.rejections
    (item,) = written.items
    assert [concept.question for concept in item.spec.concepts] == list(questions)
    refine = script_text(script, "refine_config_prompt", initail_config=drawn.binding.to_json(), json=json)
    bind, again, write, check, ask = author.asked
    assert bind == [("user", refine)]
    assert again == [*bind, ("assistant", "I add one."), ("user", script_text(script, "json_only_prompt"))]
    pieces = [script_text(script, "prompt")]
    pieces += [script_text(script, "prompt", 1, description=statement) for statement in mix.statements]
    pieces += [
        script_text(script, "prompt", 2, json_config=binding.to_json(), json=json),
        script_text(script, "prompt", 3),
    ]
    assert write == [("user", "".join(pieces))]
    turns = [*write, ("assistant", caption)]
    assert check == [*turns, ("user", script_text(script, "verification"))]
    skills, k = [mix.concepts[0].concept.value], len(mix.statements)
    assert ask == [*turns, ("user", script_text(script, "question_generation", skills=skills, k=k))]


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        (["Yes.", "BINDING", "WRONG: a cat cannot."], "called impossible"),
        (["Yes.", "BINDING", "CAPTION", "WRONG. It is odd."], "check: invalid"),
        (["Yes.", "BINDING", "CAPTION", "CAPTION", "1. One question?"], "wrong number of questions"),
    ],
)
def test_whoever_says_wrong_ends_the_attempt(said: list[str], reason: str, tmp_path: Path) -> None:
    pull_texts("conceptmix", tmp_path / "texts", write_scripts(tmp_path / "scripts", "conceptmix"))
    plan = AuthoringPlan("conceptmix", (1,), 1, attempts=1, version="mine", choices=CHOICES)
    drawn = draw_mixture(plan, POOLS, Slot(0, 1), 0)
    binding = complete_binding(drawn.binding, drawn.rng)
    caption = write_prompt(make_mixture(drawn.concepts, binding, POOLS).concepts, binding, random.Random(0))
    known = {"BINDING": json.dumps(binding.to_json()), "CAPTION": caption}
    author = Author([known.get(text, text) for text in said])
    written = author_suite(plan, author, tmp_path / "out", prompts=tmp_path / "texts")
    assert list(written.rejections) == [reason]


@pytest.mark.parametrize("text", ["no JSON", "{}", "[]", '{"objects": [{"id": 1}]}'])
def test_other_texts_are_no_binding(text: str) -> None:
    with pytest.raises(ValueError, match=r"Expecting value|it is not a binding"):
        WrittenBinding.from_text(text)
