"""Clauses in which variables are called by their places in the prefix: worked out once, played in many scenes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from formalimg.logic.lifting import Clause, Component, Literal, QuantifierKind
from formalimg.logic.syntax import Atom, Value

if TYPE_CHECKING:
    from formalimg.logic.stacks import Stacked

Scope: TypeAlias = tuple[int, ...]
"""Places of variables, in the order of the prefix."""

Spreading: TypeAlias = tuple[slice | None, ...]
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


LiteralNumbers: TypeAlias = tuple[dict[LiteralKey, int], dict[LiteralKey, int], dict[LiteralKey, int]]
"""All that clauses ask for, each with its number: literals without variables, with one, with two."""


class PlacedLiteral(NamedTuple):
    """A literal.

    Attributes:
        atom: the atom.
        row: the number of what it asks for, among literals with as many variables.
        scope: its variables, each once.
        written: its variables in the order in which they are written.
        positive: whether the atom is to hold.
        of_class: whether it speaks of the class of an object.
    """

    atom: Atom
    row: int
    scope: Scope
    written: tuple[int, ...]
    positive: bool
    of_class: bool


class PlacedClause(NamedTuple):
    """A clause.

    Attributes:
        literals: its literals.
        scope: its variables.
        weight: what it counts.
    """

    literals: tuple[PlacedLiteral, ...]
    scope: Scope
    weight: int


@dataclass(frozen=True, eq=False)
class PlacedComponent:
    """Clauses that hang together.

    Attributes:
        names: the variables.
        kinds: who picks the object of each.
        clauses: the clauses.
        one: what a clause of weight 1 is worth in a game: one more than all classes together.
        most: the most that a play can be worth.
    """

    names: tuple[str, ...]
    kinds: tuple[QuantifierKind, ...]
    clauses: tuple[PlacedClause, ...]
    one: int
    most: int

    @cached_property
    def stacked(self) -> Stacked:
        """The clauses as they are weighed in small games: many at once."""
        from formalimg.logic.stacks import Stacked  # here, because it needs numpy

        return Stacked(self)


def no_literals() -> LiteralNumbers:
    """Where numbering begins."""
    return {}, {}, {}


def placed(component: Component, weights: Sequence[int], numbers: LiteralNumbers) -> PlacedComponent:
    """A component whose clauses count so much each; what they ask for is added to the numbers."""
    names = tuple(quantifier.variable for quantifier in component.prefix)
    places = {name: place for place, name in enumerate(names)}
    clauses = tuple(
        _clause(clause, places, weight, numbers) for clause, weight in zip(component.clauses, weights, strict=True)
    )
    one = 1 + sum(literal.of_class for clause in clauses for literal in clause.literals)
    kinds = tuple(quantifier.kind for quantifier in component.prefix)
    return PlacedComponent(names, kinds, clauses, one, one * sum(weights) + one - 1)


def scope_of(literals: Sequence[PlacedLiteral]) -> Scope:
    """The variables of literals."""
    if len(literals) == 1:
        return literals[0].scope
    return tuple(sorted({place for literal in literals for place in literal.scope}))


def spread_over(scope: Scope, told: Iterable[int]) -> Spreading:
    """How a table of some variables is laid out over more of them."""
    return tuple(slice(None) if place in told else None for place in scope)


def _clause(clause: Clause, places: Mapping[str, int], weight: int, numbers: LiteralNumbers) -> PlacedClause:
    literals = tuple(_literal(literal, places, numbers) for literal in clause.literals)
    return PlacedClause(literals, scope_of(literals), weight)


def _literal(literal: Literal, places: Mapping[str, int], numbers: LiteralNumbers) -> PlacedLiteral:
    atom, positive = literal
    word = next((argument.text for argument in atom.arguments if isinstance(argument, Value)), None)
    written = tuple(places[name] for name in atom.variables)
    scope = tuple(sorted(set(written)))
    numbered = numbers[len(scope)]
    key = LiteralKey(atom.predicate, word, positive, tuple(scope.index(place) for place in written))
    row = numbered.setdefault(key, len(numbered))
    return PlacedLiteral(atom, row, scope, written, positive, atom.predicate == "Is")
