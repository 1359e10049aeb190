"""Skeletons with counts: which variables are counted, and how many objects each of them stands for."""

from __future__ import annotations

import random
from collections.abc import Sequence

from formalimg.benchmarks.formal.synthesis.skeleton import ObjectNumber, Skeleton
from formalimg.logic.syntax import CountBound

MAX_NUMBER = 6
"""The largest number of a count."""

_MAX_OBJECTS = 14
"""The most objects that an instruction asks for: more would be drawn too small to be recognized."""

_BOUNDS: dict[CountBound, float] = {"exactly": 0.55, "at-least": 0.25, "at-most": 0.2}

_SHARE_WITH_FORALL = 0.25

_MAX_BESIDE_FORALL = 3
"""The largest number of a count beside a `forall`, whose instances come on top of what is counted."""


def draw_counted_skeleton(level: int, classes: Sequence[str], rng: random.Random) -> Skeleton | None:
    """Draw a skeleton with `level` variables of the given classes, one or more of them counted.

    None if it asks for more objects than an image has room for, or if no count asks for any.
    """
    counted = 1 if level <= 2 else rng.randint(1, min(3, level - 1))
    plain = level - counted
    forall_at = rng.randrange(plain) if plain and rng.random() < _SHARE_WITH_FORALL else None
    names = tuple(word.replace(" ", "_") for word in classes)
    largest = MAX_NUMBER if forall_at is None else _MAX_BESIDE_FORALL
    amounts = {name: _draw_amount(largest, rng) for name in names[plain:]}
    if plain + sum(amount.number for amount in amounts.values()) > _MAX_OBJECTS:
        return None
    if all(amount.bound == "at-most" for amount in amounts.values()):
        return None
    return Skeleton(names, tuple(classes), forall_at, amounts)


def _draw_amount(largest: int, rng: random.Random) -> ObjectNumber:
    """Draw a bound and a number. "At least one" is what `exists` says, and is not drawn."""
    bound = rng.choices(list(_BOUNDS), list(_BOUNDS.values()))[0]
    return ObjectNumber(bound, rng.randint(2 if bound == "at-least" else 1, largest))
