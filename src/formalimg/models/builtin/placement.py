"""Object placement: candidate boxes, free boxes, the box that satisfies most facts, and the scatter baseline."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from math import sqrt
from random import Random
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from formalimg.drawing.icon_scene import natural_aspect
from formalimg.models.builtin.mentions import EntityTracker, ObjectMention, PromptToken, TextCue, find_tokens
from formalimg.scenes.objects import CANVAS, MIN_SIDE, Box
from formalimg.scenes.rules import BINARY_RULES, UNARY_RULES, Greater, Less, Near
from formalimg.scenes.scene import Scene

GAP = 20  # the minimum distance between two objects, so that images stay readable
SCALES = (1.0, 0.66, 1.5, 0.44, 2.25, 0.3, 3.4)
"""The areas that an object may have, as multiples of the default; the more usual ones come first."""
_DEFAULT_AREA = 15_000
_MAX_SIDE = 400
_STEP = 25
_MARGIN = 20  # by how much a relation must hold to be obvious
_AREA_RATIO = 1.2  # how many times the area of a smaller object a larger one must have to be obviously larger

Numbers = NDArray[np.float64]
Mask = NDArray[np.bool_]


class PlacementFact(NamedTuple):
    """A geometric predicate of one or two objects, by their indices."""

    predicate: str
    objects: tuple[int, ...]


@dataclass(frozen=True)
class CandidateBoxes:
    """Candidate boxes for an object, stored as arrays of edges and of scale indices in `SCALES`."""

    xmin: Numbers
    ymin: Numbers
    xmax: Numbers
    ymax: Numbers
    scale: NDArray[np.int64]

    @property
    def center_x(self) -> Numbers:
        """Horizontal centres."""
        return (self.xmin + self.xmax) / 2

    @property
    def center_y(self) -> Numbers:
        """Vertical centres."""
        return (self.ymin + self.ymax) / 2

    @property
    def area(self) -> Numbers:
        """Area of each box."""
        return (self.xmax - self.xmin) * (self.ymax - self.ymin)

    def box(self, index: int) -> Box:
        """Return the box at an index."""
        return Box(*(int(edges[index]) for edges in (self.xmin, self.ymin, self.xmax, self.ymax)))

    def free(self, boxes: Iterable[Box]) -> Mask:
        """Return a mask of the boxes that keep a gap to all occupied boxes."""
        is_free = np.ones(len(self.scale), dtype=np.bool_)
        for box in boxes:
            is_free &= (
                (self.xmax + GAP <= box.xmin)
                | (self.xmin >= box.xmax + GAP)
                | (self.ymax + GAP <= box.ymin)
                | (self.ymin >= box.ymax + GAP)
            )
        return is_free


@cache
def candidate_boxes(label: str) -> CandidateBoxes:
    """Return all candidate boxes of a class in its natural aspect ratio, on a grid and at every scale."""
    aspect = natural_aspect(label)
    grid = np.arange(_STEP, CANVAS, _STEP)
    edges_by_scale, scales = [], []
    for number, scale in enumerate(SCALES):
        lengths = (sqrt(_DEFAULT_AREA * scale * shape) for shape in (aspect, 1 / aspect))
        # Sides are even whole numbers, so that the centre is whole too.
        width, height = (2 * round(min(max(length, 2 * MIN_SIDE), _MAX_SIDE) / 2) for length in lengths)
        x, y = (centers.ravel() for centers in np.meshgrid(grid, grid))
        edges = np.stack([x - width // 2, y - height // 2, x + width // 2, y + height // 2]).astype(np.float64)
        inside = (edges.min(axis=0) >= GAP) & (edges.max(axis=0) <= CANVAS - GAP)
        edges_by_scale.append(edges[:, inside])
        scales.append(np.full(int(inside.sum()), number))
    xmin, ymin, xmax, ymax = np.concatenate(edges_by_scale, axis=1)
    return CandidateBoxes(xmin, ymin, xmax, ymax, np.concatenate(scales))


def best_box(label: str, obj: int, facts: Sequence[PlacementFact], boxes: Mapping[int, Box], rng: Random) -> Box | None:
    """Return the free box that satisfies most facts about an object; None if no box is free.

    Among equally good boxes, the most usual size is taken, and then the random generator decides.
    """
    placed = {index: box for index, box in boxes.items() if index != obj}
    candidates = candidate_boxes(label)
    free = candidates.free(placed.values())
    if not free.any():
        return None
    violated = np.zeros(len(candidates.scale))
    for fact in facts:
        violated += ~_holds_obviously(
            fact.predicate, [candidates if index == obj else placed[index] for index in fact.objects]
        )
    cost = np.where(free, violated * (candidates.scale.max() + 1) + candidates.scale, np.inf)
    best = np.flatnonzero(cost == cost.min())
    return candidates.box(int(best[rng.randrange(len(best))]))


def fact_holds(fact: PlacementFact, boxes: Mapping[int, Box]) -> bool:
    """Return whether a fact holds with a margin for objects that have been placed."""
    return bool(_holds_obviously(fact.predicate, [boxes[obj] for obj in fact.objects]))


def _holds_obviously(predicate: str, places: Sequence[Box | CandidateBoxes]) -> Mask:
    if len(places) == 1:
        between = UNARY_RULES[predicate]
        low, high = between.low + _MARGIN, between.high - _MARGIN
        measured: Numbers = np.array([getattr(places[0], measure) for measure in between.measures])
        return np.asarray(np.all((low <= measured) & (measured <= high), axis=0))
    rule = BINARY_RULES[predicate]
    first: Numbers = np.asarray(getattr(places[0], rule.first))
    second: Numbers = np.asarray(getattr(places[1], rule.second))
    match rule:
        case Less("area"):
            return first * _AREA_RATIO <= second
        case Greater("area"):
            return first >= second * _AREA_RATIO
        case Less():
            return first + _MARGIN <= second
        case Greater():
            return first >= second + _MARGIN
        case Near(_, bound):
            return np.abs(first - second) <= bound - _MARGIN


def compose_scattered(prompt: str, seed: int = 0) -> Scene:
    """Return the objects in a prompt with random sizes and positions; empty if none can be drawn.

    Only colours that belong to a noun count ("a red cup", "the cup is red"). All other words are ignored.
    """
    rng = Random(f"{seed} {prompt}")
    entities = EntityTracker()
    for sentence in find_tokens(prompt):
        _track_mentions(sentence, entities)
    boxes: dict[int, Box] = {}
    for obj, entity in entities:
        box = _random_box(entity.label, boxes, rng)
        if box is not None:
            boxes[obj] = box
    return entities.scene(boxes, rng)


def _track_mentions(sentence: list[PromptToken], entities: EntityTracker) -> None:
    for index, token in enumerate(sentence):
        if isinstance(token, ObjectMention):
            group = entities.resolve(token)
            match sentence[index + 1 : index + 3]:
                case [TextCue("verb"), TextCue("color", (color,))]:
                    entities.paint(group, color)


def _random_box(label: str, boxes: dict[int, Box], rng: Random) -> Box | None:
    """Return a random free box of a random size, falling back to other sizes; None if no box is free."""
    candidates = candidate_boxes(label)
    free = candidates.free(boxes.values())
    of_size = free & (candidates.scale == rng.randrange(len(SCALES)))
    choices = np.flatnonzero(of_size if of_size.any() else free)
    return candidates.box(int(choices[rng.randrange(len(choices))])) if len(choices) else None
