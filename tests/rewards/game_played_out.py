"""The dense reward by its definition: a game over the clauses, played out over all bindings. The oracle here.

What a clause needs to count comes from the formula and is read from the code (tests with examples check it); whether an
object gives it is decided here, object by object.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from itertools import product
from typing import NamedTuple, TypeAlias

from formalimg.logic.errors import FormulaError
from formalimg.logic.prenex import Clause, Component, Literal, to_prenex
from formalimg.logic.soft_score.earned_credit import (
    ClauseCredit,
    InstanceCondition,
    component_credits,
    expand_strict_forall,
    instance_conditions,
    is_asking,
)
from formalimg.logic.syntax import Atom, Count, Formula, Value, Variable
from formalimg.scenes.objects import SceneObject
from formalimg.scenes.scene import Scene
from tests.support.brute_force import atom_truth, count_truth, number_found

STYLE = "photo"


class Counted(NamedTuple):
    clause: Clause
    weight: int
    needed: ClauseCredit
    asks: bool


Counts: TypeAlias = Callable[[Counted, Scene, Mapping[str, int]], Fraction | bool]


class Played(NamedTuple):
    prefix: tuple[tuple[str, str], ...]
    clauses: tuple[Counted, ...]

    @property
    def is_existential(self) -> bool:
        return all(kind == "exists" for kind, _ in self.prefix)


def components(formula: Formula, weights: Mapping[str, int]) -> list[Played]:
    try:
        spelled = expand_strict_forall(formula)
        parts = to_prenex(spelled.formula).components
    except FormulaError as error:
        assert error.problems[0].kind == "size"
        return []
    universal = frozenset(name for part in parts for kind, name in part.prefix if kind == "forall")
    conditions = instance_conditions(parts, spelled.instances, universal)
    return [
        _counted(part, component_credits(part, conditions, universal), universal, spelled.presence, weights)
        for part in parts
    ]


def _counted(
    component: Component,
    needed: list[ClauseCredit],
    universal: frozenset[str],
    presence: frozenset[str],
    weights: Mapping[str, int],
) -> Played:
    counted = []
    for clause, needs in zip(component.clauses, needed, strict=True):
        kind = clause.kind if clause.variables.isdisjoint(presence) else "condition"
        counted.append(Counted(clause, weights.get(kind, 1), needs, is_asking(clause, universal)))
    return Played(tuple((kind, name) for kind, name in component.prefix), tuple(counted))


def effort(parts: list[Played], objects: int) -> int:
    return sum(objects ** len(part.prefix) * len(part.clauses) for part in parts)


def holds(counted: Counted, scene: Scene, binding: Mapping[str, int]) -> Fraction:
    return max(_value(literal, scene, binding) for literal in counted.clause.literals)


def earns(counted: Counted, scene: Scene, binding: Mapping[str, int]) -> Fraction:
    classes, instances = counted.needed
    if not all(any(_meets(condition, obj, scene) for obj in scene.objects) for condition in instances):
        return Fraction(0)
    best = Fraction(0)
    for literal in counted.clause.literals:
        required = {} if literal.positive and literal.predicates == ("Is",) and _is_atom(literal) else classes
        if all(scene.objects[binding[n]].label in required[n] for n in literal.variables if n in required):
            best = max(best, _value(literal, scene, binding))
    return best


def _is_atom(literal: Literal) -> bool:
    return isinstance(literal.atom, Atom)


def _value(literal: Literal, scene: Scene, binding: Mapping[str, int]) -> Fraction:
    if isinstance(literal.atom, Atom):
        return Fraction(_is_true(literal.atom, literal.positive, scene, binding))
    count = literal.atom
    own = {name: binding[name] for name in literal.variables}
    found = number_found(count, scene, own, strict=True, style=STYLE)
    return count_value(count, literal.positive, found)


def count_value(count: Count, positive: bool, found: int) -> Fraction:
    if count_truth(count.bound, count.number, found) is positive:
        return Fraction(1)
    if not positive and count.bound == "exactly":
        return Fraction(0)
    allowed = [n for n in range(count.number + found + 2) if count_truth(count.bound, count.number, n) is positive]
    if not allowed:
        return Fraction(0)
    nearest = min(allowed, key=lambda n: abs(n - found))
    return Fraction(min(nearest, found), max(nearest, found))


def _is_true(atom: Atom, positive: bool, scene: Scene, binding: Mapping[str, int]) -> bool:
    if atom.predicate == "IsStyle":
        return (atom.arguments[0] == Value(STYLE)) is positive
    values = [scene.objects[binding[a.name]] if isinstance(a, Variable) else a.text for a in atom.arguments]
    return atom_truth(atom.predicate, values) is positive


def _meets(condition: InstanceCondition, obj: SceneObject, scene: Scene) -> bool:
    for literals in condition.own:
        if not any(atom_truth(name, [obj] if word is None else [obj, word]) is told for name, word, told in literals):
            return False
    for predicate, is_first, classes in condition.relations:
        others = [other for other in scene.objects if not classes or other.label in classes]
        if not any(atom_truth(predicate, [obj, other] if is_first else [other, obj]) for other in others):
            return False
    return True


def worth(part: Played, scene: Scene, counts: Counts, picked: tuple[int, ...] = ()) -> Fraction:
    if len(picked) == len(part.prefix):
        binding = dict(zip([name for _, name in part.prefix], picked, strict=True))
        return sum((counted.weight * Fraction(counts(counted, scene, binding)) for counted in part.clauses), Fraction())
    best = max if part.prefix[len(picked)][0] == "exists" else min
    return best(worth(part, scene, counts, (*picked, obj)) for obj in range(len(scene)))


def share(parts: list[Played], scene: Scene, counts: Counts = holds) -> Fraction:
    total = sum(counted.weight for part in parts for counted in part.clauses)
    return Fraction(sum(worth(part, scene, counts) for part in parts), total)


def reward(parts: list[Played], scene: Scene, passes: bool) -> Fraction:
    if passes:
        return Fraction(1)
    return share(parts, scene, earns) if shows_something(parts, scene) else Fraction(0)


def shows_something(parts: list[Played], scene: Scene) -> bool:
    asking = [counted for part in parts for counted in part.clauses if counted.asks]
    return not asking or any(_can_be_earned(counted, scene) for counted in asking)


def _can_be_earned(counted: Counted, scene: Scene) -> bool:
    names = counted.clause.names
    picks = product(range(len(scene)), repeat=len(names))
    return any(earns(counted, scene, dict(zip(names, objects, strict=True))) > 0 for objects in picks)


def best_share_of_all_bindings(parts: list[Played], scene: Scene) -> Fraction:
    total = sum(counted.weight for part in parts for counted in part.clauses)
    most = Fraction()
    for part in parts:
        names = [name for _, name in part.prefix]
        bindings = (dict(zip(names, picks, strict=True)) for picks in product(range(len(scene)), repeat=len(names)))
        most += max(
            sum((counted.weight * earns(counted, scene, binding) for counted in part.clauses), Fraction())
            for binding in bindings
        )
    return Fraction(most, total)
