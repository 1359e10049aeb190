"""How many objects a claim can need: a bound such that, if any scene satisfies it, one with so few objects does.

Take a scene that satisfies a claim, and in it only the objects that some `exists` needs: the first ones, those that
they need in turn because of a `forall`, and so on. What holds for each object also holds for each of these, and boxes
that do not overlap still do not, so this smaller scene satisfies the claim too. If the chain of needs ends, its length
is a bound. A `forall` over cups makes no need for an object that is a plate, which is why the chain mostly ends.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import NamedTuple

from formalimg.scenes.solving.claims import AnyOf, Claim, Each, Every, Fact, Some, chooses, inside, plain_facts

_MOST_NEEDS = 500


class Need(NamedTuple):
    """An object that is needed for each choice of objects for the variables around it.

    Each variable stands for the class its objects must have, None where any object counts.
    """

    label: str | None
    around: tuple[str | None, ...]


def objects_needed(claim: Claim, most: int) -> int | None:
    """How many objects suffice if any do; None if that is not known to be at most `most`."""
    needs: list[Need] = []
    _collect(claim, {}, needs)
    if len(needs) > _MOST_NEEDS:
        return None
    if not any(need.around == () for need in needs):
        needs.append(Need(None, ()))  # a scene has at least one object
    counts = [0] * len(needs)
    while True:
        fresh = [prod(_candidates(label, needs, counts) for label in need.around) for need in needs]
        if fresh == counts:
            return sum(counts)
        if sum(fresh) > most:
            return None
        counts = fresh


def _candidates(label: str | None, needs: list[Need], counts: list[int]) -> int:
    fitting = (
        count for need, count in zip(needs, counts, strict=True) if None in (label, need.label) or need.label == label
    )
    return sum(fitting)


def _collect(claim: Claim, around: Mapping[str, str | None], needs: list[Need]) -> None:
    if len(needs) > _MOST_NEEDS or not chooses(claim):
        return
    match claim:
        case Some(variable, body):
            needs.append(Need(_label(variable, body), tuple(around.values())))
            _collect(body, around, needs)
        case Each(variable, body):
            _collect(body, {**around, variable: None}, needs)
        case Every(variable, condition, exception, consequent, wanted):
            if wanted:
                needs.append(Need(_label(variable, condition), tuple(around.values())))
                _collect(condition, around, needs)
            _collect(exception, {**around, variable: None}, needs)
            _collect(consequent, {**around, variable: _label(variable, condition)}, needs)
        case AnyOf(parts):
            for part in parts:
                others = [other for other in parts if other is not part]
                _collect(part, {**around, **_guarded(others, around)}, needs)
        case _:
            for part in inside(claim):
                _collect(part, around, needs)


def _label(variable: str, body: Claim) -> str | None:
    """The class that an object must have for the body to be true of it."""
    for fact in plain_facts(body):
        if fact.holds and fact.atom.predicate == "Is" and fact.atom.variables == (variable,):
            return _word(fact)
    return None


def _guarded(alternatives: list[Claim], around: Mapping[str, str | None]) -> dict[str, str]:
    """The classes of variables for which none of these alternatives is true at once."""
    found: dict[str, str] = {}
    for fact in alternatives:
        if isinstance(fact, Fact) and not fact.holds and fact.atom.predicate == "Is":
            (name,) = fact.atom.variables
            if name in around:
                found[name] = _word(fact)
    return found


def _word(fact: Fact) -> str:
    return str(getattr(fact.atom.arguments[1], "text", ""))
