"""The spatial axioms of Natural scenes: what they refuse, what they allow, and a solver that agrees with z3."""

from __future__ import annotations

import random

import pytest
import z3

from formalimg.logic.errors import FormulaError
from formalimg.logic.parser import parse
from formalimg.logic.syntax import And, Atom, Exists, Value, Variable
from formalimg.logic.verification import verify
from formalimg.scenes.objects import Box, SceneObject
from formalimg.scenes.scene import Scene, SceneRelation
from formalimg.scenes.solver.results import Unsatisfiable, Witness
from formalimg.scenes.solver.spatial import solve_natural
from formalimg.scenes.spatial_relations import axiom_violations, is_natural_witness
from tests.support.sizes import tries

CUP, TABLE, BOOK = (SceneObject(label, Box(0, 0, 10, 10)) for label in ("cup", "table", "book"))


def scene(*objects: tuple[str, tuple[int, int, int, int]], relations: tuple[tuple[str, int, int], ...]) -> Scene:
    return Scene.of(
        [SceneObject(label, Box(*box)) for label, box in objects], [SceneRelation(*each) for each in relations]
    )


ON_TABLE = ("cup", (450, 380, 520, 470))
TABLE_BOX = ("table", (200, 450, 800, 900))


def test_a_cup_on_a_table_keeps_the_axioms() -> None:
    assert axiom_violations(scene(ON_TABLE, TABLE_BOX, relations=(("On", 0, 1),))) == []


@pytest.mark.parametrize(
    ("cup", "relation"),
    [
        ((450, 100, 520, 200), "On"),  # in the air
        ((450, 800, 520, 960), "On"),  # on the floor
        ((50, 380, 120, 470), "On"),  # beside it
        ((150, 600, 300, 700), "In"),  # half outside
        ((450, 200, 520, 470), "In"),  # more than half sticks out
        ((820, 100, 900, 300), "NextTo"),  # higher
        ((980, 500, 1000, 600), "NextTo"),  # too far away
        ((450, 500, 520, 600), "NextTo"),  # in front of it
        ((850, 500, 920, 600), "Holding"),  # out of touch
    ],
)
def test_what_does_not_fit_the_boxes_is_named(cup: tuple[int, int, int, int], relation: str) -> None:
    found = axiom_violations(scene(("cup", cup), TABLE_BOX, relations=((relation, 0, 1),)))
    assert f"{relation}(cup #0, table #1) does not fit the boxes" in found


def test_boxes_overlap_only_where_one_carries_the_other_also_through_others() -> None:
    plate = ("plate", (400, 420, 600, 480))
    nested = scene(ON_TABLE, plate, TABLE_BOX, relations=(("On", 0, 1), ("On", 1, 2)))
    assert axiom_violations(nested) == []
    assert axiom_violations(scene(ON_TABLE, plate, TABLE_BOX, relations=(("On", 1, 2),))) == [
        "cup #0 and plate #1 overlap",
        "cup #0 and table #2 overlap",
    ]


def test_an_object_has_one_place_and_nothing_carries_itself() -> None:
    boxes = (("a", (0, 0, 100, 100)), ("b", (0, 0, 100, 100)), ("c", (0, 0, 100, 100)))
    twice = axiom_violations(scene(*boxes, relations=(("Holding", 0, 2), ("Holding", 1, 2))))
    assert "c #2 has two places" in twice
    circle = axiom_violations(scene(*boxes, relations=(("Holding", 0, 1), ("Holding", 1, 2), ("Holding", 2, 0))))
    assert [line for line in circle if "carries itself" in line] == [
        f"{name} carries itself" for name in ("a #0", "b #1", "c #2")
    ]


def test_a_margin_is_kept_or_the_relation_does_not_fit() -> None:
    tight = scene(("fruit", (205, 500, 260, 600)), TABLE_BOX, relations=(("In", 0, 1),))
    assert axiom_violations(tight) == []
    assert axiom_violations(tight, margin=20) == ["In(fruit #0, table #1) does not fit the boxes"]


JACKET = (
    "(exists ?j (exists ?l (exists ?f (and (Is ?j 'jacket') (Is ?l 'laptop') (Is ?f 'fruit') "
    "(HasColor ?j 'red') (LeftOf ?j ?l) (LeftOf ?l ?f) (In ?f ?j)))))"
)


def test_a_direction_must_be_clear_of_both_objects() -> None:
    formula = parse("(exists ?a (exists ?b (and (Is ?a 'cup') (Is ?b 'table') (LeftOf ?a ?b))))")
    for right_edge, clear in ((150, True), (280, True), (320, False)):
        boxes = (("cup", (right_edge - 200, 100, right_edge, 200)), ("table", (200, 450, 800, 900)))
        beside = scene(*boxes, relations=())
        assert verify(formula, beside)
        assert is_natural_witness(formula, beside) == clear
    assert not is_natural_witness(formula, scene(("cup", (80, 100, 280, 200)), boxes[1], relations=()), margin=30)


def test_a_contradiction_names_the_conjuncts_that_cannot_be_true_together() -> None:
    refused = solve_natural(JACKET)
    assert isinstance(refused, Unsatisfiable)
    assert sorted(map(str, refused.conflict)) == ["(In ?f ?j)", "(LeftOf ?j ?l)", "(LeftOf ?l ?f)"]


@pytest.mark.parametrize("predicate", ["Aligned", "LargerThan", "Behind"])
def test_other_predicates_are_refused(predicate: str) -> None:
    with pytest.raises(FormulaError, match="say nothing of"):
        solve_natural(f"(exists ?a (exists ?b (and (Is ?a 'cup') (Is ?b 'dog') ({predicate} ?a ?b))))")


def test_every_instance_has_its_place_and_the_style_counts() -> None:
    formula = (
        "(and (IsStyle 'cartoon') (exists ?t (and (Is ?t 'table') (forall ?c (implies (Is ?c 'cup') "
        "(and (HasState ?c 'broken') (On ?c ?t)))))))"
    )
    found = solve_natural(formula, instances=3)
    assert isinstance(found, Witness)
    assert (found.instances, found.style) == (3, "cartoon")
    assert sorted(obj.label for obj in found.scene.objects) == ["cup", "cup", "cup", "table"]
    assert verify(formula, found.scene, style="cartoon")
    assert axiom_violations(found.scene, 20) == []


RELATIONS = ("LeftOf", "RightOf", "Above", "Below", "On", "In", "Holding", "NextTo")


def test_the_solver_agrees_with_z3_on_random_relations() -> None:
    outcomes = []
    for seed in range(tries(20, 400)):
        rng = random.Random(f"space {seed}")
        count = rng.choice([2, 3, 3, 4])
        pairs = [tuple(rng.sample(range(count), 2)) for _ in range(rng.randint(2, 5))]
        stated = [(rng.choice(RELATIONS), first, second) for first, second in pairs]
        variables = [Variable(f"v{number}") for number in range(count)]
        parts = [Atom("Is", (variable, Value(f"class {n}"))) for n, variable in enumerate(variables)]
        parts += [Atom(name, (variables[first], variables[second])) for name, first, second in stated]
        formula: object = And(tuple(parts))
        for variable in variables:
            formula = Exists(variable, formula)  # type: ignore[arg-type]
        found = solve_natural(formula, margin=0)  # type: ignore[arg-type]
        assert bool(found) == possible_by_z3(stated, count), stated
        if isinstance(found, Witness):
            assert axiom_violations(found.scene) == []
        outcomes.append(bool(found))
    assert min(outcomes.count(True), outcomes.count(False)) > len(outcomes) / 10


def possible_by_z3(stated: list[tuple[str, int, int]], count: int) -> bool:
    """The axioms of docs/reference/suites/natural.md, written down once more, over real numbers."""
    solver = z3.Solver()
    x0, y0, x1, y1 = ([z3.Real(f"{name}{n}") for n in range(count)] for name in ("x", "y", "r", "b"))
    for n in range(count):
        solver.add(x0[n] >= 0, y0[n] >= 0, x1[n] <= 1000, y1[n] <= 1000, x1[n] - x0[n] >= 20, y1[n] - y0[n] >= 20)

    def cx(n: int) -> z3.ArithRef:
        return (x0[n] + x1[n]) / 2

    def cy(n: int) -> z3.ArithRef:
        return (y0[n] + y1[n]) / 2

    carrier: dict[int, int] = {}
    for name, a, b in stated:
        down = z3.And(y0[a] < y1[b], y0[b] < y1[a])
        solver.add(
            {
                "LeftOf": z3.And(x1[a] < cx(b), cx(a) < x0[b]),
                "RightOf": z3.And(x0[a] > cx(b), cx(a) > x1[b]),
                "Above": z3.And(y1[a] < cy(b), cy(a) < y0[b]),
                "Below": z3.And(y0[a] > cy(b), cy(a) > y1[b]),
                "On": z3.And(x0[b] < cx(a), cx(a) < x1[b], y1[a] > y0[b] - 20, y1[a] < y1[b], cy(a) < cy(b)),
                "In": z3.And(x0[a] > x0[b], x1[a] < x1[b], cy(a) > y0[b], y1[a] < y1[b]),
                "Holding": z3.And(x0[a] < x1[b], x0[b] < x1[a], down),
                "NextTo": z3.And(
                    down,
                    z3.Or(
                        z3.And(x1[a] < x0[b], x0[b] - x1[a] < 150),
                        z3.And(x1[b] < x0[a], x0[a] - x1[b] < 150),
                    ),
                ),
            }[name]
        )
        if name in ("On", "In", "Holding"):
            thing, holder = (b, a) if name == "Holding" else (a, b)
            if carrier.setdefault(thing, holder) != holder or (name, a, b) != next(
                each
                for each in stated
                if each[0] in ("On", "In", "Holding") and (each[2] if each[0] == "Holding" else each[1]) == thing
            ):
                return False  # two places
    chains: list[set[int]] = []
    for n in range(count):
        chain: list[int] = []
        while n in carrier and len(chain) <= count:
            n = carrier[n]
            chain.append(n)
        if len(chain) > count:
            return False  # in a circle
        chains.append(set(chain))
    for one in range(count):
        for other in range(one):
            if other not in chains[one] and one not in chains[other]:
                solver.add(
                    z3.Or(x1[one] <= x0[other], x1[other] <= x0[one], y1[one] <= y0[other], y1[other] <= y0[one])
                )
    return bool(solver.check() == z3.sat)


def test_one_of_two_relations_is_enough() -> None:
    choice = "(or (On ?a ?b) (In ?a ?b)) (or (NextTo ?a ?b) (On ?a ?b))"
    either = parse(f"(exists ?a (exists ?b (and (Is ?a 'cup') (Is ?b 'table') {choice})))")
    found = solve_natural(either)
    assert isinstance(found, Witness)
    assert is_natural_witness(either, found.scene)
