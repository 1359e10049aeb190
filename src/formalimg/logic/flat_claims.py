"""Flat claims: what it means that a formula holds, or fails, as literals, bound variables and what is more than that.

This does not depend on the world, so that a formula which is verified in many scenes is taken apart only once.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

from formalimg.logic.link_graph import AtomRelations
from formalimg.logic.relations import AtomRelation
from formalimg.logic.syntax import And, Atom, Exists, Forall, Formula, Implies, Not, Or, Variable

UnaryClaim: TypeAlias = tuple[str, str, str | None, bool]
"""That a predicate of one variable holds, or fails: the variable, the predicate, its word, and whether it holds."""


class FlatClaim(NamedTuple):
    """What all must be so.

    Attributes:
        bound: the variables that are bound by `exists`.
        unary: literals of one variable.
        relations: literals of two variables.
        others: other atoms: about the style, or about one variable twice.
        postponed: claims that are more than literals.
        steps: how many claims they came from.
    """

    bound: tuple[str, ...]
    unary: tuple[UnaryClaim, ...]
    relations: AtomRelations
    others: tuple[tuple[Atom, bool], ...]
    postponed: tuple[tuple[Formula, bool], ...]
    steps: int


def needs_instance(body: Formula, strict: bool) -> bool:
    """Return whether a `forall` over this body requires an instance of the antecedent."""
    return strict and isinstance(body, Implies)


def flatten_claim(formula: Formula, holds: bool, strict: bool) -> FlatClaim:
    """Return what it means that a formula holds, or fails.

    Args:
        formula: the formula; every quantifier binds a name of its own.
        holds: whether it holds or fails.
        strict: whether `forall` requires an instance.
    """
    flattening = _Flattening(strict)
    flattening.add(formula, holds)
    return flattening.result()


class ConjunctClaims(tuple[tuple[Formula, bool], ...]):
    """Claims that are made together in many worlds: they are flattened once."""

    def flat(self, strict: bool) -> FlatClaim:
        """Return what it means that all are true, as `flatten_claim` does."""
        known: FlatClaim | None = self.__dict__.get("strict" if strict else "classical")
        if known is None:
            flattening = _Flattening(strict)
            for formula, holds in self:
                flattening.add(formula, holds)
            known = self.__dict__["strict" if strict else "classical"] = flattening.result()
        return known


class _Flattening:
    def __init__(self, strict: bool) -> None:
        self.strict = strict
        self.bound: list[str] = []
        self.unary: list[UnaryClaim] = []
        self.relations: list[AtomRelation] = []
        self.others: list[tuple[Atom, bool]] = []
        self.postponed: list[tuple[Formula, bool]] = []
        self.steps = 0

    def result(self) -> FlatClaim:
        return FlatClaim(
            tuple(self.bound),
            tuple(self.unary),
            AtomRelations(self.relations),
            tuple(self.others),
            tuple(self.postponed),
            self.steps,
        )

    def add(self, formula: Formula, holds: bool) -> None:
        match formula:
            case Atom():
                self.add_atom(formula, holds)
            case Not(body):
                self.add(body, not holds)
            case And(parts) if holds:
                self.add_each(parts, True)
            case Or(parts) if not holds:
                self.add_each(parts, False)
            case Implies(antecedent, consequent) if not holds:
                self.add(antecedent, True)
                self.add(consequent, False)
            case Exists(variable, body) if holds:
                self.bound.append(variable.name)
                self.add(body, True)
            case Forall(variable, body) if not holds and not needs_instance(body, self.strict):
                self.bound.append(variable.name)
                self.add(body, False)
            case _:
                self.postponed.append((formula, holds))

    def add_each(self, parts: tuple[Formula, ...], holds: bool) -> None:
        self.steps += len(parts)
        for part in parts:
            self.add(part, holds)

    def add_atom(self, atom: Atom, holds: bool) -> None:
        match atom.arguments:
            case (Variable(name), Variable(other)) if name != other:
                self.relations.append(AtomRelation(atom.predicate, (name, other), holds))
            case (Variable(), Variable()):
                self.others.append((atom, holds))
            case (Variable(name), word):
                self.unary.append((name, atom.predicate, word.text, holds))  # type: ignore[union-attr]
            case (Variable(name),):
                self.unary.append((name, atom.predicate, None, holds))
            case _:
                self.others.append((atom, holds))
