"""Random formulas and scenes: every connective, nested and alternating quantifiers, shadowing, counts, empty scenes."""

from __future__ import annotations

import random

from formalimg.logic.syntax import (
    COUNT_BOUNDS,
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
)
from formalimg.scenes.objects import Box, SceneObject
from formalimg.scenes.rules import BINARY_RULES, UNARY_RULES
from formalimg.scenes.scene import Scene

CLASSES = ("cup", "fork")
COLORS = ("red", "blue")
STYLES = ("photo", "cartoon")
_NAMES = "xyzuv"


def random_formula(chance: random.Random, depth: int, *, styles: bool = True, counts: bool = False) -> Formula:
    """A closed formula of at most this depth; with `counts`, also with counting quantifiers and `distinct`."""
    return _formula(chance, depth, (), styles, counts)


def _formula(chance: random.Random, depth: int, scope: tuple[str, ...], styles: bool, counts: bool) -> Formula:
    if scope and (depth == 0 or chance.random() < 0.25):
        if counts and len(scope) > 1 and chance.random() < 0.25:
            return Atom("distinct", tuple(map(Variable, chance.sample(scope, chance.randint(2, min(3, len(scope)))))))
        return _atom(chance, scope, styles)
    if depth == 0:
        if styles:
            return Atom("IsStyle", (Value(chance.choice(STYLES)),))
        return Exists(Variable("x"), _atom(chance, ("x",), styles))

    def inner(scope: tuple[str, ...] = scope) -> Formula:
        return _formula(chance, depth - 1, scope, styles, counts)

    if counts and chance.random() < 0.3:
        name = chance.choice(_NAMES)
        wider = scope if name in scope else (*scope, name)
        return Count(chance.choice(COUNT_BOUNDS), chance.choice([0, 1, 1, 2, 2, 3]), Variable(name), inner(wider))
    kind = chance.choices(
        ["not", "and", "or", "implies", "iff", "exists", "forall"], weights=[12, 15, 12, 11, 6, 22, 22]
    )[0]
    if kind == "not":
        return Not(inner())
    if kind in ("and", "or"):
        return (And if kind == "and" else Or)(tuple(inner() for _ in range(chance.randint(1, 3))))
    if kind in ("implies", "iff"):
        return (Implies if kind == "implies" else Iff)(inner(), inner())
    name = chance.choice(_NAMES)  # often one that is in scope already
    wider = scope if name in scope else (*scope, name)
    if kind == "exists":
        return Exists(Variable(name), inner(wider))
    if chance.random() < 0.6:
        return Forall(Variable(name), Implies(inner(wider), inner(wider)))
    return Forall(Variable(name), inner(wider))


def _atom(chance: random.Random, scope: tuple[str, ...], styles: bool) -> Atom:
    variable = Variable(chance.choice(scope))
    kind = chance.random()
    if kind < 0.28:
        return Atom("Is", (variable, Value(chance.choice(CLASSES))))
    if kind < 0.42:
        return Atom("Has", (variable, Value(chance.choice(COLORS))))
    if kind < 0.55:
        return Atom(chance.choice(list(UNARY_RULES)), (variable,))
    if kind < 0.97 or not styles:
        return Atom(chance.choice(list(BINARY_RULES)), (variable, Variable(chance.choice(scope))))
    return Atom("IsStyle", (Value(chance.choice(STYLES)),))


def random_scene(chance: random.Random, sizes: tuple[int, ...] = (0, 1, 2, 3, 3, 4, 4)) -> Scene:
    """A scene whose boxes lie on a coarse grid, so that ties and exact bounds are common."""
    return Scene.of(
        SceneObject(chance.choice(CLASSES), _box(chance), chance.choice([*COLORS, None]))
        for _ in range(chance.choice(sizes))
    )


def _box(chance: random.Random) -> Box:
    (xmin, xmax), (ymin, ymax) = (sorted(chance.choices(range(0, 1001, 50), k=2)) for _ in range(2))
    return Box(xmin, ymin, xmax, ymax)
