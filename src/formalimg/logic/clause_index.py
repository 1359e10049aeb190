"""Indexed clauses: clauses with their variables by position in the prefix, and what their literals need from a scene.

Clauses are indexed once per formula; what they need is read per scene.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from formalimg.logic.count_credit import CREDIT_UNIT
from formalimg.logic.earned_credit import ClauseCredit, LiteralCredit
from formalimg.logic.prenex import Clause, Component, Literal, QuantifierKind
from formalimg.logic.syntax import Atom, Count, Value

if TYPE_CHECKING:
    from formalimg.logic.minimax_plan import ComponentBatches


Scope: TypeAlias = tuple[int, ...]
"""Indices of variables, in the order of the prefix."""

Broadcast: TypeAlias = tuple[slice | None, ...]
"""A numpy index that broadcasts a table over more variables than it has."""


class LiteralKey(NamedTuple):
    """What a literal needs from a scene: a truth table with one axis for each of its variables.

    Attributes:
        predicate: its predicate.
        word: its word, if it has one.
        positive: whether the atom must hold.
        written: the axes of its variables as they are written: (1, 0) if the second comes first in the prefix, (0, 0)
            for one variable twice.
        credit: what else must be so for it to count.
    """

    predicate: str
    word: str | None
    positive: bool
    written: tuple[int, ...]
    credit: LiteralCredit


class CountKey(NamedTuple):
    """What a count needs from a scene: a table with one axis for each of its free variables.

    Attributes:
        counted: the count.
        positive: whether it must hold, or fail.
        variables: its free variables, in the order of the prefix.
        needed: what else must be so for it to count.
    """

    counted: Count
    positive: bool
    variables: tuple[str, ...]
    needed: LiteralCredit


class LiteralIndex(NamedTuple):
    """The literals of all clauses with their rows: those without variables, with one, with two; and counts."""

    of_style: dict[LiteralKey, int]
    of_one: dict[LiteralKey, int]
    of_two: dict[LiteralKey, int]
    counts: dict[CountKey, int]


class IndexedLiteral(NamedTuple):
    """A literal with its variables by index.

    Attributes:
        atom: the atom, or the count.
        row: the row of its truth table, among literals with as many variables, or among counts.
        scope: its variables, each once.
        written: its variables in the order in which they are written.
        positive: whether the atom must hold.
        is_class: whether it states the class of an object.
        is_count: whether it is a count.
    """

    atom: Atom | Count
    row: int
    scope: Scope
    written: tuple[int, ...]
    positive: bool
    is_class: bool
    is_count: bool = False


class IndexedClause(NamedTuple):
    """A clause with its variables by index.

    Attributes:
        literals: its literals.
        scope: its variables.
        weight: its weight.
    """

    literals: tuple[IndexedLiteral, ...]
    scope: Scope
    weight: int


@dataclass(frozen=True, eq=False)
class IndexedComponent:
    """A component with its variables by index.

    Attributes:
        names: the variables.
        kinds: the quantifier of each, which is its player.
        clauses: the clauses.
        clause_unit: the payoff of a clause of weight 1: one more than all classes together. With counts, that of the
            smallest share of such a clause.
        credit_unit: CREDIT_UNIT if there are counts, which have shares; otherwise 1.
        max_payoff: the largest payoff of a play.
    """

    names: tuple[str, ...]
    kinds: tuple[QuantifierKind, ...]
    clauses: tuple[IndexedClause, ...]
    clause_unit: int
    credit_unit: int
    max_payoff: int

    @cached_property
    def max_scope(self) -> int:
        """The largest number of variables in a clause, at least 1."""
        return max([1, *(len(clause.scope) for clause in self.clauses)])

    @cached_property
    def batches(self) -> ComponentBatches:
        """The clauses in batches that are evaluated at once."""
        from formalimg.logic.minimax_plan import ComponentBatches  # here, because it imports this module

        return ComponentBatches(self)


def index_component(
    component: Component, weights: Sequence[int], index: LiteralIndex, needed: Sequence[ClauseCredit]
) -> IndexedComponent:
    """Index a component; add the literals it needs to the index.

    Args:
        component: the component.
        weights: the weight of each clause.
        index: the literals of all components.
        needed: what must be so, besides each clause, for it to count.
    """
    names = tuple(quantifier.variable for quantifier in component.prefix)
    places = {name: place for place, name in enumerate(names)}
    clauses = tuple(
        _index_clause(clause, places, weight, index, credit)
        for clause, weight, credit in zip(component.clauses, weights, needed, strict=True)
    )
    unit = 1 + sum(literal.is_class for clause in clauses for literal in clause.literals)
    kinds = tuple(quantifier.kind for quantifier in component.prefix)
    credit = CREDIT_UNIT if any(literal.is_count for clause in clauses for literal in clause.literals) else 1
    return IndexedComponent(names, kinds, clauses, unit, credit, unit * credit * sum(weights) + unit - 1)


def scope_of(literals: Sequence[IndexedLiteral]) -> Scope:
    """Return the variables of literals."""
    if len(literals) == 1:
        return literals[0].scope
    return tuple(sorted({place for literal in literals for place in literal.scope}))


def broadcast_index(scope: Scope, table_scope: Iterable[int]) -> Broadcast:
    """Return the index that broadcasts a table of some variables over a larger scope."""
    return tuple(slice(None) if place in table_scope else None for place in scope)


def _index_clause(
    clause: Clause, places: Mapping[str, int], weight: int, index: LiteralIndex, credit: ClauseCredit
) -> IndexedClause:
    literals = tuple(_index_literal(literal, places, index, credit) for literal in clause.literals)
    return IndexedClause(literals, scope_of(literals), weight)


def _index_literal(
    literal: Literal, places: Mapping[str, int], index: LiteralIndex, credit: ClauseCredit
) -> IndexedLiteral:
    atom, positive = literal
    if isinstance(atom, Count):
        names = sorted(literal.variables, key=places.__getitem__)
        key = CountKey(atom, positive, tuple(names), credit.of(literal, names))
        scope = tuple(places[name] for name in names)
        row = index.counts.setdefault(key, len(index.counts))
        return IndexedLiteral(atom, row, scope, scope, positive, is_class=False, is_count=True)
    word = next((argument.text for argument in atom.arguments if isinstance(argument, Value)), None)
    written = tuple(places[name] for name in atom.variables)
    scope = tuple(sorted(set(written)))
    rows = (index.of_style, index.of_one, index.of_two)[len(scope)]
    names = sorted(set(atom.variables), key=places.__getitem__)
    axes = tuple(scope.index(place) for place in written)
    read = LiteralKey(atom.predicate, word, positive, axes, credit.of(literal, names))
    row = rows.setdefault(read, len(rows))
    return IndexedLiteral(atom, row, scope, written, positive, atom.predicate == "Is")
