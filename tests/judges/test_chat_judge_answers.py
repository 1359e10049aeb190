"""Judges do not take every answer of a chat model: lies, slips and silence differ, and none is a silent 0 or 1."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from formalimg import Box, Scene, SceneObject, parse
from formalimg.benchmarks.cfworld.judge import ScoreJudge, parse_score, score_answer_type
from formalimg.benchmarks.conceptmix.judge import QuestionJudge
from formalimg.benchmarks.formal.spec import FormulaSpec
from formalimg.judges.clause_judge import ClauseJudge, normalize_clause
from formalimg.judges.question_judge import parse_yes_no
from formalimg.models.base import Answered, Unanswered
from formalimg.models.structured_output import answer_schema
from formalimg.scenes.scene import SceneRelation
from formalimg.types import Item, Unscored, Verdict
from tests.support.concept_items import CAT, GLASS, NOTHING, RED, answers_by, concept_item, questions_in
from tests.support.score_items import LEAVES, RISES, SHARP, score_item, scores_by
from tests.support.scripted_chat import Known, ScriptedChat, Spoil, judges_as_published, judges_clauses, numbered

ROOM = Known(
    Scene.of(
        [SceneObject("cat", Box(100, 100, 200, 200), "black"), SceneObject("sofa", Box(400, 100, 800, 400), "red")],
        [SceneRelation("On", 0, 1)],
    ),
    "photo",
)
RIGHT = "(exists ?c (exists ?s (and (Is ?c 'cat') (Is ?s 'sofa') (On ?c ?s) (HasColor ?c 'black'))))"
WRONG = RIGHT.replace("black", "white")
YES_YES_NO = {CAT.question: "yes", RED.question: "yes", GLASS.question: "no"}
SCORES: dict[str, object] = {SHARP.question: 1, LEAVES.question: 0.5, RISES.question: 0}
FORMS = ("numbered", "published")
MODES: Any = ("each question", "all at once")

Run = tuple[Any, ScriptedChat]


def as_it_is(raw: str, before: int) -> str:
    return raw


def by_clauses(formula: str, spoil: Spoil = as_it_is, **options: Any) -> Run:
    script = judges_as_published if options.get("answers") == "published" else judges_clauses
    chat = ScriptedChat({1: ROOM}, script, spoil)
    item = Item("natural", "7", 2, "A cat on a sofa.", FormulaSpec.of(parse(formula)))
    return asyncio.run(ClauseJudge(chat, **options).judge(item, numbered(1))), chat


def by_questions(answers: dict[str, str], spoil: Spoil = as_it_is, **options: Any) -> Run:
    chat = ScriptedChat({1: NOTHING}, answers_by(answers), spoil)
    return asyncio.run(QuestionJudge(chat, **options).judge(concept_item(CAT, RED, GLASS), numbered(1))), chat


def by_scores(scores: dict[str, object], spoil: Spoil = as_it_is, form: Any = "numbered") -> Run:
    chat = ScriptedChat({1: NOTHING}, scores_by(scores, form), spoil)
    item = score_item(SHARP, LEAVES, RISES)
    return asyncio.run(ScoreJudge(chat, answers=form).judge(item, numbered(1))), chat


def changed(change: Callable[[dict[str, Any]], object], *, first_only: bool = False) -> Spoil:
    """Answers with something changed in them."""

    def spoil(raw: str, before: int) -> str:
        answer = json.loads(raw)
        if not (first_only and before):
            change(answer)
        return json.dumps(answer)

    return spoil


def not_understood(answer: Any) -> Unscored:
    assert isinstance(answer, Unscored), answer
    assert answer.reason == "not understood"
    assert "\n" not in answer.detail
    return answer


def verdict(answer: Any) -> Verdict:
    assert isinstance(answer, Verdict), answer
    return answer


# --- all of them

JUDGES: dict[str, Callable[[Spoil], Run]] = {
    "clauses": lambda spoil: by_clauses(RIGHT, spoil),
    "questions": lambda spoil: by_questions(YES_YES_NO, spoil),
    "scores": lambda spoil: by_scores(SCORES, spoil),
}


@pytest.mark.parametrize("judge", JUDGES)
@pytest.mark.parametrize(
    ("kind", "reason", "words"),
    [
        ("failed", "judge failed", "did not answer: busy: 429"),
        ("refused", "judge failed", "declined to look: busy: 429"),
        ("unreadable", "not understood", "gave answers that cannot be read: busy: 429"),
    ],
)
def test_silence_is_unscored_with_its_own_reason(judge: str, kind: Any, reason: str, words: str) -> None:
    silence = Unanswered(kind, "busy: 429", cost=None)
    answer, chat = JUDGES[judge](lambda raw, before: silence if judge != "questions" or '"no"' in raw else raw)
    assert isinstance(answer, Unscored)
    assert (answer.reason, answer.cost) == (reason, None)
    assert answer.detail.endswith(f"test/scripted {words}")
    if judge == "questions":
        assert answer.detail.startswith(f"1 of 3 questions have no answer ({GLASS.question}): ")
        assert (len(chat.conversations), len(answer.evidence["observations"])) == (3, 2)  # type: ignore[arg-type]
    else:
        assert len(chat.conversations) == 1
    if judge == "clauses":  # when asked again, too
        answer, _ = JUDGES[judge](
            lambda raw, before: silence if before else json.dumps({**json.loads(raw), "clauses": []})
        )
        assert (answer.reason, answer.cost, len(answer.evidence["answers"])) == (reason, None, 1)


@pytest.mark.parametrize(
    ("run", "scores", "spoil", "reminder"),
    [
        (
            lambda spoil: by_clauses(RIGHT, spoil),
            [1, 1, 1, 1],
            changed(lambda answer: answer["clauses"][3].update(clause="black cat"), first_only=True),
            "leaves out (HasColor ?c 'black') and it judges clauses that were not given: black cat",
        ),
        *(
            (
                lambda spoil, mode=mode: by_questions(YES_YES_NO, spoil, requests=mode),
                [1, 1, 0],
                lambda raw, before: raw if before else raw.replace('"answer": "no"', '"answer": "Yes, but it is blue"'),
                '"Yes, but it is blue"',
            )
            for mode in MODES
        ),
        *(
            (
                lambda spoil, form=form: by_scores(SCORES, spoil, form),
                [1, 0.5, 0],
                lambda raw, before: raw if before else raw.replace('"score": 0.5', '"score": "half"'),
                'the score of question 2 is "half", which is no number from 0 to 1',
            )
            for form in FORMS
        ),
    ],
)
def test_who_mends_the_slip_when_told_of_it_is_scored(
    run: Callable[[Spoil], Run], scores: list[float], spoil: Spoil, reminder: str
) -> None:
    answer, chat = run(spoil)
    assert [part.score for part in verdict(answer).parts] == scores
    (mended,) = [messages for messages in chat.conversations if len(messages) == 3]
    assert [message.role for message in mended] == ["user", "assistant", "user"]
    assert (mended[0],) in chat.conversations
    assert reminder in str(mended[2].parts[0])
    assert answer.cost == 0.25 * len(chat.conversations)


# --- clauses


def test_false_as_a_word_is_no_answer() -> None:
    """In the published script this word counts as a pass."""
    answer, _ = by_clauses(WRONG, lambda raw, before: raw.replace('"fulfilled": false', '"fulfilled": "false"'))
    assert "fulfilled" in not_understood(answer).detail
    not_understood(by_clauses(WRONG, lambda raw, before: raw.replace('"holds": false', '"holds": "false"'))[0])
    as_published: Spoil = lambda raw, before: raw.replace("false", '"false"')  # noqa: E731
    not_understood(by_clauses(WRONG, as_published, answers="published")[0])


@pytest.mark.parametrize(
    "reworded",
    [
        *("(HasColor ?c 'Black')", "(HasColor ?cat 'black')", "HasColor ?c 'black'", '(HasColor ?c "black")'),
        *("the cat is black", ""),
    ],
)
def test_a_reworded_clause_is_asked_for_again_and_then_not_understood(reworded: str) -> None:
    answer, chat = by_clauses(RIGHT, changed(lambda answer: answer["clauses"][3].update(clause=reworded)))
    assert "(HasColor ?c 'black')" in not_understood(answer).detail
    assert (len(answer.evidence["answers"]), answer.cost, len(chat.conversations)) == (2, 0.5, 2)


def test_only_blanks_may_differ() -> None:
    answer, chat = by_clauses(
        RIGHT, changed(lambda answer: answer["clauses"][3].update(clause="( HasColor\n ?c   'black' ) "))
    )
    assert verdict(answer).passed
    assert len(chat.conversations) == 1
    assert normalize_clause("(or (not (Is ?x 'toy  car') ) (On ?x ?y))") == "(or (not (Is ?x 'toy car')) (On ?x ?y))"
    assert normalize_clause("(Is ?x 'toycar')") != normalize_clause("(Is ?x 'toy car')")


def test_clauses_left_out_or_said_both_ways_are_not_understood() -> None:
    answer, _ = by_clauses(RIGHT, changed(lambda answer: answer["clauses"].pop()))
    assert "leaves out (HasColor ?c 'black')" in not_understood(answer).detail
    both = changed(lambda answer: answer["clauses"].append({**answer["clauses"][0], "holds": False}))
    assert "both" in not_understood(by_clauses(RIGHT, both)[0]).detail
    same = changed(lambda answer: answer["clauses"].append(answer["clauses"][0]))
    assert verdict(by_clauses(RIGHT, same)[0]).passed


def test_clauses_that_nobody_asked_for_are_recorded_and_change_nothing() -> None:
    extra = {"clause": "(HasState ?c 'asleep')", "because": "closed eyes", "holds": False}
    answer, chat = by_clauses(RIGHT, changed(lambda answer: answer["clauses"].insert(1, extra)))
    assert (verdict(answer).passed, answer.score, len(chat.conversations)) == (True, 1, 1)
    assert answer.evidence["unknown_clauses"] == ["(HasState ?c 'asleep')"]
    assert "contradiction" not in answer.evidence


def test_a_verdict_against_its_clauses_is_recorded_and_the_option_says_what_counts() -> None:
    true = changed(lambda answer: answer.update(fulfilled=True))
    answer, _ = by_clauses(WRONG, true)
    assert (verdict(answer).passed, answer.score) == (True, 3 / 4)
    assert "the verdict is true" in str(answer.evidence["contradiction"])
    assert "(HasColor ?c 'white')" in str(answer.evidence["contradiction"])
    answer, _ = by_clauses(WRONG, true, decide="clauses")
    assert not verdict(answer).passed
    assert "contradiction" in answer.evidence
    assert answer.evidence["fulfilled"] is True
    false = changed(lambda answer: answer.update(fulfilled=False))
    answer, _ = by_clauses(RIGHT, false)
    assert not verdict(answer).passed
    assert answer.evidence["contradiction"] == "the verdict is false, but every clause is said to hold"
    assert verdict(by_clauses(RIGHT, false, decide="clauses")[0]).passed


def test_in_the_published_form_what_is_not_listed_does_not_hold() -> None:
    answer, chat = by_clauses(RIGHT, changed(lambda answer: answer["satisfied_clauses"].pop()), answers="published")
    assert verdict(answer).passed
    assert [part.score for part in answer.parts] == [1, 1, 1, 0]
    assert "(HasColor ?c 'black')" in str(answer.evidence["contradiction"])
    assert len(chat.conversations) == 1
    reword = changed(lambda answer: answer["satisfied_clauses"].__setitem__(3, "a black cat"))
    answer, _ = by_clauses(RIGHT, reword, answers="published")
    assert verdict(answer).passed
    assert answer.evidence["unknown_clauses"] == ["a black cat"]
    answer, chat = by_clauses(RIGHT, reword, answers="published", decide="clauses")
    assert "a black cat" in not_understood(answer).detail
    assert len(chat.conversations) == 2


def test_prose_around_the_answer_does_not_matter_and_half_an_answer_does() -> None:
    answer, _ = by_clauses(RIGHT, lambda raw, before: f"<think>Hm.</think>Here it is:\n```json\n{raw}\n```")
    assert verdict(answer).passed
    not_understood(by_clauses(RIGHT, lambda raw, before: raw[:-20])[0])


# --- yes or no

NO_ANSWERS = (
    *("Yes, but only partly", "yes and no", "Yes/No", "Not sure", "N/A", "Ja", "oui", "是", "", " ", "y", "true", "1"),
    *("nope", "Yes. No.", "no idea", "yesno", "**Yes**", "yeſ", "I'm sorry, but I can't help with that."),
)


@pytest.mark.parametrize("requests", MODES)
@pytest.mark.parametrize("words", NO_ANSWERS)
def test_what_is_neither_yes_nor_no_is_asked_for_again_and_then_not_understood(words: str, requests: Any) -> None:
    answer, chat = by_questions({**YES_YES_NO, RED.question: words}, requests=requests)
    assert "neither yes nor no" in not_understood(answer).detail
    if requests == "all at once":
        assert answer.detail.startswith("3 of 3 questions have no answer: test/scripted ")
        assert len(chat.conversations) == 2
        return
    assert answer.detail.startswith("1 of 3 questions have no answer (Is the cat red?): test/scripted ")
    times = Counter(questions_in(str(messages[0].parts[2]))[0] for messages in chat.conversations)
    assert [times[concept.question] for concept in (CAT, RED, GLASS)] == [1, 2, 1]
    assert answer.cost == 4 * 0.25
    evidence = json.loads(json.dumps(answer.evidence))
    observed = [(entry["question"], entry["answer"]) for entry in evidence["observations"]]
    assert observed == [(CAT.question, "yes"), (GLASS.question, "no")], "the answers that did come are kept"
    assert [len(entry["raw"]) for entry in evidence["answers"]] == [1, 2, 1]


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
    expected = word in ("yes", "no") and word in text.lower()
    # Rare blanks, such as the form feed, may go either way; they never make a yes of a no.
    if all(letter in _AROUND or letter.isprintable() for letter in text):
        assert (parse_yes_no(text) is not None) is expected
    if parse_yes_no(text) is not None:
        assert parse_yes_no(text) is ("yes" in text.lower())


@given(st.lists(st.integers(-1, 5), max_size=6))
@example([1, 2, 3])
def test_all_at_once_every_question_is_answered_once_and_in_order_or_nothing_counts(numbers: list[int]) -> None:
    raw = json.dumps({"answers": [{"number": n, "observation": "", "answer": "yes"} for n in numbers]})
    answer, chat = by_questions(YES_YES_NO, lambda right, before: raw, requests="all at once")
    if numbers == [1, 2, 3]:
        assert verdict(answer).passed
        assert len(chat.conversations) == 1
        return
    assert "it must answer the questions 1 to 3, each once and in this order" in not_understood(answer).detail
    assert len(chat.conversations) == 2


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
    assert not_understood(by_questions(YES_YES_NO, lambda right, before: raw)[0]).evidence["observations"] == []


def test_what_served_the_answers_is_told_also_where_it_was_not_the_same() -> None:
    assert by_questions(YES_YES_NO)[0].evidence["served"] == {"model": "scripted-1"}

    class Changing(ScriptedChat):
        async def ask(self, messages: Any, answer_type: Any) -> Any:
            reply = await super().ask(messages, answer_type)
            assert isinstance(reply, Answered)
            return replace(reply, served={"model": f"m{len(self.conversations) > 2:d}", "at": "x"})

    chat = Changing({1: NOTHING}, answers_by(YES_YES_NO), concurrency=1)
    answer = asyncio.run(QuestionJudge(chat).judge(concept_item(CAT, RED, GLASS), numbered(1)))
    assert answer.evidence["served"] == {"model": ["m0", "m1"], "at": "x"}


# --- scores

NO_SCORES: tuple[object, ...] = (
    *(
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
    ),
    *(1.01, -0.5, 5, 50, 1e999, True, None, [0.5], {"value": 1}),
)


def entry(score: object = 1) -> dict[str, object]:
    return {"reasoning": "look", "score": score}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("score", NO_SCORES, ids=repr)
def test_what_is_no_score_is_asked_for_again_and_then_not_understood(score: object, form: str) -> None:
    # Infinity as numbers that no computer holds are written
    answer, chat = by_scores(
        {**SCORES, LEAVES.question: score}, lambda raw, before: raw.replace("Infinity", "1e999"), form
    )
    detail = not_understood(answer).detail
    assert "answered twice what cannot be: the score of question 2 is " in detail
    assert detail.endswith(", which is no number from 0 to 1")
    assert (len(chat.conversations), answer.cost) == (2, 0.5)
    assert "scores" not in answer.evidence, "never in part"
    assert len(answer.evidence["answers"][0]["raw"]) == 2
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
def test_only_numbers_from_0_to_1_are_scores_also_in_quotes(value: object) -> None:
    expected = None
    if type(value) in (int, float) and 0 <= value <= 1:  # type: ignore[operator]
        expected = float(value)  # type: ignore[arg-type]
    if isinstance(value, str):
        whole, dot, rest = value.partition(".")
        digits = [whole, rest] if dot else [whole]
        if all(piece.isascii() and piece.isdigit() for piece in digits) and float(value) <= 1:
            expected = float(value)
    assert parse_score(value) == expected
    assert str(parse_score(value)) != "-0.0"


@given(st.permutations([1, 2, 3]) | st.lists(st.integers(-1, 5), max_size=5))
def test_a_list_has_every_number_once_and_in_order_or_nothing_counts(numbers: list[int]) -> None:
    raw = json.dumps({"answers": [{"number": number, **entry()} for number in numbers]})
    answer, chat = by_scores(SCORES, lambda right, before: raw)
    if numbers == [1, 2, 3]:
        verdict(answer)
        return
    assert "it must answer the questions 1 to 3, each once and in this order" in not_understood(answer).detail
    assert len(chat.conversations) == 2


@given(st.permutations(["1", "2", "3"]) | st.lists(st.sampled_from(_NAMES), unique=True))
def test_the_published_object_has_every_number_or_nothing_counts(names: list[str]) -> None:
    raw = json.dumps({name: entry(int(name) / 10 if name in "123" else 1) for name in names})
    answer, chat = by_scores(SCORES, lambda right, before: raw, "published")
    if sorted(names) == ["1", "2", "3"]:
        assert [part.score for part in verdict(answer).parts] == [0.1, 0.2, 0.3], "an object has no order"
        return
    assert "it must answer the questions 1 to 3" in not_understood(answer).detail
    assert len(chat.conversations) == 2


def test_servers_are_held_to_the_numbers_of_the_questions() -> None:
    for count in (1, 3):
        schema = answer_schema(score_answer_type(count))
        assert schema["required"] == [str(number) for number in range(1, count + 1)]
        assert isinstance(schema["properties"], dict)
        assert list(schema["properties"]) == schema["required"]
        assert schema["additionalProperties"] is False


def test_twelve_questions_in_the_published_form_keep_their_places() -> None:
    questions = [type(SHARP)("logic", f"Number {number}?", "1: yes. 0: no.", 8) for number in range(12)]
    scores: dict[str, object] = {question.question: place / 20 for place, question in enumerate(questions)}
    chat = ScriptedChat({1: NOTHING}, scores_by(scores, "published"))
    answer = asyncio.run(ScoreJudge(chat, answers="published").judge(score_item(*questions), numbered(1)))
    assert [part.score for part in verdict(answer).parts] == list(scores.values())


_THREE = [{"number": number, **entry()} for number in (1, 2, 3)]
_NAMED = {str(number): entry() for number in (1, 2, 3)}


@pytest.mark.parametrize(
    ("form", "raw"),
    [
        ("numbered", json.dumps(_THREE)),
        ("numbered", json.dumps(_NAMED)),
        ("numbered", json.dumps({"answers": _NAMED})),
        ("numbered", json.dumps({"answers": [{**row, "number": str(row["number"])} for row in _THREE]})),
        ("numbered", json.dumps({"answers": [{"number": row["number"], "score": 1} for row in _THREE]})),
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
def test_other_forms_of_scores_are_not_understood(form: str, raw: str) -> None:
    answer, _ = by_scores(SCORES, lambda right, before: raw, form)
    assert not_understood(answer).evidence["answers"][0]["raw"] == ([raw] if raw else [])  # type: ignore[index]
