"""The best binding: which clauses of a formula hold in a scene, when each variable stands for the best object.

`verify` says whether a formula holds. Where it does not, this says how much of it does: the share of its clauses, which
is 1 if and only if the formula holds. How the best binding is defined stands in docs/semantics.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from formalimg.errors import FormalimgError
from formalimg.logic.assuming import Semantics
from formalimg.logic.judged import BestBinding, JudgedClause, WeighedClause
from formalimg.logic.judging import Judging, judged_of_nothing
from formalimg.logic.lifting import ClauseKind, to_prenex
from formalimg.logic.parser import as_formula
from formalimg.logic.places import LiteralNumbers, PlacedComponent, no_literals, placed
from formalimg.logic.problem import FormulaError, Problem
from formalimg.logic.semantics import Examined, Verification
from formalimg.logic.spelling_out import SpelledOut, spell_out
from formalimg.logic.syntax import Formula
from formalimg.logic.world import World

if TYPE_CHECKING:
    from formalimg.logic.payoffs import Payoffs

__all__ = ["BestBinding", "JudgedClause", "Prepared", "best_binding", "prepare"]

_MOST_WEIGHT = 1_000_000
"""With heavier clauses, the share of a play that misses a light one would be rounded to 1."""


def best_binding(
    formula: Formula | str,
    scene: World,
    semantics: Semantics = "strict",
    style: str | None = None,
    weights: Mapping[ClauseKind, int] | None = None,
) -> BestBinding:
    """Find the binding under which most clauses of a formula hold.

    Each `exists` picks an object so that as many clauses hold as possible, each `forall` so that as few do, in the order
    of the lifted form and knowing what was picked before.

    Args:
        formula: a closed formula, parsed or as text.
        scene: a `Scene`, or anything that answers as a `World`.
        semantics: how `forall` reads, as for `verify`. Strictly, the instance it wants adds clauses of its own.
        style: the style of the image, which decides `(IsStyle '…')`.
        weights: what a clause of each kind counts; 1 if not named.

    Raises:
        FormulaError: as for `verify` and `to_prenex`, and if variables hang together so tightly that the best binding would
            take too long to find (a problem of the kind `size`).
    """
    return prepare(formula, semantics, weights).best_binding(scene, style)


def prepare(
    formula: Formula | str, semantics: Semantics = "strict", weights: Mapping[ClauseKind, int] | None = None
) -> Prepared:
    """A formula made ready for many scenes: what does not hang on the scene is worked out only once.

    Args:
        formula: a closed formula, parsed or as text.
        semantics: how `forall` reads, as for `verify`.
        weights: what a clause of each kind counts, in whole numbers from 1 to 1,000,000; 1 if not named.

    Raises:
        FormulaError: if a text is no formula. All else is told when a scene is judged.
        FormalimgError: if a weight is not such a number.
    """
    for kind, weight in (weights or {}).items():
        if not isinstance(weight, int) or isinstance(weight, bool) or not 1 <= weight <= _MOST_WEIGHT:
            # The weight is not told: it may have thousands of digits.
            raise FormalimgError(f"the weight of {kind} must be a whole number from 1 to {_MOST_WEIGHT:,}")
    return Prepared(as_formula(formula), semantics, dict(weights or {}))


class _Part(NamedTuple):
    """A component: its clauses as they are told, and as they are played."""

    clauses: tuple[WeighedClause, ...]
    placed: PlacedComponent


class _Lifted(NamedTuple):
    parts: tuple[_Part, ...]
    numbers: LiteralNumbers


@dataclass(frozen=True, eq=False)
class Prepared:
    """A formula made ready for many scenes; see `prepare`. May be used by several threads."""

    formula: Formula
    semantics: Semantics
    weights: Mapping[ClauseKind, int]

    def verify(self, scene: World, style: str | None = None) -> Verification:
        """Whether the formula holds; as `verify`."""
        return self._examined.verify(scene, self.semantics, style)

    def best_binding(self, scene: World, style: str | None = None) -> BestBinding:
        """Which clauses hold, and for which objects; as `best_binding`."""
        passed = self.verify(scene, style).passed
        parts = self._lifted.parts
        if not len(scene):
            clauses = [clause for part in parts for clause in part.clauses]
            return BestBinding(judged_of_nothing(clauses, passed, style), {})
        payoffs, plays = self._played(scene, style)
        play = {
            name: obj
            for part, objects in zip(parts, plays, strict=True)
            for name, obj in zip(part.placed.names, objects, strict=True)
        }
        judging = Judging(scene, style, payoffs, play)
        judged = [
            judging.judged(weighed, clause, objects)
            for part, objects in zip(parts, plays, strict=True)
            for weighed, clause in zip(part.clauses, part.placed.clauses, strict=True)
        ]
        self._require_agreement(all(clause.holds for clause in judged), passed)
        return BestBinding(tuple(judged), play)

    def share(self, scene: World, style: str | None = None) -> float:
        """The share of clauses that hold, by weight: that of `best_binding`, sooner, because no reasons are given."""
        if not len(scene):
            return self.best_binding(scene, style).share
        passed = self.verify(scene, style).passed
        payoffs, plays = self._played(scene, style)
        held = everything = 0
        for part, objects in zip(self._lifted.parts, plays, strict=True):
            for weighed, clause in zip(part.clauses, part.placed.clauses, strict=True):
                everything += weighed.weight
                for literal in clause.literals:
                    if payoffs.is_true(literal, objects):
                        held += weighed.weight
                        break
        self._require_agreement(held == everything, passed)
        return held / everything

    def _played(self, scene: World, style: str | None) -> tuple[Payoffs, list[list[int]]]:
        """Where literals hold, and what the variables of each component stand for."""
        from formalimg.logic.payoffs import Payoffs  # here, because it needs numpy

        parts, numbers = self._lifted
        payoffs = Payoffs(scene, style, numbers)
        return payoffs, [self._play(part.placed, payoffs) for part in parts]

    def _require_agreement(self, all_hold: bool, passed: bool) -> None:
        # Deciding and playing are two ways to the same answer: a reward must never come from one that went astray.
        if all_hold is not passed:
            raise AssertionError(f"the clauses and the formula disagree: {self.formula}")

    @cached_property
    def _examined(self) -> Examined:
        return Examined(self.formula)

    @cached_property
    def _lifted(self) -> _Lifted:
        spelled = spell_out(self.formula) if self.semantics == "strict" else SpelledOut(self.formula, frozenset())
        numbers, parts = no_literals(), []
        for component in to_prenex(spelled.formula).components:
            kinds: list[ClauseKind] = [
                clause.kind if clause.variables.isdisjoint(spelled.presence) else "condition"
                for clause in component.clauses
            ]
            weights = [self.weights.get(kind, 1) for kind in kinds]
            weighed = map(WeighedClause, component.clauses, kinds, weights)
            parts.append(_Part(tuple(weighed), placed(component, weights, numbers)))
        return _Lifted(tuple(parts), numbers)

    def _play(self, component: PlacedComponent, payoffs: Payoffs) -> list[int]:
        """What each variable stands for."""
        from formalimg.logic.game import TooEntangledError, best_play

        if not component.names:
            return []
        try:
            return best_play(component, payoffs)
        except TooEntangledError:
            message = f"{len(component.names)} variables hang together too tightly to find the best objects for them"
            raise FormulaError([Problem("size", message, self.formula.span)]) from None
