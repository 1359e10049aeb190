"""Random objects as chat models write them, odd ones among them, and random formulas of Knolling to judge them by."""

from __future__ import annotations

import random
from typing import Any

from formalimg.scenes.rules import BINARY_RULES, UNARY_RULES
from tests.support.random_logic import random_formula

CLASSES = ("cup", "fork", "pen")


def number(chance: random.Random) -> Any:
    usual = chance.choice([0, 50, 100, 250, 333, 334, 400, 450, 500, 550, 600, 666, 667, 750, 900, 1000])
    if chance.random() < 0.97:
        return usual
    return chance.choice([-40, 1200, 333.5, "120", None, True, [1], float("nan"), 10**30, 0.5])


def entry(chance: random.Random) -> Any:
    """An object as models write them: sometimes with swapped corners, seldom not an object at all."""
    if chance.random() < 0.01:
        return chance.choice(["cup", None, 7, []])
    box: Any = [number(chance) for _ in range(4)]
    if chance.random() < 0.8 and all(type(edge) in (int, float) for edge in box):
        box = [min(box[0], box[2]), min(box[1], box[3]), max(box[0], box[2]), max(box[1], box[3])]
    if chance.random() < 0.03:
        box = chance.choice([box[:3], [*box, 5], None, [], "0 0 10 10", {"x": 1}, 12])
    label = chance.choice(CLASSES) if chance.random() < 0.95 else chance.choice(["Cup", "cup ", "tea_cup", None, 3])
    color = chance.choice(["red", "blue", "other"]) if chance.random() < 0.95 else chance.choice(["Red", None, ["red"]])
    found = {"label": label, "color": color, "box_2d": box}
    if chance.random() < 0.03:
        del found[chance.choice(list(found))]
    if chance.random() < 0.03:
        found["material"] = chance.choice(["red", "wood"])
    return found


def whole_entry(chance: random.Random) -> dict[str, Any]:
    """The next entry that is an object."""
    return next(found for _ in range(100) if isinstance(found := entry(chance), dict))


def objects(chance: random.Random, most: int = 4) -> list[Any]:
    return [entry(chance) for _ in range(chance.randint(0, most))]


def atom(chance: random.Random, names: list[str]) -> str:
    name = chance.choice(names)
    kind = chance.random()
    if kind < 0.2:
        return f"(Has ?{name} '{chance.choice(['red', 'blue'])}')"
    if kind < 0.45:
        return f"({chance.choice(list(UNARY_RULES))} ?{name})"
    return f"({chance.choice(list(BINARY_RULES))} ?{name} ?{chance.choice(names)})"


def knolling_formula(chance: random.Random) -> str:
    """A formula of the published shapes, or one of any shape whatever."""
    if chance.random() < 0.3:
        return str(random_formula(chance, chance.randint(1, 4), styles=False))
    names = ["x", "y", "z"][: chance.randint(1, 3)]
    parts = [f"(Is ?{name} '{label}')" for name, label in zip(names, CLASSES, strict=False)]
    parts += [atom(chance, names) for _ in range(chance.randint(0, 3))]
    if chance.random() < 0.3:
        parts.append(f"(forall ?w (implies (Is ?w '{chance.choice(CLASSES)}') {atom(chance, [*names, 'w'])}))")
    if chance.random() < 0.03:
        parts.append(f"(Behind ?{names[0]} ?{names[-1]})")
    body = f"(and {' '.join(parts)})"
    for name in reversed(names):
        body = f"(exists ?{name} {body})"
    return body
