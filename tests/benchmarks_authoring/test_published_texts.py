"""Writing by texts of the authors' form: what is sent, and how answers are read."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from formalimg.benchmarks.authoring.engine import author_suite
from formalimg.benchmarks.authoring.task import AuthoringPlan, Slot
from formalimg.benchmarks.cfworld.authoring.choices import CounterfactualChoices
from formalimg.benchmarks.cfworld.authoring.question_task import ListedQuestions
from formalimg.benchmarks.cfworld.items import items_of_groups, rule_items
from formalimg.benchmarks.conceptmix.authoring.choices import ConceptChoices
from formalimg.benchmarks.conceptmix.authoring.templates import WrittenBinding, draw_mixture, make_mixture
from formalimg.benchmarks.conceptmix.completion import complete_binding
from formalimg.benchmarks.conceptmix.pools import load_pools
from formalimg.benchmarks.conceptmix.questions import template_questions
from formalimg.benchmarks.conceptmix.realization import write_prompt
from formalimg.benchmarks.formal.authoring.templates import draw_assignment
from formalimg.errors import FormalimgError
from formalimg.types import Item
from tests.benchmarks_authoring.counterfactual_author import OURS
from tests.benchmarks_authoring.published_author import PublishedAuthor, pulled
from tests.support.published_scripts import script_text

BLACK_CAT = "(and (IsStyle 'cartoon') (exists ?a (and (Is ?a 'cat') (HasColor ?a 'black'))))"


def author(review: dict[str, Any]) -> PublishedAuthor:
    """Writes of a black cat, and checks in the published form."""

    def reply(text: str, answer_type: Any) -> str:
        writes = "dsl_representation" in answer_type.model_fields
        return json.dumps(
            {"natural_language_description": "One.", "dsl_representation": BLACK_CAT} if writes else review
        )

    return PublishedAuthor(reply)


FINE = {"is_contradictory": False, "is_aligned": True, "corrected_nl_description": None}


@pytest.mark.parametrize("own", [True, False])
def test_natural_is_written_and_checked_by_the_authors_texts(own: bool, tmp_path: Path) -> None:
    scripts, folder = pulled("formalimg", tmp_path, own=own)
    prompts = scripts / "src/tasks/natural/prompts/prompts.py"
    language = (scripts / "configs/dsl_natural.json").read_text(encoding="utf-8")
    plan = AuthoringPlan("natural", (1,), 1, attempts=1, seed=next(_seeds_with_style("cartoon")))
    model = author(FINE)
    written = author_suite(plan, model, tmp_path / "out", prompts=folder)
    (item,) = written.items
    assert (item.prompt, str(item.spec.formula)) == ("One.", BLACK_CAT)
    [(_, writing)], [(_, checking)] = model.asked
    template = script_text(prompts, "prompts_generate")
    before, _, after = template.format(dsl=language, instruction="\0").partition("\0")
    assert writing.startswith(before)
    assert writing.endswith(after)
    parameters = json.loads(writing[len(before) : len(writing) - len(after)])
    assert parameters["style_control"] == {"target_style": "cartoon"}
    assert parameters["target_dependency_depth"] == {"num_object_class": 1, "regular": 1, "count": 0}
    assert parameters["structure_control"]["closure_depths"] == [1]
    assert parameters["structure_control"]["exists_forall_struct"] in ([["exists"]], [["forall"]])
    assert set(parameters["predicate_control"]["required_predicates"]) >= {"Is", "IsStyle"}
    sample = json.dumps({"natural_language_description": "One.", "dsl_representation": BLACK_CAT}, indent=2)
    assert checking == script_text(prompts, "prompt_check_v8").format(dsl=language, sample_to_check=sample)
    noted = json.loads((tmp_path / "out" / "writing.json").read_text())["prompts"]
    assert set(noted) == {"write-natural", "check-natural", "language-natural"}
    assert all(version.startswith("of the authors (yhj137/FormalImG)") for version in noted.values())


def _seeds_with_style(style: str) -> Any:
    for seed in range(1000):
        plan = AuthoringPlan("natural", (1,), 1, attempts=1, seed=seed)
        if draw_assignment(plan, Slot(0, 1), 0).style == style:
            yield seed


@pytest.mark.parametrize(
    ("review", "asked", "reasons"),
    [
        ({**FINE, "is_contradictory": True, "is_aligned": None}, 2, ["check: implausible"]),
        ({**FINE, "is_aligned": False, "corrected_nl_description": "Better."}, 3, ["check: not aligned"]),
        ({**FINE, "is_aligned": None}, 2, ["check: not aligned"]),
    ],
)
def test_the_published_keys_of_reviews_are_understood(
    review: dict[str, Any], asked: int, reasons: list[str], tmp_path: Path
) -> None:
    _, folder = pulled("formalimg", tmp_path)
    plan = AuthoringPlan("natural", (1,), 1, attempts=1, seed=next(_seeds_with_style("cartoon")))
    model = author(review)
    written = author_suite(plan, model, tmp_path / "out", prompts=folder)
    assert not written.items
    assert len(model.asked) == asked
    assert list(written.rejections) == reasons


def test_the_language_has_to_lie_beside_the_authors_text(tmp_path: Path) -> None:
    _, folder = pulled("formalimg", tmp_path)
    (folder / "language-knolling.txt").unlink()
    with pytest.raises(FormalimgError, match=r"cannot read the prompt .*language-knolling\.txt: put it there"):
        author_suite(AuthoringPlan("knolling", (1,), 1), author(FINE), tmp_path / "out", prompts=folder)


def question_author(shows: list[str], kinds: tuple[str, ...]) -> PublishedAuthor:
    """Writes a question of each kind about one of the assessment points."""

    def reply(text: str, answer_type: Any) -> str:
        point = next(point for point in shows if point in text)
        listed = [
            {
                "question_type": kind,
                "question": f"{kind}: {point.rstrip('.')}?",
                "evaluation_criteria": "1.0 – yes. 0.5 – in part. 0.0 – no.",
                "weight": 99,
            }
            for kind in kinds
        ]
        return f"```json\n{json.dumps(listed)}\n```"

    return PublishedAuthor(reply)


def bare(items: Sequence[Item[Any]]) -> tuple[Item[Any], ...]:
    return tuple(replace(item, spec=replace(item.spec, questions=())) for item in items)


@pytest.mark.parametrize("own", [True, False])
def test_questions_of_groups_are_asked_for_as_published(own: bool, tmp_path: Path) -> None:
    scripts, folder = pulled("cf-world", tmp_path, own=own)
    items = bare(items_of_groups(OURS[:1], "1"))
    model = question_author(
        [item.spec.assessment for item in items], ("Visual Integrity", "Counterfactual Logic", "Assessment Point")
    )
    plan = AuthoringPlan("cf-world", attempts=1, version="mine", choices=CounterfactualChoices(prompts=items))
    written = author_suite(plan, model, tmp_path / "out", prompts=folder)
    assert [len(item.spec.questions) for item in written.items] == [3, 3, 3]
    assert [one.weight for one in written.items[0].spec.questions] == [3, 8, 15], "weights are those of the type"
    script = scripts / "scripts/generate_eval/gemini.py"
    template, system = script_text(script, "PROMPT_TEMPLATE"), script_text(script, "content")
    assert sorted(model.asked) == sorted(
        [
            ("system", system),
            (
                "user",
                template.format(
                    input_prompt=item.prompt,
                    assessment_points=item.spec.assessment,
                    dimension_3_section=script_text(script, name),
                ),
            ),
        ]
        for item, name in zip(items, ("D3_FACTUAL", "D3_COUNTERFACTUAL"), strict=False)
    )


@pytest.mark.parametrize("own", [True, False])
def test_a_question_of_a_rule_is_asked_for_as_published(own: bool, tmp_path: Path) -> None:
    scripts, folder = pulled("cf-world", tmp_path, own=own)
    items = bare(rule_items("1")[:1])
    model = question_author([items[0].spec.assessment], ("Assessment Point",))
    plan = AuthoringPlan("cf-world-rules", attempts=1, version="mine", choices=CounterfactualChoices(prompts=items))
    written = author_suite(plan, model, tmp_path / "out", prompts=folder)
    assert [one.dimension for one in written.items[0].spec.questions] == ["assessment"]
    script = scripts / "scripts/generate_eval/rule_decouple.py"
    filled = script_text(script, "PROMPT_TEMPLATE").format(
        input_prompt=items[0].prompt, assessment_points=items[0].spec.assessment
    )
    contents = (script_text(script, "content", number) for number in range(9))
    system = next(text for text in contents if "[" in text)
    assert model.asked == [[("system", system), ("user", filled)]]


@pytest.mark.parametrize(
    "text",
    [
        "no list",
        '{"a": 1}',
        "[1]",
        '[{"question_type": "Beauty", "question": "a", "evaluation_criteria": "b"}]',
        "[{}]",
    ],
)
def test_other_lists_are_no_answer(text: str) -> None:
    with pytest.raises(ValueError, match=r"list|a question has no|JSON|Expecting"):
        ListedQuestions.from_text(text)


def test_the_sections_have_to_lie_beside_the_authors_text(tmp_path: Path) -> None:
    _, folder = pulled("cf-world", tmp_path)
    (folder / "questions-factual.txt").unlink()
    items = bare(items_of_groups(OURS[:1], "1"))
    plan = AuthoringPlan("cf-world", attempts=1, version="mine", choices=CounterfactualChoices(prompts=items))
    with pytest.raises(FormalimgError, match=r"questions-factual\.txt: put it there"):
        author_suite(plan, question_author([], ()), tmp_path / "out", prompts=folder)


def caption_author(said: list[str]) -> PublishedAuthor:
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
    model = caption_author(
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
    model = caption_author([known.get(text, text) for text in said])
    written = author_suite(plan, model, tmp_path / "out", prompts=folder)
    assert list(written.rejections) == [reason]


@pytest.mark.parametrize("text", ["no JSON", "{}", "[]", '{"objects": [{"id": 1}]}'])
def test_other_texts_are_no_binding(text: str) -> None:
    with pytest.raises(ValueError, match=r"Expecting value|it is not a binding"):
        WrittenBinding.from_text(text)
