"""The judge of ConceptMix: one question for each concept, and a verdict that is made of nothing but the answers."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from formalimg.benchmarks.conceptmix.judge import QuestionJudge
from formalimg.benchmarks.conceptmix.spec import ConceptSpec, RequestedConcept
from formalimg.benchmarks.formal.spec import FormulaSpec
from formalimg.errors import FormalimgError
from formalimg.models.base import Attachment, Message, Reply
from formalimg.types import AnswerType, Item, Judge, Part, Unscored, Verdict
from tests.support.concept_items import (
    CAT,
    GLASS,
    INK,
    NOTHING,
    RED,
    TWO,
    answers_by,
    concept_item,
    questions_in,
)
from tests.support.models import small_items
from tests.support.scripted_chat import ScriptedChat, numbered

ALL = (CAT, RED, GLASS, TWO, INK)
MODES: Any = ("each question", "all at once")
TRUTHS = {CAT.question: "yes", RED.question: "no", GLASS.question: "No.", TWO.question: "YES", INK.question: "yes"}


def chat_that_says(said: dict[str, str], **options: Any) -> ScriptedChat:
    return ScriptedChat({1: NOTHING, 2: NOTHING, 3: NOTHING}, answers_by(said), **options)


def judged(item: Item[ConceptSpec], chat: ScriptedChat, **options: Any) -> Verdict:
    judge: Judge = QuestionJudge(chat, **options)
    answer = asyncio.run(judge.judge(item, numbered(1)))
    assert isinstance(answer, Verdict), answer
    return answer


def test_each_question_has_a_conversation_of_its_own_with_the_image_and_nothing_of_the_item_besides() -> None:
    chat = chat_that_says(TRUTHS)
    judged(concept_item(*ALL), chat)
    asked: list[str] = []
    for (message,) in chat.conversations:
        instruction, image, question = message.parts
        assert isinstance(image, Attachment)
        words = f"{instruction}\n{question}"
        assert message.role == "user"
        assert image.data == numbered(1).data
        assert "number 0" not in words, "the prompt is not for the judge"
        asked += questions_in(words)
        assert sum(concept.question in words for concept in ALL) == 1
    assert sorted(asked) == sorted(concept.question for concept in ALL)


def test_all_at_once_is_one_request_with_numbers() -> None:
    chat = chat_that_says(TRUTHS)
    judged(concept_item(*ALL), chat, requests="all at once")
    ((message,),) = chat.conversations
    assert questions_in(str(message.parts[2])) == [concept.question for concept in ALL]


@pytest.mark.parametrize("requests", MODES)
def test_the_parts_are_the_questions_and_the_evidence_is_what_was_said(requests: Any) -> None:
    verdict = judged(concept_item(*ALL), chat_that_says(TRUTHS), requests=requests)
    assert not verdict.passed
    assert verdict.score == 3 / 5
    assert verdict.parts[1] == Part("Is the cat red?", "color", 0.0, about=("red",), reason="saw: Is the cat red?")
    assert [part.score for part in verdict.parts] == [1, 0, 0, 1, 1]
    assert [part.kind for part in verdict.parts] == ["object", "color", "texture", "number", "style"]
    evidence = json.loads(json.dumps(verdict.evidence))
    assert list(evidence) == ["answers", "served", "observations"]
    assert evidence["served"] == {"model": "scripted-1"}
    assert evidence["observations"][1] == {
        "question": "Is the cat red?",
        "observation": "saw: Is the cat red?",
        "answer": "no",
    }
    asked = [concept.question for concept in ALL]
    assert [one["asked"] for one in evidence["answers"]] == (
        [[question] for question in asked] if requests == "each question" else [asked]
    )
    assert all("saw: " in raw for one in evidence["answers"] for raw in one["raw"])
    assert verdict.cost == 0.25 * len(evidence["answers"])


_SPELLINGS = st.sampled_from(["{}", " {} ", "{}.", '"{}"', '"{}."', "'{}'.", "“{}”", "\n{}\t"])
_WORDS = st.booleans().flatmap(
    lambda yes: st.tuples(
        st.just(yes),
        st.sampled_from(("yes", "Yes", "YES", "yEs") if yes else ("no", "No", "NO")),
        _SPELLINGS,
    )
)


@given(st.lists(_WORDS, min_size=1, max_size=8), st.sampled_from(MODES))
def test_an_image_passes_if_and_only_if_every_answer_is_yes(said: Sequence[tuple[bool, str, str]], mode: Any) -> None:
    concepts = [RequestedConcept("color", f"c{number}", "…", f"Is it c{number}?") for number in range(len(said))]
    words = {concept.question: form.format(word) for concept, (_, word, form) in zip(concepts, said, strict=True)}
    verdict = judged(concept_item(*concepts), chat_that_says(words), requests=mode)
    assert [part.score for part in verdict.parts] == [float(yes) for yes, _, _ in said]
    assert [part.about for part in verdict.parts] == [(concept.value,) for concept in concepts]
    assert verdict.passed is all(yes for yes, _, _ in said)


class Counting(ScriptedChat):
    """Takes its time, and counts how many questions it is asked at once."""

    now = 0
    most = 0

    async def ask(self, messages: Sequence[Message], answer_type: type[AnswerType]) -> Reply[AnswerType]:
        self.now += 1
        self.most = max(self.most, self.now)
        for _ in range(5):
            await asyncio.sleep(0)
        reply = await super().ask(messages, answer_type)
        self.now -= 1
        return reply


def test_questions_run_side_by_side_but_never_more_than_the_chat_model_takes() -> None:
    chat = Counting({1: NOTHING, 2: NOTHING, 3: NOTHING}, answers_by(TRUTHS), concurrency=3)
    judge = QuestionJudge(chat)
    assert judge.concurrency == 3

    async def several(images: int) -> None:
        await asyncio.gather(*(judge.judge(concept_item(*ALL), numbered(1 + number)) for number in range(images)))

    for images in (1, 3):  # each in an event loop of its own
        chat.most = 0
        asyncio.run(several(images))
        assert chat.most == 3
    assert len(chat.conversations) == 4 * len(ALL)


def test_what_the_user_can_mend_ends_the_run_instead_of_one_image() -> None:
    def spoil(raw: str, before: int) -> str:
        raise FormalimgError("the key is wrong: set KEY")

    with pytest.raises(FormalimgError, match="the key is wrong: set KEY"):
        judged(concept_item(*ALL), chat_that_says(TRUTHS, spoil=spoil))


def test_the_judge_is_known_by_its_model_its_requests_and_its_texts(tmp_path: Path) -> None:
    chat = chat_that_says(TRUTHS)
    assert QuestionJudge(chat).name == "test/scripted"
    assert QuestionJudge(chat).settings == {
        "temperature": 0.1,
        "requests": "each question",
        "prompt": "question-judge, version 2",
        "prompt_again": "question-judge-again, version 1",
        "judging_rules": 1,
    }
    assert QuestionJudge(chat, requests="all at once").settings["prompt"] == "question-judge-all, version 2"
    (tmp_path / "question-judge.txt").write_text('Look. Answer {"observation": …}.\nThe question:\n{question}')
    own = QuestionJudge(chat, prompts=tmp_path)
    assert "the user's own" in str(own.settings["prompt"])
    asyncio.run(own.judge(concept_item(CAT), numbered(1)))
    assert chat.conversations[0][0].parts[1] == f'Look. Answer {{"observation": …}}.\nThe question:\n{CAT.question}'
    with pytest.raises(FormalimgError, match="unknown requests 'never': known are each question, all at once"):
        QuestionJudge(chat, requests="never")  # type: ignore[arg-type]


def test_a_forecast_counts_requests() -> None:
    chat = chat_that_says({})
    assert QuestionJudge(chat).questions(concept_item(*ALL)) == 5
    assert QuestionJudge(chat, requests="all at once").questions(concept_item(*ALL)) == 1


@pytest.mark.parametrize("requests", MODES)
def test_without_a_question_nobody_looks_and_there_is_no_full_mark(requests: Any) -> None:
    chat = chat_that_says({})
    blank = RequestedConcept("style", "ink", "the style is ink", " \n")
    formula: Item[FormulaSpec] = small_items(1)[0]
    for item in (concept_item(), concept_item(CAT, blank), formula):
        answer = asyncio.run(QuestionJudge(chat, requests=requests).judge(item, numbered(1)))
        assert isinstance(answer, Unscored)
        assert answer.reason == "not understood"
        assert "question" in answer.detail
    assert not chat.conversations
