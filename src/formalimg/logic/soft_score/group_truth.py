"""Compute truth tables of literals for a group of scenes, with the scenes along the first axis.

The scenes of a group may have different numbers of objects. Tables are padded to the size of the largest scene, and all
entries for absent objects are False.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from formalimg.logic.soft_score.clause_index import IndexedLiteral, LiteralIndex, LiteralKey
from formalimg.logic.soft_score.earned_credit import CountingObjects, InstanceCondition
from formalimg.logic.soft_score.payoffs import BoolArray, bits_to_rows, objects_with_themselves, pairs_by_sets
from formalimg.logic.syntax import DISTINCT, Atom, Value
from formalimg.logic.world import World, WorldGroup

Rows: TypeAlias = NDArray[np.intp]

_Read: TypeAlias = Callable[[World, CountingObjects], int]  # Reads a set of objects from a world, as a bit set


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
        """Assign row numbers to the data required by the literals."""
        assert not literals.counts, "counts are evaluated scene by scene"
        # Most sets are those of a predicate and come first. Others are numbered from the end, where all objects are.
        self._sets = _Rows()
        self._others = _Rows(())
        self._predicates = _Rows()
        self._conditions = _Rows(())
        self._words = tuple(literal.word for literal in literals.of_style)
        self._of_style = self._requirements(literals.of_style, lambda _: 0)
        self._of_one = self._requirements(literals.of_one, self._set_row)
        self._of_two = self._requirements(literals.of_two, self._pair_row)
        for atom in atoms:
            if atom.variables:
                self.atom_row(atom)
        self._having: list[tuple[str, str | None]] = list(self._sets.numbers)  # type: ignore[arg-type]
        self._reads = [_set_reader(key) for key in reversed(self._others.numbers)]
        self._conditions_needed: tuple[tuple[InstanceCondition, ...], ...] = tuple(self._conditions.numbers)  # type: ignore[arg-type]
        self._pair_predicates: tuple[str, ...] = tuple(self._predicates.numbers)  # type: ignore[arg-type]

    def _set_row(self, literal: LiteralKey) -> int:
        if len(literal.written) == 2:  # the same variable twice
            return -1 - self._others.of((literal.predicate, True))
        return self._sets.of((literal.predicate, literal.word))

    def atom_row(self, atom: Atom, *, swapped: bool = False) -> int:
        """Return the row of an atom about objects, ignoring its sign. If `swapped`, the second variable comes first."""
        names = atom.variables
        if len(set(names)) == 2:
            return 2 * self._predicates.of(atom.predicate) + swapped
        if len(names) == 2:  # the same variable twice
            return -1 - self._others.of((atom.predicate, True))
        word = next((argument.text for argument in atom.arguments if isinstance(argument, Value)), None)
        return self._sets.of((atom.predicate, word))

    def _class_row(self, classes: tuple[str, ...]) -> int:
        return self._sets.of(("Is", classes[0])) if len(classes) == 1 else -1 - self._others.of(classes)

    def _pair_row(self, literal: LiteralKey) -> int:
        return 2 * self._predicates.of(literal.predicate) + (literal.written == (1, 0))

    def _requirements(self, literals: Iterable[LiteralKey], base: Callable[[LiteralKey], int]) -> _Requirements:
        keys = list(literals)
        axes = len(set(keys[0].written)) if keys else 0
        return _Requirements(
            np.array([base(key) for key in keys], np.intp),
            np.array([not key.positive for key in keys], np.bool),
            tuple(
                np.array([self._class_row(key.credit.classes[axis] if key.credit.classes else ()) for key in keys])
                for axis in range(axes)
            ),
            np.array([self._conditions.of(key.credit.instances) for key in keys], np.intp),
        )

    def tables(self, worlds: Sequence[World], styles: Sequence[str | None]) -> tuple[AtomTables, GroupTruth]:
        """Return the tables of atoms and literals for several non-empty worlds."""
        counting = [CountingObjects(world) for world in worlds]
        width = max(map(len, worlds))
        group = _group_worlds(worlds)
        sets = None if group is None else group.sets(self._having)
        if sets is None:
            bits = [world.having(predicate, word) for world in worlds for predicate, word in self._having]
            sets = bits_to_rows(bits, width).reshape(len(worlds), -1, width)
        other_bits = [
            read(world, objects) for world, objects in zip(worlds, counting, strict=True) for read in self._reads
        ]
        rows = np.concatenate([sets, bits_to_rows(other_bits, width).reshape(len(worlds), -1, width)], axis=1)
        met = np.array(
            [[objects.have_instances(needed) for needed in self._conditions_needed] for objects in counting], np.bool
        )
        atoms = AtomTables(rows[:, -1], rows, _group_pairs(worlds, group, self._pair_predicates, width), styles)
        of_style = self._style_rows(styles) & met.take(self._of_style.instances, 1)
        of_one = self._one_rows(rows, met)
        possible = np.concatenate([of_one, *[rows.take(classes, 1) for classes in self._of_two.classes]], axis=1)
        return atoms, GroupTruth(rows[:, -1], of_style, of_one, self._two_tables(atoms, met), possible)

    def _style_rows(self, styles: Sequence[str | None]) -> BoolArray:
        matches = np.array([[word == style for word in self._words] for style in styles], np.bool)
        rows: BoolArray = matches.reshape(len(styles), -1) ^ self._of_style.negative
        return rows

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


def _set_reader(key: Hashable) -> _Read:
    """Return a function that reads the set of objects identified by `key` from a world."""
    match key:
        case (str(predicate), True):
            return lambda world, _: objects_with_themselves(world, predicate)
    classes: tuple[str, ...] = key  # type: ignore[assignment]
    return lambda _, counting: counting.of_classes(classes)


def _group_worlds(worlds: Sequence[World]) -> WorldGroup | None:
    """Return the worlds as a group, or None if they do not share a type that supports groups."""
    grouped: Callable[[Sequence[World]], WorldGroup | None] | None = getattr(type(worlds[0]), "grouped", None)
    return None if grouped is None or len(set(map(type, worlds))) > 1 else grouped(worlds)


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
