"""Witnesses: true, neat, with margins, varied by seed and the same for the same seed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from itertools import combinations

import pytest

from formalimg import FormulaError, Scene, parse, verify
from formalimg.logic.syntax import And, Atom, Exists, Value, Variable
from formalimg.scenes.objects import Box, SceneObject
from formalimg.scenes.solver.inequalities import keeps_margin
from formalimg.scenes.solver.results import Unsatisfiable, Witness
from formalimg.scenes.solver.search import solve
from tests.support.published import published_instances
from tests.support.sizes import only_in_full, tries


def solved(text: str, instances: int = 2, margin: int = 20, seed: int = 0) -> Witness:
    result = solve(text, instances=instances, margin=margin, seed=seed)
    assert isinstance(result, Witness)
    return result


def labels(witness: Witness) -> list[str]:
    return sorted(obj.label for obj in witness.scene.objects)


def test_published_formulas_have_witnesses_with_the_full_margin() -> None:
    for instance in published_instances():
        if instance.suite == "knolling":
            witness = solved(instance.data["dsl"])
            assert verify(instance.data["dsl"], witness.scene)
            assert keeps_margin(instance.data["dsl"], witness.scene, 20)
            assert (witness.margin, witness.instances) == (20, 2)
            assert {obj.label for obj in witness.scene.objects} == set(instance.data["object_classes"])
            for a, b in combinations([obj.box for obj in witness.scene.objects], 2):
                gap = 20
                apart_x = a.xmax + gap <= b.xmin or b.xmax + gap <= a.xmin
                apart_y = a.ymax + gap <= b.ymin or b.ymax + gap <= a.ymin
                assert apart_x or apart_y
            for box in (obj.box for obj in witness.scene.objects):
                assert min(box) >= 0
                assert max(box) <= 1000
                assert min(box.xmax - box.xmin, box.ymax - box.ymin) >= 40  # a pen is thin


def test_every_means_at_least_so_many_objects() -> None:
    text = "(forall ?x (implies (Is ?x 'cup') (exists ?y (and (Is ?y 'fork') (RightOf ?y ?x)))))"
    assert labels(solved(text)) == ["cup", "cup", "fork", "fork"]
    assert labels(solved(text, instances=1)) == ["cup", "fork"]
    assert labels(solved(text, instances=3)) == ["cup"] * 3 + ["fork"] * 3


NOT_BESIDE = "(and (not (LeftOf {0} {1})) (not (RightOf {0} {1})) (not (Above {0} {1})) (not (Below {0} {1})))"
"""Of two objects that do not overlap one is to some side of the other, so this is true of one object alone."""


def test_one_instance_where_two_are_impossible() -> None:
    alone = NOT_BESIDE.format("?x", "?y")
    only = solved(f"(forall ?x (implies (Is ?x 'cup') (forall ?y (implies (Is ?y 'cup') {alone}))))")
    assert (labels(only), only.instances) == (["cup"], 1)
    assert only.margin == 20


def test_different_variables_are_different_objects_unless_they_cannot_be() -> None:
    assert len(solved("(exists ?x (exists ?y (and (Is ?x 'cup') (Is ?y 'cup'))))").scene) == 2
    alone = NOT_BESIDE.format("?x", "?y")
    shared = solved(f"(exists ?x (exists ?y (and (Is ?x 'cup') (Has ?y 'red') {alone})))")
    assert [obj.describe() for obj in shared.scene.objects] == ["red cup"]
    assert shared.bindings == {"x": 0, "y": 0}


def test_no_stray_objects_where_an_alternative_is_not_needed() -> None:
    witness = solved("(or (exists ?x (Is ?x 'cup')) (exists ?y (exists ?z (LeftOf ?y ?z))))")
    assert len(witness.scene) <= 2


def test_as_many_objects_as_it_takes() -> None:
    text = "(forall ?x (and (exists ?y (not (AlignedVertically ?x ?y))) (exists ?z (and (Is ?z 'cup') (Above ?z ?x)))))"
    assert isinstance(solve(text), Unsatisfiable)
    witness = solved("(forall ?x (exists ?y (and (not (AlignedVertically ?x ?y)) (AlignedHorizontally ?x ?y))))")
    assert len(witness.scene) == 2


def test_margins_shrink_only_where_they_must() -> None:
    assert solved("(exists ?a (exists ?b (LeftOf ?a ?b)))").margin == 20
    # An exact middle leaves no margin at all.
    assert solved("(exists ?a (and (not (OnLeftSide ?a)) (not (OnRightSide ?a))))").margin == 0
    tight = "(exists ?a (exists ?b (and (RightOf ?a ?b) (AlignedVertically ?a ?b))))"
    assert solved(tight, margin=60).margin == 30
    assert solved(tight, margin=8).margin == 8


def test_keeping_a_margin() -> None:
    text = "(exists ?a (exists ?b (and (Is ?a 'cup') (LeftOf ?a ?b) (not (LargerThan ?a ?b)))))"
    scene = Scene.of([SceneObject("cup", Box(0, 0, 100, 100)), SceneObject("fork", Box(60, 200, 180, 300))])
    assert verify(text, scene)
    assert keeps_margin(text, scene, 19)
    assert keeps_margin(text, scene, 20)
    assert not keeps_margin(text, scene, 21)
    wider = Scene.of([SceneObject("cup", Box(0, 0, 100, 100)), SceneObject("fork", Box(160, 200, 260, 302))])
    assert not keeps_margin(text, wider, 20)  # an area only 2 per cent larger
    assert keeps_margin(text, wider, 4)


def test_colours_are_respected_where_asked_and_varied_where_free() -> None:
    kinds = ["cup", "fork", "plate", "bowl", "pan", "knife"]
    text = "".join(f"(exists ?{kind} " for kind in kinds)
    text += (
        "(and " + " ".join(f"(Is ?{kind} '{kind}')" for kind in kinds) + " (not (Has ?cup 'red')) (Has ?fork 'pink'))"
    )
    text += ")" * len(kinds)
    seen = set()
    for seed in range(5):
        witness = solved(text, seed=seed)
        colours = {obj.label: obj.color for obj in witness.scene.objects}
        assert colours["cup"] != "red"
        assert colours["fork"] == "pink"
        assert len(set(colours.values())) >= 4
        seen.add(tuple(colours.values()))
    assert len(seen) > 1


def test_free_objects_stand_in_rows_and_columns() -> None:
    kinds = ["cup", "fork", "plate", "bowl", "pan", "knife", "spoon", "book", "pen"]
    text = "".join(f"(exists ?{kind} " for kind in kinds)
    text += "(and " + " ".join(f"(Is ?{kind} '{kind}')" for kind in kinds) + ")" + ")" * len(kinds)
    boxes = [obj.box for obj in solved(text).scene.objects]
    assert len({box.center_x for box in boxes}) == 3
    assert len({box.center_y for box in boxes}) == 3
    areas = sorted(box.area for box in boxes)
    assert areas[-1] < 10 * areas[0]  # a pen is small beside a laptop


def test_a_condition_that_is_denied_holds_without_its_consequence() -> None:
    found = solved("(exists ?x (and (Is ?x 'cup') (not (implies (Has ?x 'red') (OnLeftSide ?x)))))")
    [cup] = [obj for obj in found.scene.objects if obj.label == "cup"]
    assert cup.color == "red"
    assert cup.box.center_x > 500


def test_style() -> None:
    witness = solved("(and (IsStyle 'oil painting') (exists ?x (Is ?x 'cup')))")
    assert witness.style == "oil painting"
    assert solved("(exists ?x (Is ?x 'cup'))").style is None
    other = solved("(and (not (IsStyle 'photo')) (exists ?x (Is ?x 'cup')))")
    assert other.style not in (None, "photo")


def test_only_the_empty_scene_will_do() -> None:
    witness = solved("(not (exists ?x (not (LeftOf ?x ?x))))")
    assert len(witness.scene) == 0
    assert "empty scene" in str(witness)


def test_what_boxes_cannot_tell_is_an_error() -> None:
    with pytest.raises(FormulaError, match="cannot decide On") as caught:
        solve("(exists ?x (exists ?y (and (Is ?x 'cup') (On ?x ?y))))")
    assert caught.value.column == 42
    with pytest.raises(FormulaError, match="not bound"):
        solve("(Is ?x 'cup')")
    with pytest.raises(FormulaError, match="written"):
        solve("(exists ?x (LeftOf ?x))")


def test_formulas_built_by_code_can_be_solved_and_blamed() -> None:
    x = Variable("x")
    red, blue = (Atom("Has", (x, Value(color))) for color in ("red", "blue"))
    assert isinstance(solve(Exists(x, red)), Witness)
    result = solve(Exists(x, And((red, blue))))
    assert isinstance(result, Unsatisfiable)
    assert [piece.span.column for piece in result.conflict] == [17, 32]


def test_results_are_told_in_a_few_lines() -> None:
    text = "(exists ?a (exists ?b (and (Is ?a 'cup') (Has ?a 'red') (LeftOf ?a ?b))))"
    witness = solved(text)
    first, second, *_ = str(witness).splitlines()
    assert first == "2 objects, margin 20"
    assert second.startswith("  #0 red cup [")
    assert second.endswith("?a")
    assert witness.bindings == {"a": 0, "b": 1}
    scene = Scene.from_json(witness.to_json()["scene"])
    assert verify(parse(text), scene)


PROGRAM = """
import json, sys
from formalimg.scenes.solver.search import solve
from tests.support.sizes import tries
texts = json.loads(sys.stdin.read())
print(json.dumps([solve(text, seed=seed).to_json() for text in texts for seed in (0, 7)]))
"""


@only_in_full
def test_the_same_witness_whatever_the_hash_seed() -> None:
    texts = [
        "(exists ?a (exists ?b (and (Is ?a 'cup') (Has ?b 'red') (LeftOf ?a ?b) (not (LargerThan ?a ?b)))))",
        "(forall ?x (implies (Is ?x 'cup') (exists ?y (and (Is ?y 'fork') (not (Has ?y 'red')) (Above ?y ?x)))))",
        "(or (exists ?x (and (Is ?x 'cup') (Has ?x 'blue'))) (exists ?y (and (Is ?y 'pen') (LeftOf ?y ?y))))",
        "(exists ?x (and (LeftOf ?x ?x) (Has ?x 'red') (Has ?x 'blue')))",
        "(exists ?a (exists ?b (and (RightOf ?a ?b) (AlignedVertically ?a ?b) (OnLeftSide ?a) (SmallerThan ?a ?b))))",
    ]
    outputs = set()
    for hash_seed in ("0", "1", "4242")[: tries(2, 3)]:
        environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM],
            input=json.dumps(texts).encode(),
            capture_output=True,
            check=True,
            env=environment,
        )
        outputs.add(done.stdout)
    assert len(outputs) == 1
