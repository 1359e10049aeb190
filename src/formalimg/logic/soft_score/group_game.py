"""Truth tables and the minimax game for a group of scenes in vectorized form, with the scenes along the first axis.

The scenes of a group may have different numbers of objects. Tables are padded to the size of the largest scene, and all
entries for absent objects are False.

A score needs only the value of the game, not the best play. Ties therefore need not be broken, numbers stay small, and
variables are eliminated in the same order in all scenes. Tables have only the objects that may be best for a variable.
For `exists`, these are the objects for which some clause about the variable may count, since no other is better. Every
`exists` has the same number of candidates, the largest that any of them needs, so that clauses of the same layout stay
together. Picking an object that a scene does not have costs the player more than the value of the whole game.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from math import prod
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from formalimg.logic.soft_score.clause_index import IndexedComponent, IndexedLiteral, LiteralIndex, LiteralKey
from formalimg.logic.soft_score.earned_credit import CountingObjects, InstanceCondition
from formalimg.logic.soft_score.minimax_plan import ClauseBatch, ClauseBatches, ForallBounds, IntArray, StepSide
from formalimg.logic.soft_score.payoffs import MAX_AXES, BoolArray, bits_to_rows, objects_with_themselves, pairs_by_sets
from formalimg.logic.syntax import DISTINCT, Atom, Value
from formalimg.logic.world import World, WorldGroup

Rows: TypeAlias = NDArray[np.intp]


class _Rows:
    """Assigns consecutive numbers to keys in order of first use."""

    def __init__(self, *first: Hashable) -> None:
        self.numbers: dict[Hashable, int] = {thing: number for number, thing in enumerate(first)}

    def of(self, thing: Hashable) -> int:
        return self.numbers.setdefault(thing, len(self.numbers))


class _Requirements(NamedTuple):
    """The table rows required by literals with the same number of variables."""

    base: Rows  # the row of what each says, without its sign
    negative: BoolArray  # whether it denies that
    classes: tuple[Rows, ...]  # for each axis, the row of the objects that count
    instances: Rows  # the number of the conditions that need an instance


class GroupLiterals:
    """The scene data required by the literals of a formula, deduplicated and computed once per formula."""

    def __init__(self, literals: LiteralIndex, atoms: Iterable[Atom] = ()) -> None:
        assert not literals.counts, "counts are evaluated scene by scene"
        # Most sets are those of a predicate and come first. Others are numbered from the end, where all objects are.
        self._sets = _Rows()
        self._others = _Rows(())
        self._predicates = _Rows()
        self._conditions = _Rows(())
        self._words = tuple(literal.word for literal in literals.of_style)
        self._of_style = self._requirements(literals.of_style, lambda _: 0)
        self._of_one = self._requirements(literals.of_one, self._one_row)
        self._of_two = self._requirements(
            literals.of_two, lambda key: 2 * self._predicates.of(key.predicate) + (key.written == (1, 0))
        )
        for atom in atoms:
            if atom.variables:
                self.atom_row(atom)
        self._having: list[tuple[str, str | None]] = list(self._sets.numbers)  # type: ignore[arg-type]
        self._other_keys: list[tuple[Any, ...]] = list(reversed(self._others.numbers))  # type: ignore[arg-type]
        self._conditions_needed: tuple[tuple[InstanceCondition, ...], ...] = tuple(self._conditions.numbers)  # type: ignore[arg-type]
        self._pair_predicates: tuple[str, ...] = tuple(self._predicates.numbers)  # type: ignore[arg-type]

    def atom_row(self, atom: Atom, *, swapped: bool = False) -> int:
        """Return the row of an atom about objects, ignoring its sign. If `swapped`, the second variable comes first."""
        names = atom.variables
        if len(set(names)) == 2:
            return 2 * self._predicates.of(atom.predicate) + swapped
        if len(names) == 2:  # the same variable twice
            return -1 - self._others.of((atom.predicate, True))
        word = next((argument.text for argument in atom.arguments if isinstance(argument, Value)), None)
        return self._sets.of((atom.predicate, word))

    def _one_row(self, literal: LiteralKey) -> int:
        if len(literal.written) == 2:  # the same variable twice
            return -1 - self._others.of((literal.predicate, True))
        return self._sets.of((literal.predicate, literal.word))

    def _requirements(self, literals: Iterable[LiteralKey], base: Callable[[LiteralKey], int]) -> _Requirements:
        def class_row(classes: tuple[str, ...]) -> int:
            return self._sets.of(("Is", classes[0])) if len(classes) == 1 else -1 - self._others.of(classes)

        keys = list(literals)
        axes = len(set(keys[0].written)) if keys else 0
        return _Requirements(
            np.array([base(key) for key in keys], np.intp),
            np.array([not key.positive for key in keys], np.bool),
            tuple(
                np.array([class_row(key.credit.classes[axis] if key.credit.classes else ()) for key in keys])
                for axis in range(axes)
            ),
            np.array([self._conditions.of(key.credit.instances) for key in keys], np.intp),
        )

    def tables(self, worlds: Sequence[World], styles: Sequence[str | None]) -> tuple[AtomTables, GroupTruth]:
        """Return the tables of atoms and literals for several non-empty worlds."""
        counting = [CountingObjects(world) for world in worlds]
        width = max(map(len, worlds))
        grouped = getattr(type(worlds[0]), "grouped", None)  # some worlds say the same of several at once
        group = None if grouped is None or len(set(map(type, worlds))) > 1 else grouped(worlds)
        sets = None if group is None else group.sets(self._having)
        if sets is None:
            bits = [world.having(predicate, word) for world in worlds for predicate, word in self._having]
            sets = bits_to_rows(bits, width).reshape(len(worlds), -1, width)
        other_bits = [
            objects_with_themselves(world, key[0]) if len(key) == 2 and key[1] is True else objects.of_classes(key)
            for world, objects in zip(worlds, counting, strict=True)
            for key in self._other_keys
        ]
        rows = np.concatenate([sets, bits_to_rows(other_bits, width).reshape(len(worlds), -1, width)], axis=1)
        met = np.array(
            [[objects.have_instances(needed) for needed in self._conditions_needed] for objects in counting], np.bool
        )
        atoms = AtomTables(rows[:, -1], rows, _group_pairs(worlds, group, self._pair_predicates, width), styles)
        matches = np.array([[word == style for word in self._words] for style in styles], np.bool)
        of_style = matches.reshape(len(styles), -1) ^ self._of_style.negative
        of_style &= met.take(self._of_style.instances, 1)
        of_one = self._one_rows(rows, met)
        possible = np.concatenate([of_one, *[rows.take(classes, 1) for classes in self._of_two.classes]], axis=1)
        return atoms, GroupTruth(rows[:, -1], of_style, of_one, self._two_tables(atoms, met), possible)

    def _one_rows(self, rows: BoolArray, met: BoolArray) -> BoolArray:
        base, negative, classes, instances = self._of_one
        table: BoolArray = rows.take(base, 1) ^ negative[:, None]
        if classes:
            table &= rows.take(classes[0], 1)  # at least: the object is there
        if instances.any():
            table &= met.take(instances, 1)[:, :, None]
        return table

    def _two_tables(self, atoms: AtomTables, met: BoolArray) -> BoolArray:
        base, negative, classes, instances = self._of_two
        rows = atoms.sets
        if not len(base):
            return atoms.pairs[:, :0]
        tables: BoolArray = atoms.pairs.take(base, 1) ^ negative[:, None, None]
        tables &= rows.take(classes[0], 1)[:, :, :, None]
        tables &= rows.take(classes[1], 1)[:, :, None, :]
        if instances.any():
            tables &= met.take(instances, 1)[:, :, None, None]
        return tables


class AtomTables(NamedTuple):
    """Truth values of atoms by scene, row and objects. Entries for absent objects are arbitrary."""

    present: BoolArray  # which objects each scene has
    sets: BoolArray  # atoms of one variable
    pairs: BoolArray  # atoms of two, each predicate also the other way round
    styles: Sequence[str | None]  # the style of each image


class GroupTruth(NamedTuple):
    """Tables of where literals hold and earn credit, by scene, literal and objects."""

    present: BoolArray  # which objects each scene has
    of_style: BoolArray  # literals without variables
    of_one: BoolArray  # literals of one variable
    of_two: BoolArray  # literals of two
    # the objects for which literals of one variable, and literals of two with an object as the first or as the
    # second, may hold and count at all
    possible: BoolArray

    def possible_row(self, axes: int, row: int, axis: int) -> int:
        """Return the row in `possible` for a literal and one of its variables."""
        return row if axes == 1 else self.of_one.shape[1] + axis * self.of_two.shape[1] + row

    def rows(self, axes: int, rows: Rows) -> BoolArray:
        """Return the truth tables in the given rows, for literals with `axes` variables."""
        return self[1 + axes].take(rows, 1)

    def somewhere_true(self, literals: Sequence[IndexedLiteral]) -> list[bool]:
        """Return, for each scene, whether any of the literals holds and counts for some objects."""
        is_true = np.zeros(len(self.present), np.bool)
        for axes in range(3):
            rows = [literal.row for literal in literals if len(literal.scope) == axes]
            if rows:
                is_true |= self.rows(axes, np.array(rows)).any(axis=tuple(range(1, 2 + axes)))
        scenes: list[bool] = is_true.tolist()
        return scenes

    def select(self, scenes: Rows) -> GroupTruth:
        """Return the tables for a subset of the scenes."""
        return self if len(scenes) == len(self.present) else GroupTruth(*[table[scenes] for table in self])


def _group_pairs(worlds: Sequence[World], group: WorldGroup | None, predicates: Sequence[str], width: int) -> BoolArray:
    """Return where predicates hold, by world, predicate, first and second object. Each is also stored transposed."""
    group_tables = {} if group is None else group.pairs(predicates)
    tables = np.empty((len(worlds), len(predicates), 2, width, width), np.bool)
    for number, predicate in enumerate(predicates):
        if predicate == DISTINCT:
            table = ~np.eye(width, dtype=np.bool)[None]
        elif predicate in group_tables:
            table = group_tables[predicate]
        else:
            table = np.zeros((len(worlds), width, width), np.bool)
            for index, world in enumerate(worlds):
                table[index, : len(world), : len(world)] = pairs_by_sets(world, predicate)
        tables[:, number, 0] = table
        tables[:, number, 1] = table.swapaxes(1, 2)
    return tables.reshape(len(worlds), 2 * len(predicates), width, width)


# --- truth tables

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
        weights = np.zeros(len(truth.present), np.int64)
        for clause in component.clauses:
            rows = [literal.row for literal in clause.literals]
            weights += truth.of_style[:, rows].any(axis=1) * np.int64(clause.weight)
        return weights
    if component.max_scope > MAX_AXES or (component.max_payoff + 1) * (len(component.kinds) + 1) >= 2**31:
        raise TooLargeForGroupsError
    batches = component.batches
    scenes = len(truth.present)
    candidates = {bounds.variable: _forall_candidates(bounds, truth, component) for bounds in batches.forall_bounds}
    shorter = np.zeros(scenes, np.bool)
    if candidates and all(literal.scope for clause in component.clauses for literal in clause.literals):
        shorter[:] = True
        for bounds in batches.forall_bounds:  # the scenes in which every candidate meets the condition
            fails = truth.rows(1, bounds.condition)
            shorter &= ~np.take_along_axis(fails, candidates[bounds.variable][:, None, :], 2).any(axis=(1, 2))
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
    values: IntArray = payoffs // component.clause_unit
    return values


def _forall_candidates(bounds: ForallBounds, truth: GroupTruth, component: IndexedComponent) -> NDArray[np.intp]:
    """Return the candidate objects for a `forall` variable, based on the literals that mention no other variable."""
    payoff_bounds = np.matmul(bounds.bounds, truth.rows(1, bounds.rows)) + bounds.open_weight
    payoff_bounds += (~truth.present * (component.max_payoff + 1))[:, None, :]
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
    absent = np.int32(-component.max_payoff - 1) * picks.missing
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
