"""What formulas mean in a scene: by boxes, by attributes, and by the relations that were recorded."""

from __future__ import annotations

import random
from itertools import product

import pytest

from formalimg import FormalimgError, FormulaError, Scene, parse, verify
from formalimg.logic.soft_score.best_binding import best_binding
from formalimg.logic.syntax import And, Atom, Exists, Value, Variable
from formalimg.scenes.objects import Box, SceneObject
from formalimg.scenes.scene import SceneRelation
from tests.support.brute_force import atom_truth
from tests.support.random_logic import random_formula, random_scene

CUP = SceneObject("cup", Box(100, 100, 200, 200), "red")
FORK = SceneObject("fork", Box(600, 600, 700, 900), "gray")
BOTH = Scene.of([CUP, FORK])
EMPTY = Scene.of([])


def test_a_verdict_is_true_exactly_if_it_passed() -> None:
    assert verify("(exists ?x (Is ?x 'cup'))", BOTH)
    verdict = verify("(exists ?x (Is ?x 'knife'))", BOTH)
    assert not verdict
    assert verdict.passed is False


@pytest.mark.parametrize(
    ("text", "strict", "classical"),
    [
        # a forall wants something to speak about
        ("(forall ?x (implies (Is ?x 'knife') (Has ?x 'red')))", False, True),
        ("(forall ?x (implies (Is ?x 'cup') (Has ?x 'red')))", True, True),
        ("(forall ?x (implies (Is ?x 'fork') (Has ?x 'red')))", False, False),
        # the rule holds for an implies directly under the forall, and for no other body
        ("(forall ?x (and (implies (Is ?x 'knife') (Has ?x 'red'))))", True, True),
        ("(forall ?x (or (not (Is ?x 'knife')) (Has ?x 'red')))", True, True),
        # it applies at every depth
        ("(exists ?y (and (Is ?y 'cup') (forall ?x (implies (Is ?x 'knife') (LeftOf ?y ?x)))))", False, True),
        ("(not (forall ?x (implies (Is ?x 'knife') (Has ?x 'red'))))", True, False),
        # where one forall stands directly in another, each outer object needs an inner instance
        ("(forall ?x (forall ?y (implies (and (Is ?x 'cup') (Is ?y 'fork')) (LeftOf ?x ?y))))", False, True),
        # a condition that does not mention the variable is a condition all the same
        ("(forall ?x (implies (exists ?y (Is ?y 'knife')) (Has ?x 'red')))", False, True),
    ],
)
def test_strict_and_classical_forall(text: str, strict: bool, classical: bool) -> None:
    assert verify(text, BOTH).passed is strict
    assert verify(text, BOTH, "classical").passed is classical


@pytest.mark.parametrize(
    ("text", "strict", "classical"),
    [
        ("(exists ?x (Is ?x 'cup'))", False, False),
        ("(exists ?x (IsStyle 'photo'))", False, False),
        ("(forall ?x (Is ?x 'cup'))", False, True),
        ("(forall ?x (implies (Is ?x 'cup') (Has ?x 'red')))", False, True),
        ("(not (exists ?x (Is ?x 'cup')))", True, True),
        ("(or (IsStyle 'photo') (exists ?x (Is ?x 'cup')))", True, True),
        ("(iff (exists ?x (Is ?x 'cup')) (forall ?x (Is ?x 'cup')))", True, False),
    ],
)
def test_the_empty_scene(text: str, strict: bool, classical: bool) -> None:
    assert verify(text, EMPTY, "strict", "photo").passed is strict
    assert verify(text, EMPTY, "classical", "photo").passed is classical


def test_two_variables_may_name_the_same_object() -> None:
    assert verify("(exists ?x (exists ?y (and (Is ?x 'cup') (Is ?y 'cup') (AlignedVertically ?x ?y))))", BOTH)
    assert not verify("(exists ?x (exists ?y (and (Is ?x 'cup') (Is ?y 'cup') (LeftOf ?x ?y))))", BOTH)
    assert verify("(exists ?x (AlignedVertically ?x ?x))", BOTH)
    assert not verify("(exists ?x (LargerThan ?x ?x))", BOTH)


def test_a_shadowed_variable_is_the_inner_one() -> None:
    assert verify("(exists ?x (and (Is ?x 'cup') (exists ?x (Is ?x 'fork')) (Has ?x 'red')))", BOTH)


def test_an_unused_variable_wants_only_that_there_is_an_object() -> None:
    assert verify("(exists ?x (exists ?y (Is ?y 'cup')))", BOTH)
    assert verify("(forall ?x (exists ?y (Is ?y 'cup')))", BOTH)


def test_style_is_decided_by_the_caller() -> None:
    text = "(and (IsStyle 'oil painting') (exists ?x (Is ?x 'cup')))"
    assert verify(text, BOTH, style="oil painting")
    assert not verify(text, BOTH, style="photo")
    with pytest.raises(FormulaError, match="style of the image is not known") as caught:
        verify(text, BOTH)
    assert caught.value.column == 6


def test_style_is_an_error_even_where_it_would_not_matter() -> None:
    with pytest.raises(FormulaError, match="style"):
        verify("(or (exists ?x (Is ?x 'cup')) (IsStyle 'photo'))", BOTH)


def test_what_a_scene_cannot_decide_is_an_error_and_never_false() -> None:
    for text, says, column in [
        ("(exists ?x (Nope ?x))", "cannot decide Nope", 12),
        ("(exists ?x (Isn ?x 'cup'))", "did you mean Is", 12),
        ("(exists ?x (LeftOf ?x))", r"written \(LeftOf \?x \?x\)", 12),
        ("(exists ?x (Is ?x ?x))", r"written \(Is \?x 'word'\)", 12),
        ("(exists ?x (On ?x ?x))", "does not record On", 12),
        ("(exists ?x (HasMaterial ?x 'wooden'))", "records no material", 12),
        ("(Is ?x 'cup')", "not bound", 5),
        ("(IsStyle ?x)", "not bound", 10),
    ]:
        with pytest.raises(FormulaError, match=says) as caught:
            verify(text, BOTH)
        assert caught.value.column == column, text


def test_all_such_problems_are_told_at_once() -> None:
    with pytest.raises(FormulaError) as caught:
        verify("(exists ?x (and (Nope ?x) (LeftOf ?x ?y) (IsStyle 'photo')))", BOTH)
    assert [problem.kind for problem in caught.value.problems] == ["undecided", "scope", "undecided"]


def test_formulas_built_by_code_can_be_verified_and_blamed() -> None:
    x = Variable("x")
    assert verify(Exists(x, And((Atom("Is", (x, Value("cup"))),))), BOTH)
    with pytest.raises(FormulaError) as caught:
        verify(Exists(x, Atom("Nope", (x,))), BOTH)
    assert "(exists ?x (Nope ?x))" in str(caught.value)
    assert caught.value.column == 12


def test_annotated_scenes_decide_natural_formulas() -> None:
    desk = SceneObject("desk", Box(0, 500, 900, 900), "brown", material="wooden", shape="rectangular")
    cat = SceneObject("cat", Box(300, 300, 500, 500), "black", states=("sleeping", "lying"))
    scene = Scene.of([desk, cat], [SceneRelation("On", 1, 0)])
    assert verify(
        "(exists ?c (exists ?d (and (Is ?c 'cat') (HasState ?c 'sleeping') (HasState ?c 'lying') (HasColor ?c 'black')"
        " (Is ?d 'desk') (HasMaterial ?d 'wooden') (HasShape ?d 'rectangular') (On ?c ?d))))",
        scene,
    )
    assert not verify("(exists ?c (exists ?d (and (Is ?c 'cat') (On ?d ?c))))", scene)
    assert verify("(forall ?c (implies (Is ?c 'cat') (not (exists ?d (In ?c ?d)))))", scene)
    assert verify("(exists ?d (and (Has ?d 'wooden') (Has ?d 'brown')))", scene)
    for other in ("HasColor ?d 'wooden'", "HasMaterial ?d 'rectangular'", "HasShape ?d 'brown'", "HasState ?d 'black'"):
        assert not verify(f"(exists ?d ({other}))", scene)  # a word, but not of that kind


def test_unknown_semantics() -> None:
    with pytest.raises(FormalimgError, match="use 'strict' or 'classical'"):
        verify("(exists ?x (Is ?x 'cup'))", BOTH, "loose")  # type: ignore[arg-type]


def test_an_entangled_formula_is_decided_exactly() -> None:
    """Ten variables, each pair related: no order of elimination keeps tables small."""
    names = [f"x{n}" for n in range(10)]
    pairs = " ".join(f"(LeftOf ?{a} ?{b}) (SmallerThan ?{a} ?{b})" for i, a in enumerate(names) for b in names[i + 1 :])
    text = "".join(f"(exists ?{name} " for name in names) + f"(and {pairs})" + ")" * len(names)

    def staircase(steps: int) -> Scene:
        boxes = [Box(80 * i, 500, 80 * i + 30 + 2 * i, 600) for i in range(steps)]
        return Scene.of([SceneObject("cup", box) for box in boxes] * 3)

    assert verify(parse(text), staircase(10))
    assert not verify(parse(text), staircase(9))


# --- recorded relations

SEEN_FOR = {"LeftOf": "On", "Above": "In", "LargerThan": "Holding", "AlignedVertically": "NextTo"}


def test_what_is_recorded_decides_as_the_boxes_do() -> None:
    weighed = fell_short = 0
    for number in range(300):
        chance = random.Random(f"seen {number}")
        formula = random_formula(chance, chance.randint(2, 4))
        seen = parse(_said_otherwise(str(formula)))
        if seen == formula:
            continue
        scene = random_scene(chance)
        recorded = _recorded(scene)
        for semantics in ("strict", "classical"):
            expected = verify(formula, scene, semantics, "photo").passed
            assert verify(seen, recorded, semantics, "photo").passed is expected, f"{formula} in {scene.to_json()}"
        try:
            best = best_binding(formula, scene, style="photo")
        except FormulaError as error:  # the few that grow too large
            assert error.problems[0].kind == "size"
            continue
        found = best_binding(seen, recorded, style="photo")
        assert (found.share, found.bindings) == (best.share, best.bindings), f"{formula} in {scene.to_json()}"
        weighed += 1
        fell_short += best.share < 1
    # The formulas must be worth comparing.
    assert weighed > 80
    assert fell_short > 40


def _said_otherwise(text: str) -> str:
    for predicate, seen in SEEN_FOR.items():
        text = text.replace(f"({predicate} ", f"({seen} ")
    return text


def _recorded(scene: Scene) -> Scene:
    """The scene with a relation on record wherever the boxes tell the one that it stands for."""
    pairs = product(enumerate(scene.objects), repeat=2)
    return Scene.of(
        scene.objects,
        [
            SceneRelation(seen, first, second)
            for (first, one), (second, other) in pairs
            for predicate, seen in SEEN_FOR.items()
            if atom_truth(predicate, [one, other])
        ],
    )
