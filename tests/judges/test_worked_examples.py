"""The two examples that the FormalImg paper works out (appendix C.2), in scenes made to their numbers."""

from __future__ import annotations

import pytest

from formalimg import Box, Scene, SceneObject, verify
from formalimg.judges.base import Grounding
from formalimg.judges.scene_judge import judge_grounding
from formalimg.logic.parser import parse
from formalimg.logic.proof import Proof
from formalimg.logic.syntax import Forall, Formula
from formalimg.types import Verdict

HANDBAG = parse("""
(exists ?handbag (exists ?keyboard (exists ?calculator (exists ?cutting_board (exists ?book
  (and (Is ?handbag 'handbag') (OnLeftSide ?handbag)
       (Is ?keyboard 'keyboard') (RightOf ?keyboard ?handbag)
       (Is ?calculator 'calculator') (Below ?calculator ?handbag)
       (Is ?cutting_board 'cutting_board') (RightOf ?cutting_board ?calculator) (LargerThan ?cutting_board ?calculator)
       (Is ?book 'book') (Below ?book ?keyboard)
       (forall ?apple (implies (Is ?apple 'apple') (and (Has ?apple 'red') (SmallerThan ?apple ?calculator))))))))))
""")

HANDBAG_SCENE = Scene.of(
    [
        SceneObject("book", Box(620, 640, 780, 840), "blue"),  # 0
        *(SceneObject("apple", Box(60 + 120 * n, 900, 120 + 120 * n, 960), "red") for n in range(6)),  # 1 to 6
        SceneObject("keyboard", Box(500, 120, 900, 260), "black"),  # 7
        SceneObject("cutting_board", Box(360, 440, 580, 800), "brown"),  # 8
        SceneObject("handbag", Box(80, 100, 320, 340), "brown"),  # 9
        SceneObject("calculator", Box(120, 480, 280, 700), "gray"),  # 10
    ]
)

WATCH = parse("""
(exists ?c (and (Is ?c 'calculator') (OnBottomSide ?c)
  (forall ?w (implies (Is ?w 'watch')
    (exists ?s (and (Is ?s 'screwdriver') (AlignedHorizontally ?s ?w) (SmallerThan ?w ?c)))))))
""")

WATCH_SCENE = Scene.of(
    [
        SceneObject("calculator", Box(380, 620, 620, 920), "black"),  # 0
        SceneObject("watch", Box(100, 150, 200, 250), "black"),  # 1: centre y 200
        SceneObject("watch", Box(300, 150, 400, 250), "brown"),  # 2
        SceneObject("screwdriver", Box(550, 319, 800, 359), "red"),  # 3: centre y 339
        SceneObject("screwdriver", Box(550, 324, 800, 354), "blue"),  # 4: centre y 339
    ]
)


def judged(formula: Formula, scene: Scene) -> Verdict:
    verdict = judge_grounding(formula, Grounding(scene))
    assert isinstance(verdict, Verdict)
    return verdict


def proofs(proof: Proof) -> list[Proof]:
    return [proof, *(inner for part in proof.parts for inner in proofs(part))]


def test_example_5_passes_with_the_printed_objects() -> None:
    verdict = judged(HANDBAG, HANDBAG_SCENE)
    assert verdict.passed
    assert verdict.score == 1
    printed = {"handbag": 9, "calculator": 10, "cutting_board": 8, "keyboard": 7, "book": 0}
    bindings = verdict.evidence["bindings"]
    assert isinstance(bindings, dict)
    assert {name: bindings[name] for name in printed} == printed
    proof = verify(HANDBAG, HANDBAG_SCENE).proof
    assert {bound.variable: bound.obj for bound in proof.bindings} == printed


def test_example_5_finds_its_rule_triggered_six_times() -> None:
    explained = verify(HANDBAG, HANDBAG_SCENE)
    [rule] = [proof for proof in proofs(explained.proof) if isinstance(proof.formula, Forall)]
    assert rule.holds
    assert rule.reason.startswith("holds for all 6 objects that meet the condition")


@pytest.mark.parametrize(
    ("change", "about"),
    [
        ({3: SceneObject("apple", Box(300, 900, 360, 960), "green")}, ("Has", "Is")),
        ({8: SceneObject("cutting_board", Box(360, 440, 400, 480), "brown")}, ("LargerThan",)),
        ({0: SceneObject("book", Box(620, 20, 780, 100), "blue")}, ("Below",)),
    ],
)
def test_example_5_changed_in_one_place_fails_in_just_that_clause(
    change: dict[int, SceneObject], about: tuple[str]
) -> None:
    scene = Scene.of(change.get(number, obj) for number, obj in enumerate(HANDBAG_SCENE.objects))
    verdict = judged(HANDBAG, scene)
    assert not verdict.passed
    assert [part.about for part in verdict.parts if part.score < 1] == [about]


def test_example_6_fails_by_the_printed_difference() -> None:
    verdict = judged(WATCH, WATCH_SCENE)
    assert not verdict.passed
    [failed] = [part for part in verdict.parts if part.score < 1]
    assert failed.name == "(or (not (Is ?w 'watch')) (AlignedHorizontally ?s ?w))"
    assert failed.kind == "condition"
    assert failed.about == ("AlignedHorizontally", "Is")
    assert failed.reason == (
        "?w = black watch #1, ?s = red screwdriver #3: is a watch and centre y 339 and 200: diff 139 ≥ 100"
    )


def test_example_6_is_explained_as_in_the_paper() -> None:
    """The calculator is found, the rule fails at watch 1, and both screwdrivers are 139 off."""
    explanation = str(judged(WATCH, WATCH_SCENE).evidence["explanation"])
    assert "calculator #0" in explanation
    assert "watch #1" in explanation
    for screwdriver in ("red screwdriver #3", "blue screwdriver #4"):
        [line] = [line for line in explanation.splitlines() if f"?s = {screwdriver}" in line]
        assert "(AlignedHorizontally ?s ?w)" in line
        assert "diff 139 ≥ 100" in line
