"""The judge of ConceptMix does not take every answer: what is neither yes nor no is neither 1 nor 0."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from formalimg.benchmarks.conceptmix.judge import QuestionJudge
from formalimg.judges.question_judge import parse_yes_no
from formalimg.models.base import Answered, Unanswered
from formalimg.types import Unscored, Verdict
from tests.support.concept_items import CAT, GLASS, NOTHING, RED, answers_by, concept_item, questions_in
from tests.support.scripted_chat import ScriptedChat, Spoil, numbered

ASKED = (CAT, RED, GLASS)
GOOD = {CAT.question: "yes", RED.question: "yes", GLASS.question: "no"}

NO_ANSWERS = (
    "Yes, but only partly",
    "yes and no",
    "Yes/No",
    "Not sure",
    "N/A",
    "Ja",
    "oui",
    "是",
    "",
    " ",
    "y",
    "true",
    "1",
    "nope",
    "Yes. No.",
    "no idea",
    "yesno",
    "**Yes**",
    "yeſ",
    "I'm sorry, but I can't help with that.",
)


def run_judge(said: dict[str, str], spoil: Spoil = lambda raw, before: raw, **options: Any) -> tuple[Any, ScriptedChat]:
    chat = ScriptedChat({1: NOTHING}, answers_by(said), spoil)
    return asyncio.run(QuestionJudge(chat, **options).judge(concept_item(*ASKED), numbered(1))), chat


def conversations_about(chat: ScriptedChat, question: str) -> int:
    return Counter(questions_in(str(asked[0].parts[2]))[0] for asked in chat.conversations)[question]


@pytest.mark.parametrize("requests", ["each question", "all at once"])
@pytest.mark.parametrize("said", NO_ANSWERS)
def test_what_is_neither_yes_nor_no_is_asked_for_again_and_then_not_understood(said: str, requests: Any) -> None:
    answer, chat = run_judge({**GOOD, RED.question: said}, requests=requests)
    assert isinstance(answer, Unscored)
    assert answer.reason == "not understood"
    assert "neither yes nor no" in answer.detail
    assert "\n" not in answer.detail
    if requests == "each question":
        assert answer.detail.startswith("1 of 3 questions have no answer (Is the cat red?): test/scripted ")
        assert [conversations_about(chat, concept.question) for concept in ASKED] == [1, 2, 1]
        assert answer.cost == 4 * 0.25
    else:
        assert answer.detail.startswith("3 of 3 questions have no answer: test/scripted ")
        assert len(chat.conversations) == 2


def test_the_answers_that_did_come_are_kept() -> None:
    answer, _ = run_judge({**GOOD, RED.question: "Not sure"})
    evidence = json.loads(json.dumps(answer.evidence))
    assert [(one["question"], one["answer"]) for one in evidence["observations"]] == [
        (CAT.question, "yes"),
        (GLASS.question, "no"),
    ]
    assert [len(one["raw"]) for one in evidence["answers"]] == [1, 2, 1]
    assert "Not sure" in evidence["answers"][1]["raw"][0]


@pytest.mark.parametrize("requests", ["each question", "all at once"])
def test_who_mends_the_slip_when_told_of_it_is_scored(requests: Any) -> None:
    def spoil(raw: str, before: int) -> str:
        return raw if before else raw.replace('"answer": "no"', '"answer": "Yes, but it is blue"')

    answer, chat = run_judge(GOOD, spoil, requests=requests)
    assert isinstance(answer, Verdict)
    assert [part.score for part in answer.parts] == [1, 1, 0]
    (mended,) = [asked for asked in chat.conversations if len(asked) == 3]
    assert [message.role for message in mended] == ["user", "assistant", "user"]
    assert '"Yes, but it is blue"' in str(mended[2].parts[0])
    assert "neither yes nor no" in str(mended[2].parts[0])


_AROUND = " \t\n\"'`“”‘’"


@given(st.text("yesnoYESNO .\"'“\n,!ſ", max_size=8) | st.text(max_size=6))
@example("yes")
@example('"No".')
@example("yeſ")
@example(".yes")
@example("yes..")
def test_only_blanks_quotes_and_one_full_stop_may_stand_around_the_word(text: str) -> None:
    bare = "".join(letter for letter in text if letter not in _AROUND).lower()
    word = bare.removesuffix(".")
    wanted = word in ("yes", "no") and word in text.lower()
    # Rare blanks, such as the form feed, may go either way; they never make a yes of a no.
    if all(letter in _AROUND or letter.isprintable() for letter in text):
        assert (parse_yes_no(text) is not None) is wanted
    if parse_yes_no(text) is not None:
        assert parse_yes_no(text) is ("yes" in text.lower())


@given(st.lists(st.integers(-1, 5), max_size=6))
def test_all_at_once_every_question_is_answered_once_and_in_order_or_nothing_counts(numbers: list[int]) -> None:
    def spoil(raw: str, before: int) -> str:
        return json.dumps({"answers": [{"number": n, "observation": "", "answer": "yes"} for n in numbers]})

    answer, chat = run_judge(GOOD, spoil, requests="all at once")
    if numbers == [1, 2, 3]:
        assert isinstance(answer, Verdict)
        assert answer.passed
        return
    assert isinstance(answer, Unscored)
    assert answer.reason == "not understood"
    assert "it must answer the questions 1 to 3, each once and in this order" in answer.detail
    assert len(chat.conversations) == 2


def test_all_at_once_the_right_numbers_count() -> None:
    """The property above would hold for a judge that takes nothing."""
    answer, chat = run_judge(GOOD, requests="all at once")
    assert isinstance(answer, Verdict)
    assert len(chat.conversations) == 1


@pytest.mark.parametrize(
    ("kind", "reason", "word"),
    [
        ("failed", "judge failed", "did not answer: 429"),
        ("refused", "judge failed", "declined to look: 429"),
        ("unreadable", "not understood", "cannot be read: 429"),
    ],
)
def test_silence_is_unscored_with_its_own_reason(kind: Any, reason: str, word: str) -> None:
    def spoil(raw: str, before: int) -> str | Unanswered:
        return Unanswered(kind, "429", cost=None) if '"no"' in raw else raw

    answer, chat = run_judge(GOOD, spoil)
    assert isinstance(answer, Unscored)
    assert answer.reason == reason
    assert word in answer.detail
    assert GLASS.question in answer.detail
    assert answer.cost is None
    assert len(chat.conversations) == 3
    assert len(answer.evidence["observations"]) == 2  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "raw",
    [
        "Yes",
        '{"observation": "a cat", "answer": true}',
        '{"answer": "yes"}',
        '{"observation": "a cat", "answer": "yes"} {"observation": "no cat", "answer": "no"}',
        '{"observation": "a cat", "answer": ["yes"]}',
        '{"observation": "a cat", "answer": "ye',
    ],
)
def test_other_forms_are_not_understood(raw: str) -> None:
    answer, _ = run_judge(GOOD, lambda right, before: raw)
    assert isinstance(answer, Unscored)
    assert answer.reason == "not understood"
    assert answer.evidence["observations"] == []


def test_what_served_the_answers_is_told_also_where_it_was_not_the_same() -> None:
    answer, _ = run_judge(GOOD)
    assert answer.evidence["served"] == {"model": "scripted-1"}

    class Changing(ScriptedChat):
        async def ask(self, messages: Any, answer_type: Any) -> Any:
            reply = await super().ask(messages, answer_type)
            assert isinstance(reply, Answered)
            return replace(reply, served={"model": f"m{len(self.conversations) > 2:d}", "at": "x"})

    chat = Changing({1: NOTHING}, answers_by(GOOD), concurrency=1)
    verdict = asyncio.run(QuestionJudge(chat).judge(concept_item(*ASKED), numbered(1)))
    assert verdict.evidence["served"] == {"model": ["m0", "m1"], "at": "x"}
