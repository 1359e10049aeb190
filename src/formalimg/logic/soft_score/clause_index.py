"""Index the clauses of a formula: positions of variables, scene data needed by literals, and clause results.

Clauses are indexed once per formula, and their data is read once per scene. A result states whether a clause holds
under a binding, and why, or which condition for credit is not met.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from formalimg.logic.prenex import Clause, ClauseKind, Component, Literal, QuantifierKind
from formalimg.logic.proof import VariableBinding, describe_count
from formalimg.logic.soft_score.earned_credit import (
    ClauseCredit,
    LiteralCredit,
    describe_condition,
    has_instance,
    of_classes,
    states_class,
)
from formalimg.logic.syntax import CREDIT_UNIT, Atom, Count, Value
from formalimg.logic.world import DistinguishingWorld, World

if TYPE_CHECKING:
    from formalimg.logic.soft_score.minimax_plan import ComponentBatches
    from formalimg.logic.soft_score.payoffs import TruthTables


Scope: TypeAlias = tuple[int, ...]  # Indices of variables, in the order of the prefix
Broadcast: TypeAlias = tuple[slice | None, ...]  # A numpy index that broadcasts a table over more variables than it has


class LiteralKey(NamedTuple):
    """Key for the truth table of a literal, which has one axis per variable."""

    predicate: str  # its predicate
    word: str | None  # its word, if it has one
    positive: bool  # whether the atom must hold
    # the axes of its variables as they are written: (1, 0) if the second comes first in the prefix, (0, 0) for one
    # variable twice
    written: tuple[int, ...]
    credit: LiteralCredit  # what else must be so for it to count


class CountKey(NamedTuple):
    """Key for the table of a count, which has one axis per free variable."""

    counted: Count  # the count
    positive: bool  # whether it must hold, or fail
    variables: tuple[str, ...]  # its free variables, in the order of the prefix
    needed: LiteralCredit  # what else must be so for it to count


class LiteralIndex(NamedTuple):
    """Row numbers of all literals, grouped by number of variables, and of all counts."""

    of_style: dict[LiteralKey, int]
    of_one: dict[LiteralKey, int]
    of_two: dict[LiteralKey, int]
    counts: dict[CountKey, int]


class IndexedLiteral(NamedTuple):
    """A literal whose variables are represented by indices."""

    atom: Atom | Count  # the atom, or the count
    row: int  # the row of its truth table, among literals with as many variables, or among counts
    scope: Scope  # its variables, each once
    written: tuple[int, ...]  # its variables in the order in which they are written
    positive: bool  # whether the atom must hold
    is_class: bool  # whether it states the class of an object
    is_count: bool = False  # whether it is a count


class IndexedClause(NamedTuple):
    """A clause whose variables are represented by indices."""

    literals: tuple[IndexedLiteral, ...]  # its literals
    scope: Scope  # its variables
    weight: int  # its weight


@dataclass(frozen=True, eq=False)
class IndexedComponent:
    """A component whose variables are represented by indices."""

    names: tuple[str, ...]  # the variables
    kinds: tuple[QuantifierKind, ...]  # the quantifier of each, which is its player
    clauses: tuple[IndexedClause, ...]  # the clauses
    # the payoff of a clause of weight 1: one more than all classes together. With counts, that of the smallest share
    # of such a clause
    clause_unit: int
    credit_unit: int  # CREDIT_UNIT if there are counts, which have shares; otherwise 1
    max_payoff: int  # the largest payoff of a play

    @cached_property
    def max_scope(self) -> int:
        """The largest number of variables in a clause, at least 1."""
        return max([1, *(len(clause.scope) for clause in self.clauses)])

    @cached_property
    def batches(self) -> ComponentBatches:
        """The clauses, grouped into batches for vectorized evaluation."""
        from formalimg.logic.soft_score.minimax_plan import ComponentBatches  # here, because it imports this module

        return ComponentBatches(self)


def index_component(
    component: Component, weights: Sequence[int], index: LiteralIndex, needed: Sequence[ClauseCredit]
) -> IndexedComponent:
    """Index a component and register its literals in the index."""
    names = tuple(quantifier.variable for quantifier in component.prefix)
    places = {name: position for position, name in enumerate(names)}
    clauses = []
    for clause, weight, credit in zip(component.clauses, weights, needed, strict=True):
        literals = tuple(_index_literal(literal, places, index, credit) for literal in clause.literals)
        clauses.append(IndexedClause(literals, scope_of(literals), weight))
    unit = 1 + sum(literal.is_class for clause in clauses for literal in clause.literals)
    kinds = tuple(quantifier.kind for quantifier in component.prefix)
    credit_unit = CREDIT_UNIT if any(literal.is_count for clause in clauses for literal in clause.literals) else 1
    max_payoff = unit * credit_unit * sum(weights) + unit - 1
    return IndexedComponent(names, kinds, tuple(clauses), unit, credit_unit, max_payoff)


def scope_of(literals: Sequence[IndexedLiteral]) -> Scope:
    """Return the sorted indices of the variables used by the literals."""
    if len(literals) == 1:
        return literals[0].scope
    return tuple(sorted({position for literal in literals for position in literal.scope}))


def broadcast_index(scope: Scope, table_scope: Iterable[int]) -> Broadcast:
    """Return the numpy index that broadcasts a table to a larger scope."""
    return tuple(slice(None) if position in table_scope else None for position in scope)


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
    axes = tuple(scope.index(position) for position in written)
    read = LiteralKey(atom.predicate, word, positive, axes, credit.of(literal, names))
    row = rows.setdefault(read, len(rows))
    return IndexedLiteral(atom, row, scope, written, positive, atom.predicate == "Is")


class WeightedClause(NamedTuple):
    """A clause with its kind, its weight and the conditions for earning credit."""

    clause: Clause
    kind: ClauseKind
    weight: int
    needed: ClauseCredit


class ClauseResult(NamedTuple):
    """The result of evaluating a clause under the best binding."""

    clause: Clause  # the clause
    kind: ClauseKind  # what it is about; a clause about the instance that a strict `forall` requires is a `condition`
    holds: bool  # whether it holds, and with `credit="earned"`, whether it also is earned
    reason: str  # evidence from the objects, with numbers; empty if there is none
    # what its variables stand for, in the order of the clause; empty in a scene without objects
    bindings: tuple[VariableBinding, ...]
    weight: int = 1  # its weight
    closeness: float = 0.0  # for a count that fails, how close it is: from 0 to less than 1. 0 for every other clause

    @property
    def score(self) -> float:
        """Score of the clause, from 0 to 1. Equals 1 if the clause holds."""
        return 1.0 if self.holds else self.closeness

    @property
    def credit(self) -> int:
        """Score of the clause as an exact integer fraction of `CREDIT_UNIT`."""
        return CREDIT_UNIT if self.holds else round(self.closeness * CREDIT_UNIT)


_NOTHING = "there is nothing in the scene"
NOTHING_ASKED_FOR = "nothing that is asked for is there yet: this clause earns nothing"


class ClauseEvaluator:
    """Evaluates clauses under a binding and explains the results."""

    def __init__(self, scene: World, style: str | None, truth: TruthTables, play: Mapping[str, int]) -> None:
        self.scene = DistinguishingWorld(scene)
        self.style = style
        self.truth = truth
        self.bound = {name: VariableBinding(name, obj, scene.describe(obj)) for name, obj in play.items()}

    def evaluate(self, weighted: WeightedClause, indexed: IndexedClause, objects: Sequence[int]) -> ClauseResult:
        """Evaluate a clause and return the result."""
        clause, kind, weight, needed = weighted
        bindings = tuple([self.bound[name] for name in clause.names])
        for literal in indexed.literals:
            if self.truth.is_true(literal, objects):
                return ClauseResult(clause, kind, True, self.evidence(literal, objects), bindings, weight)
        first = indexed.literals[0]
        if unearned := self.unearned(clause, needed):
            reason = unearned
        elif clause.kind == "object" and first.positive and not self.truth.where(first).any():
            reason = f"no object satisfies {clause}"
        else:
            reason = " and ".join(filter(None, [self.evidence(literal, objects) for literal in indexed.literals]))
        closeness = self.truth.closeness(indexed.literals, objects) / CREDIT_UNIT
        return ClauseResult(clause, kind, False, reason, bindings, weight, closeness)

    def unearned(self, clause: Clause, needed: ClauseCredit) -> str:
        """Return the reason why a clause earns no credit, or an empty string if it can."""
        for condition in needed.instances:
            if not has_instance(self.scene, condition):
                return f"no {describe_condition(condition)} yet: this clause earns nothing"
        for name, words in needed.classes.items():
            if any(states_class(literal) and literal.variables == (name,) for literal in clause.literals):
                continue  # it states the class itself
            objects = of_classes(self.scene, words)
            if not objects >> self.bound[name].obj & 1:
                classes = " or ".join(words)
                lacking = f"?{name} is no {classes}" if objects else f"no {classes} yet"
                return f"{lacking}: this clause earns nothing"
        return ""

    def evidence(self, literal: IndexedLiteral, objects: Sequence[int]) -> str:
        """Return the evidence that a literal holds or fails, as text."""
        atom = literal.atom
        if isinstance(atom, Count):
            assert self.truth.counts is not None
            binding = {name: self.bound[name].obj for name in Literal(atom, True).variables}
            return describe_count(atom, literal.positive, self.truth.counts.found(atom, binding))
        if not literal.written:
            return f"the style is '{self.style}'"
        return self.scene.evidence(atom, tuple([objects[position] for position in literal.written]))


def evaluate_empty_scene(
    clauses: Sequence[WeightedClause], passed: bool, style: str | None, *, earns: bool = True
) -> tuple[ClauseResult, ...]:
    """Evaluate clauses in an empty scene, where clauses about objects hold only if the whole formula does."""
    results = []
    for clause, kind, weight, _ in clauses:
        holds = passed or (
            not clause.variables and any(_holds_of_nothing(literal, style) for literal in clause.literals)
        )
        count = clause.literals[0].atom
        reason = _NOTHING if clause.variables else f"the style is '{style}'"
        if isinstance(count, Count) and not clause.variables:
            reason = describe_count(count, clause.literals[0].positive, 0)
        results.append(ClauseResult(clause, kind, holds, reason, (), weight))
    if not passed and (not earns or all(clause.holds for clause in results)):
        # An `exists` that fails although no clause has its variable: its clauses about the style fail with it.
        results = [ClauseResult(clause, kind, False, _NOTHING, (), weight) for clause, kind, weight, _ in clauses]
    return tuple(results)


def _holds_of_nothing(literal: Literal, style: str | None) -> bool:
    """Return whether a literal without variables (about the style or a number of objects) holds in an empty scene."""
    if isinstance(literal.atom, Count):
        return literal.atom.limits(literal.positive).credit(0) == CREDIT_UNIT
    return (literal.atom.arguments[0] == Value(style or "")) is literal.positive
