"""The board on which objects are laid out: the spots that an object could take, and which of them are free."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from math import sqrt
from random import Random
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from formalimg.scenes import CANVAS, MIN_SIDE, RULES_OF_ONE, RULES_OF_TWO, Box, Greater, Less, Near, natural_aspect

GAP = 20
"""The least room between two objects, so that images stay readable."""

SCALES = (1.0, 0.66, 1.5, 0.44, 2.25, 0.3, 3.4)
"""The areas that an object may have, as multiples of the usual one; the more usual ones come first."""

_USUAL_AREA = 15_000
_LONGEST_SIDE = 400
_STEP = 25

Numbers = NDArray[np.float64]
Marks = NDArray[np.bool_]


@dataclass(frozen=True)
class Spots:
    """Many boxes that an object could take, by their edges; and the place of each one's scale among `SCALES`."""

    xmin: Numbers
    ymin: Numbers
    xmax: Numbers
    ymax: Numbers
    scale: NDArray[np.int64]

    @property
    def center_x(self) -> Numbers:
        """Where the centres stand from left to right."""
        return (self.xmin + self.xmax) / 2

    @property
    def center_y(self) -> Numbers:
        """Where the centres stand from top to bottom."""
        return (self.ymin + self.ymax) / 2

    @property
    def area(self) -> Numbers:
        """Width times height."""
        return (self.xmax - self.xmin) * (self.ymax - self.ymin)

    def box(self, spot: int) -> Box:
        """One of the boxes."""
        return Box(*(int(edges[spot]) for edges in (self.xmin, self.ymin, self.xmax, self.ymax)))

    def free(self, taken: Iterable[Box]) -> Marks:
        """Which of the boxes keep a gap from all boxes that are taken."""
        found = np.ones(len(self.scale), dtype=np.bool_)
        for box in taken:
            found &= (
                (self.xmax + GAP <= box.xmin)
                | (self.xmin >= box.xmax + GAP)
                | (self.ymax + GAP <= box.ymin)
                | (self.ymin >= box.ymax + GAP)
            )
        return found


@cache
def spots(label: str) -> Spots:
    """All spots for an object of a class, in its natural shape: on a grid, in every scale."""
    aspect = natural_aspect(label)
    grid = np.arange(_STEP, CANVAS, _STEP)
    kept, scales = [], []
    for number, scale in enumerate(SCALES):
        width, height = (_side(sqrt(_USUAL_AREA * scale * shape)) for shape in (aspect, 1 / aspect))
        x, y = (centers.ravel() for centers in np.meshgrid(grid, grid))
        edges = np.stack([x - width // 2, y - height // 2, x + width // 2, y + height // 2]).astype(np.float64)
        inside = (edges.min(axis=0) >= GAP) & (edges.max(axis=0) <= CANVAS - GAP)
        kept.append(edges[:, inside])
        scales.append(np.full(int(inside.sum()), number))
    xmin, ymin, xmax, ymax = np.concatenate(kept, axis=1)
    return Spots(xmin, ymin, xmax, ymax, np.concatenate(scales))


def _side(length: float) -> int:
    """A side of a box in whole, even numbers, so that its centre is whole too."""
    return 2 * round(min(max(length, 2 * MIN_SIDE), _LONGEST_SIDE) / 2)


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


class Fact(NamedTuple):
    """A geometric predicate of one or two objects, by their numbers."""

    predicate: str
    objects: tuple[int, ...]
