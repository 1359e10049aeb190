"""What clauses are worth, as tables that a game can be played over."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from formalimg.logic.places import AtomKey, PlacedComponent, PlacedLiteral
from formalimg.logic.world import World

Numbers: TypeAlias = NDArray[np.integer | np.bool]
Truth: TypeAlias = NDArray[np.bool]


class Table(NamedTuple):
    """A number for each choice of things for some variables. Variables are numbered in the order of the prefix."""

    variables: tuple[int, ...]
    values: Numbers

    @property
    def layers(self) -> int:
        """How many arrays are laid over each other to spread it."""
        return 1

    def fixed(self, variable: int, thing: int) -> Table:
        """What is left once a variable stands for a thing."""
        if variable not in self.variables:
            return self
        at = self.variables.index(variable)
        index: tuple[Any, ...] = (*[slice(None)] * at, thing, ...)
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

    def fixed(self, variable: int, thing: int) -> AnyOf:
        """What is left once a variable stands for a thing."""
        if variable not in self.variables:
            return self
        left = tuple(literal.fixed(variable, thing) for literal in self.literals)
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

    def __init__(self, world: World, style: str | None, atoms: Sequence[AtomKey]) -> None:
        """Read these atoms.

        Args:
            world: what is asked.
            style: the style of the picture.
            atoms: all that clauses will speak of.
        """
        self.things = len(world)
        self._truths = _read(world, style, atoms)

    def is_true(self, literal: PlacedLiteral, play: Sequence[int]) -> bool:
        """Does a literal hold if the variables stand for these things?"""
        found = self._truths[literal.atom][tuple([play[place] for place in literal.written])]
        return bool(found) is literal.positive

    def where(self, literal: PlacedLiteral) -> Truth:
        """Where a literal holds, by its variables in the order of the prefix."""
        found = self._truths[literal.atom]
        if literal.written != literal.scope:  # one variable twice, or the second one first
            found = found.T if len(literal.scope) == 2 else np.diagonal(found)
        return found if literal.positive else ~found

    def of(self, component: PlacedComponent) -> list[Payoff]:
        """What clauses are worth.

        A clause counts more than all classes together: so, in a best play, most clauses hold, and of such plays one
        is best in which most is said rightly about the classes of things.
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


def _read(world: World, style: str | None, atoms: Sequence[AtomKey]) -> dict[AtomKey, Truth]:
    """Where atoms hold, by their variables in the order in which they are written; all of them in one go."""
    width = len(world)
    everything = (1 << width) - 1
    pairs = getattr(world, "pairs", None)  # some worlds can tell all pairs at once
    rows: list[int] = []
    starts: dict[AtomKey, int] = {}
    found: dict[AtomKey, Truth] = {}
    for atom in atoms:
        predicate, word, variables = atom
        if variables == 0:
            found[atom] = np.asarray(word == style, np.bool)
            continue
        told = pairs(predicate) if pairs is not None and variables == 2 else None
        if told is not None:
            found[atom] = told
            continue
        starts[atom] = len(rows)
        if variables == 1:
            rows.append(world.having(predicate, word))
        else:
            rows.extend([world.seconds(predicate, 1 << thing, everything) for thing in range(width)])
    bits = _as_rows(rows, width)
    for atom, start in starts.items():
        found[atom] = bits[start] if atom.variables == 1 else bits[start : start + width]
    return found


def _as_rows(sets: Sequence[int], width: int) -> Truth:
    """Bit sets as rows of yes and no."""
    octets = (width + 7) // 8
    packed = b"".join([things.to_bytes(octets, "little") for things in sets])
    bits = np.unpackbits(np.frombuffer(packed, np.uint8).reshape(len(sets), octets), axis=1, bitorder="little")
    return bits[:, :width].view(np.bool)
