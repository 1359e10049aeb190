"""`verify` against the z3 prover: the scene as facts over an enumeration, the formula with real quantifiers."""

from __future__ import annotations

import random
from itertools import product
from typing import Any

import z3

from formalimg.logic.syntax import (
    DISTINCT,
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
    atoms,
    subformulas,
)
from formalimg.logic.verification import verify
from formalimg.scenes.scene import Scene
from tests.support.brute_force import atom_truth
from tests.support.random_logic import random_formula, random_scene
from tests.support.sizes import tries

PAIRS = tries(40, 150)  # each under both semantics
COUNTING_PAIRS = tries(40, 3_000)


def test_on_random_pairs_under_both_semantics() -> None:
    held = 0
    for number in range(PAIRS):
        chance = random.Random(f"z3 {number}")
        formula = random_formula(chance, chance.randint(2, 4), styles=False)
        scene = random_scene(chance, sizes=(1, 2, 3))
        for semantics in ("strict", "classical"):
            expected = _Theory(scene, formula, strict=semantics == "strict").is_satisfiable()
            assert verify(formula, scene, semantics).passed is expected, f"{formula} in {scene.to_json()}"
            held += expected
    assert 0.3 < held / (2 * PAIRS) < 0.7


def test_on_random_pairs_with_counts() -> None:
    """A count is said to z3 as a bound on the sum of what is true of each object."""
    held = counted = 0
    for number in range(COUNTING_PAIRS):
        chance = random.Random(f"z3 counts {number}")
        formula = random_formula(chance, chance.randint(2, 4), styles=False, counts=True)
        scene = random_scene(chance, sizes=(1, 2, 3))
        for semantics in ("strict", "classical"):
            expected = _Theory(scene, formula, strict=semantics == "strict").is_satisfiable()
            assert verify(formula, scene, semantics).passed is expected, f"{formula} in {scene.to_json()}"
            held += expected
        counted += any(isinstance(part, Count) for part in subformulas(formula))
    assert 0.3 < held / (2 * COUNTING_PAIRS) < 0.7
    assert counted > COUNTING_PAIRS / 2


class _Theory:
    """A formula and all facts of a scene that bear on it: satisfiable if and only if the formula holds."""

    def __init__(self, scene: Scene, formula: Formula, *, strict: bool) -> None:
        self.context = z3.Context()
        self.strict = strict
        self.solver = z3.Solver(ctx=self.context)
        self.sort, self.objects = z3.EnumSort("Thing", [f"t{n}" for n in range(len(scene))], ctx=self.context)
        self.symbols: dict[str, Any] = {}
        for atom in atoms(formula):
            if atom.predicate != DISTINCT:
                self.state_facts(atom, scene)
        self.solver.add(self.translated(formula, {}))

    def is_satisfiable(self) -> bool:
        answer = self.solver.check()
        assert answer != z3.unknown
        return bool(answer == z3.sat)

    def symbol(self, atom: Atom) -> Any:
        name = "_".join([atom.predicate, *(a.text for a in atom.arguments if isinstance(a, Value))])
        sorts = [self.sort] * len(atom.variables)
        return self.symbols.setdefault(name, z3.Function(name, *sorts, z3.BoolSort(self.context)))

    def state_facts(self, atom: Atom, scene: Scene) -> None:
        words = [argument.text for argument in atom.arguments if isinstance(argument, Value)]
        for numbers in product(range(len(scene)), repeat=len(atom.variables)):
            fact = self.symbol(atom)(*(self.objects[number] for number in numbers))
            is_so = atom_truth(atom.predicate, [*(scene.objects[number] for number in numbers), *words])
            self.solver.add(fact if is_so else z3.Not(fact))

    def translated(self, formula: Formula, scope: dict[str, Any]) -> Any:
        def inner(formula: Formula) -> Any:
            return self.translated(formula, scope)

        match formula:
            case Atom(predicate, _) if predicate == DISTINCT:
                return z3.Distinct(*(scope[name] for name in formula.variables))
            case Atom():
                return self.symbol(formula)(*(scope[name] for name in formula.variables))
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
                constant = z3.FreshConst(self.sort, variable.name)
                return z3.Exists(constant, self.translated(body, {**scope, variable.name: constant}))
            case Forall(variable, body):
                constant = z3.FreshConst(self.sort, variable.name)
                wider = {**scope, variable.name: constant}
                everywhere = z3.ForAll(constant, self.translated(body, wider))
                if not self.strict or not isinstance(body, Implies):
                    return everywhere
                return z3.And(everywhere, z3.Exists(constant, self.translated(body.antecedent, wider)))
            case Count(bound, number, variable, body):
                each = [(self.translated(body, {**scope, variable.name: obj}), 1) for obj in self.objects]
                bounds = {"exactly": z3.PbEq, "at-least": z3.PbGe, "at-most": z3.PbLe}
                return bounds[bound](each, number)
