"""What clauses are worth, as tables that a game can be played over."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from formalimg.logic.places import LiteralKey, LiteralNumbers, PlacedComponent, PlacedLiteral
from formalimg.logic.world import World

Numbers: TypeAlias = NDArray[np.integer | np.bool]
Truth: TypeAlias = NDArray[np.bool]


class Table(NamedTuple):
    """A number for each choice of objects for some variables. Variables are numbered in the order of the prefix."""

    variables: tuple[int, ...]
    values: Numbers

    @property
    def layers(self) -> int:
        """How many arrays are laid over each other to spread it."""
        return 1

    def fixed(self, variable: int, obj: int) -> Table:
        """What is left once a variable stands for an object."""
        if variable not in self.variables:
            return self
        at = self.variables.index(variable)
        index: tuple[Any, ...] = (*[slice(None)] * at, obj, ...)
        return Table(self.variables[:at] + self.variables[at + 1 :], self.values[index])

    def spread(self, variables: Sequence[int]) -> Numbers:
        """The numbers as an array over more variables, of length 1 where they do not matter."""
        lengths = iter(self.values.shape)
        return self.values.reshape([next(lengths) if variable in self.variables else 1 for variable in variables])

    def bounds(self) -> tuple[int, int]:
        """The smallest and the largest number."""
        return int(self.values.min()), int(self.values.max())


class AnyOf(NamedTuple):
    """What a clause is worth: its weight where one of its literals holds, 0 elsewhere. Takes no room of its own."""

    variables: tuple[int, ...]
    literals: tuple[Table, ...]
    weight: NDArray[np.integer]

    @property
    def layers(self) -> int:
        """How many arrays are laid over each other to spread it."""
        return len(self.literals)

    def fixed(self, variable: int, obj: int) -> AnyOf:
        """What is left once a variable stands for an object."""
        if variable not in self.variables:
            return self
        left = tuple(literal.fixed(variable, obj) for literal in self.literals)
        return AnyOf(tuple(other for other in self.variables if other != variable), left, self.weight)

    def spread(self, variables: Sequence[int]) -> Numbers:
        """The worth as an array over more variables, of length 1 where they do not matter."""
        holds = self.literals[0].spread(variables)
        for literal in self.literals[1:]:
            holds = holds | literal.spread(variables)
        return holds * self.weight

    def bounds(self) -> tuple[int, int]:
        """A lower and an upper bound of the worth."""
        certain = any(literal.values.all() for literal in self.literals)
        possible = any(literal.values.any() for literal in self.literals)
        return int(self.weight) * certain, int(self.weight) * possible


Payoff: TypeAlias = Table | AnyOf


class Payoffs:
    """Reads from a world where literals hold; each atom is asked for once."""

    def __init__(self, world: World, style: str | None, literals: LiteralNumbers) -> None:
        """Read all that clauses ask for.

        Args:
            world: what is asked.
            style: the style of the image.
            literals: what is asked for.
        """
        self.objects = len(world)
        of_style, of_one, of_two = literals
        self._rows: tuple[Truth, Truth, Truth] = (
            np.array([(literal.word == style) is literal.positive for literal in of_style], np.bool),
            _rows_of_one(world, of_one),
            _rows_of_two(world, of_two),
        )

    def rows(self, axes: int, rows: NDArray[np.intp]) -> Truth:
        """Where literals with so many variables hold, one after the other, by their numbers."""
        return self._rows[axes].take(rows, 0)

    def is_true(self, literal: PlacedLiteral, play: Sequence[int]) -> bool:
        """Does a literal hold if the variables stand for these objects?"""
        scope = literal.scope
        rows = self._rows[len(scope)]
        found: bool
        if len(scope) == 1:  # as most are
            found = rows.item(literal.row, play[scope[0]])
        else:
            found = rows.item(literal.row, *[play[place] for place in scope])
        return found

    def where(self, literal: PlacedLiteral) -> Truth:
        """Where a literal holds, by its variables in the order of the prefix."""
        found: Truth = self._rows[len(literal.scope)][literal.row]
        return found

    def of(self, component: PlacedComponent) -> list[Payoff]:
        """What clauses are worth.

        A clause counts more than all classes together: so, in a best play, most clauses hold, and of such plays one
        is best in which most is said rightly about the classes of objects.
        """
        numbers: type[np.integer] = np.int16 if component.most < 2**15 else np.int64
        payoffs: list[Payoff] = []
        for clause in component.clauses:
            literals = tuple(Table(literal.scope, self.where(literal)) for literal in clause.literals)
            payoffs.append(AnyOf(clause.scope, literals, np.asarray(clause.weight * component.one, numbers)))
            for literal, table in zip(clause.literals, literals, strict=True):
                if literal.of_class:
                    payoffs.append(Table(table.variables, table.values.astype(numbers)))
        return payoffs


def _rows_of_one(world: World, literals: Iterable[LiteralKey]) -> Truth:
    """Where literals of one variable hold, a row for each."""
    everything = (1 << len(world)) - 1
    sets = []
    for predicate, word, positive, written in literals:
        if len(written) == 1:
            objects = world.having(predicate, word)
        else:  # the variable stands twice
            singles = [1 << obj for obj in range(len(world))]
            objects = sum([world.seconds(predicate, single, single) for single in singles])
        sets.append(objects if positive else everything & ~objects)
    return _as_rows(sets, len(world))


def _rows_of_two(world: World, literals: Iterable[LiteralKey]) -> Truth:
    """Where literals of two variables hold, a table for each."""
    width = len(world)
    pairs = getattr(world, "pairs", None)  # some worlds can tell all pairs at once
    told: dict[str, Truth] = {}
    tables = []
    for predicate, _, positive, written in literals:
        known = told.get(predicate)
        if known is None:
            known = pairs(predicate) if pairs is not None else None
            told[predicate] = known = _pairs_by_sets(world, predicate) if known is None else known
        if written == (1, 0):
            known = known.T
        tables.append(known if positive else ~known)
    return np.concatenate(tables).reshape(len(tables), width, width) if tables else np.zeros((0, width, width), np.bool)


def _pairs_by_sets(world: World, predicate: str) -> Truth:
    """Where a predicate holds, by first and second object."""
    width = len(world)
    everything = (1 << width) - 1
    return _as_rows([world.seconds(predicate, 1 << obj, everything) for obj in range(width)], width)


def _as_rows(sets: Sequence[int], width: int) -> Truth:
    """Bit sets as rows of yes and no."""
    octets = (width + 7) // 8
    packed = b"".join([objects.to_bytes(octets, "little") for objects in sets])
    bits = np.unpackbits(np.frombuffer(packed, np.uint8).reshape(len(sets), octets), axis=1, bitorder="little")
    return bits[:, :width].view(np.bool)
