"""`verify` against other ways to decide: the definition of truth, the model checker of nltk, and the z3 prover."""

from __future__ import annotations

import random
from itertools import product
from typing import Any

import pytest
import z3

from formalimg.logic import world as logic_world
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
from tests.support.brute_force import atom_truth, truth
from tests.support.random_logic import STYLES, random_formula, random_scene
from tests.support.sizes import tries

BATCHES = tries(2, 12)
PAIRS = 1000  # in each batch


@pytest.mark.parametrize("batch", range(BATCHES))
def test_on_random_pairs(batch: int) -> None:
    held = empty = alternating = 0
    for number in range(PAIRS):
        chance = random.Random(f"pair {batch} {number}")
        formula = random_formula(chance, chance.randint(1, 5))
        scene = random_scene(chance)
        style = chance.choice(STYLES)
        for semantics in ("strict", "classical"):
            expected = truth(formula, scene, strict=semantics == "strict", style=style)
            assert verify(formula, scene, semantics, style).passed is expected, f"{formula} in {scene.to_json()}"
            held += expected
        empty += len(scene) == 0
        alternating += _alternates(formula)
    # The pairs must be worth comparing: both outcomes, the empty scene and alternation are all common.
    assert 0.3 < held / (2 * PAIRS) < 0.7
    assert empty > PAIRS / 20
    assert alternating > PAIRS / 10


@pytest.mark.parametrize("rows", [logic_world.MAX_ROWS, 6])
def test_on_random_pairs_with_counts(rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Counting quantifiers and `distinct` among all the others; with room for tables and without."""
    monkeypatch.setattr(logic_world, "MAX_ROWS", rows)
    held = counted = 0
    pairs = tries(300, 10_000)
    for number in range(pairs):
        chance = random.Random(f"counts {number}")
        formula = random_formula(chance, chance.randint(1, 5), counts=True)
        scene = random_scene(chance)
        style = chance.choice(STYLES)
        for semantics in ("strict", "classical"):
            expected = truth(formula, scene, strict=semantics == "strict", style=style)
            verdict = verify(formula, scene, semantics, style)
            assert verdict.passed is expected, f"{formula} in {scene.to_json()}"
            assert verdict.proof.holds is expected
            held += expected
        counted += any(isinstance(part, Count) for part in subformulas(formula))
    assert 0.3 < held / (2 * pairs) < 0.7
    assert counted > pairs / 2


def test_where_every_table_is_too_wide(monkeypatch: pytest.MonkeyPatch) -> None:
    """With almost no room for tables, formulas are decided value by value: slower, and still right."""
    monkeypatch.setattr(logic_world, "MAX_ROWS", 6)
    for number in range(tries(500, 1500)):
        chance = random.Random(f"narrow {number}")
        formula = random_formula(chance, chance.randint(2, 5))
        scene = random_scene(chance)
        for semantics in ("strict", "classical"):
            expected = truth(formula, scene, strict=semantics == "strict", style="photo")
            assert verify(formula, scene, semantics, "photo").passed is expected, f"{formula} in {scene.to_json()}"


def test_on_larger_scenes() -> None:
    """More objects than are compared one by one, so that the ranked way is taken too."""
    for number in range(tries(100, 300)):
        chance = random.Random(f"large {number}")
        formula = random_formula(chance, 3)
        scene = random_scene(chance, sizes=(20, 25))
        expected = truth(formula, scene, strict=True, style="photo")
        assert verify(formula, scene, style="photo").passed is expected, f"{formula} in {scene.to_json()}"


def test_the_proof_agrees_with_the_verdict() -> None:
    for number in range(tries(1000, 3000)):
        chance = random.Random(f"proof {number}")
        formula = random_formula(chance, chance.randint(1, 5))
        scene = random_scene(chance)
        for semantics in ("strict", "classical"):
            verdict = verify(formula, scene, semantics, "photo")
            assert verdict.proof.holds is verdict.passed, f"{formula} in {scene.to_json()}"
            assert verdict.explain().startswith("✓" if verdict else "✗")


def _alternates(formula: Formula) -> bool:
    """Does a forall stand inside an exists, or the other way round?"""
    return any(
        isinstance(inner, Exists | Forall) and type(inner) is not type(outer)
        for outer in subformulas(formula)
        if isinstance(outer, Exists | Forall)
        for inner in subformulas(outer.body)
    )


# --- the model checker of nltk

NLTK_PAIRS = tries(250, 700)


def test_on_random_pairs_against_nltk() -> None:
    from tests.logic.nltk_truth import nltk_truth  # here: nltk brings scipy along, which is slow to load

    held = 0
    for number in range(NLTK_PAIRS):
        chance = random.Random(f"nltk {number}")
        formula = random_formula(chance, chance.randint(2, 4), styles=False)
        scene = random_scene(chance, sizes=(1, 2, 3, 4))
        expected = nltk_truth(formula, scene)
        assert verify(formula, scene, "classical").passed is expected, f"{formula} in {scene.to_json()}"
        held += expected
    assert 0.3 < held / NLTK_PAIRS < 0.7


# --- the z3 prover

Z3_PAIRS = tries(40, 150)  # each under both semantics
COUNTING_PAIRS = tries(40, 3_000)


def test_on_random_pairs_against_z3() -> None:
    held = 0
    for number in range(Z3_PAIRS):
        chance = random.Random(f"z3 {number}")
        formula = random_formula(chance, chance.randint(2, 4), styles=False)
        scene = random_scene(chance, sizes=(1, 2, 3))
        for semantics in ("strict", "classical"):
            expected = _Theory(scene, formula, strict=semantics == "strict").is_satisfiable()
            assert verify(formula, scene, semantics).passed is expected, f"{formula} in {scene.to_json()}"
            held += expected
    assert 0.3 < held / (2 * Z3_PAIRS) < 0.7


def test_on_random_pairs_with_counts_against_z3() -> None:
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
