"""Witnesses as a person reads the words: rows are rows, sides and directions are plain, and sizes clearly differ."""

from __future__ import annotations

import pytest

from formalimg import parse, verify
from formalimg.logic.syntax import atoms
from formalimg.scenes.objects import SceneObject
from formalimg.scenes.rules import AS_READ
from formalimg.scenes.solver.inequalities import keeps_margin
from formalimg.scenes.solver.results import SolverLimitError, Witness
from formalimg.scenes.solver.search import solve
from tests.support.published import published_instances
from tests.support.sizes import tries

PHONE_AND_SCREWDRIVER = """
(exists ?p (exists ?s (and (Is ?p 'phone') (OnLeftSide ?p)
    (Is ?s 'screwdriver') (OnRightSide ?s) (Below ?s ?p) (AlignedVertically ?s ?p))))
"""


def solved_as_read(text: str, **options: int) -> Witness:
    result = solve(text, as_read=True, **options)  # type: ignore[arg-type]
    assert isinstance(result, Witness)
    return result


@pytest.mark.parametrize(
    "text",
    [
        PHONE_AND_SCREWDRIVER,
        "(exists ?a (exists ?b (and (RightOf ?a ?b) (AlignedVertically ?a ?b))))",
        """(exists ?a (exists ?b (exists ?c (and (OnTopSide ?a) (OnBottomSide ?c)
            (AlignedHorizontally ?a ?b) (AlignedHorizontally ?b ?c)))))""",
        "(exists ?a (and (OnLeftSide ?a) (forall ?b (implies (Is ?b 'pen') (and (OnRightSide ?b) "
        "(AlignedVertically ?a ?b))))))",
    ],
)
def test_what_holds_by_the_slack_of_the_rules_alone_has_no_witness(text: str) -> None:
    assert isinstance(solve(text), Witness), "the evaluator lets it pass"
    with pytest.raises(SolverLimitError, match="no comfortable scene"):
        solve(text, as_read=True)


def test_published_formulas_have_witnesses_as_read() -> None:
    knolling = [one for one in published_instances() if one.suite == "knolling"]
    for instance in knolling[:: tries(4, 1)]:
        witness = solved_as_read(instance.data["dsl"])
        assert keeps_margin(instance.data["dsl"], witness.scene, AS_READ)
        assert_plain(instance.data["dsl"], witness)


def test_what_fails_to_align_is_far_from_it() -> None:
    text = """(exists ?p (and (Is ?p 'plate') (exactly 2 ?f (and (Is ?f 'fork') (AlignedHorizontally ?f ?p)))
        (exists ?g (and (Is ?g 'fork') (not (AlignedHorizontally ?g ?p))))))"""
    witness = solved_as_read(text)
    (plate,) = (obj.box for obj in witness.scene.objects if obj.label == "plate")
    apart = sorted(abs(obj.box.center_y - plate.center_y) for obj in witness.scene.objects if obj.label == "fork")
    assert apart[1] < 1
    assert apart[2] >= 140


def test_a_scene_that_passes_by_slack_does_not_keep_the_reading() -> None:
    text = "(exists ?a (exists ?b (and (Is ?a 'cup') (Is ?b 'pen') (AlignedHorizontally ?a ?b))))"
    scene = solve(text).scene  # type: ignore[union-attr]
    moved = scene.of([scene.objects[0], _lowered(scene.objects[1], 40)])
    assert keeps_margin(text, scene, AS_READ)
    assert keeps_margin(text, moved, 20)
    assert not keeps_margin(text, moved, AS_READ)


def _lowered(obj: SceneObject, by: int) -> SceneObject:
    box = obj.box._replace(ymin=obj.box.ymin + by, ymax=obj.box.ymax + by)
    return SceneObject(obj.label, box, obj.color)


def assert_plain(text: str, witness: Witness) -> None:
    """Assert that the atoms of the objects that variables stand for are plain to see, by rules written down here."""
    assert verify(parse(text), witness.scene)
    boxes = {name: witness.scene.objects[slot].box for name, slot in witness.bindings.items()}
    for atom in atoms(parse(text)):
        if not all(name in boxes for name in atom.variables) or atom.predicate in ("Is", "Has"):
            continue
        a, b = boxes[atom.variables[0]], boxes[atom.variables[-1]]
        plain = {
            "OnLeftSide": a.center_x <= 460,
            "OnRightSide": a.center_x >= 540,
            "OnTopSide": a.center_y <= 460,
            "OnBottomSide": a.center_y >= 540,
            "LeftOf": b.center_x - a.xmax >= 40,
            "RightOf": a.xmin - b.center_x >= 40,
            "Above": b.center_y - a.ymax >= 40,
            "Below": a.ymin - b.center_y >= 40,
            "AlignedHorizontally": abs(a.center_y - b.center_y) < 1,
            "AlignedVertically": abs(a.center_x - b.center_x) < 1,
            "LargerThan": a.area >= 1.5 * b.area,
            "SmallerThan": b.area >= 1.5 * a.area,
        }
        assert plain[atom.predicate], f"{atom} in {witness}"
