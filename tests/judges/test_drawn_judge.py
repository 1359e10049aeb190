"""`builtin/drawn` goes by the scene that a drawing carries, with the parts of each suite's own judge."""

from __future__ import annotations

import asyncio
import io
from dataclasses import replace
from typing import Any

import pytest
from PIL import Image

from formalimg import Box, Scene, SceneObject, load, parse
from formalimg.benchmarks.conceptmix.judge import QuestionJudge
from formalimg.benchmarks.conceptmix.spec import Binding, BoundObject, ConceptSpec, RequestedConcept
from formalimg.benchmarks.formal.spec import FormulaSpec
from formalimg.benchmarks.questions.spec import QuestionSpec
from formalimg.drawing.icon_scene import layout_png
from formalimg.drawing.scene import DrawnScene
from formalimg.drawing.signed_png import signed_png
from formalimg.errors import FormalimgError
from formalimg.judges.base import LoadedImage
from formalimg.judges.clause_judge import ClauseJudge
from formalimg.judges.drawn_judge import DrawnJudge
from formalimg.judges.factory import open_grounder, open_judge
from formalimg.judges.prompt_judge import PromptJudge
from formalimg.judges.scene_judge import LayoutJudge
from formalimg.models.base import ImageRequest
from formalimg.models.builtin.oracle import compose_drawn_solution
from formalimg.scenes.scene import SceneRelation
from formalimg.types import Item, Judge, Unscored, Verdict
from tests.support.concept_items import CAT, INK, RED, TWO, answers_by
from tests.support.scripted_chat import Known, ScriptedChat, judges_clauses, numbered
from tests.support.sizes import tries

PICTURE = Image.linear_gradient("L").resize((64, 64)).convert("RGB")
A_CAT = SceneObject("cat", Box(100, 100, 300, 300), "red")
ON_TABLE = "(exists ?c (exists ?t (and (Is ?c 'cat') (Is ?t 'table') (On ?c ?t) (HasColor ?c 'red'))))"
TABLE_SCENE = DrawnScene(
    Scene.of(
        [SceneObject("cat", Box(400, 300, 600, 500), "red"), SceneObject("table", Box(200, 500, 800, 900))],
        [SceneRelation("On", 0, 1)],
    )
)


def image_of(drawn: DrawnScene) -> LoadedImage:
    return LoadedImage(signed_png(PICTURE, drawn), PICTURE)


def judged(item: Item[Any], image: LoadedImage, judge: Judge | None = None) -> Verdict | Unscored:
    return asyncio.run((judge or DrawnJudge()).judge(item, image))


def outcomes(item: Item[Any], drawn: DrawnScene) -> dict[str, float]:
    verdict = judged(item, image_of(drawn))
    assert isinstance(verdict, Verdict), verdict
    assert verdict.passed is all(part.score == 1 for part in verdict.parts)
    return {part.name: part.score for part in verdict.parts}


def natural(formula: str) -> Item[FormulaSpec]:
    return Item("natural", "7", 2, "An image.", FormulaSpec.of(parse(formula)))


def cats(*concepts: RequestedConcept) -> Item[ConceptSpec]:
    spec = ConceptSpec(concepts, Binding((BoundObject("cat"),)))
    return Item("conceptmix", "7", 2, "An image.", spec)


@pytest.mark.parametrize("suite", ["natural", "conceptmix"])
def test_what_the_oracle_draws_passes_with_the_parts_of_the_suites_own_judge(suite: str) -> None:
    """Names, kinds, weights and words of the parts are those that a chat model would be asked about."""
    items = load(suite)
    seen = 0
    for item in items[:: tries(173, 19)]:
        drawn = compose_drawn_solution(ImageRequest(item.id, 0, item.prompt, 1, spec=item.spec, suite=suite))
        if not isinstance(drawn, DrawnScene):
            continue
        verdict = judged(item, image_of(drawn))
        assert isinstance(verdict, Verdict), (item.id, verdict)
        assert verdict.passed, (item.id, [part for part in verdict.parts if not part.score])
        asked = judged(item, numbered(1), _chat_judge(item))
        assert isinstance(asked, Verdict), (item.id, asked)
        described = [
            [(part.name, part.kind, part.weight, part.about) for part in one.parts] for one in (verdict, asked)
        ]
        assert described[0] == described[1], item.id
        seen += 1
    assert seen >= 4


def _chat_judge(item: Item[Any]) -> Judge:
    if isinstance(item.spec, ConceptSpec):
        said = {concept.question: "yes" for concept in item.spec.concepts}
        return QuestionJudge(ScriptedChat({1: Known(Scene.of([]))}, answers_by(said)))
    return ClauseJudge(ScriptedChat({1: Known(Scene.of([], []), "photo")}, judges_clauses))


def test_a_wrong_scene_fails_in_the_clauses_that_do_not_hold() -> None:
    item = natural(ON_TABLE)
    right = dict.fromkeys(["(Is ?c 'cat')", "(Is ?t 'table')", "(On ?c ?t)", "(HasColor ?c 'red')"], 1.0)
    assert outcomes(item, TABLE_SCENE) == right
    cat, table = TABLE_SCENE.scene.objects
    blue = replace(TABLE_SCENE, scene=Scene.of([replace(cat, color="blue"), table], TABLE_SCENE.scene.relations))
    assert outcomes(item, blue) == {**right, "(HasColor ?c 'red')": 0}
    apart = replace(TABLE_SCENE, scene=Scene.of([replace(cat, box=Box(20, 20, 220, 220)), table], []))
    assert outcomes(item, apart) == {**right, "(On ?c ?t)": 0}


def test_the_style_is_that_of_the_scene() -> None:
    item = natural("(and (IsStyle 'cartoon') (exists ?c (Is ?c 'cat')))")
    plain = DrawnScene(Scene.of([A_CAT], []))
    assert outcomes(item, replace(plain, style="cartoon")) == {"(IsStyle 'cartoon')": 1, "(Is ?c 'cat')": 1}
    assert outcomes(item, plain) == {"(IsStyle 'cartoon')": 0, "(Is ?c 'cat')": 1}


def test_what_is_said_of_all_fails_where_there_is_none() -> None:
    """As for a strict `forall`; and it is the clause that fails, because there is no other that could."""
    item = natural("(forall ?c (implies (Is ?c 'cat') (HasColor ?c 'red')))")
    clause = "(or (not (Is ?c 'cat')) (HasColor ?c 'red'))"
    assert outcomes(item, DrawnScene(Scene.of([A_CAT], []))) == {clause: 1}
    assert outcomes(item, DrawnScene(Scene.of([replace(A_CAT, color="blue")], []))) == {clause: 0}
    assert outcomes(item, DrawnScene(Scene.of([SceneObject("table", Box(0, 0, 300, 300))], []))) == {clause: 0}


def test_nothing_is_undecided_about_a_drawing() -> None:
    """An object without a material or a state has none of the vocabulary's, which is an answer."""
    item = natural("(exists ?c (and (Is ?c 'cat') (HasMaterial ?c 'glass')))")
    assert outcomes(item, DrawnScene(Scene.of([A_CAT], []))) == {"(Is ?c 'cat')": 1, "(HasMaterial ?c 'glass')": 0}


def test_concepts_that_are_not_in_the_scene_fail_alone() -> None:
    item = cats(CAT, RED, TWO, INK)
    two = Scene.of([A_CAT, replace(A_CAT, box=Box(500, 100, 700, 300))], [])
    assert set(outcomes(item, DrawnScene(two, "ink")).values()) == {1}
    assert outcomes(item, DrawnScene(Scene.of([replace(A_CAT, color="blue")], []))) == {
        CAT.question: 1,
        RED.question: 0,
        TWO.question: 0,
        INK.question: 0,
    }


def test_reasons_say_what_the_scene_has() -> None:
    verdict = judged(cats(CAT, RED, INK), image_of(DrawnScene(Scene.of([replace(A_CAT, color="blue")], []))))
    assert isinstance(verdict, Verdict)
    assert [part.reason for part in verdict.parts] == [
        "blue cat at [100 100 300 300]",
        "blue cat at [100 100 300 300]",
        "it is a plain drawing",
    ]
    assert verdict.evidence["scene"] == {
        "objects": [{"label": "cat", "color": "blue", "box_2d": [100, 100, 300, 300]}],
        "relations": [],
    }


def test_knolling_is_judged_by_its_formula_as_layouts_are() -> None:
    spec = FormulaSpec.of(parse("(exists ?a (exists ?b (and (Is ?a 'cup') (Is ?b 'pen') (LeftOf ?a ?b))))"))
    item = Item("knolling", "1", 2, "A cup to the left of a pen.", spec)
    cup, pen = SceneObject("cup", Box(100, 100, 300, 300), "red"), SceneObject("pen", Box(280, 100, 320, 400), "blue")
    for shown in (Scene.of([cup, pen], []), Scene.of([cup, replace(pen, box=Box(40, 500, 80, 800))], [])):
        found = judged(item, image_of(DrawnScene(shown)))
        data = layout_png(shown)
        with Image.open(io.BytesIO(data)) as layout:
            layout.load()
        expected = judged(item, LoadedImage(data, layout), LayoutJudge())
        assert isinstance(found, Verdict)
        assert isinstance(expected, Verdict)
        assert (found.passed, found.parts) == (expected.passed, expected.parts)


@pytest.mark.parametrize("item", [natural(ON_TABLE), cats(CAT)], ids=["natural", "conceptmix"])
def test_any_other_image_is_unscored_with_the_reason(item: Item[Any]) -> None:
    signed = signed_png(PICTURE, TABLE_SCENE)
    jpeg, plain = io.BytesIO(), io.BytesIO()
    PICTURE.save(jpeg, "JPEG")
    PICTURE.save(plain, "PNG")
    other = PICTURE.copy()
    other.putpixel((3, 3), (1, 2, 3))
    for data, pil, reason in [
        (jpeg.getvalue(), PICTURE, "not a drawn image"),
        (plain.getvalue(), PICTURE, "not a drawn image"),
        (signed, other, "pixels were changed"),
    ]:
        found = judged(item, LoadedImage(data, pil))
        assert isinstance(found, Unscored)
        assert found.reason == "not understood"
        assert reason in found.detail


def test_concepts_without_their_objects_are_unscored() -> None:
    spec = ConceptSpec((CAT, replace(RED, objects=())))
    found = judged(Item("conceptmix", "7", 2, "An image.", spec), image_of(DrawnScene(Scene.of([A_CAT], []))))
    assert isinstance(found, Unscored)
    assert "does not tell which objects are meant by: Is the cat red?" in found.detail


def test_free_prompts_are_judged_by_their_formula() -> None:
    judge = open_judge("free-prompts", "builtin/drawn")
    assert isinstance(judge, PromptJudge)
    spec = QuestionSpec((), FormulaSpec.of(parse(ON_TABLE)), "natural")
    found = judged(Item("free-prompts", "1", 1, "A cat.", spec), image_of(TABLE_SCENE), judge)
    assert isinstance(found, Verdict)
    assert found.passed


@pytest.mark.parametrize("suite", ["knolling", "natural", "conceptmix"])
def test_it_is_opened_by_its_name(suite: str) -> None:
    judge = open_judge(suite, "builtin/drawn")
    assert (judge.name, dict(judge.settings)) == (
        "builtin/drawn",
        {"version": 2, "semantics": "strict", "judging_rules": 1},
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ("cf-world", "builtin/drawn"),
            "cf-world has none .knolling, knolling-counts, natural, conceptmix do.: name a chat model",
        ),
        (("natural", "builtin/drawn", {"prompts": "x"}), "builtin/drawn has no options, but prompts was given"),
        (("natural", "builtin/drawn", {}, "image", "published"), "calls no model, .*: name a chat model"),
        (("natural", None), "there is no judge for natural that works offline: name a chat model"),
    ],
)
def test_what_it_cannot_judge_is_refused_before_a_run(arguments: tuple[Any, ...], message: str) -> None:
    with pytest.raises(FormalimgError, match=message):
        open_judge(*arguments)


def test_it_is_no_grounder() -> None:
    with pytest.raises(FormalimgError, match="builtin/drawn is a judge, and finds no objects: use builtin/icons"):
        open_grounder("builtin/drawn")
