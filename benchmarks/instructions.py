"""Instructions and scenes for the benchmarks: shaped like the published ones, generated from a seed.

A scene is sampled first, with so few classes that several objects share one. The instruction is then about K of its
objects: their classes, some colours and sides, and relations of the scene that connect all of them. About
half of the instructions end in a `forall` around the last variables. In half of all cases one relation is turned into
its opposite, so that the formula fails late, if at all: the hard case for a search.
"""

from __future__ import annotations

import random
from typing import NamedTuple

from formalimg.logic.parser import parse
from formalimg.logic.syntax import (
    COUNT_BOUNDS,
    And,
    Atom,
    Count,
    Exists,
    Forall,
    Formula,
    Implies,
    Value,
    Variable,
    map_children,
)
from formalimg.logic.vocabulary import vocabulary
from formalimg.scenes.objects import Box, SceneObject
from formalimg.scenes.rules import BINARY_RULES, UNARY_RULES
from formalimg.scenes.scene import Scene

_OPPOSITE = {"LeftOf": "RightOf", "Above": "Below", "LargerThan": "SmallerThan"}
_OPPOSITE |= {right: left for left, right in _OPPOSITE.items()}


class Case(NamedTuple):
    """An instruction and the scene it is to be verified in."""

    k: int
    formula: Formula
    scene: Scene


def draw_case(k: int, objects: int, seed: int) -> Case:
    """Sample a case with K variables and a scene of this many objects; the same for the same seed."""
    chance = random.Random(f"{k} {objects} {seed}")
    words = vocabulary("knolling").words
    classes = chance.sample(words["class"], chance.randint(1, k))
    scene = Scene.of(
        SceneObject(chance.choice(classes), _box(chance), chance.choice(words["color"])) for _ in range(objects)
    )
    spoken_of = [chance.randrange(objects) for _ in range(k)]
    names = [f"x{number}" for number in range(k)]
    one = [_about(name, scene.objects[obj], chance) for name, obj in zip(names, spoken_of, strict=True)]
    relations: list[tuple[int, Atom]] = []  # each with the later of its two variables
    for later in range(1, k):
        for earlier in {later - 1 if chance.random() < 0.6 else chance.randrange(later), chance.randrange(later)}:
            atom = _relation(scene, names, spoken_of, earlier, later, chance)
            if atom is not None:
                relations.append((later, atom))
    if relations and chance.random() < 0.5:
        broken = chance.randrange(len(relations))
        later, atom = relations[broken]
        opposite = _OPPOSITE.get(atom.predicate)
        if opposite:
            relations[broken] = later, Atom(opposite, atom.arguments)
    return Case(k, parse(str(_formula(names, one, relations, chance))), scene)


def with_counts(case: Case, seed: int) -> Case:
    """Return the case with a count about each object that it names by `exists`, such as "two cups left of it"."""
    chance = random.Random(f"counts {seed}")
    classes = sorted({obj.label for obj in case.scene.objects})

    def counted(formula: Formula) -> Formula:
        formula = map_children(formula, counted)
        if not isinstance(formula, Exists):
            return formula
        other = Variable(f"n_{formula.variable.name}")
        relation = Atom(chance.choice(list(BINARY_RULES)), (other, formula.variable))
        body = And((Atom("Is", (other, Value(chance.choice(classes)))), relation))
        count = Count(chance.choice(COUNT_BOUNDS), chance.randint(1, 4), other, body)
        return Exists(formula.variable, And((formula.body, count)))

    return Case(case.k, parse(str(counted(case.formula))), case.scene)


def _box(chance: random.Random) -> Box:
    width, height = chance.randrange(40, 200), chance.randrange(40, 200)
    x, y = chance.randrange(0, 1000 - width), chance.randrange(0, 1000 - height)
    return Box(x, y, x + width, y + height)


def _about(name: str, obj: SceneObject, chance: random.Random) -> list[Atom]:
    variable = Variable(name)
    atoms = [Atom("Is", (variable, Value(obj.label)))]
    if chance.random() < 0.4 and obj.color:
        atoms.append(Atom("Has", (variable, Value(obj.color))))
    if chance.random() < 0.3:
        sides = [side for side, rule in UNARY_RULES.items() if rule.holds(obj.box)]
        if sides:
            atoms.append(Atom(chance.choice(sides), (variable,)))
    return atoms


def _relation(
    scene: Scene, names: list[str], spoken_of: list[int], earlier: int, later: int, chance: random.Random
) -> Atom | None:
    order = [earlier, later]
    chance.shuffle(order)
    boxes = [scene.objects[spoken_of[place]].box for place in order]
    true = [predicate for predicate, rule in BINARY_RULES.items() if rule.holds(boxes[0], boxes[1])]
    return Atom(chance.choice(true), (Variable(names[order[0]]), Variable(names[order[1]]))) if true else None


def _formula(
    names: list[str], one: list[list[Atom]], relations: list[tuple[int, Atom]], chance: random.Random
) -> Formula:
    k = len(names)
    split = chance.randrange(k) if chance.random() < 0.5 else k  # the variable that forall binds, if any

    def conjuncts(first: int, end: int, *, without: int | None = None) -> list[Formula]:
        about = [atom for place in range(first, end) if place != without for atom in one[place]]
        return [*about, *(atom for later, atom in relations if first <= later < end)]

    outer = conjuncts(0, split)
    if split < k:
        inner = _conjunction(conjuncts(split, k, without=split) or [Atom("OnLeftSide", (Variable(names[split]),))])
        for name in reversed(names[split + 1 :]):
            inner = Exists(Variable(name), inner)
        outer.append(Forall(Variable(names[split]), Implies(_conjunction(one[split]), inner)))
    formula: Formula = _conjunction(outer)
    for name in reversed(names[:split]):
        formula = Exists(Variable(name), formula)
    return formula


def _conjunction(parts: list[Atom] | list[Formula]) -> Formula:
    return parts[0] if len(parts) == 1 else And(tuple(parts))
