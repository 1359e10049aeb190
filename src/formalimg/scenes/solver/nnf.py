"""Negation normal form of formulas, with strict `forall` expanded and counts bounded from either side.

These claims are what the solver works on: only atoms are negated, so whatever makes an atom true can only help. Claims
are about scenes with at least one object; the empty scene is a case of its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias

from formalimg.logic.syntax import And, Atom, Count, Exists, Forall, Formula, Iff, Implies, Not, Or
from formalimg.logic.variables import expand_distinct


@dataclass(frozen=True, slots=True)
class AtomClaim:
    """An atom holds, or fails."""

    atom: Atom
    holds: bool


@dataclass(frozen=True, slots=True, eq=False)
class AllOf:
    """Every part is true."""

    parts: tuple[Claim, ...]


@dataclass(frozen=True, slots=True, eq=False)
class AnyOf:
    """At least one part is true."""

    parts: tuple[Claim, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Some:
    """The body is true of at least one object."""

    variable: str
    body: Claim


@dataclass(frozen=True, slots=True, eq=False)
class Each:
    """The body is true of every object."""

    variable: str
    body: Claim


@dataclass(frozen=True, slots=True, eq=False)
class Every:
    """A strict `forall`: each object is an exception or meets the consequent.

    If `needs_instance`, some object meets the condition.
    """

    variable: str
    condition: Claim
    exception: Claim
    consequent: Claim
    needs_instance: bool = True


@dataclass(frozen=True, slots=True, eq=False)
class Many:
    """The body is true of at least `number` objects, two or more."""

    number: int
    variable: str
    body: Claim


@dataclass(frozen=True, slots=True, eq=False)
class AllBut:
    """The body is true of all objects but `number` at most, one or more: a count that is not exceeded."""

    number: int
    variable: str
    body: Claim


Claim: TypeAlias = AtomClaim | AllOf | AnyOf | Some | Each | Every | Many | AllBut

TRIVIAL_CLAIM = AllOf(())
IMPOSSIBLE_CLAIM = AnyOf(())


def build_claim(formula: Formula, kept: frozenset[int] | None = None) -> Claim:
    """Return the claim of a formula that binds every name once; with `kept`, of these of its conjuncts only."""
    return _ClaimBuilder(kept).conjunct(expand_distinct(formula), True)


def conjuncts(formula: Formula) -> list[Formula]:
    """Return the conjuncts that must all hold, through `exists`, `and` and the consequents of `forall`, in text order.

    A strict `forall` gives its condition (some object must meet it) and the conjuncts of its consequent.
    """
    reader = _ClaimBuilder(None)
    reader.conjunct(expand_distinct(formula), True)
    return reader.seen


class _ClaimBuilder:
    def __init__(self, kept: frozenset[int] | None) -> None:
        self.kept = kept
        self.seen: list[Formula] = []
        # Both sides of an `iff` are claimed twice: sharing keeps nested ones from doubling at each level.
        self.shared: dict[tuple[int, bool], Claim] = {}

    def conjunct(self, formula: Formula, holds: bool) -> Claim:
        match formula:
            case Not(body):
                return self.conjunct(body, not holds)
            case And(parts) if holds:
                return _all_of([self.conjunct(part, True) for part in parts])
            case Or(parts) if not holds:
                return _all_of([self.conjunct(part, False) for part in parts])
            case Implies(antecedent, consequent) if not holds:
                return _all_of([self.conjunct(antecedent, True), self.conjunct(consequent, False)])
            case Exists(variable, body) if holds:
                return Some(variable.name, self.conjunct(body, True))
            case Forall(variable, Implies(antecedent, consequent)) if holds:
                needs_instance = self.is_kept(antecedent, True)
                condition, exception = self.claim(antecedent, True), self.claim(antecedent, False)
                return Every(variable.name, condition, exception, self.conjunct(consequent, True), needs_instance)
            case _:
                return self.claim(formula, holds) if self.is_kept(formula, holds) else TRIVIAL_CLAIM

    def is_kept(self, formula: Formula, holds: bool) -> bool:
        number = len(self.seen)
        self.seen.append(formula if holds else Not(formula, formula.span))
        return self.kept is None or number in self.kept

    def claim(self, formula: Formula, holds: bool) -> Claim:
        key = (id(formula), holds)
        if key not in self.shared:
            self.shared[key] = self.fresh_claim(formula, holds)
        return self.shared[key]

    def fresh_claim(self, formula: Formula, holds: bool) -> Claim:
        match formula:
            case Atom():
                return AtomClaim(formula, holds)
            case Not(body):
                return self.claim(body, not holds)
            case And(parts) | Or(parts):
                together = _all_of if isinstance(formula, And) == holds else _any_of
                return together([self.claim(part, holds) for part in parts])
            case Implies(antecedent, consequent):
                together = _any_of if holds else _all_of
                return together([self.claim(antecedent, not holds), self.claim(consequent, holds)])
            case Iff(left, right):
                return _all_of(
                    [
                        _any_of([self.claim(left, False), self.claim(right, holds)]),
                        _any_of([self.claim(left, True), self.claim(right, not holds)]),
                    ]
                )
            case Exists(variable, body):
                return (Some if holds else Each)(variable.name, self.claim(body, holds))
            case Forall(variable, Implies(antecedent, consequent)):
                name, condition, exception = variable.name, self.claim(antecedent, True), self.claim(antecedent, False)
                if holds:
                    return Every(name, condition, exception, self.claim(consequent, True))
                counterexample = Some(name, _all_of([condition, self.claim(consequent, False)]))
                return _any_of([counterexample, Each(name, exception)])
            case Forall(variable, body):
                return (Each if holds else Some)(variable.name, self.claim(body, holds))
            case Count():
                return self.count(formula, holds)

    def count(self, formula: Count, holds: bool) -> Claim:
        """Return the claim that a number of objects is allowed, or that it is not: then it is below or above."""
        least, most = formula.range
        if holds:
            bounds = [self.at_least(least, formula)]
            return _all_of(bounds if most is None else [*bounds, self.at_most(most, formula)])
        below = self.at_most(least - 1, formula)
        return _any_of([below] if most is None else [below, self.at_least(most + 1, formula)])

    def at_least(self, number: int, count: Count) -> Claim:
        if number <= 0:
            return TRIVIAL_CLAIM
        name, body = count.variable.name, self.claim(count.body, True)
        return Some(name, body) if number == 1 else Many(number, name, body)

    def at_most(self, number: int, count: Count) -> Claim:
        if number < 0:
            return IMPOSSIBLE_CLAIM
        name, body = count.variable.name, self.claim(count.body, False)
        return AllBut(number, name, body) if number else Each(name, body)


def _all_of(parts: list[Claim]) -> Claim:
    flat = [inner for part in parts for inner in (part.parts if isinstance(part, AllOf) else (part,))]
    return flat[0] if len(flat) == 1 else AllOf(tuple(flat))


def _any_of(parts: list[Claim]) -> Claim:
    flat = [inner for part in parts for inner in (part.parts if isinstance(part, AnyOf) else (part,))]
    return flat[0] if len(flat) == 1 else AnyOf(tuple(flat))


def subclaims(claim: Claim) -> tuple[Claim, ...]:
    """Return the claims directly inside a claim."""
    match claim:
        case AtomClaim():
            return ()
        case AllOf(parts) | AnyOf(parts):
            return parts
        case Some(_, body) | Each(_, body) | Many(_, _, body) | AllBut(_, _, body):
            return (body,)
        case Every(_, condition, exception, consequent):
            return (condition, exception, consequent)


def atom_claims(claim: Claim) -> Iterator[AtomClaim]:
    """Yield all atoms of a claim, each node once."""
    pending, seen = [claim], set[int]()
    while pending:
        claim = pending.pop()
        if id(claim) in seen:
            continue
        seen.add(id(claim))
        if isinstance(claim, AtomClaim):
            yield claim
        pending.extend(reversed(subclaims(claim)))


@lru_cache(maxsize=1 << 16)  # by identity, and bounded: claims are created for each formula
def free_names(claim: Claim) -> tuple[str, ...]:
    """Return the variables that are free in a claim, in order of appearance."""
    if isinstance(claim, AtomClaim):
        return tuple(dict.fromkeys(claim.atom.variables))
    names = dict.fromkeys(name for part in subclaims(claim) for name in free_names(part))
    if isinstance(claim, Some | Each | Every | Many | AllBut):
        names.pop(claim.variable, None)
    return tuple(names)


@lru_cache(maxsize=1 << 16)  # by identity, and bounded: claims are created for each formula
def needs_object(claim: Claim) -> bool:
    """Return whether an object must be found somewhere inside the claim."""
    return isinstance(claim, Some | Every | Many) or any(map(needs_object, subclaims(claim)))
