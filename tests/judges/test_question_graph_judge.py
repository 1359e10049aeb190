"""The judge of question graphs: parents first, nothing asked in vain, and a score that cannot rise by showing less."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as some

from formalimg.benchmarks.questions.spec import GraphQuestion, QuestionSpec
from formalimg.errors import FormalimgError
from formalimg.judges.factory import open_judge
from formalimg.judges.question_judge import QuestionGraphJudge, graph_verdict
from formalimg.types import Item, Part, Unscored, Verdict
from tests.support.concept_items import NOTHING, answers_by, questions_in
from tests.support.scripted_chat import ScriptedChat, numbered

CUP = GraphQuestion("cup", "Is there a cup?", category="object")
RED = GraphQuestion("red", "Is the cup red?", ("cup",), category="attribute")
GLOSSY = GraphQuestion("glossy", "Is the red glossy?", ("red",), category="attribute")
NO_DOG = GraphQuestion("dog", "Is there a dog?", expected="no", weight=3.0)
MODES: Any = ("each question", "all at once")


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
    found, asked = _judged({CUP.question: "no", NO_DOG.question: "no"}, GLOSSY, RED, CUP, NO_DOG)
    assert sorted(asked) == [CUP.question, NO_DOG.question]
    assert [(part.name, part.score, part.weight) for part in found.parts] == [
        (GLOSSY.question, 0, 1),
        (RED.question, 0, 1),
        (CUP.question, 0, 1),
        (NO_DOG.question, 1, 3),
    ]
    assert not found.passed
    assert found.score == 0.5
    assert found.parts[1].reason == "not asked, because this failed: Is there a cup?"
    assert found.evidence["skipped"] == [
        {"question": GLOSSY.question, "failed": RED.question},
        {"question": RED.question, "failed": CUP.question},
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
    for requests in MODES:
        found, _ = _judged(said, *questions, requests=requests)
        assert [part.score for part in found.parts] == expected
        assert found.passed == all(good.values())


@pytest.mark.parametrize("requests", MODES)
def test_direct_zeroing_asks_everything_and_goes_by_the_own_answers_of_parents(requests: Any) -> None:
    said = {CUP.question: "no", RED.question: "yes", GLOSSY.question: "yes"}
    found, asked = _judged(said, CUP, RED, GLOSSY, requests=requests, zeroing="direct")
    assert sorted(asked) == sorted(said)
    assert [part.score for part in found.parts] == [0, 0, 1]
    assert found.parts[1].reason == "counts as failed, because this failed: Is there a cup?"
    assert not found.passed
    found, _ = _judged(said, CUP, RED, GLOSSY, requests=requests)
    assert [part.score for part in found.parts] == [0, 0, 0]


def test_the_rule_of_the_item_holds_unless_the_judge_is_told_another() -> None:
    chat = ScriptedChat({1: NOTHING}, answers_by({CUP.question: "no", RED.question: "yes", GLOSSY.question: "yes"}))
    item = Item("questions", "one", 1, "A cup.", QuestionSpec((CUP, RED, GLOSSY), zeroing="direct"))
    plain, told = QuestionGraphJudge(chat), QuestionGraphJudge(chat, zeroing="transitive")
    scores = [asyncio.run(judge.judge(item, numbered(1))) for judge in (plain, told)]
    assert [found.score for found in scores if isinstance(found, Verdict)] == [1 / 3, 0]
    assert (plain.settings.get("zeroing"), told.settings["zeroing"]) == (None, "transitive")


def test_zeroing_is_an_option_of_the_judge_of_questions() -> None:
    judge = open_judge("questions", "openai/x", {"zeroing": "direct", "base_url": "http://127.0.0.1:9/v1"})
    assert judge.settings["questions.zeroing"] == "direct"
    with pytest.raises(FormalimgError, match="unknown zeroing 'never': known are transitive, direct"):
        open_judge("questions", "openai/x", {"zeroing": "never"})
    with pytest.raises(FormalimgError, match="has no option 'zeroing'"):
        open_judge("conceptmix", "openai/x", {"zeroing": "direct"})


@pytest.mark.parametrize("requests", MODES)
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
