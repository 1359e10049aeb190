"""Layouts that constrain the positions and sizes of boxes, and the corresponding solver variables.

A box of a grid layout sits in the middle of a cell; one of a free layout lies anywhere. Both return their measures as
linear expressions, lengths doubled so that centres are integers.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from math import ceil, sqrt
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from formalimg.scenes.measures import Measure
from formalimg.scenes.objects import CANVAS, MIN_SIDE, Box

if TYPE_CHECKING:
    from ortools.sat.python import cp_model


Expression: TypeAlias = Any  # A linear expression of the constraint solver, or a number


class FreeLayout(NamedTuple):
    """Layout with freely placed boxes, limited in size and spacing and aligned to multiples of a unit."""

    unit: int
    min_side: int
    max_side: int
    gap: int
    border: int


class GridLayout(NamedTuple):
    """Layout with boxes centred in the cells of a grid."""

    columns: int
    rows: int


Layout: TypeAlias = FreeLayout | GridLayout

PROOF_LAYOUT = FreeLayout(1, MIN_SIDE, CANVAS, 0, 0)  # Only the canvas and no overlap: the layout of proofs
TIGHT_LAYOUT = FreeLayout(1, MIN_SIDE, CANVAS, 4, 0)  # For scenes that need all the space
_AXIS = {"xmin": 0, "xmax": 0, "center_x": 0, "ymin": 1, "ymax": 1, "center_y": 1}
_GAP = 24
_BORDER = 20
_STEP = 5  # half sides of grid boxes are multiples of this
_MIN_HALF = 25


def comfortable_layout(count: int) -> FreeLayout:
    """Return a free layout in which `count` objects are easy to distinguish."""
    return FreeLayout(10, 60 if count <= 25 else 40, 400, 20, 20)


def cell_pitch(cells: int) -> int:
    """Return the distance between the centres of adjacent cells."""
    return (CANVAS - 2 * _BORDER) // cells


def has_large_cells(grid: GridLayout) -> bool:
    """Return whether every cell has room for an object of recognizable size."""
    return all((cell_pitch(cells) - _GAP) // 2 >= _MIN_HALF + 2 * _STEP for cells in grid)


class BoxVariables:
    """The solver variables for one box."""

    _axes: Sequence[tuple[Expression, Expression]]  # for each axis the centre and half the side length, both doubled
    _sides: Sequence[Expression]  # factors of the area, which is a multiple of their product
    _product_bounds: tuple[int, int]
    _area_unit: int

    def __init__(self, model: cp_model.CpModel) -> None:
        self.model = model
        self._area: Expression = None

    def measure(self, measure: Measure) -> Expression:
        """Return the expression for a measure. Lengths are doubled to keep centres integral."""
        if measure == "area":
            if self._area is None:
                product = self.model.new_int_var(*self._product_bounds, "")
                self.model.add_multiplication_equality(product, self._sides)
                self._area = product * self._area_unit
            return self._area
        center, half = self._axes[_AXIS[measure]]
        if measure.startswith("center"):
            return center
        return center - half if measure.endswith("min") else center + half

    def box(self, solver: cp_model.CpSolver) -> Box:
        """Return the box according to the solution."""
        raise NotImplementedError


class GridBox(BoxVariables):
    """A box centred in a grid cell."""

    def __init__(self, model: cp_model.CpModel, grid: GridLayout, rng: random.Random) -> None:
        super().__init__(model)
        self.cells = [model.new_int_var(0, cells - 1, "") for cells in grid]
        self.pitches = [cell_pitch(cells) for cells in grid]
        self.halves = []  # in steps
        typical = min(*self.pitches, 330) * 0.36
        for width in self.pitches:
            upper = min(width - _GAP, 400) // 2 // _STEP
            lower = min(upper, max(_MIN_HALF, round(typical / 2)) // _STEP)
            half = model.new_int_var(lower, upper, "")
            model.add_hint(half, min(upper, round(typical * rng.uniform(0.85, 1.15) / _STEP)))
            self.halves.append(half)
        self._axes = [
            (cell * (2 * pitch) + 2 * (_BORDER + pitch // 2), half * (2 * _STEP))
            for cell, pitch, half in zip(self.cells, self.pitches, self.halves, strict=True)
        ]
        self._sides = self.halves
        self._product_bounds = 0, max(width // _STEP for width in self.pitches) ** 2
        self._area_unit = (2 * _STEP) ** 2

    def box(self, solver: cp_model.CpSolver) -> Box:
        """Return the box according to the solution."""
        pairs = zip(self.cells, self.pitches, strict=True)
        x, y = (_BORDER + pitch // 2 + pitch * solver.value(cell) for cell, pitch in pairs)
        width, height = (_STEP * solver.value(half) for half in self.halves)
        return Box(x - width, y - height, x + width, y + height)


class FreeBox(BoxVariables):
    """A box with a free position and size."""

    def __init__(self, model: cp_model.CpModel, layout: FreeLayout, preferred: Box) -> None:
        super().__init__(model)
        self.layout = layout
        low, high = -(-layout.border // layout.unit), (CANVAS - layout.border) // layout.unit
        lower, upper = -(-layout.min_side // layout.unit), layout.max_side // layout.unit
        self.starts = [model.new_int_var(low, high - lower, "") for _ in "xy"]
        self.sizes = [model.new_int_var(lower, min(upper, high - low), "") for _ in "xy"]
        self.ends = [model.new_int_var(low + lower, high, "") for _ in "xy"]
        self.centers = [model.new_int_var(2 * low + lower, 2 * high - lower, "") for _ in "xy"]  # doubled
        for axis in (0, 1):
            start, size, end = self.starts[axis], self.sizes[axis], self.ends[axis]
            model.add(start + size == end)
            model.add(2 * start + size == self.centers[axis])
            model.add_hint(start, round(preferred[axis] / layout.unit))
            model.add_hint(end, round(preferred[axis + 2] / layout.unit))
            model.add_hint(size, round(preferred[axis + 2] / layout.unit) - round(preferred[axis] / layout.unit))
        # By centre and size, since the rules bind these: bounds on one then narrow the other.
        pairs = zip(self.centers, self.sizes, strict=True)
        self._axes = [(center * layout.unit, size * layout.unit) for center, size in pairs]
        self._sides = self.sizes
        self._product_bounds = (layout.min_side // layout.unit) ** 2, (layout.max_side // layout.unit) ** 2
        self._area_unit = layout.unit**2

    def box(self, solver: cp_model.CpSolver) -> Box:
        """Return the box according to the solution."""
        return Box(*(solver.value(edge) * self.layout.unit for edge in [*self.starts, *self.ends]))


def grid_boxes(model: cp_model.CpModel, grid: GridLayout, count: int, rng: random.Random) -> list[BoxVariables]:
    """Create boxes in distinct cells of a grid."""
    boxes = [GridBox(model, grid, rng) for _ in range(count)]
    cells = []
    for box in boxes:
        cell = model.new_int_var(0, grid.columns * grid.rows - 1, "")
        model.add(cell == box.cells[0] + grid.columns * box.cells[1])
        cells.append(cell)
    model.add_all_different(cells)
    preferred = rng.sample(range(grid.columns * grid.rows), count)
    for box, number in zip(boxes, preferred, strict=True):
        model.add_hint(box.cells[0], number % grid.columns)
        model.add_hint(box.cells[1], number // grid.columns)
    return list(boxes)


def free_boxes(
    model: cp_model.CpModel, layout: FreeLayout, own_literals: Sequence[Expression | None], rng: random.Random
) -> list[BoxVariables]:
    """Create boxes that must not overlap.

    If a box has a literal in `own_literals` that is false, it coincides with another box and may overlap it.
    """
    count = len(own_literals)
    boxes = [FreeBox(model, layout, preferred) for preferred in initial_boxes(count, rng)]
    gap = -(-layout.gap // layout.unit)
    intervals: list[list[Any]] = [[], []]
    for box, literal in zip(boxes, own_literals, strict=True):
        for axis in (0, 1):
            extent = (box.starts[axis], box.sizes[axis] + gap, box.ends[axis] + gap)
            intervals[axis].append(
                model.new_interval_var(*extent, "")
                if literal is None
                else model.new_optional_interval_var(*extent, literal, "")
            )
    if count > 1:
        model.add_no_overlap_2d(*intervals)
    return list(boxes)


def initial_boxes(count: int, rng: random.Random) -> list[Box]:
    """Return boxes distributed over the canvas, as hints for the solver."""
    side = ceil(sqrt(count))
    step = cell_pitch(side)
    half = min(100, round(step * 0.3))
    middles = [_BORDER + step * cell + step // 2 for cell in range(side)]
    cells = [(x // 10 * 10, y // 10 * 10) for y in middles for x in middles]
    return [Box(x - half, y - half, x + half, y + half) for x, y in rng.sample(cells, count)]
