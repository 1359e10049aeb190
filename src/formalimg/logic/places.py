"""Clauses in which variables are called by their places in the prefix: worked out once, played in many scenes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, TypeAlias

from formalimg.logic.lifting import Clause, Component, Literal, QuantifierKind
from formalimg.logic.syntax import Value

Scope: TypeAlias = tuple[int, ...]
"""Places of variables, in the order of the prefix."""

Spreading: TypeAlias = tuple[slice | None, ...]
"""An index that lays a table out over more variables than it has."""


class AtomKey(NamedTuple):
    """What the truth of an atom hangs on besides the things: its predicate, its word, how many variables it has."""

    predicate: str
    word: str | None
    variables: int


class PlacedLiteral(NamedTuple):
    """A literal.

    Attributes:
        atom: what it asks for.
        positive: whether the atom is to hold.
        scope: its variables, each once.
        written: its variables in the order in which they are written.
        of_class: whether it speaks of the class of a thing.
    """

    atom: AtomKey
    positive: bool
    scope: Scope
    written: tuple[int, ...]
    of_class: bool


class PlacedClause(NamedTuple):
    """A clause.

    Attributes:
        literals: its literals.
        spread: how the table of each literal is laid out over the variables of the clause.
        scope: these variables.
        weight: what it counts.
    """

    literals: tuple[PlacedLiteral, ...]
    spread: tuple[Spreading, ...]
    scope: Scope
    weight: int


class PlacedComponent(NamedTuple):
    """Clauses that hang together.

    Attributes:
        names: the variables.
        kinds: who picks the thing of each.
        clauses: the clauses.
        scopes: which variables are spoken of together, in clauses or alone.
        one: what a clause of weight 1 is worth in a game: one more than all classes together.
        most: the most that a play can be worth.
    """

    names: tuple[str, ...]
    kinds: tuple[QuantifierKind, ...]
    clauses: tuple[PlacedClause, ...]
    scopes: tuple[Scope, ...]
    one: int
    most: int


def placed(component: Component, weights: Sequence[int]) -> PlacedComponent:
    """A component whose clauses count so much each."""
    names = tuple(quantifier.variable for quantifier in component.prefix)
    places = {name: place for place, name in enumerate(names)}
    clauses = tuple(_clause(clause, places, weight) for clause, weight in zip(component.clauses, weights, strict=True))
    alone: list[Scope] = [(place,) for place in places.values()]
    one = 1 + sum(literal.of_class for clause in clauses for literal in clause.literals)
    return PlacedComponent(
        names,
        tuple(quantifier.kind for quantifier in component.prefix),
        clauses,
        tuple(dict.fromkeys([*alone, *(clause.scope for clause in clauses)])),
        one,
        one * sum(weights) + one - 1,
    )


def atoms_in(components: Iterable[PlacedComponent]) -> tuple[AtomKey, ...]:
    """All that components ask for, each once."""
    clauses = (clause for part in components for clause in part.clauses)
    return tuple(dict.fromkeys(literal.atom for clause in clauses for literal in clause.literals))


def spread_over(scope: Scope, told: Scope) -> Spreading:
    """How a table of some variables is laid out over more of them."""
    return tuple(slice(None) if place in told else None for place in scope)


def _clause(clause: Clause, places: Mapping[str, int], weight: int) -> PlacedClause:
    literals = tuple(_literal(literal, places) for literal in clause.literals)
    scope = tuple(sorted({place for literal in literals for place in literal.scope}))
    return PlacedClause(literals, tuple(spread_over(scope, literal.scope) for literal in literals), scope, weight)


def _literal(literal: Literal, places: Mapping[str, int]) -> PlacedLiteral:
    atom, positive = literal
    word = next((argument.text for argument in atom.arguments if isinstance(argument, Value)), None)
    written = tuple(places[name] for name in atom.variables)
    key = AtomKey(atom.predicate, word, len(written))
    return PlacedLiteral(key, positive, tuple(sorted(set(written))), written, atom.predicate == "Is")
