"""What a formula claims, with every `not` pushed down to the atoms and strict `forall` spelt out.

Claims are what the solver works on: nothing in them is negated but facts, so whatever makes a fact true can only help.
Claims speak of scenes with at least one object; the empty scene is a case of its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias

from formalimg.logic import And, Atom, Exists, Forall, Formula, Iff, Implies, Not, Or


@dataclass(frozen=True, slots=True)
class Fact:
    """An atom holds, or fails."""

    atom: Atom
    holds: bool


@dataclass(frozen=True, slots=True, eq=False)
class AllOf:
    """Each part is true."""

    parts: tuple[Claim, ...]


@dataclass(frozen=True, slots=True, eq=False)
class AnyOf:
    """Some part is true."""

    parts: tuple[Claim, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Some:
    """There is an object of which the body is true."""

    variable: str
    body: Claim


@dataclass(frozen=True, slots=True, eq=False)
class Each:
    """The body is true of each object."""

    variable: str
    body: Claim


@dataclass(frozen=True, slots=True, eq=False)
class Every:
    """A strict `forall`: each object is an exception or keeps the consequent; if wanted, some meet the condition."""

    variable: str
    condition: Claim
    exception: Claim
    consequent: Claim
    wanted: bool = True


Claim: TypeAlias = Fact | AllOf | AnyOf | Some | Each | Every

NOTHING_CLAIMED = AllOf(())


def claim_of(formula: Formula, kept: frozenset[int] | None = None) -> Claim:
    """The claim of a formula that binds every name once; if `kept` is given, of these of its conjuncts alone."""
    return _Reader(kept).conjunct(formula, True)


def conjuncts(formula: Formula) -> list[Formula]:
    """The pieces that must all hold, through `exists`, `and` and the consequents of `forall`, in the order of the text.

    A strict `forall` gives its condition (something must meet it) and the pieces of its consequent.
    """
    reader = _Reader(None)
    reader.conjunct(formula, True)
    return reader.seen


class _Reader:
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
                wanted = self.is_kept(antecedent, True)
                condition, exception = self.claim(antecedent, True), self.claim(antecedent, False)
                return Every(variable.name, condition, exception, self.conjunct(consequent, True), wanted)
            case _:
                return self.claim(formula, holds) if self.is_kept(formula, holds) else NOTHING_CLAIMED

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
                return Fact(formula, holds)
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


def _all_of(parts: list[Claim]) -> Claim:
    flat = [inner for part in parts for inner in (part.parts if isinstance(part, AllOf) else (part,))]
    return flat[0] if len(flat) == 1 else AllOf(tuple(flat))


def _any_of(parts: list[Claim]) -> Claim:
    flat = [inner for part in parts for inner in (part.parts if isinstance(part, AnyOf) else (part,))]
    return flat[0] if len(flat) == 1 else AnyOf(tuple(flat))


def inside(claim: Claim) -> tuple[Claim, ...]:
    """The claims directly inside a claim."""
    match claim:
        case Fact():
            return ()
        case AllOf(parts) | AnyOf(parts):
            return parts
        case Some(_, body) | Each(_, body):
            return (body,)
        case Every(_, condition, exception, consequent):
            return (condition, exception, consequent)


def facts(claim: Claim) -> Iterator[Fact]:
    """All facts of a claim, each node once."""
    pending, seen = [claim], set[int]()
    while pending:
        claim = pending.pop()
        if id(claim) in seen:
            continue
        seen.add(id(claim))
        if isinstance(claim, Fact):
            yield claim
        pending.extend(reversed(inside(claim)))


def plain_facts(claim: Claim) -> list[Fact]:
    """The facts that must be true whenever the claim is, found without opening alternatives or quantifiers."""
    if isinstance(claim, Fact):
        return [claim]
    return [fact for part in claim.parts for fact in plain_facts(part)] if isinstance(claim, AllOf) else []


@lru_cache(maxsize=1 << 16)  # by identity, and bounded: claims are made anew for each formula
def free_names(claim: Claim) -> tuple[str, ...]:
    """The variables that a claim speaks of without binding them, in order of appearance."""
    if isinstance(claim, Fact):
        return tuple(dict.fromkeys(claim.atom.variables))
    names = dict.fromkeys(name for part in inside(claim) for name in free_names(part))
    if isinstance(claim, Some | Each | Every):
        names.pop(claim.variable, None)
    return tuple(names)


@lru_cache(maxsize=1 << 16)  # by identity, and bounded: claims are made anew for each formula
def chooses(claim: Claim) -> bool:
    """Must an object be found somewhere inside the claim?"""
    return isinstance(claim, Some | Every) or any(map(chooses, inside(claim)))
