"""Questions of CF-World and its rule probe by texts of the authors' form: what is sent, and how the list is read."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from formalimg.benchmarks.authoring.engine import author_suite
from formalimg.benchmarks.authoring.task import AuthoringPlan
from formalimg.benchmarks.cfworld.authoring.choices import CounterfactualChoices
from formalimg.benchmarks.cfworld.authoring.question_task import ListedQuestions
from formalimg.benchmarks.cfworld.items import items_of_groups, rule_items
from formalimg.errors import FormalimgError
from formalimg.types import Item
from tests.benchmarks_authoring.counterfactual_author import OURS
from tests.benchmarks_authoring.published_author import PublishedAuthor, pulled
from tests.support.published_scripts import script_text


def author(shows: list[str], kinds: tuple[str, ...]) -> PublishedAuthor:
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
    model = author(
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
    model = author([items[0].spec.assessment], ("Assessment Point",))
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
        author_suite(plan, author([], ()), tmp_path / "out", prompts=folder)
