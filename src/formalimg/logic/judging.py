"""Judging clauses under a binding: which of them hold, and why."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from formalimg.logic.judged import JudgedClause, WeighedClause
from formalimg.logic.lifting import Literal
from formalimg.logic.places import PlacedClause, PlacedLiteral
from formalimg.logic.proof import Bound
from formalimg.logic.syntax import Value
from formalimg.logic.world import World

if TYPE_CHECKING:
    from formalimg.logic.payoffs import Payoffs

_NOTHING = "there is nothing in the scene"


class Judging:
    """Says of each clause whether it holds when the variables stand for these objects, and why."""

    def __init__(self, scene: World, style: str | None, payoffs: Payoffs, play: Mapping[str, int]) -> None:
        self.scene = scene
        self.style = style
        self.payoffs = payoffs
        self.bound = {name: Bound(name, obj, scene.describe(obj)) for name, obj in play.items()}

    def judged(self, weighed: WeighedClause, placed: PlacedClause, objects: Sequence[int]) -> JudgedClause:
        """The clause, judged.

        Args:
            weighed: the clause.
            placed: the same, its variables called by their places.
            objects: what the variables stand for, by their places.
        """
        clause, kind, weight = weighed
        bindings = tuple([self.bound[name] for name in clause.names])
        for literal in placed.literals:
            if self.payoffs.is_true(literal, objects):
                return JudgedClause(clause, kind, True, self.evidence(literal, objects), bindings, weight)
        first = placed.literals[0]
        if clause.kind == "object" and first.positive and not self.payoffs.where(first).any():
            reason = f"no object satisfies {clause}"
        else:
            reason = " and ".join(filter(None, [self.evidence(literal, objects) for literal in placed.literals]))
        return JudgedClause(clause, kind, False, reason, bindings, weight)

    def evidence(self, literal: PlacedLiteral, objects: Sequence[int]) -> str:
        """What can be read off the objects that makes a literal hold or fail."""
        if not literal.written:
            return f"the style is '{self.style}'"
        return self.scene.evidence(literal.atom, tuple([objects[place] for place in literal.written]))


def judged_of_nothing(clauses: Sequence[WeighedClause], passed: bool, style: str | None) -> tuple[JudgedClause, ...]:
    """The clauses in a scene without objects: what speaks of objects holds only if the whole formula does."""
    found = []
    for clause, kind, weight in clauses:
        holds = passed or (not clause.variables and any(_style_holds(literal, style) for literal in clause.literals))
        reason = _NOTHING if clause.variables else f"the style is '{style}'"
        found.append(JudgedClause(clause, kind, holds, reason, (), weight))
    if not passed and all(clause.holds for clause in found):
        # An `exists` that fails although nothing is said of its variable: what it says of the style fails with it.
        found = [JudgedClause(clause, kind, False, _NOTHING, (), weight) for clause, kind, weight in clauses]
    return tuple(found)


def _style_holds(literal: Literal, style: str | None) -> bool:
    return (literal.atom.arguments[0] == Value(style or "")) is literal.positive
