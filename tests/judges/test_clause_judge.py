"""The Natural judge: a chat model that follows the rules is scored right, whatever the image shows."""

from __future__ import annotations

import asyncio
import json

import pytest

from formalimg import Box, Scene, SceneObject, load, parse, verify
from formalimg.benchmarks.formal.spec import FormulaSpec
from formalimg.judges.clause_judge import ClauseJudge
from formalimg.logic.prenex import to_prenex
from formalimg.logic.soft_score.best_binding import best_binding
from formalimg.logic.syntax import Forall, subformulas
from formalimg.models.base import Attachment
from formalimg.scenes.scene import SceneRelation
from formalimg.types import Item, Judge, Part, Unscored, Verdict
from tests.support.natural_scenes import broken, fulfilling
from tests.support.scripted_chat import Known, ScriptedChat, judges_as_published, judges_clauses, numbered

Case = tuple[str, Item[FormulaSpec], Known]

CAT = SceneObject("cat", Box(100, 100, 200, 200), "black", "other", "other", ("sleeping",))
SOFA = SceneObject("sofa", Box(400, 100, 800, 400), "red", "leather", "other", ("other",))
ROOM = Known(Scene.of([CAT, SOFA], [SceneRelation("On", 0, 1)]), "photo")
ON_SOFA = (
    "(and (IsStyle 'photo') (exists ?c (exists ?s (and (Is ?c 'cat') (Is ?s 'sofa') (On ?c ?s) (HasColor ?c '{}')))))"
)
ALL_CATS = "(forall ?c (implies (Is ?c 'cat') (and (HasColor ?c 'black') (HasState ?c 'sleeping'))))"
ALL_DOGS = ALL_CATS.replace("cat", "dog")


def an_item(formula: str) -> Item[FormulaSpec]:
    return Item("natural", "7", 2, "A black cat on a sofa.", FormulaSpec.of(parse(formula)))


def judged(formula: str, shows: Known = ROOM, chat: ScriptedChat | None = None) -> Verdict | Unscored:
    judge: Judge = ClauseJudge(chat or ScriptedChat({1: shows}, judges_clauses))
    return asyncio.run(judge.judge(an_item(formula), numbered(1)))


def outcomes(verdict: Verdict | Unscored) -> dict[str, float]:
    assert isinstance(verdict, Verdict), verdict
    return {part.name: part.score for part in verdict.parts}


def known_cases() -> list[Case]:
    """Five images for items of every level, half of the items with a `forall`: a right one, and four wrong ones."""
    found: list[Case] = []
    items = [item for item in load("natural") if item.spec.style]
    for level in range(1, 11):
        for item in (item for item in items if item.level == level):
            right = fulfilling(item.spec.formula)
            has_forall = any(isinstance(part, Forall) for part in subformulas(item.spec.formula))
            wrong = [(how, known) for how, known in broken(right) if not _passes(item, known)]
            if has_forall is (level % 2 == 0) and _passes(item, right) and len(wrong) >= 4:
                found += [("as wanted", item, right)] + [(how, item, known) for how, known in wrong[:4]]
                break
    return found


def _passes(item: Item[FormulaSpec], known: Known) -> bool:
    return verify(item.spec.formula, known.scene, style=known.style).passed


def _expected(item: Item[FormulaSpec], known: Known) -> dict[str, bool]:
    """Clause by clause from the formula itself: what hangs on an object that is not there does not hold."""
    found = best_binding(item.spec.formula, known.scene, style=known.style).clauses
    clauses = {clause.text: clause for clause in to_prenex(item.spec.formula).clauses}
    absent = {
        name.removeprefix("some_")
        for judged in found
        if judged.clause.text not in clauses and not judged.holds
        for name in judged.clause.variables
    }
    return {
        judged.clause.text: judged.holds and absent.isdisjoint(judged.clause.variables)
        for judged in found
        if judged.clause.text in clauses
    }


def test_a_judge_that_follows_the_rules_is_scored_right_in_fifty_known_cases() -> None:
    cases = known_cases()
    assert len(cases) == 50
    images = {number: known for number, (_, _, known) in enumerate(cases)}
    judge = ClauseJudge(ScriptedChat(images, judges_clauses))
    passed = 0
    for number, (how, item, known) in enumerate(cases):
        verdict = asyncio.run(judge.judge(item, numbered(number)))
        assert isinstance(verdict, Verdict), verdict
        assert verdict.passed is (how == "as wanted"), (how, item.prompt)
        assert outcomes(verdict) == _expected(item, known), (how, item.prompt)
        assert (verdict.score == 1) is verdict.passed
        assert "contradiction" not in verdict.evidence
        passed += verdict.passed
    assert passed == 10


def test_every_clause_is_a_part_with_its_kind_and_predicates() -> None:
    verdict = judged(ON_SOFA.format("white"))
    assert isinstance(verdict, Verdict)
    assert not verdict.passed
    assert verdict.parts == (
        Part("(IsStyle 'photo')", "style", 1.0, about=("IsStyle",), reason="look"),
        Part("(Is ?c 'cat')", "object", 1.0, about=("Is",), reason="look"),
        Part("(Is ?s 'sofa')", "object", 1.0, about=("Is",), reason="look"),
        Part("(On ?c ?s)", "relation", 1.0, about=("On",), reason="look"),
        Part("(HasColor ?c 'white')", "attribute", 0.0, about=("HasColor",), reason="look"),
    )
    assert [part.kind for part in _verdict(ALL_CATS).parts] == ["condition", "condition"]
    assert _verdict(ALL_CATS).parts[0].about == ("HasColor", "Is")


def _verdict(formula: str) -> Verdict:
    verdict = judged(formula)
    assert isinstance(verdict, Verdict)
    return verdict


def test_nothing_holds_for_lack_of_objects() -> None:
    assert _verdict(ALL_CATS).passed
    assert not _verdict(ALL_DOGS).passed
    assert set(outcomes(_verdict(ALL_DOGS)).values()) == {0.0}


def test_an_empty_image_shows_nothing_but_its_style() -> None:
    verdict = judged(ON_SOFA.format("black"), Known(Scene.of([], []), "photo"))
    assert outcomes(verdict) == {
        "(IsStyle 'photo')": 1,
        "(Is ?c 'cat')": 0,
        "(Is ?s 'sofa')": 0,
        "(On ?c ?s)": 0,
        "(HasColor ?c 'black')": 0,
    }


def test_a_clause_that_stands_twice_is_asked_for_once_and_counts_twice() -> None:
    twice = "(and (exists ?x (Is ?x 'cat')) (IsStyle 'photo') (IsStyle 'photo'))"
    chat = ScriptedChat({1: ROOM}, judges_clauses)
    verdict = judged(twice, chat=chat)
    assert isinstance(verdict, Verdict)
    assert [part.name for part in verdict.parts] == ["(Is ?x 'cat')", "(IsStyle 'photo')", "(IsStyle 'photo')"]
    assert verdict.passed


def test_words_logic_and_image_go_out_in_one_question() -> None:
    chat = ScriptedChat({1: ROOM}, judges_clauses)
    judged(ALL_CATS, chat=chat)
    [[message]] = chat.conversations
    _, image, words = message.parts
    assert isinstance(words, str)
    assert "\nA black cat on a sofa.\n" in words
    assert f"\n{to_prenex(ALL_CATS).text}\n" in words
    assert image == Attachment(numbered(1).data, "image/png")


def test_the_evidence_is_plain_data_with_the_answer_as_it_came() -> None:
    verdict = _verdict(ON_SOFA.format("white"))
    evidence = json.loads(json.dumps(verdict.evidence))
    assert list(evidence) == ["explanation", "fulfilled", "answers", "served"]
    assert evidence["explanation"] == "black other other sleeping cat red leather other other sofa".replace(
        " other", ""
    )
    assert evidence["fulfilled"] is False
    assert json.loads(evidence["answers"][0])["clauses"][0]["clause"] == "(IsStyle 'photo')"
    assert evidence["served"] == {"model": "scripted-1"}
    assert verdict.cost == 0.25


def test_the_published_form_gives_the_same_verdicts() -> None:
    for formula in (ON_SOFA.format("black"), ON_SOFA.format("white"), ALL_CATS, ALL_DOGS):
        chat = ScriptedChat({1: ROOM}, judges_as_published)
        judge = ClauseJudge(chat, answers="published")
        assert outcomes(asyncio.run(judge.judge(an_item(formula), numbered(1)))) == outcomes(judged(formula))


def test_an_item_without_a_formula_is_unscored_and_nobody_looks() -> None:
    chat = ScriptedChat({1: ROOM}, judges_clauses)
    answer = asyncio.run(ClauseJudge(chat).judge(Item("other", "9", 1, "words", {"questions": 3}), numbered(1)))
    assert isinstance(answer, Unscored)
    assert answer.reason == "not understood"
    assert not chat.conversations


def test_the_judge_is_known_by_its_model_its_options_and_its_texts() -> None:
    chat = ScriptedChat({}, judges_clauses)
    judge = ClauseJudge(chat)
    assert (judge.name, judge.concurrency) == ("test/scripted", 3)
    assert judge.settings == {
        "temperature": 0.1,
        "decide": "verdict",
        "answers": "each clause",
        "prompt": "clause-judge, version 2",
        "prompt_again": "clause-judge-again, version 1",
        "judging_rules": 1,
    }
    assert ClauseJudge(chat, decide="clauses").settings != judge.settings
    assert ClauseJudge(chat, answers="published").settings["prompt"] == "clause-judge-published, version 2"


@pytest.mark.parametrize("option", [{"decide": "dice"}, {"answers": "none"}])
def test_wrong_options_are_told(option: dict[str, str]) -> None:
    with pytest.raises(Exception, match="choose from"):
        ClauseJudge(ScriptedChat({}, judges_clauses), **option)  # type: ignore[arg-type]
