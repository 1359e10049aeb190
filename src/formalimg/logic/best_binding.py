"""The best binding: which clauses of a formula hold in a scene, when each variable stands for the best thing.

`verify` says whether a formula holds. Where it does not, this says how much of it does: the share of its clauses, which
is 1 if and only if the formula holds. How the best binding is defined stands in docs/semantics.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from formalimg.logic.assuming import Semantics
from formalimg.logic.lifting import Clause, ClauseKind, Component, Literal, lift
from formalimg.logic.parser import as_formula
from formalimg.logic.problem import FormulaError, Problem
from formalimg.logic.proof import Bound
from formalimg.logic.semantics import verify
from formalimg.logic.spelling_out import SpelledOut, spell_out
from formalimg.logic.syntax import Formula, Value
from formalimg.logic.world import World


@dataclass(frozen=True)
class JudgedClause:
    """A clause, and whether it holds under the best binding.

    Attributes:
        clause: the clause.
        kind: what it speaks about; a clause about the instance that a strict `forall` wants is a `condition`.
        holds: whether it holds.
        reason: what can be read off the things, with numbers; empty if nothing can.
        bindings: what its variables stand for, in the order of the clause; empty in a scene without things.
    """

    clause: Clause
    kind: ClauseKind
    holds: bool
    reason: str
    bindings: tuple[Bound, ...]


@dataclass(frozen=True)
class BestBinding:
    """The clauses of a formula in a scene.

    Attributes:
        clauses: the clauses of the lifted form, each judged.
        bindings: the number of the thing that each variable stands for; empty in a scene without things.
    """

    clauses: tuple[JudgedClause, ...]
    bindings: Mapping[str, int]

    @property
    def share(self) -> float:
        """The share of clauses that hold, 0 to 1; 1 if and only if the formula holds."""
        return sum(clause.holds for clause in self.clauses) / len(self.clauses)


def best_binding(
    formula: Formula | str, scene: World, semantics: Semantics = "strict", style: str | None = None
) -> BestBinding:
    """Find the binding under which most clauses of a formula hold.

    Each `exists` picks a thing so that as many clauses hold as possible, each `forall` so that as few do, in the order
    of the lifted form and knowing what was picked before.

    Args:
        formula: a closed formula, parsed or as text.
        scene: a `Scene`, or anything that answers as a `World`.
        semantics: how `forall` reads, as for `verify`. Strictly, the instance it wants adds clauses of its own.
        style: the style of the picture, which decides `(IsStyle '…')`.

    Raises:
        FormulaError: as for `verify` and `lift`, and if variables hang together so tightly that the best binding would
            take too long to find (a problem of the kind `size`).
    """
    formula = as_formula(formula)
    passed = verify(formula, scene, semantics, style).passed
    spelled = spell_out(formula) if semantics == "strict" else SpelledOut(formula, frozenset())
    components = lift(spelled.formula).components
    if not len(scene):
        return _of_nothing(components, passed, spelled.presence, style)
    play = _play(formula, components, scene, style)
    telling = _Telling(scene, style, spelled.presence, play)
    found = BestBinding(tuple(telling.judged(clause) for part in components for clause in part.clauses), play)
    assert (found.share == 1) is passed, f"the clauses and the formula disagree: {formula}"
    return found


def _play(formula: Formula, components: tuple[Component, ...], scene: World, style: str | None) -> dict[str, int]:
    """What each variable stands for."""
    from formalimg.logic.game import TooEntangledError, best_play
    from formalimg.logic.payoffs import Payoffs

    payoffs = Payoffs(scene, style)
    play: dict[str, int] = {}
    for prefix, clauses in ((part.prefix, part.clauses) for part in components if part.prefix):
        places = {quantifier.variable: place for place, quantifier in enumerate(prefix)}
        kinds = [quantifier.kind for quantifier in prefix]
        try:
            picked = best_play(kinds, len(scene), payoffs.of(clauses, places))
        except TooEntangledError:
            message = f"{len(prefix)} variables hang together too tightly to find the best things for them"
            raise FormulaError([Problem("size", message, formula.span)]) from None
        play.update(zip(places, picked, strict=True))
    return play


def _of_nothing(
    components: tuple[Component, ...], passed: bool, presence: frozenset[str], style: str | None
) -> BestBinding:
    """The clauses in a scene without things: what speaks of things holds only if the whole formula does."""
    found = []
    for clause in (clause for part in components for clause in part.clauses):
        holds = passed or (not clause.variables and any(_style_holds(literal, style) for literal in clause.literals))
        reason = "there is nothing in the scene" if clause.variables else f"the style is '{style}'"
        found.append(JudgedClause(clause, _kind(clause, presence), holds, reason, ()))
    if not passed and all(clause.holds for clause in found):
        # An `exists` that fails although nothing is said of its variable: what it says of the style fails with it.
        found = [
            JudgedClause(clause.clause, clause.kind, False, "there is nothing in the scene", ()) for clause in found
        ]
    return BestBinding(tuple(found), {})


@dataclass(frozen=True)
class _Telling:
    """Says of each clause whether it holds under a binding, and why."""

    scene: World
    style: str | None
    presence: frozenset[str]
    play: Mapping[str, int]

    def judged(self, clause: Clause) -> JudgedClause:
        holding = [literal for literal in clause.literals if self.holds(literal)]
        if holding:
            reason = self.evidence(holding[0])
        elif self.is_missing(clause):
            reason = f"no thing satisfies {clause}"
        else:
            reason = " and ".join(filter(None, map(self.evidence, clause.literals)))
        names = dict.fromkeys(name for literal in clause.literals for name in literal.atom.variables)
        bindings = tuple(Bound(name, self.play[name], self.scene.describe(self.play[name])) for name in names)
        return JudgedClause(clause, _kind(clause, self.presence), bool(holding), reason, bindings)

    def holds(self, literal: Literal) -> bool:
        atom, positive = literal
        match [1 << self.play[name] for name in atom.variables]:
            case []:
                return _style_holds(literal, self.style)
            case [thing]:
                return bool(self.having(literal) & thing) is positive
            case [first, second]:
                return bool(self.scene.seconds(atom.predicate, first, second)) is positive
            case _:
                raise AssertionError(f"{atom} has more than two variables")

    def having(self, literal: Literal) -> int:
        """The things for which an atom of one variable holds."""
        arguments = literal.atom.arguments
        word = arguments[1].text if len(arguments) > 1 and isinstance(arguments[1], Value) else None
        return self.scene.having(literal.atom.predicate, word)

    def is_missing(self, clause: Clause) -> bool:
        """Does a clause ask for something that no thing at all is?"""
        literal = clause.literals[0]
        return clause.kind == "object" and literal.positive and not self.having(literal)

    def evidence(self, literal: Literal) -> str:
        things = tuple(self.play[name] for name in literal.atom.variables)
        return self.scene.evidence(literal.atom, things) if things else f"the style is '{self.style}'"


def _kind(clause: Clause, presence: frozenset[str]) -> ClauseKind:
    return clause.kind if clause.variables.isdisjoint(presence) else "condition"


def _style_holds(literal: Literal, style: str | None) -> bool:
    return (literal.atom.arguments[0] == Value(style or "")) is literal.positive
