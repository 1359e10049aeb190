"""Find the best binding of a formula in a scene and compute its soft score.

`verify` decides whether a formula holds. If it fails, this score states how much of it holds: the share of satisfied
clauses, which is 1 if and only if the formula holds. The definition is in docs/explanation/semantics.md.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple
from typing import Literal as OneOf

from formalimg.errors import FormalimgError
from formalimg.logic.constraints import Semantics
from formalimg.logic.errors import FormulaError, Problem
from formalimg.logic.parser import as_formula
from formalimg.logic.prenex import ClauseKind, to_prenex
from formalimg.logic.soft_score.clause_index import (
    NOTHING_ASKED_FOR,
    ClauseEvaluator,
    ClauseResult,
    WeightedClause,
    evaluate_empty_scene,
)
from formalimg.logic.soft_score.earned_credit import (
    NO_CREDIT_NEEDED,
    StrictExpansion,
    component_credits,
    expand_strict_forall,
    instance_conditions,
    is_asking,
)
from formalimg.logic.syntax import CREDIT_UNIT, Formula, atoms
from formalimg.logic.verification import AnalyzedFormula, Verification
from formalimg.logic.world import World

if TYPE_CHECKING:
    from formalimg.logic.soft_score.clause_index import IndexedClause, IndexedComponent, LiteralIndex
    from formalimg.logic.soft_score.group_game import GroupLiterals
    from formalimg.logic.soft_score.group_verify import GroupVerifier
    from formalimg.logic.soft_score.payoffs import TruthTables


__all__ = ["BestBinding", "ClauseResult", "Credit", "PreparedFormula", "best_binding", "prepare_formula"]

Credit = OneOf["held", "earned"]
"""What counts: every clause that holds, or only those that are earned by objects which the formula asks for."""


@dataclass(frozen=True)
class BestBinding:
    """Result of scoring each clause of a formula under the best binding in a scene."""

    clauses: tuple[ClauseResult, ...]  # the clauses of the prenex form, each judged
    # the number of the object that each variable stands for; empty in a scene without objects
    bindings: Mapping[str, int]

    @property
    def share(self) -> float:
        """Weighted share of satisfied clauses, from 0 to 1. Equals 1 if and only if the formula holds."""
        credit_sum = sum([clause.weight * clause.credit for clause in self.clauses])
        return credit_sum / (CREDIT_UNIT * sum([clause.weight for clause in self.clauses]))


_BYTES_PER_CHARACTER, _BYTES_PER_CLAUSE, _BYTES_PER_LITERAL = 60, 1500, 350
"""What prepared formulas take in memory, measured: for the syntax tree, and for the clauses."""

_MAX_WEIGHT = 1_000_000  # With larger weights, the share of a play that misses a light clause would be rounded to 1


def best_binding(
    formula: Formula | str,
    scene: World,
    semantics: Semantics = "strict",
    style: str | None = None,
    weights: Mapping[ClauseKind, int] | None = None,
    credit: Credit = "held",
) -> BestBinding:
    """Find the binding of variables to objects that satisfies the most clauses of a formula.

    Each `exists` picks an object so that as many clauses hold as possible, and each `forall` so that as few do, in the
    order of the prenex form, and knowing the earlier picks.

    Args:
        formula: a closed formula, parsed or as text.
        scene: a `Scene`, or any `World`.
        semantics: the reading of `forall`, as for `verify`. The instance that a strict `forall` requires adds clauses.
        style: the style of the image, which decides `(IsStyle '…')`.
        weights: the weight of a clause of each kind; 1 if not given.
        credit: whether every clause that holds counts, or only those that earn credit, as in rewards.

    Raises:
        FormulaError: as for `verify` and `to_prenex`, and if variables are linked so tightly that the best binding
            would take too long to find (a problem of the kind `size`).
    """
    return prepare_formula(formula, semantics, weights, credit).best_binding(scene, style)


def prepare_formula(
    formula: Formula | str,
    semantics: Semantics = "strict",
    weights: Mapping[ClauseKind, int] | None = None,
    credit: Credit = "held",
) -> PreparedFormula:
    """Prepare a formula for evaluation in many scenes, so that scene-independent work is done only once."""
    for kind, weight in (weights or {}).items():
        if not isinstance(weight, int) or isinstance(weight, bool) or not 1 <= weight <= _MAX_WEIGHT:
            # The message leaves out the weight: it may have thousands of digits.
            raise FormalimgError(f"the weight of {kind} must be a whole number from 1 to {_MAX_WEIGHT:,}")
    return PreparedFormula(as_formula(formula), semantics, dict(weights or {}), credit)


class _PrenexComponent(NamedTuple):
    """The clauses of a component, in reported form and indexed for the minimax game."""

    clauses: tuple[WeightedClause, ...]
    indexed: IndexedComponent


class _PreparedPrenex(NamedTuple):
    """A prenex form with its components, literals, object-requiring clauses and total weight.

    A satisfied clause contributes `credit_unit` times its weight, where `credit_unit` is CREDIT_UNIT if there are
    counts and 1 otherwise.
    """

    parts: tuple[_PrenexComponent, ...]
    literals: LiteralIndex
    asking: tuple[IndexedClause, ...]
    weight: int
    credit_unit: int

    def shows_something(self, truth: TruthTables) -> bool:
        """Return whether any requested object is present, or True if no objects are requested."""
        return not self.asking or any(
            truth.where(literal).any() for clause in self.asking for literal in clause.literals
        )


class _Game(NamedTuple):
    """The outcome of a minimax game: its literals, the bindings of the variables and the weight earned."""

    prenex: _PreparedPrenex
    truth: TruthTables
    plays: list[list[int]]
    weight: int


@dataclass(frozen=True, eq=False)
class PreparedFormula:
    """A formula prepared for many scenes by `prepare_formula`. Safe to share between threads."""

    formula: Formula
    semantics: Semantics
    weights: Mapping[ClauseKind, int]
    credit: Credit = "held"

    def verify(self, scene: World, style: str | None = None) -> Verification:
        """Verify the formula in a scene, like `verify`."""
        return self._analyzed.verify(scene, self.semantics, style)

    def best_binding(self, scene: World, style: str | None = None) -> BestBinding:
        """Find the best binding in a scene, like the function `best_binding`."""
        passed = self.verify(scene, style).passed
        if not len(scene):
            clauses = [clause for part in self._prenex.parts for clause in part.clauses]
            earns = self.credit == "held" or not self._prenex.asking
            return BestBinding(evaluate_empty_scene(clauses, passed, style, earns=earns), {})
        prenex, truth, plays, _ = self._game(scene, style, passed)
        parts = prenex.parts
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
        if self.credit == "earned" and not passed and not prenex.shows_something(truth):
            judged = [
                result._replace(holds=False, closeness=0.0, reason=NOTHING_ASKED_FOR) if result.score else result
                for result in judged
            ]
        return BestBinding(tuple(judged), play)

    def share(self, scene: World, style: str | None = None) -> float:
        """Return the weighted share of satisfied clauses. Faster than `best_binding` because it gives no reasons."""
        if not len(scene):
            return self.best_binding(scene, style).share
        passed = self.verify(scene, style).passed
        prenex, truth, _, earned_weight = self._game(scene, style, passed)
        if self.credit == "earned" and not passed and not prenex.shows_something(truth):
            return 0.0
        return earned_weight / prenex.weight

    def shares(self, scenes: Sequence[World], styles: Sequence[str | None] | None = None) -> list[float | FormulaError]:
        """Return the share for each scene. Several times faster than calling `share` in a loop."""
        image_styles = [None] * len(scenes) if styles is None else styles
        results: list[float | FormulaError] = [0.0] * len(scenes)
        together: list[int] = []
        for number, (scene, style) in enumerate(zip(scenes, image_styles, strict=True)):
            try:
                self._analyzed.require_decidable(scene, style)
                together.append(number)
            except FormulaError as error:
                results[number] = error
        played = self._play_group([number for number in together if len(scenes[number])], scenes, image_styles)
        for number in together:
            share = played.get(number)
            # Alone if the group could not tell: an empty scene, counts, large tables, or clauses that are not earned.
            try:
                results[number] = self.share(scenes[number], image_styles[number]) if share is None else share
            except FormulaError as error:
                results[number] = error
        return results

    def _play_group(
        self, chosen: Sequence[int], scenes: Sequence[World], styles: Sequence[str | None]
    ) -> Mapping[int, float]:
        """Return the shares of the chosen scenes whose verification agrees with the minimax game."""
        from formalimg.logic.soft_score.group_game import TooLargeForGroupsError, group_values
        from formalimg.logic.soft_score.group_verify import TooWideForGroupsError

        try:
            prenex = self._prenex
            if prenex.literals.counts or len(chosen) < 2:
                return {}
            literals, verifier = self._group_plan
            read, truth = literals.tables([scenes[number] for number in chosen], [styles[n] for n in chosen])
            try:
                passed = verifier.holds(read)
            except TooWideForGroupsError:
                passed = [self.verify(scenes[number], styles[number]).passed for number in chosen]
            values = [group_values(part.indexed, truth).tolist() for part in prenex.parts]
        except (FormulaError, TooLargeForGroupsError):  # each scene is told its own error
            return {}
        asking = [literal for clause in prenex.asking for literal in clause.literals] if self.credit == "earned" else []
        has_object = truth.somewhere_true(asking) if asking else [True] * len(chosen)
        outcomes = zip(chosen, map(sum, zip(*values, strict=True)), passed, has_object, strict=True)
        return {
            number: weight / prenex.weight if passes or shows else 0.0
            for number, weight, passes, shows in outcomes
            if (weight == prenex.weight) is passes
        }

    @cached_property
    def _group_plan(self) -> tuple[GroupLiterals, GroupVerifier]:
        from formalimg.logic.soft_score.group_game import GroupLiterals
        from formalimg.logic.soft_score.group_verify import GroupVerifier

        formula = self._analyzed.named_apart
        literals = GroupLiterals(self._prenex.literals, atoms(formula))
        return literals, GroupVerifier(formula, self.semantics, literals)

    @cached_property
    def estimated_bytes(self) -> int:
        """Estimated memory use in bytes after judging a scene, based on text length and clauses. Used by caches."""
        span = self.formula.span
        estimate = _BYTES_PER_CHARACTER * (span.end - span.start)
        try:
            parts = self._prenex.parts
        except FormulaError:  # not closed, or too many clauses, which then are not kept
            return estimate
        for part in parts:
            for clause, *_ in part.clauses:
                texts = sum([literal.atom.span.end - literal.atom.span.start for literal in clause.literals])
                estimate += _BYTES_PER_CLAUSE + _BYTES_PER_LITERAL * len(clause.literals) + texts
        return estimate

    def _game(self, scene: World, style: str | None, passed: bool) -> _Game:
        """Play the minimax game in a scene, counting every clause if the formula holds."""
        game = self._play_components(self._prenex, scene, style)
        if passed and self.credit == "earned" and game.weight < game.prenex.weight:
            # Rarely: a formula that holds without what would earn its clauses, such as one of two alternatives.
            game = self._play_components(self._held_prenex, scene, style)
        if (game.weight == game.prenex.weight) is not passed:
            raise AssertionError(f"the clauses and the formula disagree: {self.formula}")
        return game

    def _play_components(self, prenex: _PreparedPrenex, scene: World, style: str | None) -> _Game:
        """Play all components and return their literals, bindings and total weight."""
        from formalimg.logic.soft_score.payoffs import TooManyCountsError, TruthTables  # here, because they need numpy

        try:
            truth = TruthTables(scene, style, prenex.literals, self.semantics)
        except TooManyCountsError:
            raise self._too_entangled("the counts are linked to too many objects to score them one by one") from None
        plays = [self._play(part.indexed, truth) for part in prenex.parts]
        earned = 0
        unit = prenex.credit_unit
        for part, objects in zip(prenex.parts, plays, strict=True):
            for clause in part.indexed.clauses:
                for literal in clause.literals:
                    if truth.is_true(literal, objects):
                        earned += clause.weight * unit
                        break
                else:
                    if unit > 1:
                        earned += clause.weight * truth.closeness(clause.literals, objects)
        return _Game(prenex, truth, plays, earned)

    @cached_property
    def _analyzed(self) -> AnalyzedFormula:
        return AnalyzedFormula(self.formula)

    @cached_property
    def _prenex(self) -> _PreparedPrenex:
        return self._index(self.credit)

    @cached_property
    def _held_prenex(self) -> _PreparedPrenex:
        return self._index("held")

    def _index(self, credit: Credit) -> _PreparedPrenex:
        from formalimg.logic.soft_score.clause_index import LiteralIndex, index_component

        formula, presence, instances = StrictExpansion(self.formula, frozenset(), {})
        if self.semantics == "strict":
            formula, presence, instances = expand_strict_forall(formula)
        components = to_prenex(formula).components
        universal = frozenset(name for part in components for kind, name in part.prefix if kind == "forall")
        conditions = instance_conditions(components, instances, universal)
        literals = LiteralIndex({}, {}, {}, {})
        parts = []
        asking = []
        for component in components:
            kinds: list[ClauseKind] = [
                clause.kind if clause.variables.isdisjoint(presence) else "condition" for clause in component.clauses
            ]
            weights = [self.weights.get(kind, 1) for kind in kinds]
            needed = [NO_CREDIT_NEEDED] * len(kinds)
            if credit == "earned":
                needed = component_credits(component, conditions, universal)
            weighted = tuple(map(WeightedClause, component.clauses, kinds, weights, needed))
            indexed = index_component(component, weights, literals, needed)
            parts.append(_PrenexComponent(weighted, indexed))
            pairs = zip(component.clauses, indexed.clauses, strict=True)
            asking += [counted for clause, counted in pairs if is_asking(clause, universal)]
        total = sum([clause.weight for part in parts for clause in part.clauses])
        unit = CREDIT_UNIT if literals.counts else 1
        return _PreparedPrenex(tuple(parts), literals, tuple(asking), total * unit, unit)

    def _play(self, component: IndexedComponent, truth: TruthTables) -> list[int]:
        """Return the object bound to each variable under best play."""
        from formalimg.logic.soft_score.minimax import TooEntangledError, minimax_play

        if not component.names:
            return []
        try:
            return minimax_play(component, truth)
        except TooEntangledError:
            message = f"{len(component.names)} variables are linked too tightly to find the best objects for them"
            raise self._too_entangled(message) from None

    def _too_entangled(self, message: str) -> FormulaError:
        return FormulaError([Problem("size", message, self.formula.span)])
