"""ConceptMix by texts of the authors' form: the conversation goes on as in the published code, in plain words."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from formalimg.benchmarks.authoring.engine import author_suite
from formalimg.benchmarks.authoring.task import AuthoringPlan, Slot
from formalimg.benchmarks.conceptmix.authoring.choices import ConceptChoices
from formalimg.benchmarks.conceptmix.authoring.templates import WrittenBinding, draw_mixture, make_mixture
from formalimg.benchmarks.conceptmix.completion import complete_binding
from formalimg.benchmarks.conceptmix.pools import load_pools
from formalimg.benchmarks.conceptmix.questions import template_questions
from formalimg.benchmarks.conceptmix.realization import write_prompt
from tests.benchmarks_authoring.published_author import PublishedAuthor, pulled
from tests.support.published_scripts import script_text


def author(said: list[str]) -> PublishedAuthor:
    """Answers in plain words, in the order of what is asked."""
    remaining = iter(said)
    return PublishedAuthor(lambda text, answer_type: next(remaining))


CHOICES = ConceptChoices(only="spatial", binder="model", questions="model", profile="official-code")
POOLS = load_pools(None, profile="official-code", difficulty=CHOICES.difficulty)


@pytest.mark.parametrize("own", [True, False])
def test_an_item_is_written_as_by_the_published_code(own: bool, tmp_path: Path) -> None:
    scripts, folder = pulled("conceptmix", tmp_path, own=own)
    script = scripts / "dynamix/utils.py"
    plan = AuthoringPlan("conceptmix", (1,), 1, attempts=1, version="mine", choices=CHOICES)
    drawn = draw_mixture(plan, POOLS, Slot(0, 1), 0)
    binding = complete_binding(drawn.binding, drawn.rng)
    mix = make_mixture(drawn.concepts, binding, POOLS)
    caption = write_prompt(mix.concepts, binding, random.Random(0))
    questions = template_questions(mix.concepts, mix.binding)
    model = author(
        ["I add one.", f"```json{json.dumps(binding.to_json())}```", caption, caption, "\n".join([*questions, ""])]
    )
    written = author_suite(plan, model, tmp_path / "out", prompts=folder)
    assert not written.rejections, written.rejections
    (item,) = written.items
    assert [concept.question for concept in item.spec.concepts] == list(questions)
    refine = script_text(script, "refine_config_prompt", initail_config=drawn.binding.to_json(), json=json)
    bind, again, write, check, ask = model.asked
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
    _, folder = pulled("conceptmix", tmp_path)
    plan = AuthoringPlan("conceptmix", (1,), 1, attempts=1, version="mine", choices=CHOICES)
    drawn = draw_mixture(plan, POOLS, Slot(0, 1), 0)
    binding = complete_binding(drawn.binding, drawn.rng)
    caption = write_prompt(make_mixture(drawn.concepts, binding, POOLS).concepts, binding, random.Random(0))
    known = {"BINDING": json.dumps(binding.to_json()), "CAPTION": caption}
    model = author([known.get(text, text) for text in said])
    written = author_suite(plan, model, tmp_path / "out", prompts=folder)
    assert list(written.rejections) == [reason]


@pytest.mark.parametrize("text", ["no JSON", "{}", "[]", '{"objects": [{"id": 1}]}'])
def test_other_texts_are_no_binding(text: str) -> None:
    with pytest.raises(ValueError, match=r"Expecting value|it is not a binding"):
        WrittenBinding.from_text(text)
