"""Proofs and refutations: right, with numbers, and small."""

from __future__ import annotations

import json
import random
from itertools import pairwise

from formalimg import Box, Scene, SceneObject, parse, verify
from formalimg.logic.proof import Proof
from formalimg.logic.syntax import Atom, Variable
from tests.support.brute_force import atom_truth
from tests.support.random_logic import random_formula, random_scene

DESK = Scene.of(
    [
        SceneObject("laptop", Box(120, 100, 520, 400), "gray"),
        SceneObject("cup", Box(640, 329, 760, 449), "white"),
        SceneObject("cup", Box(820, 180, 940, 300), "red"),
        SceneObject("pen", Box(150, 560, 450, 590), "blue"),
    ]
)


def test_a_witness_for_each_variable_with_the_numbers() -> None:
    text = "(exists ?a (exists ?b (and (Is ?a 'cup') (Is ?b 'laptop') (RightOf ?a ?b) (AlignedHorizontally ?a ?b))))"
    verdict = verify(text, DESK)
    assert [(b.variable, b.obj) for b in verdict.proof.bindings] == [("a", 2), ("b", 0)]
    assert verdict.explain() == (
        "✓ exists ?a ?b\n"
        "    with   ?a = red cup #2\n"
        "           ?b = gray laptop #0\n"
        "  ✓ (RightOf ?a ?b): left edge 820 > centre x 320\n"
        "  ✓ (AlignedHorizontally ?a ?b): centre y 240 and 250: diff 10 < 100"
    )


def test_a_failure_names_the_candidates_and_what_is_wrong_with_each() -> None:
    text = (
        "(exists ?a (exists ?b (and (Is ?a 'laptop') (Is ?b 'cup') (Has ?b 'white')"
        " (RightOf ?b ?a) (AlignedHorizontally ?a ?b) (OnLeftSide ?a))))"
    )
    verdict = verify(text, DESK)
    assert verdict.explain() == (
        "✗ exists ?a ?b: nothing can be ?b\n"
        "    wanted (Is ?a 'laptop')\n"
        "           (Is ?b 'cup')\n"
        "           (Has ?b 'white')\n"
        "           (AlignedHorizontally ?a ?b)\n"
        "    with   ?a = gray laptop #0\n"
        "  ✗ ?b = white cup #1: (AlignedHorizontally ?a ?b): centre y 250 and 389: diff 139 ≥ 100\n"
        "  ✗ ?b = red cup #2: (Has ?b 'white'): is red\n"
        "  ✗ 2 other objects: (Is ?b 'cup')"
    )


def test_a_class_that_is_not_there() -> None:
    assert verify("(exists ?x (and (Is ?x 'pizza') (InCenter ?x)))", DESK).explain() == (
        "✗ exists ?x: nothing can be ?x\n  ✗ no object satisfies (Is ?x 'pizza')"
    )


def test_a_forall_counts_its_instances_and_shows_one() -> None:
    holding = verify("(forall ?x (implies (Is ?x 'cup') (OnRightSide ?x)))", DESK)
    assert "holds for all 2 objects that meet the condition: white cup #1, red cup #2" in holding.explain()
    failing = verify("(forall ?x (implies (Is ?x 'cup') (Has ?x 'red')))", DESK)
    assert failing.explain() == (
        "✗ forall ?x: fails for 1 of 2 objects that meet the condition: white cup #1\n"
        "    with   ?x = white cup #1\n"
        "  ✗ (Has ?x 'red'): is white"
    )


def test_a_forall_about_nothing_says_so() -> None:
    text = "(forall ?x (implies (Is ?x 'pizza') (Has ?x 'red')))"
    assert "no object meets the condition, and strict forall wants one" in verify(text, DESK).explain()
    assert "✓ forall ?x: no object meets the condition" in verify(text, DESK, "classical").explain()


def test_every_kind_of_node_is_explained() -> None:
    text = (
        "(and (IsStyle 'photo') (not (exists ?x (Is ?x 'pizza')))"
        " (or (exists ?x (Is ?x 'pizza')) (exists ?x (Is ?x 'cup')))"
        " (implies (exists ?x (Is ?x 'pizza')) (IsStyle 'cartoon'))"
        " (iff (exists ?x (Is ?x 'pen')) (IsStyle 'cartoon')))"
    )
    explanation = verify(text, DESK, style="photo").explain()
    for line in (
        "1 of 5 conditions fail",
        "✓ (IsStyle 'photo'): the style is 'photo'",
        "✗ (iff (exists ?x_4 (Is ?x_4 'pen')) (IsStyle 'cartoon')): the sides differ",
        "with   ?x_4 = blue pen #3",
    ):
        assert line in explanation


def test_the_empty_scene_is_explained() -> None:
    assert verify("(exists ?x (Is ?x 'cup'))", Scene.of([])).explain() == "✗ exists ?x: there is nothing in the scene"


def test_as_data() -> None:
    verdict = verify("(exists ?b (and (Is ?b 'cup') (OnLeftSide ?b)))", DESK)
    data = json.loads(json.dumps(verdict.to_json()))
    assert data["passed"] is False
    assert data["semantics"] == "strict"
    proof = data["proof"]
    assert proof["reason"] == "nothing can be ?b"
    assert proof["conflict"] == ["(Is ?b 'cup')", "(OnLeftSide ?b)"]
    assert proof["parts"][0]["candidate"] == {"variable": "b", "thing": 1, "description": "white cup #1"}
    assert proof["parts"][0]["reason"] == "centre x 700 ≥ 500"
    assert proof["others"] == [{"number": 2, "fail": "(Is ?b 'cup')"}]


def test_explanations_are_small_however_large_the_search() -> None:
    """A K = 10 formula that fails over 30 objects, with up to 30^10 assignments to try."""
    names = [f"x{n}" for n in range(10)]
    chain = " ".join(f"(RightOf ?{b} ?{a})" for a, b in pairwise(names))
    classes = " ".join(f"(Is ?{name} 'cup')" for name in names)
    prefix = "".join(f"(exists ?{name} " for name in names)
    last = "(forall ?y (implies (Is ?y 'cup') (exists ?z (and (Is ?z 'cup') (RightOf ?z ?y)))))"
    for ending in ("(Has ?x9 'pink')", "(LeftOf ?x9 ?x0)", last):
        formula = parse(f"{prefix}(and {classes} {chain} {ending}){')' * 10}")
        row = Scene.of([SceneObject("cup", Box(33 * i, 400, 33 * i + 20, 500), "red") for i in range(30)])
        verdict = verify(formula, row)
        assert not verdict
        assert len(verdict.explain().splitlines()) <= 60
        assert max(map(len, verdict.explain().splitlines())) <= 240
        assert len(json.dumps(verdict.to_json())) < 30_000


def test_what_a_proof_says_is_true() -> None:
    """Every atom that a proof calls true or false is so, of the objects that it names."""
    proofs = 0
    for number in range(1000):
        chance = random.Random(f"proofs {number}")
        scene = random_scene(chance, sizes=(1, 2, 3, 5))
        verdict = verify(random_formula(chance, chance.randint(2, 5), styles=False), scene)
        proofs += _confirm(verdict.proof, scene, {})
    assert proofs > 2000


def _confirm(proof: Proof, scene: Scene, binding: dict[str, SceneObject]) -> int:
    """Check all atoms in a proof by the definition of truth; returns how many there are."""
    named = [*proof.bindings, *([proof.candidate] if proof.candidate else [])]
    binding = {**binding, **{bound.variable: scene.objects[bound.obj] for bound in named}}
    if isinstance(proof.formula, Atom):
        arguments = [binding[a.name] if isinstance(a, Variable) else a.text for a in proof.formula.arguments]
        assert atom_truth(proof.formula.predicate, arguments) is proof.holds
        return 1
    return sum(_confirm(part, scene, binding) for part in proof.parts)
