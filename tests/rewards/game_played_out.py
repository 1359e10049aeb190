"""The dense reward by its definition: a game over the clauses, played out over all bindings. The oracle here."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from itertools import product
from typing import NamedTuple

from formalimg.logic import Clause, Component, Formula, FormulaError, Value, Variable, to_prenex
from formalimg.logic.strict_forall import expand_strict_forall
from formalimg.scenes import Scene
from tests.support.brute_force import atom_truth

STYLE = "photo"
"""The style of all images here."""


class Counted(NamedTuple):
    """A clause and what it counts."""

    clause: Clause
    weight: int


class Played(NamedTuple):
    """The quantifiers of a component, outermost first, and its clauses."""

    prefix: tuple[tuple[str, str], ...]
    clauses: tuple[Counted, ...]

    @property
    def is_existential(self) -> bool:
        return all(kind == "exists" for kind, _ in self.prefix)


def components(formula: Formula, weights: Mapping[str, int]) -> list[Played]:
    """What a strict formula is played over; nothing for those that would grow too large."""
    try:
        spelled = expand_strict_forall(formula)
        return [_counted(part, spelled.presence, weights) for part in to_prenex(spelled.formula).components]
    except FormulaError as error:
        assert error.problems[0].kind == "size"
        return []


def _counted(component: Component, presence: frozenset[str], weights: Mapping[str, int]) -> Played:
    counted = []
    for clause in component.clauses:
        kind = clause.kind if clause.variables.isdisjoint(presence) else "condition"
        counted.append(Counted(clause, weights.get(kind, 1)))
    return Played(tuple((kind, name) for kind, name in component.prefix), tuple(counted))


def effort(parts: list[Played], objects: int) -> int:
    return sum(objects ** len(part.prefix) * len(part.clauses) for part in parts)


def holds(clause: Clause, scene: Scene, binding: Mapping[str, int]) -> bool:
    for atom, positive in clause.literals:
        if atom.predicate == "IsStyle":
            true = atom.arguments[0] == Value(STYLE)
        else:
            values = [scene.objects[binding[a.name]] if isinstance(a, Variable) else a.text for a in atom.arguments]
            true = atom_truth(atom.predicate, values)
        if true is positive:
            return True
    return False


def worth(part: Played, scene: Scene, picked: tuple[int, ...] = ()) -> int:
    """What a component is worth if both players play best from here on; in a scene with objects in it."""
    if len(picked) == len(part.prefix):
        binding = dict(zip([name for _, name in part.prefix], picked, strict=True))
        return sum(weight for clause, weight in part.clauses if holds(clause, scene, binding))
    best = max if part.prefix[len(picked)][0] == "exists" else min
    return best(worth(part, scene, (*picked, obj)) for obj in range(len(scene)))


def share(parts: list[Played], scene: Scene) -> Fraction:
    """The dense reward, exactly; in a scene with objects in it."""
    total = sum(weight for part in parts for _, weight in part.clauses)
    return Fraction(sum(worth(part, scene) for part in parts), total)


def best_share_of_all_bindings(parts: list[Played], scene: Scene) -> Fraction:
    """For existential formulas there is no game: the best of all bindings."""
    total = sum(weight for part in parts for _, weight in part.clauses)
    most = 0
    for part in parts:
        names = [name for _, name in part.prefix]
        bindings = (dict(zip(names, picks, strict=True)) for picks in product(range(len(scene)), repeat=len(names)))
        most += max(
            sum(weight for clause, weight in part.clauses if holds(clause, scene, binding)) for binding in bindings
        )
    return Fraction(most, total)
