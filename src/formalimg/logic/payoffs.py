"""What clauses are worth, as tables that a game can be played over."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from formalimg.logic.lifting import Clause, Literal
from formalimg.logic.syntax import Atom, Value
from formalimg.logic.world import World

Numbers: TypeAlias = NDArray[np.integer | np.bool]


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
    """Reads from a world where literals hold; each predicate is asked for once."""

    def __init__(self, world: World, style: str | None) -> None:
        self.world = world
        self.style = style
        self.everything = (1 << len(world)) - 1
        self._known: dict[tuple[str, str | None, int], NDArray[np.bool]] = {}

    def of(self, clauses: Sequence[Clause], places: Mapping[str, int]) -> list[Payoff]:
        """What clauses are worth, their variables called by their places.

        A clause counts more than all classes together: so, in a best play, most clauses hold, and of such plays one
        is best in which most is said rightly about the classes of things.
        """
        classes = sum(literal.atom.predicate == "Is" for clause in clauses for literal in clause.literals)
        one = classes + 1
        numbers: type[np.integer] = np.int16 if len(clauses) * one + classes < 2**15 else np.int64
        payoffs: list[Payoff] = []
        for clause in clauses:
            literals = tuple(self._literal(literal, places) for literal in clause.literals)
            variables = tuple(sorted({variable for literal in literals for variable in literal.variables}))
            payoffs.append(AnyOf(variables, literals, np.asarray(one, numbers)))
            for literal, table in zip(clause.literals, literals, strict=True):
                if literal.atom.predicate == "Is":
                    payoffs.append(Table(table.variables, table.values.astype(numbers)))
        return payoffs

    def _literal(self, literal: Literal, places: Mapping[str, int]) -> Table:
        """Where a literal holds."""
        atom, positive = literal
        variables = tuple(places[name] for name in atom.variables)
        holds = self._atom(atom)
        if len(variables) == 2:
            first, second = variables
            if first == second:
                variables, holds = (first,), np.diagonal(holds)
            elif first > second:
                variables, holds = (second, first), holds.T
        return Table(variables, holds if positive else ~holds)

    def _atom(self, atom: Atom) -> NDArray[np.bool]:
        """Where an atom holds, by its variables in the order in which they are written."""
        word = next((argument.text for argument in atom.arguments if isinstance(argument, Value)), None)
        key = (atom.predicate, word, len(atom.variables))
        if key not in self._known:
            self._known[key] = self._read(*key)
        return self._known[key]

    def _read(self, predicate: str, word: str | None, variables: int) -> NDArray[np.bool]:
        if variables == 0:
            return np.asarray(word == self.style, np.bool)
        if variables == 1:
            return self._as_rows([self.world.having(predicate, word)]).reshape(-1)
        things = range(len(self.world))
        return self._as_rows([self.world.seconds(predicate, 1 << thing, self.everything) for thing in things])

    def _as_rows(self, sets: Sequence[int]) -> NDArray[np.bool]:
        """Bit sets as rows of yes and no."""
        width = len(self.world)
        packed = b"".join([things.to_bytes((width + 7) // 8, "little") for things in sets])
        bits = np.unpackbits(np.frombuffer(packed, np.uint8).reshape(len(sets), -1), axis=1, bitorder="little")
        return bits[:, :width].astype(np.bool)
