"""Convert formulas to negation normal form, expanding strict `forall` and splitting counts into bounds.

The solver works on these claims: only atoms are negated. Claims are about scenes with at least one object; the empty
scene is treated separately. The number of objects that a claim needs may be bounded (`max_objects_needed`): a claim
that is impossible with that many slots is impossible in every scene.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from math import prod
from typing import NamedTuple, TypeAlias

from formalimg.logic.syntax import And, Atom, Count, Exists, Forall, Formula, Iff, Implies, Not, Or
from formalimg.logic.variables import expand_distinct


@dataclass(frozen=True, slots=True)
class AtomClaim:
    """A claim that an atom holds or fails."""

    atom: Atom
    holds: bool


@dataclass(frozen=True, slots=True, eq=False)
class AllOf:
    """A claim that all parts hold."""

    parts: tuple[Claim, ...]


@dataclass(frozen=True, slots=True, eq=False)
class AnyOf:
    """A claim that at least one part holds."""

    parts: tuple[Claim, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Some:
    """A claim that the body holds for at least one object."""

    variable: str
    body: Claim


@dataclass(frozen=True, slots=True, eq=False)
class Each:
    """A claim that the body holds for every object."""

    variable: str
    body: Claim


@dataclass(frozen=True, slots=True, eq=False)
class Every:
    """A strict `forall`: every object must satisfy the exception or the consequent.

    If `needs_instance`, at least one object must satisfy the condition.
    """

    variable: str
    condition: Claim
    exception: Claim
    consequent: Claim
    needs_instance: bool = True


@dataclass(frozen=True, slots=True, eq=False)
class Many:
    """A claim that the body holds for at least `number` objects, where `number` is two or more."""

    number: int
    variable: str
    body: Claim


@dataclass(frozen=True, slots=True, eq=False)
class AllBut:
    """A claim that the body holds for all but at most `number` objects, where `number` is one or more."""

    number: int
    variable: str
    body: Claim


Claim: TypeAlias = AtomClaim | AllOf | AnyOf | Some | Each | Every | Many | AllBut

TRIVIAL_CLAIM = AllOf(())
IMPOSSIBLE_CLAIM = AnyOf(())


def build_claim(formula: Formula, selection: frozenset[int] | None = None) -> Claim:
    """Convert a formula with unique bound names to a claim, restricted to the conjuncts in `selection` if given."""
    return _ClaimBuilder(selection).conjunct(expand_distinct(formula), True)


def conjuncts(formula: Formula) -> list[Formula]:
    """Return the conjuncts of a formula in text order, including those nested in `exists` and `forall`.

    A strict `forall` contributes its condition, which some object must satisfy, and the conjuncts of its consequent.
    """
    reader = _ClaimBuilder(None)
    reader.conjunct(expand_distinct(formula), True)
    return reader.seen


class _ClaimBuilder:
    def __init__(self, selection: frozenset[int] | None) -> None:
        self.kept = selection
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
        """Return the claim that the number of objects is, or is not, within the limits of the count."""
        minimum, maximum = formula.range
        if holds:
            bounds = [self.at_least(minimum, formula)]
            return _all_of(bounds if maximum is None else [*bounds, self.at_most(maximum, formula)])
        below = self.at_most(minimum - 1, formula)
        return _any_of([below] if maximum is None else [below, self.at_least(maximum + 1, formula)])

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
    """Return the direct subclaims of a claim."""
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
    """Yield the distinct atom claims within a claim."""
    pending, visited = [claim], set[int]()
    while pending:
        claim = pending.pop()
        if id(claim) in visited:
            continue
        visited.add(id(claim))
        if isinstance(claim, AtomClaim):
            yield claim
        pending.extend(reversed(subclaims(claim)))


@lru_cache(maxsize=1 << 16)  # by identity, and bounded: claims are created for each formula
def free_names(claim: Claim) -> tuple[str, ...]:
    """Return the free variables of a claim, in order of appearance."""
    if isinstance(claim, AtomClaim):
        return tuple(dict.fromkeys(claim.atom.variables))
    names = dict.fromkeys(name for part in subclaims(claim) for name in free_names(part))
    if isinstance(claim, Some | Each | Every | Many | AllBut):
        names.pop(claim.variable, None)
    return tuple(names)


@lru_cache(maxsize=1 << 16)  # by identity, and bounded: claims are created for each formula
def needs_object(claim: Claim) -> bool:
    """Return whether any part of the claim requires an object to exist."""
    return isinstance(claim, Some | Every | Many) or any(map(needs_object, subclaims(claim)))


_MAX_NEEDS = 500


class Need(NamedTuple):
    """A number of objects required for each combination of objects bound to the enclosing variables.

    `around` lists the required class for each enclosing variable, or None if any object counts.
    """

    label: str | None
    around: tuple[str | None, ...]
    number: int = 1


def max_objects_needed(claim: Claim, limit: int) -> int | None:
    """Return a sufficient number of objects for a satisfiable claim, or None if no bound up to `limit` is known.

    Take a scene that satisfies a claim, and keep only the objects that some `exists` needs: the first ones, those that
    they need in turn because of a `forall`, and so on. A claim about each object, or about all but a few, also holds
    for these objects, and boxes still do not overlap, so this smaller scene satisfies the claim too. If the chain of
    needs ends, the number of objects kept is a bound. The chain usually ends, because a `forall` over cups creates no
    needs for plates.
    """
    needs: list[Need] = []
    _collect_needs(claim, {}, needs)
    if len(needs) > _MAX_NEEDS:
        return None
    if not any(need.around == () for need in needs):
        needs.append(Need(None, ()))  # a scene has at least one object
    counts = [0] * len(needs)
    while True:
        fresh = [need.number * prod(_count_candidates(label, needs, counts) for label in need.around) for need in needs]
        if fresh == counts:
            return sum(counts)
        if sum(fresh) > limit:
            return None
        counts = fresh


def _count_candidates(label: str | None, needs: list[Need], counts: list[int]) -> int:
    fitting = (
        count for need, count in zip(needs, counts, strict=True) if None in (label, need.label) or need.label == label
    )
    return sum(fitting)


def _collect_needs(claim: Claim, around: Mapping[str, str | None], needs: list[Need], number: int = 1) -> None:
    """Collect the objects required by a claim for each combination of the enclosing objects."""
    if len(needs) > _MAX_NEEDS or not needs_object(claim):
        return
    match claim:
        case Some(variable, body):
            needs.append(Need(_find_required_class(variable, body), tuple(around.values()), number))
            _collect_needs(body, around, needs, number)
        case Many(more, variable, body):
            needs.append(Need(_find_required_class(variable, body), tuple(around.values()), number * more))
            _collect_needs(body, around, needs, number * more)
        case Each(variable, body) | AllBut(_, variable, body):
            _collect_needs(body, {**around, variable: None}, needs, number)
        case Every(variable, condition, exception, consequent, needs_instance):
            if needs_instance:
                needs.append(Need(_find_required_class(variable, condition), tuple(around.values()), number))
                _collect_needs(condition, around, needs, number)
            _collect_needs(exception, {**around, variable: None}, needs, number)
            _collect_needs(consequent, {**around, variable: _find_required_class(variable, condition)}, needs, number)
        case AnyOf(parts):
            for part in parts:
                other_parts = [alternative for alternative in parts if alternative is not part]
                _collect_needs(part, {**around, **_guard_classes(other_parts, around)}, needs, number)
        case _:
            for part in subclaims(claim):
                _collect_needs(part, around, needs, number)


def _find_required_class(variable: str, body: Claim) -> str | None:
    """Return the class that an object must have to satisfy the body, or None if it is unrestricted."""
    for literal in _conjunct_atoms(body):
        if literal.holds and literal.atom.predicate == "Is" and literal.atom.variables == (variable,):
            return _get_class(literal)
    return None


def _conjunct_atoms(claim: Claim) -> list[AtomClaim]:
    """Return the atoms that must hold for the claim to hold, without entering disjunctions or quantifiers."""
    if isinstance(claim, AtomClaim):
        return [claim]
    return [literal for part in claim.parts for literal in _conjunct_atoms(part)] if isinstance(claim, AllOf) else []


def _guard_classes(alternatives: list[Claim], around: Mapping[str, str | None]) -> dict[str, str]:
    """Return the classes that variables must have for all of the alternatives to be false."""
    classes: dict[str, str] = {}
    for literal in alternatives:
        if isinstance(literal, AtomClaim) and not literal.holds and literal.atom.predicate == "Is":
            (name,) = literal.atom.variables
            if name in around:
                classes[name] = _get_class(literal)
    return classes


def _get_class(literal: AtomClaim) -> str:
    return str(getattr(literal.atom.arguments[1], "text", ""))
