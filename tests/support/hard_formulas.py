"""Formulas whose variables are all linked, and scenes of many objects: too hard to be decided in a few steps."""

from __future__ import annotations

import random
from collections.abc import Callable
from itertools import combinations

from formalimg.logic import world as logic_world
from formalimg.logic.evaluation import Evaluator
from formalimg.logic.parser import parse
from formalimg.logic.variables import rename_apart
from formalimg.scenes.objects import Box, SceneObject
from formalimg.scenes.scene import Scene, SceneRelation

_DIRECTIONS = ("LeftOf", "RightOf", "Above", "Below", "LargerThan", "SmallerThan")


def crowd(objects: int, seed: int = 1) -> Scene:
    """So many cups all over the canvas, half of all pairs of them next to each other."""
    chance = random.Random(seed)
    cups = []
    for _ in range(objects):
        x, y, width, height = (chance.randint(0, 900), chance.randint(0, 900), *chance.choices(range(5, 60), k=2))
        cups.append(SceneObject("cup", Box(x, y, x + width, y + height), "red"))
    return Scene.of(
        cups, [SceneRelation("NextTo", *pair) for pair in combinations(range(objects), 2) if chance.random() < 0.5]
    )


def steps_taken(formula: str, scene: Scene) -> int:
    """How many steps it takes to decide a formula."""
    evaluator = Evaluator(scene, "strict", None)
    evaluator.holds(rename_apart(parse(formula)), {})
    return logic_world.MAX_STEPS - evaluator.query.left


def far_apart(variables: int) -> str:
    """Objects of which no two share a row or a column: a few more than fit onto the canvas."""
    return _all_pairs(
        variables, lambda: "(and (not (AlignedHorizontally ?{0} ?{1})) (not (AlignedVertically ?{0} ?{1})))"
    )


def all_neighbours(variables: int) -> str:
    """Objects that are all next to each other."""
    return _all_pairs(variables, lambda: "(NextTo ?{0} ?{1})")


def answered_in_turn(variables: int, quantifiers: str = "ea", seed: int = 2) -> str:
    """Quantifiers in turn (`e` for exists, `a` for forall) over ways in which each two objects may lie."""
    chance = random.Random(seed)
    ways = "(or ({} ?{{0}} ?{{1}}) (not ({} ?{{1}} ?{{0}})) (AlignedVertically ?{{0}} ?{{1}}))"
    return _all_pairs(variables, lambda: ways.format(*chance.choices(_DIRECTIONS, k=2)), quantifiers)


def conditions_within_conditions(variables: int, seed: int = 3) -> str:
    """Each other variable a `forall` whose condition ties it to those before."""
    chance = random.Random(seed)
    names = [f"v{number}" for number in range(variables)]
    text = f"(and {' '.join(f'({chance.choice(_DIRECTIONS)} ?{a} ?{b})' for a, b in combinations(names, 2))})"
    for place, name in reversed(list(enumerate(names))):
        ties = " ".join(
            f"({chance.choice(_DIRECTIONS)} ?{name} ?{other})" for other in names[max(0, place - 2) : place]
        )
        condition = f"(and (Is ?{name} 'cup') {ties})"
        text = (
            f"(forall ?{name} (implies {condition} {text}))"
            if place % 2
            else f"(exists ?{name} (and {condition} {text}))"
        )
    return text


def loosely_tied(variables: int, seed: int) -> str:
    """Each variable tied to one before or to two: not hard, but with many ways to go about it."""
    chance = random.Random(seed)
    tied = [number for number in range(1, variables) for _ in range(1 + (chance.random() < 0.4))]
    ties = [f"({chance.choice(_DIRECTIONS)} ?v{number} ?v{chance.randrange(number)})" for number in tied]
    text = f"(and {' '.join(ties)})"
    for number in reversed(range(variables)):
        text = f"(exists ?v{number} {text})"
    return text


def _all_pairs(variables: int, condition: Callable[[], str], quantifiers: str = "e") -> str:
    names = [f"v{number}" for number in range(variables)]
    text = f"(and {' '.join(condition().format(*pair) for pair in combinations(names, 2))})"
    for place, name in reversed(list(enumerate(names))):
        quantifier = "exists" if quantifiers[place % len(quantifiers)] == "e" else "forall"
        text = f"({quantifier} ?{name} {text})"
    return text
