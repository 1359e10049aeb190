"""From a binding with open relations to one that can be drawn, without asking anybody (paper, section 2.3, step 2).

The objects that were drawn are used first. A plain reference object is added only where it is needed:

- for a relation that no two objects can be in without a conflict, or only so that it says nothing: because it repeats
  another in other words, or because an object is outside of one that it could not be inside of;
- for a size, when nothing of the usual size is there to compare with.

Nothing that was given is changed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from random import Random
from typing import NamedTuple

from formalimg.suites.conceptmix.knowledge import is_one_of, reference_objects
from formalimg.suites.conceptmix.placing import Cast, place, troubles
from formalimg.suites.conceptmix.plausibility import far_fetched, poor_measure, strangers
from formalimg.suites.conceptmix.spatial_order import Placed, placed_relations
from formalimg.suites.conceptmix.spec import Binding, BoundObject, Relation

MOST_ADDED = 3
"""How many reference objects there are at most; what they cannot mend is left to `conflicts` to report."""

SHORTLIST = 8
"""How many reference objects are looked at more closely, of all that there are."""

FEW_PAIRS_FIRST = frozenset({"inside", "top", "bottom", "outside", "above", "below"})
"""Relations that few pairs of objects can be in; they choose before all others."""


class Standing(NamedTuple):
    """How good a way to close a binding is: less is better, and the first of these weighs most.

    Attributes:
        lacking: relations that stay open, a size without comparison, and added objects that serve nothing.
        troubles: conflicts, and relations that say nothing.
        oddness: how far-fetched it is.
    """

    lacking: int
    troubles: int
    oddness: int


@dataclass(frozen=True)
class Closing:
    """A way to close a binding: its objects, and the open relations with theirs, by their place in the binding."""

    objects: tuple[BoundObject, ...]
    placed: Mapping[int, Placed]
    standing: Standing


def complete_binding(binding: Binding, chance: Random) -> Binding:
    """Close the relations of a binding, and add reference objects where it cannot do without.

    Pairs of objects that make sense are preferred; among equally good ones chance decides. If no way is free of
    conflicts, the best that was found is taken all the same, and `conflicts` tells what is wrong with it.

    Args:
        binding: what was drawn and bound; relations may be open at one end or at both.
        chance: where randomness comes from; the same state gives the same binding.
    """
    best = _closed(binding, binding.objects, chance)
    for _ in range(MOST_ADDED):
        if best.standing[:2] == (0, 0):
            break
        more = _closed_with_one_more(binding, best.objects, chance)
        if more.standing[:2] >= best.standing[:2]:
            break
        best = more
    relations = tuple(
        replace(relation, first=best.placed[number].first, second=best.placed[number].second)
        if number in best.placed
        else relation
        for number, relation in enumerate(binding.relations)
    )
    return replace(binding, objects=best.objects, relations=relations)


def lacks_measure(binding: Binding) -> bool:
    """Is there a size that nobody can tell, because nothing of the usual size is there to compare with?"""
    sized = ["size" in thing.attributes for thing in binding.objects]
    return any(sized) and all(sized)


def _closed_with_one_more(binding: Binding, objects: tuple[BoundObject, ...], chance: Random) -> Closing:
    """The best way with one reference object more; chance decides among the equally good."""
    candidates = [
        BoundObject(thing.name)
        for thing in reference_objects()
        if not any(_share_a_name(thing.name, other.item) for other in objects)
    ]
    chance.shuffle(candidates)
    candidates.sort(key=lambda candidate: _promise(candidate, binding))
    closings = [_closed(binding, (*objects, candidate), chance) for candidate in candidates[:SHORTLIST]]
    return min(closings, key=lambda closing: closing.standing)


def _promise(candidate: BoundObject, binding: Binding) -> int:
    """How far-fetched a reference object is at best, seen beside what was drawn; less is better."""
    return _company(candidate, binding) + sum(
        min(
            far_fetched(relation.name, *pair)
            for thing in binding.objects
            for pair in ((candidate, thing), (thing, candidate))
        )
        for relation in binding.relations
        if _is_open(relation)
    )


def _company(candidate: BoundObject, binding: Binding) -> int:
    """How far-fetched it is to see a reference object beside what was drawn, and to take its measure by it."""
    company = sum(strangers(candidate, thing) for thing in binding.objects)
    if not lacks_measure(binding):
        return company
    return company + min(poor_measure(candidate, thing) for thing in binding.objects)


def _closed(binding: Binding, objects: tuple[BoundObject, ...], chance: Random) -> Closing:
    """The best way with these objects and no others."""
    given = placed_relations(binding.relations)
    places = [number for number, relation in enumerate(binding.relations) if _is_open(relation)]
    places.sort(key=lambda number: binding.relations[number].name not in FEW_PAIRS_FIRST)
    found: tuple[Placed, ...] = ()
    if len(objects) > 1:
        cast = Cast(objects, len(binding.objects))
        found = place([binding.relations[number] for number in places], given, cast, chance)
    return Closing(objects, dict(zip(places, found, strict=False)), _standing(binding, objects, (*given, *found)))


def _standing(binding: Binding, objects: tuple[BoundObject, ...], placed: tuple[Placed, ...]) -> Standing:
    drawn = len(binding.objects)
    compares = lacks_measure(binding)
    busy = {thing for relation in placed for thing in (relation.first, relation.second)}
    # The first object that is added serves as a measure, if one is needed.
    idle = sum(number not in busy for number in range(drawn + 1 + compares, len(objects) + 1))
    lacking = len(binding.relations) - len(placed) + (compares and len(objects) == drawn) + idle
    oddness = sum(far_fetched(name, objects[one - 1], objects[other - 1]) for name, one, other in placed)
    company = sum(_company(added, binding) for added in objects[drawn:])
    return Standing(lacking, troubles(placed, Cast(objects, drawn)), oddness + company)


def _share_a_name(one: str, other: str) -> bool:
    return one == other or is_one_of(one, other) or is_one_of(other, one)


def _is_open(relation: Relation) -> bool:
    return relation.first is None or relation.second is None
