"""Best binding, the soft score: which clauses of a formula hold when each variable stands for the best object.

`verify` decides whether a formula holds. Where it does not, this scores how much of it does: the share of its clauses,
which is 1 if and only if the formula holds. The definition is in docs/semantics.md.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from formalimg.errors import FormalimgError
from formalimg.logic.constraints import Semantics
from formalimg.logic.errors import FormulaError, Problem
from formalimg.logic.parser import as_formula
from formalimg.logic.prenex import Clause, ClauseKind, Literal, to_prenex
from formalimg.logic.proof import VariableBinding
from formalimg.logic.strict_forall import expand_strict_forall
from formalimg.logic.syntax import Formula, Value
from formalimg.logic.verify import AnalyzedFormula, Verification
from formalimg.logic.world import World

if TYPE_CHECKING:
    from formalimg.logic.payoffs import IndexedClause, IndexedComponent, IndexedLiteral, LiteralIndex, TruthTables


class WeightedClause(NamedTuple):
    """A clause, its kind, and its weight."""

    clause: Clause
    kind: ClauseKind
    weight: int


class ClauseResult(NamedTuple):
    """A clause, and whether it holds under the best binding.

    Attributes:
        clause: the clause.
        kind: what it is about; a clause about the instance that a strict `forall` requires is a `condition`.
        holds: whether it holds.
        reason: evidence from the objects, with numbers; empty if there is none.
        bindings: what its variables stand for, in the order of the clause; empty in a scene without objects.
        weight: its weight.
    """

    clause: Clause
    kind: ClauseKind
    holds: bool
    reason: str
    bindings: tuple[VariableBinding, ...]
    weight: int = 1


@dataclass(frozen=True)
class BestBinding:
    """The clauses of a formula in a scene, under the best binding.

    Attributes:
        clauses: the clauses of the prenex form, each judged.
        bindings: the number of the object that each variable stands for; empty in a scene without objects.
    """

    clauses: tuple[ClauseResult, ...]
    bindings: Mapping[str, int]

    @property
    def share(self) -> float:
        """The share of clauses that hold, by weight, 0 to 1; 1 if and only if the formula holds."""
        held = sum([clause.weight for clause in self.clauses if clause.holds])
        return held / sum([clause.weight for clause in self.clauses])


_NOTHING = "there is nothing in the scene"


class ClauseEvaluator:
    """Judges clauses under a binding: whether each holds, and why."""

    def __init__(self, scene: World, style: str | None, truth: TruthTables, play: Mapping[str, int]) -> None:
        self.scene = scene
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
        clause, kind, weight = weighted
        bindings = tuple([self.bound[name] for name in clause.names])
        for literal in indexed.literals:
            if self.truth.is_true(literal, objects):
                return ClauseResult(clause, kind, True, self.evidence(literal, objects), bindings, weight)
        first = indexed.literals[0]
        if clause.kind == "object" and first.positive and not self.truth.where(first).any():
            reason = f"no object satisfies {clause}"
        else:
            reason = " and ".join(filter(None, [self.evidence(literal, objects) for literal in indexed.literals]))
        return ClauseResult(clause, kind, False, reason, bindings, weight)

    def evidence(self, literal: IndexedLiteral, objects: Sequence[int]) -> str:
        """Return, as text, what makes a literal hold or fail."""
        if not literal.written:
            return f"the style is '{self.style}'"
        return self.scene.evidence(literal.atom, tuple([objects[place] for place in literal.written]))


def evaluate_empty_scene(
    clauses: Sequence[WeightedClause], passed: bool, style: str | None
) -> tuple[ClauseResult, ...]:
    """Judge clauses in a scene without objects: clauses about objects hold only if the whole formula does."""
    found = []
    for clause, kind, weight in clauses:
        holds = passed or (not clause.variables and any(_style_holds(literal, style) for literal in clause.literals))
        reason = _NOTHING if clause.variables else f"the style is '{style}'"
        found.append(ClauseResult(clause, kind, holds, reason, (), weight))
    if not passed and all(clause.holds for clause in found):
        # An `exists` that fails although no clause has its variable: its clauses about the style fail with it.
        found = [ClauseResult(clause, kind, False, _NOTHING, (), weight) for clause, kind, weight in clauses]
    return tuple(found)


def _style_holds(literal: Literal, style: str | None) -> bool:
    return (literal.atom.arguments[0] == Value(style or "")) is literal.positive


__all__ = ["BestBinding", "ClauseResult", "PreparedFormula", "best_binding", "prepare_formula"]

_BYTES_PER_CHARACTER, _BYTES_PER_CLAUSE, _BYTES_PER_LITERAL = 60, 1500, 350
"""What prepared formulas take in memory, measured: for the syntax tree, and for the clauses."""

_MAX_WEIGHT = 1_000_000
"""With larger weights, the share of a play that misses a light clause would be rounded to 1."""


def best_binding(
    formula: Formula | str,
    scene: World,
    semantics: Semantics = "strict",
    style: str | None = None,
    weights: Mapping[ClauseKind, int] | None = None,
) -> BestBinding:
    """Find the binding under which most clauses of a formula hold.

    Each `exists` picks an object so that as many clauses hold as possible, each `forall` so that as few do, in the
    order of the prenex form and knowing what was picked before.

    Args:
        formula: a closed formula, parsed or as text.
        scene: a `Scene`, or any `World`.
        semantics: how `forall` reads, as for `verify`. Strictly, the instance it requires adds clauses of its own.
        style: the style of the image, which decides `(IsStyle '…')`.
        weights: the weight of a clause of each kind; 1 if not given.

    Raises:
        FormulaError: as for `verify` and `to_prenex`, and if variables are linked so tightly that the best binding
        would
            take too long to find (a problem of the kind `size`).
    """
    return prepare_formula(formula, semantics, weights).best_binding(scene, style)


def prepare_formula(
    formula: Formula | str, semantics: Semantics = "strict", weights: Mapping[ClauseKind, int] | None = None
) -> PreparedFormula:
    """Prepare a formula for many scenes: what does not depend on the scene is computed only once.

    Args:
        formula: a closed formula, parsed or as text.
        semantics: how `forall` reads, as for `verify`.
        weights: the weight of a clause of each kind, an integer from 1 to 1,000,000; 1 if not given.

    Raises:
        FormulaError: if a text is not a formula. Everything else is checked when a scene is judged.
        FormalimgError: if a weight is not such an integer.
    """
    for kind, weight in (weights or {}).items():
        if not isinstance(weight, int) or isinstance(weight, bool) or not 1 <= weight <= _MAX_WEIGHT:
            # The message leaves out the weight: it may have thousands of digits.
            raise FormalimgError(f"the weight of {kind} must be a whole number from 1 to {_MAX_WEIGHT:,}")
    return PreparedFormula(as_formula(formula), semantics, dict(weights or {}))


class _PrenexComponent(NamedTuple):
    """A component: its clauses as they are reported, and indexed for the game."""

    clauses: tuple[WeightedClause, ...]
    indexed: IndexedComponent


class _PreparedPrenex(NamedTuple):
    parts: tuple[_PrenexComponent, ...]
    literals: LiteralIndex


@dataclass(frozen=True, eq=False)
class PreparedFormula:
    """A formula prepared for many scenes; see `prepare`. May be used by several threads."""

    formula: Formula
    semantics: Semantics
    weights: Mapping[ClauseKind, int]

    def verify(self, scene: World, style: str | None = None) -> Verification:
        """Verify the formula in a scene, as the function `verify`."""
        return self._analyzed.verify(scene, self.semantics, style)

    def best_binding(self, scene: World, style: str | None = None) -> BestBinding:
        """Find the best binding in a scene, as the function `best_binding`."""
        passed = self.verify(scene, style).passed
        parts = self._prenex.parts
        if not len(scene):
            clauses = [clause for part in parts for clause in part.clauses]
            return BestBinding(evaluate_empty_scene(clauses, passed, style), {})
        truth, plays = self._play_components(scene, style)
        play = {
            name: obj
            for part, objects in zip(parts, plays, strict=True)
            for name, obj in zip(part.indexed.names, objects, strict=True)
        }
        evaluator = ClauseEvaluator(scene, style, truth, play)
        judged = [
            evaluator.evaluate(weighted, clause, objects)
            for part, objects in zip(parts, plays, strict=True)
            for weighted, clause in zip(part.clauses, part.indexed.clauses, strict=True)
        ]
        self._require_agreement(all(clause.holds for clause in judged), passed)
        return BestBinding(tuple(judged), play)

    def share(self, scene: World, style: str | None = None) -> float:
        """Return the share of clauses that hold, by weight, as `best_binding` does, but faster: without reasons."""
        if not len(scene):
            return self.best_binding(scene, style).share
        passed = self.verify(scene, style).passed
        truth, plays = self._play_components(scene, style)
        held = everything = 0
        for part, objects in zip(self._prenex.parts, plays, strict=True):
            for weighted, clause in zip(part.clauses, part.indexed.clauses, strict=True):
                everything += weighted.weight
                for literal in clause.literals:
                    if truth.is_true(literal, objects):
                        held += weighted.weight
                        break
        self._require_agreement(held == everything, passed)
        return held / everything

    @cached_property
    def estimated_bytes(self) -> int:
        """The memory it takes once a scene was judged, estimated from its length and its clauses, for caches."""
        span = self.formula.span
        estimate = _BYTES_PER_CHARACTER * (span.end - span.start)
        try:
            parts = self._prenex.parts
        except FormulaError:  # not closed, or too many clauses, which then are not kept
            return estimate
        for part in parts:
            for clause, _, _ in part.clauses:
                texts = sum([literal.atom.span.end - literal.atom.span.start for literal in clause.literals])
                estimate += _BYTES_PER_CLAUSE + _BYTES_PER_LITERAL * len(clause.literals) + texts
        return estimate

    def _play_components(self, scene: World, style: str | None) -> tuple[TruthTables, list[list[int]]]:
        """Return where literals hold, and what the variables of each component stand for."""
        from formalimg.logic.payoffs import TruthTables  # here, because it needs numpy

        parts, literals = self._prenex
        truth = TruthTables(scene, style, literals)
        return truth, [self._play(part.indexed, truth) for part in parts]

    def _require_agreement(self, all_hold: bool, passed: bool) -> None:
        # Verification and the game must agree: a reward must never come from one of them being wrong.
        if all_hold is not passed:
            raise AssertionError(f"the clauses and the formula disagree: {self.formula}")

    @cached_property
    def _analyzed(self) -> AnalyzedFormula:
        return AnalyzedFormula(self.formula)

    @cached_property
    def _prenex(self) -> _PreparedPrenex:
        from formalimg.logic.payoffs import index_component  # here, because it needs numpy

        formula, presence = self.formula, frozenset[str]()
        if self.semantics == "strict":
            formula, presence = expand_strict_forall(formula)
        literals: LiteralIndex = ({}, {}, {})
        parts = []
        for component in to_prenex(formula).components:
            kinds: list[ClauseKind] = [
                clause.kind if clause.variables.isdisjoint(presence) else "condition" for clause in component.clauses
            ]
            weights = [self.weights.get(kind, 1) for kind in kinds]
            weighted = map(WeightedClause, component.clauses, kinds, weights)
            parts.append(_PrenexComponent(tuple(weighted), index_component(component, weights, literals)))
        return _PreparedPrenex(tuple(parts), literals)

    def _play(self, component: IndexedComponent, truth: TruthTables) -> list[int]:
        """Return what each variable stands for."""
        from formalimg.logic.minimax import TooEntangledError, minimax_play

        if not component.names:
            return []
        try:
            return minimax_play(component, truth)
        except TooEntangledError:
            message = f"{len(component.names)} variables are linked too tightly to find the best objects for them"
            raise FormulaError([Problem("size", message, self.formula.span)]) from None
