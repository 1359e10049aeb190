"""Evaluate the minimax game over clauses for a group of scenes in vectorized form.

A score needs the value of the game and not the play. So ties need not be broken, numbers stay small, and every table
has one more axis, the scenes of the group. Variables are eliminated in the same order in all of them.

Tables have only the objects that may be best for a variable. For `exists`, these are the objects for which some clause
about the variable may count: any other is at most as good. They are as many for each `exists` as the one with the most
needs, so that clauses of the same layout stay together. An object that a scene does not have costs whoever picks it
more than the whole game is worth.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from formalimg.logic.soft_score.clause_index import IndexedComponent
from formalimg.logic.soft_score.group_truth import GroupTruth
from formalimg.logic.soft_score.minimax_plan import ClauseBatch, ClauseBatches, ForallBounds, IntArray, StepSide
from formalimg.logic.soft_score.payoffs import MAX_AXES, BoolArray

MAX_GROUP_CELLS = 1_000_000
"""The maximum cells of a table over all scenes of a group; above it, scenes are scored one by one."""

_Numbers: TypeAlias = NDArray[Any]

_Candidates: TypeAlias = Mapping[int, NDArray[np.intp]]
"""For each variable that `forall` binds, by scene, the objects that may be best for it. Some come more than once."""


class _GamePicks(NamedTuple):
    """Candidate objects for each variable bound by `exists`, by scene and variable."""

    objects: NDArray[np.intp]  # the objects
    missing: BoolArray  # which of these are none

    def select(self, scenes: NDArray[np.intp]) -> _GamePicks:
        """Return the candidates for a subset of the scenes."""
        return _GamePicks(self.objects[scenes], self.missing[scenes])


class TooLargeForGroupsError(Exception):
    """Raised if a table would exceed `MAX_GROUP_CELLS` or its numbers would overflow. Internal to this package."""


def group_values(component: IndexedComponent, truth: GroupTruth) -> IntArray:
    """Return, for each scene, the total weight of the clauses satisfied under the best binding."""
    if not component.kinds:
        return _weight_without_variables(component, truth)
    if component.max_scope > MAX_AXES or _absence_penalty(component) * (len(component.kinds) + 1) >= 2**31:
        raise TooLargeForGroupsError
    batches = component.batches
    scenes = len(truth.present)
    candidates = {bounds.variable: _forall_candidates(bounds, truth, component) for bounds in batches.forall_bounds}
    shorter = np.zeros(scenes, np.bool)
    if candidates and not _mentions_style(component):
        shorter[:] = True
        for bounds in batches.forall_bounds:
            shorter &= _condition_applies(bounds, truth, candidates)
    picks = _exists_picks(component, truth)
    payoffs = np.empty(scenes, np.int64)
    for chosen, selected in ((shorter, batches.conditional), (~shorter, batches.unconditional)):
        places = chosen.nonzero()[0]
        if not len(places):
            continue
        together = max(1, MAX_GROUP_CELLS // _largest_table(selected, picks, candidates))
        for start in range(0, len(places), together):
            some = places[start : start + together]
            narrowed = {variable: objects[some] for variable, objects in candidates.items()}
            payoffs[some] = _game_value(component, selected, truth.select(some), picks.select(some), narrowed)
    # A clause pays more than all classes together: what they add is the remainder.
    weights: IntArray = payoffs // component.clause_unit
    return weights


def _absence_penalty(component: IndexedComponent) -> int:
    """Return the penalty for binding a variable to an absent object."""
    return component.max_payoff + 1


def _weight_without_variables(component: IndexedComponent, truth: GroupTruth) -> IntArray:
    total = np.zeros(len(truth.present), np.int64)
    for clause in component.clauses:
        rows = [literal.row for literal in clause.literals]
        total += truth.of_style[:, rows].any(axis=1) * np.int64(clause.weight)
    return total


def _mentions_style(component: IndexedComponent) -> bool:
    return any(not literal.scope for clause in component.clauses for literal in clause.literals)


def _forall_candidates(bounds: ForallBounds, truth: GroupTruth, component: IndexedComponent) -> NDArray[np.intp]:
    """Return the candidate objects for a `forall` variable, based on the literals that mention no other variable."""
    payoff_bounds = np.matmul(bounds.bounds, truth.rows(1, bounds.rows)) + bounds.open_weight
    payoff_bounds += (~truth.present * _absence_penalty(component))[:, None, :]
    low, high = payoff_bounds[:, 0], payoff_bounds[:, 1]
    best = high.argmin(axis=1)
    scenes = np.arange(len(best))
    possible = low < high[scenes, best][:, None]
    possible[scenes, best] = True
    number = possible.sum(axis=1)
    order = np.argsort(~possible, axis=1, kind="stable")[:, : number.max()]
    return np.where(np.arange(order.shape[1]) < number[:, None], order, order[:, :1])


def _exists_picks(component: IndexedComponent, truth: GroupTruth) -> _GamePicks:
    """Return the candidate objects for each `exists` variable, based on the literals that mention it."""
    rows = [
        [truth.possible_row(*literal) for literal in literals] if kind == "exists" else []
        for kind, literals in zip(component.kinds, component.batches.literal_rows, strict=True)
    ]
    possible = np.zeros((len(truth.present), len(rows), truth.present.shape[1]), np.bool)
    for variable, literal_rows in enumerate(rows):
        if literal_rows:
            np.logical_or.reduce(truth.possible.take(literal_rows, 1), axis=1, out=possible[:, variable])
    number = np.maximum(possible.sum(axis=2), 1)
    order = np.argsort(~possible, axis=2, kind="stable")[:, :, : number.max()]
    return _GamePicks(order, np.arange(order.shape[2]) >= number[:, :, None])


def _condition_applies(bounds: ForallBounds, truth: GroupTruth, candidates: _Candidates) -> BoolArray:
    fails = truth.rows(1, bounds.condition)
    fails = np.take_along_axis(fails, candidates[bounds.variable][:, None, :], 2)
    applies: BoolArray = np.logical_not(fails.any(axis=(1, 2)))
    return applies


def _largest_table(selected: ClauseBatches, picks: _GamePicks, candidates: _Candidates) -> int:
    """Return the number of cells in the largest table needed for one scene."""
    width = picks.objects.shape[2]
    sizes = [
        candidates[variable].shape[1] if variable in candidates else width for variable in range(len(selected.kinds))
    ]
    largest: int = max(
        [
            *[prod([sizes[variable] for variable in step.scope]) for step in selected.reordered_steps],
            *[
                prod([sizes[variable] for variable in batch.scopes[0]]) * len(batch.weights)
                for batch in selected.batches
            ],
        ]
    )
    if largest > MAX_GROUP_CELLS or any(len(step.scope) > MAX_AXES for step in selected.reordered_steps):
        raise TooLargeForGroupsError
    return largest


def _game_value(
    component: IndexedComponent, selected: ClauseBatches, truth: GroupTruth, picks: _GamePicks, candidates: _Candidates
) -> _Numbers:
    absent = np.int32(-_absence_penalty(component)) * picks.missing
    tables: list[_Numbers] = [
        absent[:, variable] if kind == "exists" else np.zeros(candidates[variable].shape, np.int32)
        for variable, kind in enumerate(component.kinds)
    ]
    steps = selected.reordered_steps
    for batch in selected.batches:
        payoffs = _batch_payoffs(batch, truth, picks, candidates)
        for number, scope in enumerate(batch.scopes):
            if len(scope) > 1:
                tables.append(payoffs[:, number])
            else:
                tables[scope[0]] = tables[scope[0]] + payoffs[:, number]
    for step in steps:
        total = _sum_side(step.sides[0], tables)
        for side in step.sides[1:]:
            total = total + _sum_side(side, tables)
        tables.append(total.max(axis=1) if step.maximize else total.min(axis=1))
    # What is left are the values of parts of the game that share no variable.
    last = range(len(tables) - len(steps), len(tables))
    ends = [tables[number] for number, step in zip(last, steps, strict=True) if len(step.scope) == 1]
    return np.sum(ends, axis=0)  # type: ignore[no-any-return]


def _batch_payoffs(batch: ClauseBatch, truth: GroupTruth, picks: _GamePicks, candidates: _Candidates) -> _Numbers:
    """Return the payoffs of a batch of clauses by scene, with one table per scope."""
    holds: Any = None
    scenes = np.arange(len(truth.present))[:, None]
    for axes, rows, forall_axes, broadcast, variables in batch.literals:
        bound = dict(forall_axes)
        objects = [
            candidates[bound[axis]][:, None] if axis in bound else picks.objects[:, places]
            for axis, places in enumerate(variables, 1)
        ]
        if axes == 0:
            table = truth.of_style[scenes, rows]
        elif axes == 1:
            table = truth.of_one[scenes[..., None], rows[:, None], objects[0]]
        else:
            table = truth.of_two[
                scenes[..., None, None], rows[:, None, None], objects[0][..., None], objects[1][:, :, None]
            ]
        spread = table[(slice(None), *broadcast)]
        holds = spread if holds is None else holds | spread
    payoffs: _Numbers = holds * batch.weights.astype(np.int32)
    if len(batch.scopes) < payoffs.shape[1]:
        payoffs = np.add.reduceat(payoffs, batch.starts, axis=1)
    return payoffs


def _sum_side(side: StepSide, tables: Sequence[_Numbers]) -> _Numbers:
    total: Any = None
    for number, transpose, broadcast in side.tables:
        payoff = tables[number]
        if transpose is not None:
            payoff = payoff.transpose((0, *[axis + 1 for axis in transpose]))
        if broadcast is not None:
            payoff = payoff[(slice(None), *broadcast)]
        total = payoff if total is None else total + payoff
    summed: _Numbers = total
    return summed
