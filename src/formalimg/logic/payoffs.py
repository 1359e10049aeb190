"""Payoffs of clauses: truth tables of literals in a scene, and the tables over which the best binding is computed.

Clauses are indexed once per formula, their variables by their position in the prefix; truth tables are read per scene.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from formalimg.logic.earned_credit import ClauseCredit, CountingObjects, LiteralCredit
from formalimg.logic.prenex import Clause, Component, Literal, QuantifierKind
from formalimg.logic.syntax import Atom, Value
from formalimg.logic.world import World

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


LiteralIndex: TypeAlias = tuple[dict[LiteralKey, int], dict[LiteralKey, int], dict[LiteralKey, int]]
"""The literals of all clauses with their rows: those without variables, with one, with two."""


class IndexedLiteral(NamedTuple):
    """A literal with its variables by index.

    Attributes:
        atom: the atom.
        row: the row of its truth table, among literals with as many variables.
        scope: its variables, each once.
        written: its variables in the order in which they are written.
        positive: whether the atom must hold.
        is_class: whether it states the class of an object.
    """

    atom: Atom
    row: int
    scope: Scope
    written: tuple[int, ...]
    positive: bool
    is_class: bool


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
        clause_unit: the payoff of a clause of weight 1: one more than all classes together.
        max_payoff: the largest payoff of a play.
    """

    names: tuple[str, ...]
    kinds: tuple[QuantifierKind, ...]
    clauses: tuple[IndexedClause, ...]
    clause_unit: int
    max_payoff: int

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
    return IndexedComponent(names, kinds, clauses, unit, unit * sum(weights) + unit - 1)


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
    word = next((argument.text for argument in atom.arguments if isinstance(argument, Value)), None)
    written = tuple(places[name] for name in atom.variables)
    scope = tuple(sorted(set(written)))
    rows = index[len(scope)]
    names = sorted(set(atom.variables), key=places.__getitem__)
    axes = tuple(scope.index(place) for place in written)
    key = LiteralKey(atom.predicate, word, positive, axes, credit.of(literal, names))
    row = rows.setdefault(key, len(rows))
    return IndexedLiteral(atom, row, scope, written, positive, atom.predicate == "Is")


NumberArray: TypeAlias = NDArray[np.integer | np.bool]
BoolArray: TypeAlias = NDArray[np.bool]


class PayoffTable(NamedTuple):
    """A number for each choice of objects for some variables, which are indexed in the order of the prefix."""

    variables: tuple[int, ...]
    values: NumberArray

    @property
    def layers(self) -> int:
        """How many arrays are added to broadcast it."""
        return 1

    def fix(self, variable: int, obj: int) -> PayoffTable:
        """Return what is left once a variable stands for an object."""
        if variable not in self.variables:
            return self
        at = self.variables.index(variable)
        index: tuple[Any, ...] = (*[slice(None)] * at, obj, ...)
        return PayoffTable(self.variables[:at] + self.variables[at + 1 :], self.values[index])

    def broadcast(self, variables: Sequence[int]) -> NumberArray:
        """Return the numbers as an array over more variables, of length 1 where they do not matter."""
        lengths = iter(self.values.shape)
        return self.values.reshape([next(lengths) if variable in self.variables else 1 for variable in variables])

    def bounds(self) -> tuple[int, int]:
        """Return the smallest and the largest number."""
        return int(self.values.min()), int(self.values.max())


class ClausePayoff(NamedTuple):
    """The payoff of a clause: its weight where one of its literals holds, 0 elsewhere. Needs no array of its own."""

    variables: tuple[int, ...]
    literals: tuple[PayoffTable, ...]
    weight: NDArray[np.integer]

    @property
    def layers(self) -> int:
        """How many arrays are combined to broadcast it."""
        return len(self.literals)

    def fix(self, variable: int, obj: int) -> ClausePayoff:
        """Return what is left once a variable stands for an object."""
        if variable not in self.variables:
            return self
        left = tuple(literal.fix(variable, obj) for literal in self.literals)
        return ClausePayoff(tuple(other for other in self.variables if other != variable), left, self.weight)

    def broadcast(self, variables: Sequence[int]) -> NumberArray:
        """Return the payoff as an array over more variables, of length 1 where they do not matter."""
        holds = self.literals[0].broadcast(variables)
        for literal in self.literals[1:]:
            holds = holds | literal.broadcast(variables)
        return holds * self.weight

    def bounds(self) -> tuple[int, int]:
        """Return a lower and an upper bound of the payoff."""
        certain = any(literal.values.all() for literal in self.literals)
        possible = any(literal.values.any() for literal in self.literals)
        return int(self.weight) * certain, int(self.weight) * possible


Payoff: TypeAlias = PayoffTable | ClausePayoff


class TruthTables:
    """Truth tables of literals in a world; each atom is read once."""

    def __init__(self, world: World, style: str | None, literals: LiteralIndex) -> None:
        """Read the truth tables of all literals.

        Args:
            world: the objects and relations.
            style: the style of the image.
            literals: the literals that are needed.
        """
        self.objects = len(world)
        of_style, of_one, of_two = literals
        counting = CountingObjects(world)
        self._rows: tuple[BoolArray, BoolArray, BoolArray] = (
            np.array([_style_counts(style, literal, counting) for literal in of_style], np.bool),
            _rows_of_one(world, of_one, counting),
            _rows_of_two(world, of_two, counting),
        )

    def rows(self, axes: int, rows: NDArray[np.intp]) -> BoolArray:
        """Return where literals with this many variables hold, stacked, by their rows."""
        return self._rows[axes].take(rows, 0)

    def is_true(self, literal: IndexedLiteral, play: Sequence[int]) -> bool:
        """Return whether a literal holds if the variables stand for these objects."""
        scope = literal.scope
        rows = self._rows[len(scope)]
        found: bool
        if len(scope) == 1:  # as most are
            found = rows.item(literal.row, play[scope[0]])
        else:
            found = rows.item(literal.row, *[play[place] for place in scope])
        return found

    def where(self, literal: IndexedLiteral) -> BoolArray:
        """Return where a literal holds, by its variables in the order of the prefix."""
        found: BoolArray = self._rows[len(literal.scope)][literal.row]
        return found

    def clause_payoffs(self, component: IndexedComponent) -> list[Payoff]:
        """Return the payoffs of the clauses of a component.

        A clause counts more than all classes together: so a best play satisfies the most clauses, and among such plays
        the most literals about classes.
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


def _style_counts(style: str | None, literal: LiteralKey, counting: CountingObjects) -> bool:
    return (literal.word == style) is literal.positive and counting.have_instances(literal.credit.instances)


def _rows_of_one(world: World, literals: Iterable[LiteralKey], counting: CountingObjects) -> BoolArray:
    """Return where literals of one variable hold and count, a row for each."""
    everything = (1 << len(world)) - 1
    sets = []
    for predicate, word, positive, written, (classes, instances) in literals:
        if len(written) == 1:
            objects = world.having(predicate, word)
        else:  # the same variable twice
            singles = [1 << obj for obj in range(len(world))]
            objects = sum([world.seconds(predicate, single, single) for single in singles])
        found = objects if positive else everything & ~objects
        if classes:
            found &= counting.of_classes(classes[0])
        if instances and not counting.have_instances(instances):
            found = 0
        sets.append(found)
    return _bits_to_rows(sets, len(world))


def _rows_of_two(world: World, literals: Collection[LiteralKey], counting: CountingObjects) -> BoolArray:
    """Return where literals of two variables hold and count, a table for each."""
    width = len(world)
    if not literals:
        return np.zeros((0, width, width), np.bool)
    pairs = getattr(world, "pairs", None)  # some worlds return all pairs at once
    known_pairs: dict[str, BoolArray] = {}
    tables = []
    for predicate, _, positive, written, _ in literals:
        known = known_pairs.get(predicate)
        if known is None:
            known = pairs(predicate) if pairs is not None else None
            known_pairs[predicate] = known = _pairs_by_sets(world, predicate) if known is None else known
        if written == (1, 0):
            known = known.T
        tables.append(known if positive else ~known)
    found = np.concatenate(tables).reshape(len(tables), width, width)
    needed = [literal.credit for literal in literals]
    if any(classes for classes, _ in needed):
        for axis in range(2):
            rows = _bits_to_rows(
                [counting.of_classes(classes[axis] if classes else ()) for classes, _ in needed], width
            )
            found &= rows[:, None, :] if axis else rows[:, :, None]
    for number, (_, instances) in enumerate(needed):
        if instances and not counting.have_instances(instances):
            found[number] = False
    return found


def _pairs_by_sets(world: World, predicate: str) -> BoolArray:
    """Return where a predicate holds, by first and second object."""
    width = len(world)
    everything = (1 << width) - 1
    return _bits_to_rows([world.seconds(predicate, 1 << obj, everything) for obj in range(width)], width)


def _bits_to_rows(sets: Sequence[int], width: int) -> BoolArray:
    """Return bit sets as rows of booleans."""
    octets = (width + 7) // 8
    packed = b"".join([objects.to_bytes(octets, "little") for objects in sets])
    bits = np.unpackbits(np.frombuffer(packed, np.uint8).reshape(len(sets), octets), axis=1, bitorder="little")
    return bits[:, :width].view(np.bool)
