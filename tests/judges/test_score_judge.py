"""The judge of CF-World: all questions in one request, and a score that is the paper's formula."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from formalimg.benchmarks.cfworld.judge import ScoreJudge, select_persona
from formalimg.benchmarks.cfworld.spec import DIMENSIONS, CounterfactualSpec, WeightedQuestion
from formalimg.errors import FormalimgError
from formalimg.models.base import Attachment
from formalimg.types import Item, Judge, Part, Unscored, Verdict
from tests.support.concept_items import CAT, NOTHING, concept_item
from tests.support.score_items import LEAVES, RISES, SHARP, TREE, WATER, questions_in, score_item, scores_by
from tests.support.scripted_chat import ScriptedChat, numbered

FORMS: Any = ("numbered", "published")
QWEN = "openai/Qwen/Qwen3-VL-235B-A22B-Instruct"


def chat_that_says(scores: Sequence[object], item: Item[CounterfactualSpec], form: str = "numbered") -> ScriptedChat:
    said = dict(zip([asked.question for asked in item.spec.questions], scores, strict=True))
    return ScriptedChat({1: NOTHING}, scores_by(said, form))


def judged(
    item: Item[CounterfactualSpec], scores: Sequence[object], form: Any = "numbered", **options: Any
) -> tuple[Verdict, ScriptedChat]:
    chat = chat_that_says(scores, item, form)
    judge: Judge = ScoreJudge(chat, answers=form, **options)
    answer = asyncio.run(judge.judge(item, numbered(1)))
    assert isinstance(answer, Verdict), answer
    return answer, chat


def words_sent(chat: ScriptedChat) -> str:
    """The words of the last request, which came with the image as it is."""
    (message,) = chat.conversations[-1]
    (image,) = [part for part in message.parts if isinstance(part, Attachment)]
    assert (message.role, image.data) == ("user", numbered(1).data)
    return "\n\n".join(part for part in message.parts if isinstance(part, str))


def test_all_questions_go_in_one_request_with_criteria_but_without_what_they_count() -> None:
    many = replace(LEAVES, criteria="1: all\n   do.\n\n2. Give 1.")
    strange = [replace(asked, weight=7777) for asked in (SHARP, many, RISES)]
    verdict, chat = judged(score_item(*strange), [1, 1, 1])
    words = words_sent(chat)
    assert len(chat.conversations) == 1
    assert questions_in(words) == {
        SHARP.question: SHARP.criteria,
        LEAVES.question: "1: all do. 2. Give 1.",
        RISES.question: RISES.criteria,
    }
    assert not any(word in words for word in ("7777", "weight", "integrity", "assessment", "logic"))
    assert verdict.passed


@pytest.mark.parametrize("form", FORMS)
def test_the_parts_are_the_questions_and_the_evidence_is_what_was_said(form: str) -> None:
    verdict, _ = judged(score_item(SHARP, LEAVES, WATER, RISES, TREE), [1, 0, "0.75", 0.5, 1.0], form)
    assert [(part.kind, part.score, part.weight) for part in verdict.parts] == [
        ("integrity", 1, 3),
        ("logic", 0, 4),
        ("logic", 0.75, 4),
        ("assessment", 0.5, 15),
        ("adherence", 1, 2),
    ]
    assert verdict.parts[3] == Part(RISES.question, "assessment", 0.5, 15, (), f"saw: {RISES.question}")
    assert verdict.score == (3 + 3 + 7.5 + 2) / 28
    evidence = json.loads(json.dumps(verdict.evidence))
    assert list(evidence) == ["persona", "prompt", "answers", "served", "scores"]
    assert (evidence["persona"], evidence["prompt"]) == ("standard", "score-judge-counterfactual, version 2")
    assert evidence["served"] == {"model": "scripted-1"}
    assert evidence["scores"][3] == {
        "question": RISES.question,
        "reasoning": f"saw: {RISES.question}",
        "score": 0.5,
    }
    (asked,) = evidence["answers"]
    assert asked["asked"][3] == RISES.question
    assert '"0.75"' in asked["raw"][0], "what came is kept as it came"
    assert verdict.cost == 0.25


@pytest.mark.parametrize(
    ("questions", "scores", "score", "passed", "every_question_in_full"),
    [
        ((SHARP, LEAVES, RISES), (1, 1, 0.5), 18.5 / 26, True, 0.7115),
        ((SHARP, LEAVES, RISES), (1, 1, 0), 11 / 26, False, 0.4231),
        ((SHARP, LEAVES, RISES), (1, 0, 1), 18 / 26, True, 0.6923),
        ((SHARP, LEAVES, RISES), (0, 1, 1), 23 / 26, True, 0.8846),
        ((SHARP, LEAVES, WATER, RISES), (1, 0, 1, 1), 22 / 26, True, 0.7647),
        ((SHARP, LEAVES, WATER, RISES), (1, 1, 1, 0), 11 / 26, False, 0.5588),
    ],
)
def test_worked_examples(
    questions: Sequence[WeightedQuestion],
    scores: Sequence[float],
    score: float,
    passed: bool,
    every_question_in_full: float,
) -> None:
    verdict, _ = judged(score_item(*questions), scores)
    assert verdict.score == pytest.approx(score, abs=1e-12)
    assert verdict.passed is passed
    kinds = [part.kind for part in verdict.parts]
    in_full = [part.weight * kinds.count(part.kind) for part in verdict.parts]
    weighted = sum(weight * part.score for weight, part in zip(in_full, verdict.parts, strict=True))
    assert round(weighted / sum(in_full), 4) == every_question_in_full


def test_an_image_on_the_line_passes_though_a_third_of_8_is_not_exact() -> None:
    mist = replace(WATER, question="Does the mist sink?")
    verdict, _ = judged(score_item(SHARP, LEAVES, WATER, mist, RISES), [0.7, 0.4, 1, 1, 0.3])
    assert 3 * Fraction(7, 10) + 8 * Fraction(24, 30) + 15 * Fraction(3, 10) == Fraction(26, 2)
    assert verdict.score < 0.5, "or this shows nothing"
    assert verdict.passed


@given(
    st.lists(st.tuples(st.sampled_from(DIMENSIONS), st.integers(0, 20)), min_size=1, max_size=12),
    st.sampled_from(FORMS),
)
def test_a_score_is_the_mean_over_dimensions_of_the_means_of_their_questions(
    drawn: list[tuple[Any, int]], form: str
) -> None:
    weights = {"integrity": 3, "assessment": 15, "logic": 8, "adherence": 2}
    asked = [
        WeightedQuestion(dimension, f"Is it so, number {number}?", "1: yes. 0: no.", weights[dimension])
        for number, (dimension, _) in enumerate(drawn)
    ]
    verdict, _ = judged(score_item(*asked), [twentieths / 20 for _, twentieths in drawn], form)
    of_each = {one: [Fraction(score, 20) for other, score in drawn if other == one] for one, _ in drawn}
    exact = sum(weights[one] * sum(scores) / len(scores) for one, scores in of_each.items())
    exact /= sum(weights[one] for one in of_each)
    assert verdict.score == pytest.approx(float(exact), abs=1e-12)
    assert verdict.passed is (exact >= Fraction(1, 2))
    assert [part.score for part in verdict.parts] == [twentieths / 20 for _, twentieths in drawn]


@pytest.mark.parametrize(
    ("suite", "level", "standard", "strict"),
    [
        ("cf-world", 1, "factual", "factual-balanced"),
        ("cf-world", 2, "counterfactual", "counterfactual-strict"),
        ("cf-world", 3, "counterfactual", "counterfactual-strict"),
        ("cf-world-denominalised", 2, "counterfactual", "counterfactual-strict"),
        ("cf-world-rules", 1, "rules", "rules"),
        ("cf-world-rules", 2, "rules", "rules"),
        ("cf-world-attributes", 1, "attributes", "attributes"),
        ("cf-world-attributes", 2, "attributes", "attributes"),
    ],
)
def test_the_text_follows_from_suite_level_and_persona(suite: str, level: int, standard: str, strict: str) -> None:
    item = score_item(SHARP, RISES, suite=suite, level=level)
    sent: dict[str, str] = {}
    for persona, text in (("standard", standard), ("strict", strict)):
        verdict, chat = judged(item, [1, 1], persona=persona)
        sent[text] = words_sent(chat)
        assert verdict.evidence["prompt"] == f"score-judge-{text}, version 2"
        probe = suite in ("cf-world-rules", "cf-world-attributes")
        assert verdict.evidence["persona"] == ("objective" if probe else persona)
        assert item.prompt not in sent[text], "the prompt is not for the judge"
    assert len(set(sent.values())) == len({standard, strict})


@pytest.mark.parametrize(
    ("model", "persona"),
    [
        (QWEN, "strict"),
        ("openai/qwen2.5-vl-7b", "strict"),
        ("openai/QVQ-72B-Preview", "strict"),
        ("gemini/gemini-3-pro-preview", "standard"),
        ("anthropic/claude-opus-4-1", "standard"),
        ("openai/gpt-4o", "standard"),
    ],
)
def test_the_family_of_the_model_decides_unless_the_user_does(model: str, persona: str) -> None:
    assert select_persona(model) == persona
    for wish in ("standard", "strict"):
        assert select_persona(model, wish) == wish
    chat = ScriptedChat({}, scores_by({}), name=model)
    assert ScoreJudge(chat).settings == ScoreJudge(chat, persona=persona).settings


def test_the_judge_is_known_by_its_model_its_persona_and_its_texts(tmp_path: Path) -> None:
    item = score_item(SHARP, level=1)
    chat = chat_that_says([1], item)
    assert ScoreJudge(chat).name == "test/scripted"
    assert ScoreJudge(chat).settings == {
        "temperature": 0.1,
        "persona": "standard",
        "answers": "numbered",
        "prompt_factual": "score-judge-factual, version 2",
        "prompt_counterfactual": "score-judge-counterfactual, version 2",
        "prompt_rules": "score-judge-rules, version 2",
        "prompt_attributes": "score-judge-attributes, version 2",
        "prompt_again": "score-judge-again, version 1",
        "judging_rules": 1,
    }
    strict = ScoreJudge(chat, persona="strict").settings
    assert strict["prompt_counterfactual"] == "score-judge-counterfactual-strict, version 2"
    (tmp_path / "score-judge-factual.txt").write_text('Look. Answer {"answers": …}.\nThe questions:\n{questions}')
    (tmp_path / "score-judge-attributes.txt").write_text("The questions:\n{questions}")
    own = ScoreJudge(chat, prompts=tmp_path)
    assert all("the user's own" in str(own.settings[f"prompt_{one}"]) for one in ("factual", "attributes"))
    asyncio.run(own.judge(item, numbered(1)))
    assert words_sent(chat).startswith('Look. Answer {"answers": …}.\nThe questions:\n1. Is it sharp?\n')


def test_an_option_that_is_wrong_is_told() -> None:
    chat = ScriptedChat({}, scores_by({}))
    with pytest.raises(FormalimgError, match="unknown persona 'kind': choose from auto, standard, strict"):
        ScoreJudge(chat, persona="kind")
    with pytest.raises(FormalimgError, match="unknown answers 'list': choose from numbered, published"):
        ScoreJudge(chat, answers="list")  # type: ignore[arg-type]


def test_without_questions_nobody_looks_and_there_is_no_score() -> None:
    chat = ScriptedChat({1: NOTHING}, scores_by({}))
    judge = ScoreJudge(chat)
    incomplete = [replace(RISES, question=" "), replace(RISES, criteria="\n"), replace(RISES, weight=0)]
    nothing: list[Item[Any]] = [score_item(), concept_item(CAT)]
    assert [judge.questions(item) for item in (score_item(SHARP, RISES), *nothing)] == [1, 0, 0]
    for item in (*nothing, *(score_item(SHARP, one) for one in incomplete)):
        answer = asyncio.run(judge.judge(item, numbered(1)))
        assert isinstance(answer, Unscored)
        assert answer.reason == "not understood"
        assert f"item {item.id} of {item.suite} has " in answer.detail
        assert "question" in answer.detail
    assert not chat.conversations
