"""A formula that is prepared once is decided in each scene by that scene alone, against the definition of truth.

The formulas are shaped like instructions, and worse: trees and cycles of relations, several relations between two
variables, negations, relations of a variable to itself, `distinct`, counts, and `forall`s with and without conditions.
"""

from __future__ import annotations

import random
from collections import Counter
from itertools import combinations

import pytest

from formalimg.logic.elimination import ConstraintBlock
from formalimg.logic.soft_score.best_binding import prepare_formula
from formalimg.logic.syntax import (
    COUNT_BOUNDS,
    And,
    Atom,
    Count,
    Exists,
    Forall,
    Formula,
    Implies,
    Not,
    Value,
    Variable,
)
from formalimg.logic.verification import verify
from formalimg.scenes.objects import SceneObject
from formalimg.scenes.rules import BINARY_RULES, UNARY_RULES
from formalimg.scenes.scene import Scene
from tests.support.brute_force import truth
from tests.support.random_logic import CLASSES, COLORS, random_formula, random_scene
from tests.support.sizes import tries


def test_in_many_scenes(monkeypatch: pytest.MonkeyPatch) -> None:
    counts: Counter[str] = Counter()
    for name in ("_eliminate_without_tables", "_propagate", "_try_values", "_eliminate"):
        monkeypatch.setattr(ConstraintBlock, name, _counted(getattr(ConstraintBlock, name), name, counts))
    asked = held = 0
    for number in range(tries(250, 5000)):
        chance = random.Random(f"again {number}")
        formula = [_instruction, _instruction, _knot, _anything][number % 4](chance)
        strict = chance.random() < 0.7
        ready = prepare_formula(formula, "strict" if strict else "classical")
        scenes = [random_scene(chance, (0, 1, 4, 5, 6)) for _ in range(3)]
        for scene in [*scenes, _with_twins(scenes[0], chance), scenes[0]]:
            expected = truth(formula, scene, strict=strict)
            found = ready.verify(Scene(scene.objects, scene.relations))
            assert found.passed is expected, f"{formula} in {scene.to_json()}"
            assert found == verify(formula, scene, ready.semantics)
            asked += 1
            held += expected
    assert 0.2 < held / asked < 0.8
    # Trees, which need no tables, are as common as in instructions; what is left to the other ways is there too.
    assert counts["_eliminate_without_tables"] > asked / 5
    assert min(counts["_propagate"], counts["_eliminate"], counts["_try_values"]) > asked / 100, counts


def test_in_scenes_of_many_objects() -> None:
    """More objects than are compared one by one, so that those of one formula are both scanned and sorted."""
    held = 0
    pairs = tries(60, 600)
    for number in range(pairs):
        chance = random.Random(f"many {number}")
        ready = prepare_formula(_instruction(chance, variables=2))
        for scene in (random_scene(chance, (40,)), random_scene(chance, (18,))):
            expected = truth(ready.formula, scene, strict=True)
            assert ready.verify(scene).passed is expected, f"{ready.formula} in {scene.to_json()}"
            held += expected
    assert 0.2 < held / (2 * pairs) < 0.95


def _counted(method, name: str, counts: Counter[str]):  # type: ignore[no-untyped-def]
    def call(*arguments):  # type: ignore[no-untyped-def]
        counts[name] += 1
        return method(*arguments)

    return call


def _with_twins(scene: Scene, chance: random.Random) -> Scene:
    """Return the scene with some of its objects twice: they look the same and are different ones."""
    twins = [SceneObject(obj.label, obj.box, obj.color) for obj in scene.objects if chance.random() < 0.5]
    return Scene.of([*scene.objects, *twins[:2]])


def _anything(chance: random.Random) -> Formula:
    return random_formula(chance, 4, styles=False, counts=True)


def _knot(chance: random.Random) -> Formula:
    """Variables of which each two are linked, within a `forall` or not: what needs tables, or values to be tried."""
    names = ["v0", "v1", "v2", "v3"][: chance.randint(3, 4)]
    formula: Formula = And(tuple(_link(before, name, chance) for before, name in combinations(names, 2)))
    for name in reversed(names[1:]):
        formula = Exists(Variable(name), formula)
    return (Exists if chance.random() < 0.6 else Forall)(Variable(names[0]), formula)


def _instruction(chance: random.Random, variables: int = 0) -> Formula:
    """A conjunction about a few variables, most of them bound by `exists`, each linked to some before it."""
    names = [f"v{number}" for number in range(variables or chance.randint(1, 4))]
    kinds = ["exists", "exists", "exists", "forall", "count"] if chance.random() < 0.6 else ["exists"]
    formula: Formula | None = None
    for place in reversed(range(len(names))):
        own = [_claim_of_one(names[place], chance) for _ in range(chance.randint(1, 2))]
        rest = [] if formula is None else [formula]
        if place:
            rest += [_link(chance.choice(names[:place]), names[place], chance) for _ in range(chance.randint(1, 3))]
        formula = _quantified(chance.choice(kinds), Variable(names[place]), own, rest, chance)
    assert formula is not None
    return formula


def _quantified(
    kind: str, variable: Variable, own: list[Formula], rest: list[Formula], chance: random.Random
) -> Formula:
    if kind == "forall" and rest:
        return Forall(variable, Implies(And(tuple(own)), And(tuple(rest))))
    if kind == "forall":
        return Forall(variable, own[0])
    if kind == "count":
        return Count(chance.choice(COUNT_BOUNDS), chance.randint(0, 2), variable, And((*own, *rest)))
    return Exists(variable, And((*(own if chance.random() < 0.6 else []), *(rest or own))))


def _claim_of_one(name: str, chance: random.Random) -> Formula:
    variable = Variable(name)
    choices = [
        Atom("Is", (variable, Value(chance.choice(CLASSES)))),
        Atom("Has", (variable, Value(chance.choice(COLORS)))),
        Atom(chance.choice(list(UNARY_RULES)), (variable,)),
        Atom(chance.choice(["AlignedVertically", "LargerThan"]), (variable, variable)),
    ]
    (atom,) = chance.choices(choices, weights=[8, 3, 3, 1])
    return Not(atom) if chance.random() < 0.2 else atom


def _link(before: str, name: str, chance: random.Random) -> Formula:
    pair = [Variable(before), Variable(name)]
    chance.shuffle(pair)
    atom = Atom(chance.choice([*BINARY_RULES, "distinct"]), tuple(pair))
    return Not(atom) if chance.random() < 0.25 else atom
