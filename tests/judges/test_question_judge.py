"""Judges that ask a chat model questions, and make a verdict of nothing but the answers."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as some
from hypothesis import strategies as st

from formalimg.benchmarks.conceptmix.judge import QuestionJudge
from formalimg.benchmarks.conceptmix.spec import ConceptSpec, RequestedConcept
from formalimg.benchmarks.formal.spec import FormulaSpec
from formalimg.benchmarks.questions.spec import GraphQuestion, QuestionSpec
from formalimg.errors import FormalimgError
from formalimg.judges.factory import open_judge
from formalimg.judges.question_judge import QuestionGraphJudge, graph_verdict
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
    with pytest.raises(FormalimgError, match="unknown requests 'never': choose from each question, all at once"):
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


# --- graphs

CUP = GraphQuestion("cup", "Is there a cup?", category="object")
GRAPH_RED = GraphQuestion("red", "Is the cup red?", ("cup",), category="attribute")
GLOSSY = GraphQuestion("glossy", "Is the red glossy?", ("red",), category="attribute")
NO_DOG = GraphQuestion("dog", "Is there a dog?", expected="no", weight=3.0)
GRAPH_MODES: Any = ("each question", "all at once")


def _item(*questions: GraphQuestion) -> Item[QuestionSpec]:
    return Item("free-prompts", "one", 1, "A red cup, and no dog.", QuestionSpec(questions))


def _judged(said: dict[str, str], *questions: GraphQuestion, **options: Any) -> tuple[Verdict, list[str]]:
    chat = ScriptedChat({1: NOTHING}, answers_by(said))
    found = asyncio.run(QuestionGraphJudge(chat, **options).judge(_item(*questions), numbered(1)))
    assert isinstance(found, Verdict), found
    asked = [
        question
        for (message,) in chat.conversations
        for question in questions_in("\n".join(part for part in message.parts if isinstance(part, str)))
    ]
    return found, asked


def test_questions_below_a_failed_one_are_not_asked_and_count_as_failed() -> None:
    # In the order of the file, a child may come first.
    found, asked = _judged({CUP.question: "no", NO_DOG.question: "no"}, GLOSSY, GRAPH_RED, CUP, NO_DOG)
    assert sorted(asked) == [CUP.question, NO_DOG.question]
    assert [(part.name, part.score, part.weight) for part in found.parts] == [
        (GLOSSY.question, 0, 1),
        (GRAPH_RED.question, 0, 1),
        (CUP.question, 0, 1),
        (NO_DOG.question, 1, 3),
    ]
    assert not found.passed
    assert found.score == 0.5
    assert found.parts[1].reason == "not asked, because this failed: Is there a cup?"
    assert found.evidence["skipped"] == [
        {"question": GLOSSY.question, "failed": GRAPH_RED.question},
        {"question": GRAPH_RED.question, "failed": CUP.question},
    ]


def test_an_answer_of_no_is_good_where_it_is_expected() -> None:
    found, _ = _judged({NO_DOG.question: "yes"}, NO_DOG)
    assert (found.passed, found.score) == (False, 0)
    found, _ = _judged({NO_DOG.question: "no"}, NO_DOG)
    assert (found.passed, found.score) == (True, 1)


def test_a_child_of_an_unwanted_thing_is_asked_only_if_the_thing_is_absent() -> None:
    after = GraphQuestion("calm", "Is the street calm?", ("dog",))
    _, asked = _judged({NO_DOG.question: "yes"}, NO_DOG, after)
    assert asked == [NO_DOG.question]


@given(some.data())
def test_both_ways_to_ask_give_the_same_verdict_as_the_definition(data: some.DataObject) -> None:
    """Compared with the definition: a question counts if it and all above it have their expected answers."""
    count = data.draw(some.integers(1, 6))
    questions = [
        GraphQuestion(
            str(number),
            f"Is it {number}?",
            tuple(map(str, data.draw(some.sets(some.integers(0, number - 1), max_size=2)))) if number else (),
            data.draw(some.sampled_from(["yes", "no"])),
            weight=float(data.draw(some.integers(1, 3))),
        )
        for number in range(count)
    ]
    said = {question.question: data.draw(some.sampled_from(["yes", "no"])) for question in questions}
    good: dict[str, bool] = {}
    for question in questions:
        own = said[question.question] == question.expected
        good[question.id] = own and all(good[parent] for parent in question.parents)
    expected = [float(good[question.id]) for question in questions]
    for requests in GRAPH_MODES:
        found, _ = _judged(said, *questions, requests=requests)
        assert [part.score for part in found.parts] == expected
        assert found.passed == all(good.values())


@pytest.mark.parametrize("requests", GRAPH_MODES)
def test_direct_zeroing_asks_everything_and_goes_by_the_own_answers_of_parents(requests: Any) -> None:
    said = {CUP.question: "no", GRAPH_RED.question: "yes", GLOSSY.question: "yes"}
    found, asked = _judged(said, CUP, GRAPH_RED, GLOSSY, requests=requests, zeroing="direct")
    assert sorted(asked) == sorted(said)
    assert [part.score for part in found.parts] == [0, 0, 1]
    assert found.parts[1].reason == "counts as failed, because this failed: Is there a cup?"
    assert not found.passed
    found, _ = _judged(said, CUP, GRAPH_RED, GLOSSY, requests=requests)
    assert [part.score for part in found.parts] == [0, 0, 0]


def test_the_rule_of_the_item_holds_unless_the_judge_is_told_another() -> None:
    chat = ScriptedChat(
        {1: NOTHING}, answers_by({CUP.question: "no", GRAPH_RED.question: "yes", GLOSSY.question: "yes"})
    )
    item = Item("questions", "one", 1, "A cup.", QuestionSpec((CUP, GRAPH_RED, GLOSSY), zeroing="direct"))
    plain, told = QuestionGraphJudge(chat), QuestionGraphJudge(chat, zeroing="transitive")
    scores = [asyncio.run(judge.judge(item, numbered(1))) for judge in (plain, told)]
    assert [found.score for found in scores if isinstance(found, Verdict)] == [1 / 3, 0]
    assert (plain.settings.get("zeroing"), told.settings["zeroing"]) == (None, "transitive")


def test_zeroing_is_an_option_of_the_judge_of_questions() -> None:
    judge = open_judge("questions", "openai/x", {"zeroing": "direct", "base_url": "http://127.0.0.1:9/v1"})
    assert judge.settings["questions.zeroing"] == "direct"
    with pytest.raises(FormalimgError, match="unknown zeroing 'never': choose from transitive, direct"):
        open_judge("questions", "openai/x", {"zeroing": "never"})
    with pytest.raises(FormalimgError, match="has no option 'zeroing'"):
        open_judge("conceptmix", "openai/x", {"zeroing": "direct"})


@pytest.mark.parametrize("requests", GRAPH_MODES)
def test_without_an_answer_there_is_no_score(requests: Any) -> None:
    chat = ScriptedChat({1: NOTHING}, answers_by({CUP.question: "perhaps", NO_DOG.question: "no"}))
    found = asyncio.run(QuestionGraphJudge(chat, requests=requests).judge(_item(CUP, NO_DOG), numbered(1)))
    assert isinstance(found, Unscored)
    assert found.reason == "not understood"


def test_items_of_other_kinds_are_not_judged() -> None:
    chat = ScriptedChat({1: NOTHING}, answers_by({}))
    found = asyncio.run(QuestionGraphJudge(chat).judge(Item("knolling", "1", 1, "", None), numbered(1)))
    assert isinstance(found, Unscored)
    assert chat.conversations == []


def test_free_prompts_have_no_published_protocol_and_no_judge_offline() -> None:
    with pytest.raises(FormalimgError, match="no published protocol"):
        open_judge("free-prompts", "openai/x", protocol="published")
    with pytest.raises(FormalimgError, match=r"--judge .*FORMALIMG_JUDGE"):
        open_judge("free-prompts")


def test_a_good_no_has_the_probability_of_no() -> None:
    answers = {
        CUP.id: Part(CUP.question, "object", 1.0, p_yes=0.9),
        NO_DOG.id: Part(NO_DOG.question, "object", 0.0, p_yes=0.2),
    }
    found = graph_verdict(QuestionSpec((CUP, NO_DOG)), answers, Verdict(False))
    assert found.passed
    assert [(part.score, part.p_yes) for part in found.parts] == [(1.0, 0.9), (1.0, 0.8)]
