"""The judge of CF-World does not take every answer: what is no score from 0 to 1 is no score at all."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from formalimg.benchmarks.cfworld.judge import ScoreJudge, parse_score, score_answer_type
from formalimg.models.base import Unanswered
from formalimg.models.structured_output import answer_schema
from formalimg.types import Unscored, Verdict
from tests.support.concept_items import NOTHING
from tests.support.score_items import LEAVES, RISES, SHARP, score_item, scores_by
from tests.support.scripted_chat import ScriptedChat, Spoil, numbered

ASKED = (SHARP, LEAVES, RISES)
GOOD: dict[str, object] = {SHARP.question: 1, LEAVES.question: 0.5, RISES.question: 0}
FORMS = ("numbered", "published")

NO_SCORES: tuple[object, ...] = (
    "half",
    "1/2",
    "high",
    "50%",
    "0,5",
    " 0.5",
    ".5",
    "5e-1",
    "١",
    "1.5",
    "",
    "I'm sorry, but I can't help with that.",
    1.01,
    -0.5,
    5,
    50,
    1e999,
    True,
    None,
    [0.5],
    {"value": 1},
)


def run_judge(said: dict[str, object], spoil: Spoil = lambda raw, before: raw, form: Any = "numbered") -> Any:
    chat = ScriptedChat({1: NOTHING}, scores_by(said, form), spoil)
    answer = asyncio.run(ScoreJudge(chat, answers=form).judge(score_item(*ASKED), numbered(1)))
    return answer, chat


def entry(score: object = 1) -> dict[str, object]:
    return {"reasoning": "look", "score": score}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("said", NO_SCORES, ids=repr)
def test_what_is_no_score_is_asked_for_again_and_then_not_understood(said: object, form: str) -> None:
    def spoil(raw: str, before: int) -> str:
        return raw.replace("Infinity", "1e999")  # as numbers that no computer holds are written

    answer, chat = run_judge({**GOOD, LEAVES.question: said}, spoil, form)
    assert isinstance(answer, Unscored)
    assert answer.reason == "not understood"
    assert "answered twice what cannot be: the score of question 2 is " in answer.detail
    assert answer.detail.endswith(", which is no number from 0 to 1")
    assert "\n" not in answer.detail
    assert (len(chat.conversations), answer.cost) == (2, 0.5)
    assert "scores" not in answer.evidence, "never in part"
    assert len(answer.evidence["answers"][0]["raw"]) == 2  # type: ignore[index]
    assert answer.evidence["persona"] == "standard"


_NAMES = ("1", "2", "3", "4", "0", "01", "one")
_PLAIN = st.none() | st.booleans() | st.integers(-2, 3) | st.floats(-1, 2) | st.floats()
_TEXTS = st.text("0123456789.-+e ", max_size=5) | st.text(max_size=4)


@given(_PLAIN | _TEXTS | st.lists(_PLAIN, max_size=2))
@example("0")
@example("1.0")
@example("0.5")
@example("2")
@example("0.")
@example("0.5\n")
@example(-0.0)
@example(False)
def test_only_numbers_from_0_to_1_are_scores_also_in_quotes(given_: object) -> None:
    wanted = None
    if type(given_) in (int, float) and 0 <= given_ <= 1:  # type: ignore[operator]
        wanted = float(given_)  # type: ignore[arg-type]
    if isinstance(given_, str):
        whole, dot, rest = given_.partition(".")
        digits = [whole, rest] if dot else [whole]
        if all(piece.isascii() and piece.isdigit() for piece in digits) and float(given_) <= 1:
            wanted = float(given_)
    found = parse_score(given_)
    assert found == wanted
    assert str(found) != "-0.0"


@given(st.permutations([1, 2, 3]) | st.lists(st.integers(-1, 5), max_size=5))
def test_a_list_has_every_number_once_and_in_order_or_nothing_counts(numbers: list[int]) -> None:
    def spoil(raw: str, before: int) -> str:
        return json.dumps({"answers": [{"number": number, **entry()} for number in numbers]})

    answer, chat = run_judge(GOOD, spoil)
    if numbers == [1, 2, 3]:
        assert isinstance(answer, Verdict)
        return
    assert isinstance(answer, Unscored)
    assert answer.reason == "not understood"
    assert "it must answer the questions 1 to 3, each once and in this order" in answer.detail
    assert len(chat.conversations) == 2


@given(st.permutations(["1", "2", "3"]) | st.lists(st.sampled_from(_NAMES), unique=True))
def test_the_published_object_has_every_number_or_nothing_counts(names: list[str]) -> None:
    def spoil(raw: str, before: int) -> str:
        return json.dumps({name: entry(int(name) / 10 if name in "123" else 1) for name in names})

    answer, chat = run_judge(GOOD, spoil, "published")
    if sorted(names) == ["1", "2", "3"]:
        assert isinstance(answer, Verdict)
        assert [part.score for part in answer.parts] == [0.1, 0.2, 0.3], "an object has no order"
        return
    assert isinstance(answer, Unscored)
    assert answer.reason == "not understood"
    assert "it must answer the questions 1 to 3" in answer.detail
    assert len(chat.conversations) == 2


def test_servers_are_held_to_the_numbers_of_the_questions() -> None:
    for count in (1, 3):
        schema = answer_schema(score_answer_type(count))
        assert schema["required"] == [str(number) for number in range(1, count + 1)]
        assert isinstance(schema["properties"], dict)
        assert list(schema["properties"]) == schema["required"]
        assert schema["additionalProperties"] is False


def test_twelve_questions_in_the_published_form_keep_their_places() -> None:
    asked = [type(SHARP)("logic", f"Number {number}?", "1: yes. 0: no.", 8) for number in range(12)]
    said: dict[str, object] = {one.question: place / 20 for place, one in enumerate(asked)}
    chat = ScriptedChat({1: NOTHING}, scores_by(said, "published"))
    answer = asyncio.run(ScoreJudge(chat, answers="published").judge(score_item(*asked), numbered(1)))
    assert isinstance(answer, Verdict)
    assert [part.score for part in answer.parts] == list(said.values())


@pytest.mark.parametrize("form", FORMS)
def test_who_mends_the_slip_when_told_of_it_is_scored(form: str) -> None:
    def spoil(raw: str, before: int) -> str:
        return raw if before else raw.replace('"score": 0.5', '"score": "half"')

    answer, chat = run_judge(GOOD, spoil, form)
    assert isinstance(answer, Verdict)
    assert [part.score for part in answer.parts] == [1, 0.5, 0]
    mended = chat.conversations[1]
    assert [message.role for message in mended] == ["user", "assistant", "user"]
    assert 'the score of question 2 is "half", which is no number from 0 to 1' in str(mended[2].parts[0])
    assert len(answer.evidence["answers"][0]["raw"]) == 2  # type: ignore[index]


_THREE = [{"number": number, **entry()} for number in (1, 2, 3)]
_NAMED = {str(number): entry() for number in (1, 2, 3)}


@pytest.mark.parametrize(
    ("form", "raw"),
    [
        ("numbered", json.dumps(_THREE)),
        ("numbered", json.dumps(_NAMED)),
        ("numbered", json.dumps({"answers": _NAMED})),
        ("numbered", json.dumps({"answers": [{**one, "number": str(one["number"])} for one in _THREE]})),
        ("numbered", json.dumps({"answers": [{"number": one["number"], "score": 1} for one in _THREE]})),
        ("numbered", json.dumps({"answers": [1, 1, 1]})),
        ("numbered", json.dumps({"answers": _THREE})[:-20]),
        ("numbered", json.dumps({"answers": _THREE}).replace('"score": 1', '"score": NaN')),
        ("numbered", json.dumps({"answers": _THREE}) + json.dumps({"answers": [{**_THREE[0], "score": 0}]})),
        ("numbered", "All scores are 1."),
        ("numbered", ""),
        ("published", json.dumps([entry(), entry(), entry()])),
        ("published", json.dumps({"answers": _THREE})),
        ("published", json.dumps(dict.fromkeys("123", 1))),
        ("published", '{"1": {"reasoning": "", "score": 1}, "1": {"reasoning": "", "score": 0}}'),
        ("published", json.dumps(_NAMED)[:-20]),
    ],
)
def test_other_forms_are_not_understood(form: str, raw: str) -> None:
    answer, _ = run_judge(GOOD, lambda right, before: raw, form)
    assert isinstance(answer, Unscored)
    assert answer.reason == "not understood"
    assert answer.evidence["answers"][0]["raw"] == ([raw] if raw else [])  # type: ignore[index]


@pytest.mark.parametrize(
    ("kind", "reason", "word"),
    [
        ("failed", "judge failed", "did not answer: 429"),
        ("refused", "judge failed", "declined to look: 429"),
        ("unreadable", "not understood", "cannot be read: 429"),
    ],
)
def test_silence_is_unscored_with_its_own_reason(kind: Any, reason: str, word: str) -> None:
    answer, chat = run_judge(GOOD, lambda raw, before: Unanswered(kind, "429", cost=None))
    assert isinstance(answer, Unscored)
    assert (answer.reason, answer.cost, len(chat.conversations)) == (reason, None, 1)
    assert word in answer.detail
