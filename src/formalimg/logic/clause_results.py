"""Clause results: whether each clause holds under a binding, and why, or what it lacks to count."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from formalimg.logic.count_credit import CREDIT_UNIT, count_limits, describe_count
from formalimg.logic.earned_credit import ClauseCredit, describe_condition, has_instance, of_classes, states_class
from formalimg.logic.prenex import Clause, ClauseKind, Literal
from formalimg.logic.proof import VariableBinding
from formalimg.logic.syntax import Count, Value
from formalimg.logic.world import DistinguishingWorld, World

if TYPE_CHECKING:
    from formalimg.logic.clause_index import IndexedClause, IndexedLiteral
    from formalimg.logic.payoffs import TruthTables


class WeightedClause(NamedTuple):
    """A clause, its kind, its weight, and what it needs to count."""

    clause: Clause
    kind: ClauseKind
    weight: int
    needed: ClauseCredit


class ClauseResult(NamedTuple):
    """A clause, and whether it holds under the best binding.

    Attributes:
        clause: the clause.
        kind: what it is about; a clause about the instance that a strict `forall` requires is a `condition`.
        holds: whether it holds, and with `credit="earned"`, whether it also is earned.
        reason: evidence from the objects, with numbers; empty if there is none.
        bindings: what its variables stand for, in the order of the clause; empty in a scene without objects.
        weight: its weight.
        closeness: for a count that fails, how close it is: from 0 to less than 1. 0 for every other clause.
    """

    clause: Clause
    kind: ClauseKind
    holds: bool
    reason: str
    bindings: tuple[VariableBinding, ...]
    weight: int = 1
    closeness: float = 0.0

    @property
    def score(self) -> float:
        """What it is worth, 0 to 1: 1 if it holds."""
        return 1.0 if self.holds else self.closeness

    @property
    def credit(self) -> int:
        """What it is worth as a part of CREDIT_UNIT, exactly."""
        return CREDIT_UNIT if self.holds else round(self.closeness * CREDIT_UNIT)


_NOTHING = "there is nothing in the scene"
NOTHING_ASKED_FOR = "nothing that is asked for is there yet: this clause earns nothing"


class ClauseEvaluator:
    """Judges clauses under a binding: whether each holds, and why."""

    def __init__(self, scene: World, style: str | None, truth: TruthTables, play: Mapping[str, int]) -> None:
        self.scene = DistinguishingWorld(scene)
        self.style = style
        self.truth = truth
        self.bound = {name: VariableBinding(name, obj, scene.describe(obj)) for name, obj in play.items()}

    def evaluate(self, weighted: WeightedClause, indexed: IndexedClause, objects: Sequence[int]) -> ClauseResult:
        """Return the judged clause.

        Args:
            weighted: the clause.
            indexed: the same, its variables by their indices.
            objects: what the variables stand for, by their indices.
        """
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
        """Return what a clause lacks to count, even if it holds; empty if nothing."""
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
        """Return, as text, what makes a literal hold or fail."""
        atom = literal.atom
        if isinstance(atom, Count):
            assert self.truth.counts is not None
            binding = {name: self.bound[name].obj for name in Literal(atom, True).variables}
            return describe_count(atom, literal.positive, self.truth.counts.found(atom, binding))
        if not literal.written:
            return f"the style is '{self.style}'"
        return self.scene.evidence(atom, tuple([objects[place] for place in literal.written]))


def evaluate_empty_scene(
    clauses: Sequence[WeightedClause], passed: bool, style: str | None, *, earns: bool = True
) -> tuple[ClauseResult, ...]:
    """Judge clauses in a scene without objects: clauses about objects hold only if the whole formula does.

    Where nothing can be earned, because objects are asked for, the others do not count either.
    """
    found = []
    for clause, kind, weight, _ in clauses:
        holds = passed or (not clause.variables and any(_holds_of_nothing(one, style) for one in clause.literals))
        count = clause.literals[0].atom
        reason = _NOTHING if clause.variables else f"the style is '{style}'"
        if isinstance(count, Count) and not clause.variables:
            reason = describe_count(count, clause.literals[0].positive, 0)
        found.append(ClauseResult(clause, kind, holds, reason, (), weight))
    if not passed and (not earns or all(clause.holds for clause in found)):
        # An `exists` that fails although no clause has its variable: its clauses about the style fail with it.
        found = [ClauseResult(clause, kind, False, _NOTHING, (), weight) for clause, kind, weight, _ in clauses]
    return tuple(found)


def _holds_of_nothing(literal: Literal, style: str | None) -> bool:
    """Return whether a literal without variables, about the style or a number of objects, holds without objects."""
    if isinstance(literal.atom, Count):
        return count_limits(literal.atom, literal.positive).credit(0) == CREDIT_UNIT
    return (literal.atom.arguments[0] == Value(style or "")) is literal.positive
