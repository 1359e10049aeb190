"""A bound on the objects that a claim needs: with as many slots, what is impossible is impossible in every scene."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import NamedTuple

from formalimg.scenes.solver.nnf import (
    AllBut,
    AllOf,
    AnyOf,
    AtomClaim,
    Claim,
    Each,
    Every,
    Many,
    Some,
    needs_object,
    subclaims,
)

_MAX_NEEDS = 500


class Need(NamedTuple):
    """Objects (`number` of them) that are needed for each choice of objects for the variables around them.

    Each variable stands for the class its objects must have, None where any object counts.
    """

    label: str | None
    around: tuple[str | None, ...]
    number: int = 1


def max_objects_needed(claim: Claim, limit: int) -> int | None:
    """Return how many objects are enough if any number is; None if that is not known to be at most `limit`.

    Take a scene that satisfies a claim, and in it only the objects that some `exists` needs: the first ones, those that
    they need in turn because of a `forall`, and so on. What holds for each object, or for all but a few, also holds for
    these, and boxes that do not overlap still do not, so this smaller scene satisfies the claim too. If the chain of
    needs ends, its length is a bound. A `forall` over cups creates no need for a plate, which is why the chain mostly
    ends.
    """
    needs: list[Need] = []
    _collect_needs(claim, {}, needs)
    if len(needs) > _MAX_NEEDS:
        return None
    if not any(need.around == () for need in needs):
        needs.append(Need(None, ()))  # a scene has at least one object
    counts = [0] * len(needs)
    while True:
        fresh = [need.number * prod(_candidates(label, needs, counts) for label in need.around) for need in needs]
        if fresh == counts:
            return sum(counts)
        if sum(fresh) > limit:
            return None
        counts = fresh


def _candidates(label: str | None, needs: list[Need], counts: list[int]) -> int:
    fitting = (
        count for need, count in zip(needs, counts, strict=True) if None in (label, need.label) or need.label == label
    )
    return sum(fitting)


def _collect_needs(claim: Claim, around: Mapping[str, str | None], needs: list[Need], number: int = 1) -> None:
    """Collect the needs of a claim that is to be true `number` times for each choice of the objects around it."""
    if len(needs) > _MAX_NEEDS or not needs_object(claim):
        return
    match claim:
        case Some(variable, body):
            needs.append(Need(_required_class(variable, body), tuple(around.values()), number))
            _collect_needs(body, around, needs, number)
        case Many(more, variable, body):
            needs.append(Need(_required_class(variable, body), tuple(around.values()), number * more))
            _collect_needs(body, around, needs, number * more)
        case Each(variable, body) | AllBut(_, variable, body):
            _collect_needs(body, {**around, variable: None}, needs, number)
        case Every(variable, condition, exception, consequent, needs_instance):
            if needs_instance:
                needs.append(Need(_required_class(variable, condition), tuple(around.values()), number))
                _collect_needs(condition, around, needs, number)
            _collect_needs(exception, {**around, variable: None}, needs, number)
            _collect_needs(consequent, {**around, variable: _required_class(variable, condition)}, needs, number)
        case AnyOf(parts):
            for part in parts:
                others = [other for other in parts if other is not part]
                _collect_needs(part, {**around, **_guard_classes(others, around)}, needs, number)
        case _:
            for part in subclaims(claim):
                _collect_needs(part, around, needs, number)


def _required_class(variable: str, body: Claim) -> str | None:
    """Return the class that an object must have for the body to be true of it."""
    for literal in _conjunct_atoms(body):
        if literal.holds and literal.atom.predicate == "Is" and literal.atom.variables == (variable,):
            return _word(literal)
    return None


def _conjunct_atoms(claim: Claim) -> list[AtomClaim]:
    """Return the atoms that must be true whenever the claim is, without opening alternatives or quantifiers."""
    if isinstance(claim, AtomClaim):
        return [claim]
    return [literal for part in claim.parts for literal in _conjunct_atoms(part)] if isinstance(claim, AllOf) else []


def _guard_classes(alternatives: list[Claim], around: Mapping[str, str | None]) -> dict[str, str]:
    """Return the classes that variables must have for none of these alternatives to be true at once."""
    found: dict[str, str] = {}
    for literal in alternatives:
        if isinstance(literal, AtomClaim) and not literal.holds and literal.atom.predicate == "Is":
            (name,) = literal.atom.variables
            if name in around:
                found[name] = _word(literal)
    return found


def _word(literal: AtomClaim) -> str:
    return str(getattr(literal.atom.arguments[1], "text", ""))
