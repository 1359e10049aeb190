"""Judging by logic: from a grounder's scene to a verdict, or to the reason why there is none."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from io import BytesIO

import pytest
from PIL import Image

from formalimg import Box, FormulaError, Scene, SceneObject, parse, verify
from formalimg.benchmarks.formal.spec import NO_FORMULA, FormulaSpec
from formalimg.judges.base import Grounding, LoadedImage
from formalimg.judges.scene_judge import LayoutJudge, SceneJudge, judge_grounding
from formalimg.types import Item, Judge, Part, Setting, Unscored, Verdict

DESK = Scene.of(
    [
        SceneObject("laptop", Box(120, 100, 520, 400), "gray"),
        SceneObject("cup", Box(640, 329, 760, 449), "white"),
        SceneObject("pen", Box(150, 560, 450, 590), "blue"),
    ]
)
CUP = "(exists ?c (exists ?l (and (Is ?c 'cup') (Is ?l 'laptop') (RightOf ?c ?l) (Has ?c '{color}'))))"


@dataclass
class SeesThis:
    """A grounder that has made up its mind."""

    answer: Grounding | Unscored
    name: str = "test/sees-this"
    settings: Mapping[str, Setting] = field(default_factory=lambda: {"sharpness": 3})
    concurrency: int = 7
    asked_for: list[Sequence[str]] = field(default_factory=list)

    async def ground(self, image: LoadedImage, classes: Sequence[str]) -> Grounding | Unscored:
        self.asked_for.append(classes)
        return self.answer


def image() -> LoadedImage:
    image = Image.new("RGB", (8, 8))
    file = BytesIO()
    image.save(file, "PNG")
    return LoadedImage(file.getvalue(), image)


def item(formula: str) -> Item[object]:
    return Item("knolling", "1", 2, "words", FormulaSpec.of(parse(formula)))


def judged(formula: str, answer: Grounding | Unscored) -> Verdict | Unscored:
    judge: Judge = SceneJudge(SeesThis(answer))
    return asyncio.run(judge.judge(item(formula), image()))


def verdict_on(formula: str, scene: Scene = DESK) -> Verdict:
    verdict = judged(formula, Grounding(scene))
    assert isinstance(verdict, Verdict)
    return verdict


def test_an_image_that_shows_it_passes_in_every_part() -> None:
    verdict = verdict_on(CUP.format(color="white"))
    assert verdict.passed
    assert verdict.score == 1
    assert [part.score for part in verdict.parts] == [1, 1, 1, 1]


def test_an_image_that_does_not_fails_in_the_part_that_is_wrong() -> None:
    verdict = verdict_on(CUP.format(color="red"))
    assert not verdict.passed
    assert verdict.score == 3 / 4
    assert verdict.parts[2] == Part(
        "(RightOf ?c ?l)",
        "relation",
        1.0,
        about=("RightOf",),
        reason="?c = white cup #1, ?l = gray laptop #0: left edge 640 > centre x 320",
    )
    assert verdict.parts[3] == Part(
        "(Has ?c 'red')", "attribute", 0.0, about=("Has",), reason="?c = white cup #1: is white"
    )


def test_the_evidence_is_plain_data_and_enough_to_judge_again() -> None:
    formula = CUP.format(color="red")
    verdict = judged(formula, Grounding(DESK, 0.75, {"raw": "two boxes"}))
    assert isinstance(verdict, Verdict)
    evidence = json.loads(json.dumps(verdict.evidence))
    assert list(evidence) == ["scene", "confidence", "grounder", "explanation", "bindings"]
    assert evidence["confidence"] == 0.75
    assert evidence["grounder"] == {"raw": "two boxes"}
    assert evidence["bindings"] == {"c": 1, "l": 0}
    again = verify(formula, Scene.from_json(evidence["scene"]))
    assert again.passed is verdict.passed
    assert again.explain() == evidence["explanation"]
    assert "grounder" not in verdict_on(formula).evidence


def test_the_grounder_is_asked_for_the_classes_of_the_formula() -> None:
    grounder = SeesThis(Grounding(DESK))
    asyncio.run(SceneJudge(grounder).judge(item(CUP.format(color="red")), image()))
    assert grounder.asked_for == [("cup", "laptop")]


def test_what_the_grounder_cannot_tell_is_passed_on() -> None:
    unsure = Unscored("not understood", "confidence 0.2")
    assert judged(CUP.format(color="red"), unsure) is unsure


@pytest.mark.parametrize(
    ("formula", "word"),
    [
        ("(exists ?a (exists ?b (On ?a ?b)))", "does not record On"),
        ("(exists ?a (HasMaterial ?a 'wooden'))", "no material"),
        ("(and (IsStyle 'photo') (exists ?a (Is ?a 'cup')))", "style"),
    ],
)
def test_what_a_scene_cannot_tell_is_unscored_with_what_was_seen(formula: str, word: str) -> None:
    """Also the style, although the item says which one it wants: what is wanted is not what was seen."""
    answer = judged(formula, Grounding(DESK))
    assert isinstance(answer, Unscored)
    assert answer.reason == "not understood"
    assert word in answer.detail
    assert "\n" not in answer.detail
    assert answer.evidence["scene"] == DESK.to_json()


def test_an_item_without_a_formula_is_unscored_and_nobody_looks() -> None:
    grounder = SeesThis(Grounding(DESK))
    answer = asyncio.run(SceneJudge(grounder).judge(Item("other", "9", 1, "words", {"questions": 3}), image()))
    assert isinstance(answer, Unscored)
    assert answer.reason == "not understood"
    assert not grounder.asked_for


def test_an_empty_image_fails_and_is_not_unscored() -> None:
    verdict = verdict_on(CUP.format(color="red"), Scene.of([]))
    assert not verdict.passed
    assert verdict.score == 0
    assert verdict.evidence["bindings"] == {}


def test_a_formula_with_too_many_clauses_is_judged_as_a_whole() -> None:
    pairs = " ".join(f"(and (Has ?x 'c{n}') (OnLeftSide ?x))" for n in range(15))
    for more, passed in (("(Is ?x 'cup')", True), ("(Is ?x 'pizza')", False)):
        formula = f"(exists ?x (or {pairs} {more}))"
        verdict = verdict_on(formula)
        assert verdict.passed is passed
        assert verdict.parts == (Part(formula, "formula", float(passed), about=("Has", "Is", "OnLeftSide")),)


def test_a_broken_formula_is_an_error_and_not_a_verdict() -> None:
    with pytest.raises(FormulaError):
        judge_grounding(parse("(Is ?x 'cup')"), Grounding(DESK))


def test_the_judge_is_known_by_its_grounder_and_its_rules() -> None:
    judge = SceneJudge(SeesThis(Grounding(DESK)))
    assert (judge.name, judge.concurrency) == ("test/sees-this", 7)
    assert judge.settings == {"sharpness": 3, "semantics": "strict", "judging_rules": 1}


def test_a_scene_of_very_many_objects_is_not_judged() -> None:
    many = [SceneObject("cup", Box(n % 90, n // 90, n % 90 + 9, n // 90 + 9), "red") for n in range(3000)]
    answer = judged(CUP.format(color="red"), Grounding(Scene.of(many), cost=0.5))
    assert isinstance(answer, Unscored)
    assert (answer.reason, answer.cost) == ("not understood", 0.5)
    assert "3,000 objects were found, the limit is 1,000" in answer.detail
    assert isinstance(judged(CUP.format(color="red"), Grounding(Scene.of(many[:1000]))), Verdict)


def test_a_predicate_that_no_scene_decides_leaves_the_image_unscored() -> None:
    found = judged("(exists ?c (exists ?p (and (Is ?c 'cup') (Is ?p 'pen') (Behind ?c ?p))))", Grounding(DESK))
    assert isinstance(found, Unscored)
    assert (found.reason, found.detail) == ("not understood", "a scene cannot decide Behind: did you mean In?")


def test_objects_are_looked_for_by_the_published_classes() -> None:
    grounder = SeesThis(Grounding(DESK))
    spec = FormulaSpec(parse("(exists ?c (Is ?c 'cup'))"), classes=("pen", "cup"))
    asyncio.run(SceneJudge(grounder).judge(Item("knolling", "1", 1, "words", spec), image()))
    assert grounder.asked_for == [("pen", "cup")]


def test_without_a_formula_nobody_looks_at_the_image() -> None:
    grounder = SeesThis(Grounding(DESK))
    judge = SceneJudge(grounder)
    odd: Item[object] = Item("knolling", "1", 1, "words", FormulaSpec(NO_FORMULA, unreadable="(Is ?x 'cup')"))
    for found in (asyncio.run(judge.judge(odd, image())), asyncio.run(LayoutJudge().judge(odd, image()))):
        assert isinstance(found, Unscored)
        assert found.detail.startswith("item 1 of knolling: the published dsl is no formula to judge by: line 1")
    assert (judge.questions(odd), grounder.asked_for) == (0, [])
