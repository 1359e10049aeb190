"""Clauses in which variables are called by their places in the prefix: worked out once, played in many scenes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from formalimg.logic.prenex import Clause, Component, Literal, QuantifierKind
from formalimg.logic.syntax import Atom, Value
from formalimg.logic.world import World

if TYPE_CHECKING:
    from formalimg.logic.minimax_plan import ComponentBatches


Scope: TypeAlias = tuple[int, ...]
"""Places of variables, in the order of the prefix."""

Broadcast: TypeAlias = tuple[slice | None, ...]
"""An index that lays a table out over more variables than it has."""


class LiteralKey(NamedTuple):
    """What a literal asks of a scene: where it holds, with one axis for each of its variables.

    Attributes:
        predicate: its predicate.
        word: its word, if it has one.
        positive: whether the atom is to hold.
        written: the axes of its variables as they are written: (1, 0) if the second comes first in the prefix, (0, 0)
            for one variable twice.
    """

    predicate: str
    word: str | None
    positive: bool
    written: tuple[int, ...]


LiteralIndex: TypeAlias = tuple[dict[LiteralKey, int], dict[LiteralKey, int], dict[LiteralKey, int]]
"""All that clauses ask for, each with its number: literals without variables, with one, with two."""


class IndexedLiteral(NamedTuple):
    """A literal.

    Attributes:
        atom: the atom.
        row: the number of what it asks for, among literals with as many variables.
        scope: its variables, each once.
        written: its variables in the order in which they are written.
        positive: whether the atom is to hold.
        is_class: whether it speaks of the class of an object.
    """

    atom: Atom
    row: int
    scope: Scope
    written: tuple[int, ...]
    positive: bool
    is_class: bool


class IndexedClause(NamedTuple):
    """A clause.

    Attributes:
        literals: its literals.
        scope: its variables.
        weight: what it counts.
    """

    literals: tuple[IndexedLiteral, ...]
    scope: Scope
    weight: int


@dataclass(frozen=True, eq=False)
class IndexedComponent:
    """Clauses that hang together.

    Attributes:
        names: the variables.
        kinds: who picks the object of each.
        clauses: the clauses.
        clause_unit: what a clause of weight 1 is worth in a game: one more than all classes together.
        max_payoff: the most that a play can be worth.
    """

    names: tuple[str, ...]
    kinds: tuple[QuantifierKind, ...]
    clauses: tuple[IndexedClause, ...]
    clause_unit: int
    max_payoff: int

    @cached_property
    def batches(self) -> ComponentBatches:
        """The clauses as they are weighed in small games: many at once."""
        from formalimg.logic.minimax_plan import ComponentBatches  # here, because it needs numpy

        return ComponentBatches(self)


def index_component(component: Component, weights: Sequence[int], index: LiteralIndex) -> IndexedComponent:
    """A component whose clauses count so much each; what they ask for is added to the index."""
    names = tuple(quantifier.variable for quantifier in component.prefix)
    places = {name: place for place, name in enumerate(names)}
    clauses = tuple(
        _index_clause(clause, places, weight, index) for clause, weight in zip(component.clauses, weights, strict=True)
    )
    one = 1 + sum(literal.is_class for clause in clauses for literal in clause.literals)
    kinds = tuple(quantifier.kind for quantifier in component.prefix)
    return IndexedComponent(names, kinds, clauses, one, one * sum(weights) + one - 1)


def scope_of(literals: Sequence[IndexedLiteral]) -> Scope:
    """The variables of literals."""
    if len(literals) == 1:
        return literals[0].scope
    return tuple(sorted({place for literal in literals for place in literal.scope}))


def broadcast_index(scope: Scope, table_scope: Iterable[int]) -> Broadcast:
    """How a table of some variables is laid out over more of them."""
    return tuple(slice(None) if place in table_scope else None for place in scope)


def _index_clause(clause: Clause, places: Mapping[str, int], weight: int, index: LiteralIndex) -> IndexedClause:
    literals = tuple(_index_literal(literal, places, index) for literal in clause.literals)
    return IndexedClause(literals, scope_of(literals), weight)


def _index_literal(literal: Literal, places: Mapping[str, int], index: LiteralIndex) -> IndexedLiteral:
    atom, positive = literal
    word = next((argument.text for argument in atom.arguments if isinstance(argument, Value)), None)
    written = tuple(places[name] for name in atom.variables)
    scope = tuple(sorted(set(written)))
    rows = index[len(scope)]
    key = LiteralKey(atom.predicate, word, positive, tuple(scope.index(place) for place in written))
    row = rows.setdefault(key, len(rows))
    return IndexedLiteral(atom, row, scope, written, positive, atom.predicate == "Is")


NumberArray: TypeAlias = NDArray[np.integer | np.bool]
BoolArray: TypeAlias = NDArray[np.bool]


class PayoffTable(NamedTuple):
    """A number for each choice of objects for some variables. Variables are numbered in the order of the prefix."""

    variables: tuple[int, ...]
    values: NumberArray

    @property
    def layers(self) -> int:
        """How many arrays are laid over each other to broadcast it."""
        return 1

    def fix(self, variable: int, obj: int) -> PayoffTable:
        """What is left once a variable stands for an object."""
        if variable not in self.variables:
            return self
        at = self.variables.index(variable)
        index: tuple[Any, ...] = (*[slice(None)] * at, obj, ...)
        return PayoffTable(self.variables[:at] + self.variables[at + 1 :], self.values[index])

    def broadcast(self, variables: Sequence[int]) -> NumberArray:
        """The numbers as an array over more variables, of length 1 where they do not matter."""
        lengths = iter(self.values.shape)
        return self.values.reshape([next(lengths) if variable in self.variables else 1 for variable in variables])

    def bounds(self) -> tuple[int, int]:
        """The smallest and the largest number."""
        return int(self.values.min()), int(self.values.max())


class ClausePayoff(NamedTuple):
    """What a clause is worth: its weight where one of its literals holds, 0 elsewhere. Takes no room of its own."""

    variables: tuple[int, ...]
    literals: tuple[PayoffTable, ...]
    weight: NDArray[np.integer]

    @property
    def layers(self) -> int:
        """How many arrays are laid over each other to broadcast it."""
        return len(self.literals)

    def fix(self, variable: int, obj: int) -> ClausePayoff:
        """What is left once a variable stands for an object."""
        if variable not in self.variables:
            return self
        left = tuple(literal.fix(variable, obj) for literal in self.literals)
        return ClausePayoff(tuple(other for other in self.variables if other != variable), left, self.weight)

    def broadcast(self, variables: Sequence[int]) -> NumberArray:
        """The worth as an array over more variables, of length 1 where they do not matter."""
        holds = self.literals[0].broadcast(variables)
        for literal in self.literals[1:]:
            holds = holds | literal.broadcast(variables)
        return holds * self.weight

    def bounds(self) -> tuple[int, int]:
        """A lower and an upper bound of the worth."""
        certain = any(literal.values.all() for literal in self.literals)
        possible = any(literal.values.any() for literal in self.literals)
        return int(self.weight) * certain, int(self.weight) * possible


Payoff: TypeAlias = PayoffTable | ClausePayoff


class TruthTables:
    """Reads from a world where literals hold; each atom is asked for once."""

    def __init__(self, world: World, style: str | None, literals: LiteralIndex) -> None:
        """Read all that clauses ask for.

        Args:
            world: what is asked.
            style: the style of the image.
            literals: what is asked for.
        """
        self.objects = len(world)
        of_style, of_one, of_two = literals
        self._rows: tuple[BoolArray, BoolArray, BoolArray] = (
            np.array([(literal.word == style) is literal.positive for literal in of_style], np.bool),
            _rows_of_one(world, of_one),
            _rows_of_two(world, of_two),
        )

    def rows(self, axes: int, rows: NDArray[np.intp]) -> BoolArray:
        """Where literals with so many variables hold, one after the other, by their numbers."""
        return self._rows[axes].take(rows, 0)

    def is_true(self, literal: IndexedLiteral, play: Sequence[int]) -> bool:
        """Does a literal hold if the variables stand for these objects?"""
        scope = literal.scope
        rows = self._rows[len(scope)]
        found: bool
        if len(scope) == 1:  # as most are
            found = rows.item(literal.row, play[scope[0]])
        else:
            found = rows.item(literal.row, *[play[place] for place in scope])
        return found

    def where(self, literal: IndexedLiteral) -> BoolArray:
        """Where a literal holds, by its variables in the order of the prefix."""
        found: BoolArray = self._rows[len(literal.scope)][literal.row]
        return found

    def clause_payoffs(self, component: IndexedComponent) -> list[Payoff]:
        """What clauses are worth.

        A clause counts more than all classes together: so, in a best play, most clauses hold, and of such plays one
        is best in which most is said rightly about the classes of objects.
        """
        numbers: type[np.integer] = np.int16 if component.max_payoff < 2**15 else np.int64
        payoffs: list[Payoff] = []
        for clause in component.clauses:
            literals = tuple(PayoffTable(literal.scope, self.where(literal)) for literal in clause.literals)
            payoffs.append(
                ClausePayoff(clause.scope, literals, np.asarray(clause.weight * component.clause_unit, numbers))
            )
            for literal, table in zip(clause.literals, literals, strict=True):
                if literal.is_class:
                    payoffs.append(PayoffTable(table.variables, table.values.astype(numbers)))
        return payoffs


def _rows_of_one(world: World, literals: Iterable[LiteralKey]) -> BoolArray:
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
    return _bits_to_rows(sets, len(world))


def _rows_of_two(world: World, literals: Iterable[LiteralKey]) -> BoolArray:
    """Where literals of two variables hold, a table for each."""
    width = len(world)
    pairs = getattr(world, "pairs", None)  # some worlds can tell all pairs at once
    known_pairs: dict[str, BoolArray] = {}
    tables = []
    for predicate, _, positive, written in literals:
        known = known_pairs.get(predicate)
        if known is None:
            known = pairs(predicate) if pairs is not None else None
            known_pairs[predicate] = known = _pairs_by_sets(world, predicate) if known is None else known
        if written == (1, 0):
            known = known.T
        tables.append(known if positive else ~known)
    return np.concatenate(tables).reshape(len(tables), width, width) if tables else np.zeros((0, width, width), np.bool)


def _pairs_by_sets(world: World, predicate: str) -> BoolArray:
    """Where a predicate holds, by first and second object."""
    width = len(world)
    everything = (1 << width) - 1
    return _bits_to_rows([world.seconds(predicate, 1 << obj, everything) for obj in range(width)], width)


def _bits_to_rows(sets: Sequence[int], width: int) -> BoolArray:
    """Bit sets as rows of yes and no."""
    octets = (width + 7) // 8
    packed = b"".join([objects.to_bytes(octets, "little") for objects in sets])
    bits = np.unpackbits(np.frombuffer(packed, np.uint8).reshape(len(sets), octets), axis=1, bitorder="little")
    return bits[:, :width].view(np.bool)
