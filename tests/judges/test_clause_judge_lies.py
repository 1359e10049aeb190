"""The Natural judge does not accept every answer: lies, slips and silence differ, and none is a silent 0 or 1."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest

from formalimg import Box, Scene, SceneObject, parse
from formalimg.benchmarks.formal.spec import FormulaSpec
from formalimg.judges.clause_judge import ClauseJudge, normalize_clause
from formalimg.models.base import Unanswered
from formalimg.scenes.scene import SceneRelation
from formalimg.types import Item, Unscored, Verdict
from tests.support.scripted_chat import Known, ScriptedChat, Spoil, judges_as_published, judges_clauses, numbered

CAT = SceneObject("cat", Box(100, 100, 200, 200), "black")
SOFA = SceneObject("sofa", Box(400, 100, 800, 400), "red")
ROOM = Known(Scene.of([CAT, SOFA], [SceneRelation("On", 0, 1)]), "photo")
RIGHT = "(exists ?c (exists ?s (and (Is ?c 'cat') (Is ?s 'sofa') (On ?c ?s) (HasColor ?c 'black'))))"
WRONG = RIGHT.replace("black", "white")


def run_judge(formula: str, spoil: Spoil, **options: Any) -> tuple[Verdict | Unscored, ScriptedChat]:
    script = judges_as_published if options.get("answers") == "published" else judges_clauses
    chat = ScriptedChat({1: ROOM}, script, spoil)
    item = Item("natural", "7", 2, "A cat on a sofa.", FormulaSpec.of(parse(formula)))
    return asyncio.run(ClauseJudge(chat, **options).judge(item, numbered(1))), chat


def changed(change: Callable[[dict[str, Any]], object], *, first_only: bool = False) -> Spoil:
    """Answers with something changed in them."""

    def spoil(raw: str, before: int) -> str:
        answer = json.loads(raw)
        if not (first_only and before):
            change(answer)
        return json.dumps(answer)

    return spoil


def not_understood(answer: Verdict | Unscored) -> Unscored:
    assert isinstance(answer, Unscored), answer
    assert answer.reason == "not understood"
    return answer


def verdict(answer: Verdict | Unscored) -> Verdict:
    assert isinstance(answer, Verdict), answer
    return answer


def test_false_as_a_word_is_no_answer() -> None:
    """In the published script this word counts as a pass."""
    answer, _ = run_judge(WRONG, lambda raw, before: raw.replace('"fulfilled": false', '"fulfilled": "false"'))
    assert "fulfilled" in not_understood(answer).detail
    answer, _ = run_judge(WRONG, lambda raw, before: raw.replace('"holds": false', '"holds": "false"'))
    not_understood(answer)
    as_published: Spoil = lambda raw, before: raw.replace("false", '"false"')  # noqa: E731
    not_understood(run_judge(WRONG, as_published, answers="published")[0])


@pytest.mark.parametrize(
    "reworded",
    [
        "(HasColor ?c 'Black')",
        "(HasColor ?cat 'black')",
        "HasColor ?c 'black'",
        '(HasColor ?c "black")',
        "the cat is black",
        "",
    ],
)
def test_a_reworded_clause_is_asked_for_again_and_then_not_understood(reworded: str) -> None:
    change = changed(lambda answer: answer["clauses"][3].update(clause=reworded))
    answer, chat = run_judge(RIGHT, change)
    assert "(HasColor ?c 'black')" in not_understood(answer).detail
    assert len(answer.evidence["answers"]) == 2  # type: ignore[arg-type]
    assert answer.cost == 0.5
    assert len(chat.conversations) == 2
    assert "\n" not in not_understood(answer).detail


def test_who_mends_the_slip_when_told_of_it_is_scored() -> None:
    change = changed(lambda answer: answer["clauses"][3].update(clause="black cat"), first_only=True)
    answer, chat = run_judge(RIGHT, change)
    assert verdict(answer).passed
    assert answer.cost == 0.5
    question, slip, reminder = chat.conversations[1]
    assert question == chat.conversations[0][0]
    assert (slip.role, reminder.role) == ("assistant", "user")
    assert "black cat" in str(slip.parts[0])
    assert "leaves out (HasColor ?c 'black') and it judges clauses that were not given: black cat" in str(
        reminder.parts
    )


def test_only_blanks_may_differ() -> None:
    answer, chat = run_judge(
        RIGHT, changed(lambda answer: answer["clauses"][3].update(clause="( HasColor\n ?c   'black' ) "))
    )
    assert verdict(answer).passed
    assert len(chat.conversations) == 1
    assert normalize_clause("(or (not (Is ?x 'toy  car') ) (On ?x ?y))") == "(or (not (Is ?x 'toy car')) (On ?x ?y))"
    assert normalize_clause("(Is ?x 'toycar')") != normalize_clause("(Is ?x 'toy car')")


def test_a_clause_left_out_is_not_taken_for_either_although_the_verdict_is_true() -> None:
    answer, _ = run_judge(RIGHT, changed(lambda answer: answer["clauses"].pop()))
    assert "leaves out (HasColor ?c 'black')" in not_understood(answer).detail


def test_clauses_that_nobody_asked_for_are_recorded_and_change_nothing() -> None:
    extra = {"clause": "(HasState ?c 'asleep')", "because": "closed eyes", "holds": False}
    answer, chat = run_judge(RIGHT, changed(lambda answer: answer["clauses"].insert(1, extra)))
    assert verdict(answer).passed
    assert verdict(answer).score == 1
    assert answer.evidence["unknown_clauses"] == ["(HasState ?c 'asleep')"]
    assert "contradiction" not in answer.evidence
    assert len(chat.conversations) == 1


def test_a_clause_said_to_hold_and_not_to_hold_is_not_understood() -> None:
    both = changed(lambda answer: answer["clauses"].append({**answer["clauses"][0], "holds": False}))
    assert "both" in not_understood(run_judge(RIGHT, both)[0]).detail
    same = changed(lambda answer: answer["clauses"].append(answer["clauses"][0]))
    assert verdict(run_judge(RIGHT, same)[0]).passed


def test_a_verdict_against_its_clauses_is_recorded_and_the_option_says_what_counts() -> None:
    true = changed(lambda answer: answer.update(fulfilled=True))
    answer, _ = run_judge(WRONG, true)
    assert verdict(answer).passed
    assert verdict(answer).score == 3 / 4
    assert "the verdict is true" in str(answer.evidence["contradiction"])
    assert "(HasColor ?c 'white')" in str(answer.evidence["contradiction"])
    answer, _ = run_judge(WRONG, true, decide="clauses")
    assert not verdict(answer).passed
    assert "contradiction" in answer.evidence
    assert answer.evidence["fulfilled"] is True

    false = changed(lambda answer: answer.update(fulfilled=False))
    answer, _ = run_judge(RIGHT, false)
    assert not verdict(answer).passed
    assert answer.evidence["contradiction"] == "the verdict is false, but every clause is said to hold"
    assert verdict(run_judge(RIGHT, false, decide="clauses")[0]).passed


def test_in_the_published_form_what_is_not_listed_does_not_hold() -> None:
    answer, chat = run_judge(RIGHT, changed(lambda answer: answer["satisfied_clauses"].pop()), answers="published")
    assert verdict(answer).passed
    assert [part.score for part in verdict(answer).parts] == [1, 1, 1, 0]
    assert "(HasColor ?c 'black')" in str(answer.evidence["contradiction"])
    assert len(chat.conversations) == 1


def test_in_the_published_form_reworded_clauses_are_recorded_but_decide_nothing() -> None:
    reword = changed(lambda answer: answer["satisfied_clauses"].__setitem__(3, "a black cat"))
    answer, _ = run_judge(RIGHT, reword, answers="published")
    assert verdict(answer).passed
    assert answer.evidence["unknown_clauses"] == ["a black cat"]
    answer, chat = run_judge(RIGHT, reword, answers="published", decide="clauses")
    assert "a black cat" in not_understood(answer).detail
    assert len(chat.conversations) == 2


@pytest.mark.parametrize(
    ("kind", "reason", "word"),
    [
        ("failed", "judge failed", "did not answer: busy: 429"),
        ("refused", "judge failed", "declined to look: busy: 429"),
        ("unreadable", "not understood", "cannot be read: busy: 429"),
    ],
)
def test_silence_is_unscored_with_its_own_reason(kind: Any, reason: str, word: str) -> None:
    for silent_from in (0, 1):  # at once, or when asked again

        def spoil(raw: str, before: int, silent_from: int = silent_from) -> str | Unanswered:
            if before >= silent_from:
                return Unanswered(kind, "busy: 429", cost=None)
            return json.dumps({**json.loads(raw), "clauses": []})

        answer, _ = run_judge(RIGHT, spoil)
        assert isinstance(answer, Unscored)
        assert answer.reason == reason
        assert answer.detail == f"test/scripted {'gave answers that ' if kind == 'unreadable' else ''}{word}"
        assert len(answer.evidence["answers"]) == silent_from  # type: ignore[arg-type]
        assert answer.cost is None


def test_prose_around_the_answer_does_not_matter_and_half_an_answer_does() -> None:
    answer, _ = run_judge(RIGHT, lambda raw, before: f"<think>Hm.</think>Here it is:\n```json\n{raw}\n```")
    assert verdict(answer).passed
    not_understood(run_judge(RIGHT, lambda raw, before: raw[:-20])[0])
