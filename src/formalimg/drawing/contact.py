"""Contact at pixel level: whether relations such as on, in, holding and in front are visible in the painting.

Boxes are rectangles, but drawings are not: the corner of a box may be empty. Objects are therefore painted one by one,
with their materials and states, and the pixels that each of them covers are compared.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache

import numpy as np
from numpy.typing import NDArray

from formalimg.drawing.facts import DrawnFacts, Fact
from formalimg.drawing.icon import Icon, PixelFrame, palette
from formalimg.drawing.layout_model import DrawnLook, StandingPlace
from formalimg.drawing.outline import coverage, silhouette_mask
from formalimg.drawing.render import paint_object
from formalimg.drawing.scene import OCCLUSION
from formalimg.drawing.svg import icon_drawing
from formalimg.scenes.objects import CANVAS, Box

_PITCH = 4  # The side of a cell of the canvas on which pixels are compared, in thousandths
_LEAST_COVERED = 0.12  # The share of the smaller of two objects that the one in front covers at least
_MOST_COVERED = 0.5  # The share of an object that all in front of it cover together at most
_SUPPORTED = 0.5  # The share of the feet of a thing under which its carrier is painted
_FEET, _GAP = 0.04, 10
"""What is this share of a thing's height above its lowest pixel is a foot; a gap below it of so much is not seen."""
_GRASP = 0.06
"""How far from the hand, as a share of the holder's longer side, the thing that it holds is painted at most."""
_HIDDEN = 0.45  # The share of a holder or carrier that a thing may cover
_VISIBLE, _VISIBLE_SHAPE, _WITHIN = 0.4, 0.55, 0.3
"""The shares of what is inside a container that are seen (more of a bent shape), and that are painted over it."""

_Cells = NDArray[np.bool_]


class ContactCheck:
    """The painted cells of each object in a layout, and checks of the contact between related objects."""

    def __init__(self, facts: DrawnFacts, looks: Sequence[DrawnLook], boxes: Sequence[Box]) -> None:
        self._facts, self._looks, self._boxes = facts, looks, boxes
        self._cells: dict[tuple[int, bool], _Cells] = {}

    def find_fault(self) -> Fact | None:
        """Return the first relation that the pixels do not show; None if all are visible."""
        checks: dict[str, Callable[[int, int], bool]] = {
            OCCLUSION: self._covers,
            "On": self._stands,
            "OnTopOf": self._stands,
            "In": self._is_inside,
            "Holding": self._is_held,
        }
        for fact in self._facts.facts:
            if fact.predicate in checks and not checks[fact.predicate](fact.first, fact.second):
                return fact
        for number, fronts in self._fronts().items():
            whole, covers = self._painted(number), [self._painted(fact.first) for fact in fronts]
            if (whole & np.logical_or.reduce(covers)).sum() > _MOST_COVERED * whole.sum():
                return fronts[0]
        return None

    def _fronts(self) -> dict[int, list[Fact]]:
        """Return the occlusion relations of each object that has more than one object in front of it."""
        fronts: dict[int, list[Fact]] = {}
        for fact in self._facts.facts:
            if fact.predicate == OCCLUSION:
                fronts.setdefault(fact.second, []).append(fact)
        return {number: facts for number, facts in fronts.items() if len(facts) > 1}

    def _covers(self, front: int, back: int) -> bool:
        front_cells, back_cells = self._painted(front), self._painted(back)
        return bool((front_cells & back_cells).sum() >= _LEAST_COVERED * min(front_cells.sum(), back_cells.sum()))

    def _stands(self, thing: int, carrier: int) -> bool:
        """Return whether the carrier is painted under most of the object's feet, on both sides of its centre."""
        upper, lower = self._painted(thing), self._painted(carrier)
        rows, columns = np.nonzero(upper)
        if not len(rows):
            return False
        foot = rows.max()
        high = foot - max(1, round(_FEET * (foot - rows.min())))
        feet = np.flatnonzero(upper[high:].any(axis=0))
        under = np.asarray(lower[foot : foot + max(1, _GAP // _PITCH) + 1].any(axis=0))
        standing = feet[under[feet]]
        if len(standing) < _SUPPORTED * len(feet) or self._hides(upper, lower):
            return False
        slack = (columns.max() - columns.min()) / 8
        return bool(standing.min() - slack <= columns.mean() <= standing.max() + slack)

    def _is_held(self, holder: int, thing: int) -> bool:
        """Return whether an object touches a visible hand of its holder without hiding the holder."""
        body, thing_cells = self._painted(holder), self._painted(thing)
        box = self._boxes[holder]
        width, height = box.xmax - box.xmin, box.ymax - box.ymin
        centers = (np.arange(CANVAS // _PITCH) + 0.5) * _PITCH
        reach = max(10.0, _GRASP * max(width, height))
        for x, y in self._looks[holder].hands:
            hand_x, hand_y = box.xmin + x * width, box.ymin + y * height
            near = (centers[None, :] - hand_x) ** 2 + (centers[:, None] - hand_y) ** 2 <= reach**2
            if (thing_cells & near).any() and (body & near).any():
                return not self._hides(thing_cells, body)
        return False

    def _is_inside(self, thing: int, container: int) -> bool:
        content, around = self._painted(thing), self._painted(container)
        total = content.sum()
        front = self._painted(container, True) if self._looks[container].front is not None else np.zeros_like(content)
        least = _VISIBLE if self._facts.objects[thing].shape is None else _VISIBLE_SHAPE
        is_visible = (content & ~front).sum() >= least * total
        return bool(total and is_visible and (content & around).sum() >= _WITHIN * total)

    def _hides(self, thing: _Cells, carrier: _Cells) -> bool:
        return bool((thing & carrier).sum() > _HIDDEN * carrier.sum())

    def _painted(self, number: int, front: bool = False) -> _Cells:
        """Return the canvas cells covered by an object, or by the front of a container."""
        key = (number, front)
        if key not in self._cells:
            look, box = self._looks[number], self._boxes[number]
            obj = replace(self._facts.objects[number], box=box, shape=None)  # icons of looks have their shape
            icon = look.front if front and look.front is not None else look.icon
            covered = coverage(paint_object(obj, icon, look.entry, CANVAS, f"contact{number}"))
            self._cells[key] = _on_canvas(covered.cells, covered.frame)
        return self._cells[key]


def _on_canvas(cells: _Cells, frame: PixelFrame) -> _Cells:
    size = CANVAS // _PITCH
    centers = (np.arange(size) + 0.5) * _PITCH
    rows = np.floor((centers - frame.top) / frame.height * cells.shape[0]).astype(int)
    columns = np.floor((centers - frame.left) / frame.width * cells.shape[1]).astype(int)
    down, across = (rows >= 0) & (rows < cells.shape[0]), (columns >= 0) & (columns < cells.shape[1])
    canvas = np.zeros((size, size), dtype=bool)
    canvas[np.ix_(down, across)] = cells[np.ix_(rows[down], columns[across])]
    return canvas


_CLEAR = 0.08
"""A place is clear if the carrier is not painted higher above it than this share of its height: no head, no back."""
_LEAST_CLEAR = 0.3  # Clear places are preferred if they are this share of all places together
_BROAD, _BROADEST = 0.4, 0.85
"""A place of this share of the width is broad enough for one thing; and so much is enough for any number of them."""
_DEEPEST = 0.12  # A place is looked for so far below the top, as a share of the height; for two things twice as far


_GRIP_ROWS = 0.5, 0.8  # A hand grasps a thing in this part of its height


def _icon_cells(icon: Icon) -> _Cells:
    width, height = round(400 * min(1.0, icon.aspect)), round(400 / max(1.0, icon.aspect))
    frame = PixelFrame(0, 0, max(8, width), max(8, height))
    silhouette = icon_drawing(icon, frame, palette().paints(None, "teal"), 2).silhouette
    return silhouette_mask(silhouette, frame).cells[1:-1, 1:-1]


@cache
def standing_place(icon: Icon, height: float, count: int = 1) -> StandingPlace:
    """Return the line on which objects stand on an icon: its first broad part at or just below a height.

    On a horse, the line is clear of its neck. On a chair, no line is clear of its back, so any part of the seat will
    do. On a round top, the line is a little lower, because nothing stands on a single point.
    """
    cells = _icon_cells(icon)
    deepest = min(3, count) * _DEEPEST
    places = [_place_at(cells, height + step / 100) for step in range(round(100 * deepest))]
    broad = min(_BROADEST, count * _BROAD)
    widest = max(line.right - line.left for line in places)
    return next(line for line in places if line.right - line.left >= min(broad, 0.8 * widest))


@cache
def grip_places(icon: Icon) -> tuple[tuple[float, float], tuple[float, float]]:
    """Return the left and right grip points of an icon: the outermost points of its lower part."""
    cells = _icon_cells(icon)
    top, bottom = (round(part * cells.shape[0]) for part in _GRIP_ROWS)
    rows, columns = np.nonzero(cells[top:bottom])
    if not len(rows):
        return (0.1, 0.5), (0.9, 0.5)
    leftmost, rightmost = int(columns.argmin()), int(columns.argmax())
    height, width = cells.shape
    first, last = (
        (float(columns[index]) / width, float(rows[index] + top) / height) for index in (leftmost, rightmost)
    )
    return first, last


def _place_at(cells: _Cells, height: float) -> StandingPlace:
    rows, columns = cells.shape
    filled = cells[min(rows - 1, round((height + 0.02) * rows))]
    clear = filled & ~cells[: max(0, round((height - _CLEAR) * rows))].any(axis=0)
    first, last = _widest_run(clear if clear.sum() >= _LEAST_CLEAR * filled.sum() else filled)
    return StandingPlace(height, first / columns, last / columns)


def _widest_run(filled: _Cells) -> tuple[int, int]:
    places = np.flatnonzero(filled)
    if not len(places):
        return 0, 0
    run = max(np.split(places, np.flatnonzero(np.diff(places) > 1) + 1), key=len)
    return int(run[0]), int(run[-1]) + 1
