"""Formulas that count: witnesses that the definition of truth accepts, and proofs that z3 finds no way around."""

from __future__ import annotations

import random
from itertools import combinations

import pytest
import z3

from formalimg.logic.errors import FormulaError
from formalimg.logic.parser import parse
from formalimg.logic.syntax import (
    And,
    Atom,
    Count,
    Exists,
    Forall,
    Formula,
    Iff,
    Implies,
    Not,
    Or,
    Value,
    Variable,
    atoms,
    subformulas,
)
from formalimg.scenes.objects import MIN_SIDE
from formalimg.scenes.solver.inequalities import keeps_margin
from formalimg.scenes.solver.results import SolverLimitError, Unsatisfiable, Witness
from formalimg.scenes.solver.search import solve
from formalimg.scenes.solver.spatial import solve_natural
from tests.support.brute_force import truth
from tests.support.random_logic import random_formula
from tests.support.sizes import tries


def labels(text: str) -> list[str]:
    witness = solve(text)
    assert isinstance(witness, Witness), witness
    assert truth(parse(text), witness.scene, strict=True)
    assert keeps_margin(text, witness.scene, witness.margin)
    for a, b in combinations([obj.box for obj in witness.scene.objects], 2):
        assert a.xmax <= b.xmin or b.xmax <= a.xmin or a.ymax <= b.ymin or b.ymax <= a.ymin
    return sorted(obj.label for obj in witness.scene.objects)


def clique(size: int, *parts: str) -> str:
    """So many different objects of which each part is true."""
    names = [f"?x{number}" for number in range(size)]
    told = " ".join(part.replace("?x", name) for name in names for part in parts)
    return "".join(f"(exists {name} " for name in names) + f"(and (distinct {' '.join(names)}) {told})" + ")" * size


CHAIN = (
    "(and (exactly {0} ?x (Is ?x 'cup')) (at-least {1} ?x (and (Is ?x 'cup')"
    " (exists ?y (and (Is ?y 'cup') (LeftOf ?x ?y))))))"
)
FOR_EACH_PLATE = "(forall ?p (implies (Is ?p 'plate') ({} ?x (and (Is ?x 'cup') (LeftOf ?x ?p)))))"
PLATES = "(exactly {} ?q (Is ?q 'plate'))"
TWO_TO_ITS_LEFT = (  # of two objects, none has two to its left
    "(and (exactly 2 ?c (Is ?c 'cup')) (forall ?v (Is ?v 'cup'))"
    " (exists ?x (at-least 2 ?y (and (Is ?y 'cup') (LeftOf ?y ?x)))))"
)
BESIDE_EXACTLY = "(exactly {} ?x (and (Is ?x 'cup') (exactly {} ?y (and (Is ?y 'cup') (LeftOf ?x ?y)))))"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("(exactly 3 ?x (and (Is ?x 'cup') (Has ?x 'red')))", ["cup"] * 3),
        ("(and (at-least 2 ?x (Is ?x 'cup')) (at-most 2 ?x (Is ?x 'cup')))", ["cup"] * 2),
        ("(and (exactly 4 ?x (Is ?x 'cup')) (exactly 2 ?x (and (Is ?x 'cup') (Has ?x 'red'))))", ["cup"] * 4),
        ("(and (exists ?a (Is ?a 'cup')) (at-most 1 ?x (Is ?x 'cup')) (exists ?b (Is ?b 'cup')))", ["cup"]),
        ("(and (exists ?a (Is ?a 'cup')) (not (at-least 2 ?x (Is ?x 'cup'))))", ["cup"]),
        ("(and (exists ?a (Is ?a 'cup')) (not (exactly 1 ?x (Is ?x 'cup'))))", ["cup"] * 2),
        (CHAIN.format(tries(3, 5), tries(2, 4)), ["cup"] * tries(3, 5)),
        (BESIDE_EXACTLY.format(1, 2), ["cup"] * 3),
        (clique(4, "(Is ?x 'cup')", "(InCenter ?x)"), ["cup"] * 4),
        ("(exists ?a (exists ?b (and (Is ?a 'cup') (Is ?b 'cup') (not (distinct ?a ?b)))))", ["cup"]),
        (f"(and {PLATES.format(2)} {FOR_EACH_PLATE.format('exactly 2')})", ["cup", "cup", "plate", "plate"]),
    ][: tries(10, 11)],
)
def test_as_many_objects_as_are_counted(text: str, found: list[str]) -> None:
    assert labels(text) == found


def test_the_margin_keeps_counted_objects_from_slipping_in_or_out() -> None:
    left = "(exactly 2 ?x (and (Is ?x 'cup') (LeftOf ?x ?p)))"
    text = f"(exists ?p (and (Is ?p 'plate') {left} (exactly 4 ?x (Is ?x 'cup'))))"
    witness = solve(text)
    assert isinstance(witness, Witness)
    assert witness.margin == 20
    (plate,) = (obj.box for obj in witness.scene.objects if obj.label == "plate")
    distances = [plate.center_x - obj.box.xmax for obj in witness.scene.objects if obj.label == "cup"]
    assert sum(distance >= 20 for distance in distances) == 2
    assert sum(distance <= -20 for distance in distances) == 2


@pytest.mark.parametrize(
    ("text", "conflict"),
    [
        ("(and (at-least 5 ?x (Is ?x 'cup')) (exists ?y (Is ?y 'fork')) (at-most 4 ?z (Is ?z 'cup')))",
         ["(at-least 5 ?x (Is ?x 'cup'))", "(at-most 4 ?z (Is ?z 'cup'))"]),
        ("(and (exactly 2 ?x (Is ?x 'cup')) (exactly 3 ?y (and (Is ?y 'cup') (Has ?y 'red'))))",
         ["(exactly 2 ?x (Is ?x 'cup'))", "(exactly 3 ?y (and (Is ?y 'cup') (Has ?y 'red')))"]),
        ("(and (at-most 0 ?x (Is ?x 'cup')) (forall ?y (implies (Is ?y 'cup') (Has ?y 'red'))))", None),
        ("(not (at-least 0 ?x (Is ?x 'cup')))", ["(not (at-least 0 ?x (Is ?x 'cup')))"]),
        (CHAIN.format(4, 4), None),  # the rightmost cup has none to its right
        (TWO_TO_ITS_LEFT, None),
        (clique(4, "(Is ?x 'cup')").replace("(and (distinct", "(and (at-most 3 ?y (Is ?y 'cup')) (distinct"), None),
        (f"(and {PLATES.format(2)} {FOR_EACH_PLATE.format('at-least 1')} (at-most 0 ?x (Is ?x 'cup')))", None),
        ("(exists ?a (distinct ?a ?a))", ["(distinct ?a ?a)"]),
    ],
)  # fmt: skip
def test_counts_that_contradict_each_other(text: str, conflict: list[str] | None) -> None:
    result = solve(text)
    assert isinstance(result, Unsatisfiable), result
    if conflict is not None:
        assert [str(piece) for piece in result.conflict] == conflict


def test_a_proof_says_how_many_objects_it_covers() -> None:
    pigeons = solve("(and (at-least 5 ?x (Is ?x 'cup')) (at-most 4 ?x (Is ?x 'cup')))")
    assert isinstance(pigeons, Unsatisfiable)
    assert pigeons.max_objects is None


def test_more_than_can_be_placed_is_unknown_with_a_reason() -> None:
    with pytest.raises(SolverLimitError, match="may need 1,000 objects: the solver places up to 100"):
        solve("(at-least 1000 ?x (Is ?x 'cup'))")
    assert isinstance(solve("(at-most 1000 ?x (Is ?x 'cup'))"), Witness)


def test_counts_of_relations_that_boxes_do_not_decide_are_refused() -> None:
    with pytest.raises(FormulaError, match="say nothing of counts"):
        solve_natural("(exactly 2 ?x (Is ?x 'dog'))")


def test_random_counted_formulas_are_solved_or_refuted() -> None:
    """A witness is held against the definition of truth, a proof against z3's search of all small scenes."""
    ends = {"witness": 0, "proof": 0, "unknown": 0}
    total = tries(25, 1500)
    for number in range(total):
        chance = random.Random(f"solve counts {number}")
        formula = random_formula(chance, chance.randint(2, 4), styles=False, counts=True)
        try:
            found = solve(formula, effort=0.2, max_objects=3)
        except SolverLimitError:
            ends["unknown"] += 1
            continue
        if isinstance(found, Witness):
            assert truth(formula, found.scene, strict=True), formula
            ends["witness"] += 1
        else:
            linear = not {"LargerThan", "SmallerThan"} & {atom.predicate for atom in atoms(formula)}
            assert not any(_has_scene(formula, size) for size in range(4 if linear else 0)), formula
            ends["proof"] += 1
    assert ends["unknown"] <= 0.05 * total, ends
    assert ends["witness"] > 0.4 * total
    assert ends["proof"] > 0.02 * total, ends


def _has_scene(formula: Formula, size: int) -> bool:
    """Whether z3 finds a scene of so many objects, from the published rules spelt out once more."""
    objects = [_SymbolicObject(number) for number in range(size)]
    solver = z3.Solver()
    solver.set("timeout", 20_000)
    for obj in objects:
        solver.add(*obj.rules)
    for one, other in combinations(objects, 2):
        solver.add(z3.Or(one.x2 <= other.x1, other.x2 <= one.x1, one.y2 <= other.y1, other.y2 <= one.y1))
    solver.add(_translated(formula, objects, {}))
    return bool(solver.check() == z3.sat)


class _SymbolicObject:
    def __init__(self, number: int) -> None:
        self.x1, self.y1, self.x2, self.y2 = (z3.Int(f"{edge}{number}") for edge in ("x1", "y1", "x2", "y2"))
        self.label, self.color = z3.Int(f"label{number}"), z3.Int(f"color{number}")
        self.rules = [self.x1 >= 0, self.y1 >= 0, self.x2 <= 1000, self.y2 <= 1000]
        self.rules += [self.x1 + MIN_SIDE <= self.x2, self.y1 + MIN_SIDE <= self.y2]
        self.cx, self.cy = self.x1 + self.x2, self.y1 + self.y2  # doubled


_WORDS = ("cup", "fork", "red", "blue")


def _translated(formula: Formula, objects: list[_SymbolicObject], scope: dict[str, _SymbolicObject]) -> z3.BoolRef:
    def inner(part: Formula) -> z3.BoolRef:
        return _translated(part, objects, scope)

    def each(variable: Variable, body: Formula) -> list[z3.BoolRef]:
        return [_translated(body, objects, {**scope, variable.name: obj}) for obj in objects]

    match formula:
        case Atom():
            return _atom(formula, scope)
        case Not(body):
            return z3.Not(inner(body))
        case And(parts):
            return z3.And(*map(inner, parts))
        case Or(parts):
            return z3.Or(*map(inner, parts))
        case Implies(antecedent, consequent):
            return z3.Implies(inner(antecedent), inner(consequent))
        case Iff(left, right):
            return inner(left) == inner(right)
        case Exists(variable, body):
            return z3.Or(*each(variable, body))
        case Forall(variable, Implies(antecedent, _) as body):
            return z3.And(z3.Or(*each(variable, antecedent)), *each(variable, body))
        case Forall(variable, body):
            return z3.And(bool(objects), *each(variable, body))
        case Count(bound, number, variable, body):
            total = z3.Sum([z3.IntVal(0), *(z3.If(part, 1, 0) for part in each(variable, body))])
            return {"exactly": total == number, "at-least": total >= number, "at-most": total <= number}[bound]


def _atom(atom: Atom, scope: dict[str, _SymbolicObject]) -> z3.BoolRef:
    objects = [scope[name] for name in atom.variables]
    if atom.predicate == "distinct":
        return z3.BoolVal(len(set(map(id, objects))) == len(objects))
    a, b = (*objects, objects[0])[:2]
    word = atom.arguments[-1]
    number = _WORDS.index(word.text) if isinstance(word, Value) else 0
    return z3.And(
        {
            "Is": a.label == number,
            "Has": a.color == number,
            "OnLeftSide": a.cx < 1000,
            "OnRightSide": a.cx > 1000,
            "OnTopSide": a.cy < 1000,
            "OnBottomSide": a.cy > 1000,
            "InCenter": z3.And(3 * a.cx > 2000, 3 * a.cx < 4000, 3 * a.cy > 2000, 3 * a.cy < 4000),
            "LeftOf": 2 * a.x2 < b.cx,
            "RightOf": 2 * a.x1 > b.cx,
            "Above": 2 * a.y2 < b.cy,
            "Below": 2 * a.y1 > b.cy,
            "AlignedHorizontally": z3.And(a.cy - b.cy < 200, b.cy - a.cy < 200),
            "AlignedVertically": z3.And(a.cx - b.cx < 200, b.cx - a.cx < 200),
        }[atom.predicate]
    )


def test_the_formulas_tried_do_count() -> None:
    chances = (random.Random(f"solve counts {number}") for number in range(40))
    drawn = [random_formula(chance, chance.randint(2, 4), styles=False, counts=True) for chance in chances]
    assert sum(any(isinstance(part, Count) for part in subformulas(formula)) for formula in drawn) > 20
