"""Where an object fits best, as far as can be seen from what is in mind and from what lies there already."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from random import Random

import numpy as np

from formalimg.baselines.board import Marks, Numbers, Spots, spots
from formalimg.baselines.reader.facts import Fact
from formalimg.scenes import RULES_OF_ONE, RULES_OF_TWO, Box, Greater, Less, Near

_CLEARLY = 20
"""By how much a relation must hold to be plain to see."""

_MUCH = 1.2
"""How many times the area of a smaller object a larger one has, to be plain to see."""


def best_spot(label: str, obj: int, facts: Sequence[Fact], boxes: Mapping[int, Box], chance: Random) -> Box | None:
    """The free spot in which most of the facts hold of an object; None if no spot is free.

    Among equally good spots, the most usual size is taken, and then chance decides.
    """
    others = {other: box for other, box in boxes.items() if other != obj}
    around = spots(label)
    free = around.free(others.values())
    if not free.any():
        return None
    worst = around.scale.max() + 1
    cost = np.where(free, _missed(around, obj, facts, others) * worst + around.scale, np.inf)
    best = np.flatnonzero(cost == cost.min())
    return around.box(int(best[chance.randrange(len(best))]))


def holds(fact: Fact, boxes: Mapping[int, Box]) -> bool:
    """Does a fact plainly hold of objects that have their places?"""
    return bool(_held(fact.predicate, [boxes[obj] for obj in fact.objects]))


def _missed(around: Spots, obj: int, facts: Iterable[Fact], boxes: Mapping[int, Box]) -> Numbers:
    """How many of the facts fail in each of the spots that an object could take."""
    missed = np.zeros(len(around.scale))
    for fact in facts:
        missed += ~_held(fact.predicate, [around if one == obj else boxes[one] for one in fact.objects])
    return missed


def _held(predicate: str, places: Sequence[Box | Spots]) -> Marks:
    """Where a predicate plainly holds: the rules that decide it, with room to spare."""
    if len(places) == 1:
        between = RULES_OF_ONE[predicate]
        low, high = between.low + _CLEARLY, between.high - _CLEARLY
        measured: Numbers = np.array([getattr(places[0], measure) for measure in between.measures])
        return np.asarray(np.all((low <= measured) & (measured <= high), axis=0))
    rule = RULES_OF_TWO[predicate]
    first: Numbers = np.asarray(getattr(places[0], rule.first))
    second: Numbers = np.asarray(getattr(places[1], rule.second))
    match rule:
        case Less("area"):
            return first * _MUCH <= second
        case Greater("area"):
            return first >= second * _MUCH
        case Less():
            return first + _CLEARLY <= second
        case Greater():
            return first >= second + _CLEARLY
        case Near(_, bound):
            return np.abs(first - second) <= bound - _CLEARLY
