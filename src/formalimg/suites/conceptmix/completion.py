"""Which two objects each relation goes to: without contradiction if that can be, and as one would expect to see it."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, permutations
from random import Random
from typing import NamedTuple

from formalimg.suites.conceptmix.conflicts import TOUCHING, relation_conflicts, rules_out_inside, within_of
from formalimg.suites.conceptmix.plausibility import (
    Placed,
    can_be_inside,
    can_have_shape,
    far_fetched,
    is_one_of,
    placed_relations,
    poor_measure,
    reference_objects,
    strangers,
)
from formalimg.suites.conceptmix.spec import Binding, BoundObject, Relation
from formalimg.suites.conceptmix.vocabulary import converse_of

MOST_TRIALS = 300
"""How many placements are tried before a plain choice, relation by relation, must do."""

LEVEL = frozenset({"left", "right", "in front of", "behind"})
"""Relations of things that one thinks of as being at the same height."""


class Cast(NamedTuple):
    """The objects of an image; the first `drawn` of them were drawn, the others added."""

    objects: tuple[BoundObject, ...]
    drawn: int


def place(relations: Sequence[Relation], given: tuple[Placed, ...], cast: Cast, chance: Random) -> tuple[Placed, ...]:
    """Open relations with their objects, in order, beside those that are given; there must be two objects."""
    trials = iter(range(MOST_TRIALS))
    found = _untroubled(relations, given, troubles(given, cast), cast, chance, trials)
    if found is None:
        found = given
        for relation in relations:
            ways = [(*found, placed) for placed in _most_expected_first(relation, found, cast, chance)]
            found = min(ways, key=lambda way: troubles(way, cast))
    return found[len(given) :]


def troubles(placed: Sequence[Placed], cast: Cast) -> int:
    """How many conflicts there are, relations that say nothing, and relations that leave viewers in doubt.

    Nothing is said by what repeats another in other words, by being outside of what one could not be inside of anyway,
    and by how two objects stand that were only added. In doubt are viewers of what touches a thing from above or below
    and is also beside, behind or in front of it, and of objects of which nobody says that they are inside something,
    though they must be.
    """
    objects, drawn = cast
    idle, doubtful = 0, _left_unsaid(placed)
    for number, relation in enumerate(placed):
        name, first, second = relation
        # A relation that we know nothing of may be the same from both sides, as being next to something is.
        idle += Placed(converse_of(name) or name, second, first) in placed[:number]
        idle += first > drawn and second > drawn
        idle += name == "outside" and _is_outside_anyway(relation, placed, objects)
        doubtful += name in TOUCHING and any(
            other.name in LEVEL and {other.first, other.second} == {first, second} for other in placed
        )
    return len(relation_conflicts(objects, placed)) + idle + doubtful


def _is_outside_anyway(relation: Placed, placed: Sequence[Placed], objects: Sequence[BoundObject]) -> bool:
    """Could the first object not be inside the second, whether or not somebody says that it is outside?"""
    _, first, second = relation
    return not can_be_inside(objects[first - 1], objects[second - 1]) or any(
        rules_out_inside(other, first, second) for other in placed if other.name != "outside"
    )


def _left_unsaid(placed: Sequence[Placed]) -> int:
    """How often an object must be inside something though nobody says so, as the table of a cat that is in a house."""
    within = within_of(placed)
    nowhere: frozenset[int] = frozenset()
    shared = sum(
        one not in within.get(other, nowhere) and other not in within.get(one, nowhere)
        for content, containers in within.items()
        for one, other in combinations(containers, 2)
    )
    touching = sum(
        container not in within.get(touched, nowhere) and touched not in within.get(container, nowhere)
        for name, first, second in placed
        if name in TOUCHING
        for content, touched in ((first, second), (second, first))
        for container in within.get(content, nowhere) - {touched}
    )
    return shared + touching


def _untroubled(
    relations: Sequence[Relation],
    placed: tuple[Placed, ...],
    bearable: int,
    cast: Cast,
    chance: Random,
    trials: Iterator[int],
) -> tuple[Placed, ...] | None:
    """The first way, the most expected first, that brings no new troubles; None if there is none or trials run out."""
    if not relations:
        return placed
    for candidate in _most_expected_first(relations[0], placed, cast, chance):
        if next(trials, None) is None:
            return None
        longer = (*placed, candidate)
        if troubles(longer, cast) <= bearable:
            found = _untroubled(relations[1:], longer, bearable, cast, chance, trials)
            if found is not None:
                return found
    return None


def _most_expected_first(relation: Relation, placed: Sequence[Placed], cast: Cast, chance: Random) -> list[Placed]:
    """All pairs that a relation can go to; chance decides among the equally expected."""
    pairs = [
        Placed(relation.name, first, second)
        for first, second in permutations(range(1, len(cast.objects) + 1), 2)
        if relation.first in (None, first) and relation.second in (None, second)
    ]
    return sorted(pairs, key=lambda pair: (_oddness(pair, placed, cast), chance.random()))


def _oddness(pair: Placed, placed: Sequence[Placed], cast: Cast) -> int:
    """How far-fetched a relation is, and how much it crowds objects that have relations while others have none."""
    first, second = cast.objects[pair.first - 1], cast.objects[pair.second - 1]
    same_pair = sum({pair.first, pair.second} == {other.first, other.second} for other in placed)
    busy = {thing for other in placed for thing in (other.first, other.second)}
    crowding = len({pair.first, pair.second} & busy) if len(busy) < len(cast.objects) else 0
    added = (0, 1, 5)[(pair.first > cast.drawn) + (pair.second > cast.drawn)]
    return far_fetched(pair.name, first, second) + 2 * same_pair + crowding + added


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


def fit_shapes(binding: Binding, chance: random.Random) -> Binding:
    """The same binding if every object can have its shape; otherwise the shapes are dealt out anew.

    If not all of the shapes can go to different objects that can have them, nothing is changed, and `conflicts` tells
    what is wrong.
    """
    shapes = [thing.attributes.get("shape") for thing in binding.objects]
    items = [thing.item for thing in binding.objects]
    if all(shape is None or can_have_shape(item, shape) for item, shape in zip(items, shapes, strict=True)):
        return binding
    dealt = _dealt([shape for shape in shapes if shape is not None], items, chance)
    if dealt is None:
        return binding
    objects = []
    for number, thing in enumerate(binding.objects):
        others = {category: value for category, value in thing.attributes.items() if category != "shape"}
        objects.append(replace(thing, attributes={**others, **({"shape": dealt[number]} if number in dealt else {})}))
    return replace(binding, objects=tuple(objects))


def _dealt(shapes: Sequence[str], items: Sequence[str], chance: random.Random) -> Mapping[int, str] | None:
    """A shape for some of the items, by their places, such that each is used once and can be had; None if none is."""
    order = chance.sample(shapes, len(shapes))
    holder: dict[int, int] = {}  # which shape each item has, both by their places

    def take(shape: int, tried: set[int]) -> bool:
        """Give a shape to an item, if need be by giving another item to the shape that was there."""
        able = [number for number, item in enumerate(items) if can_have_shape(item, order[shape])]
        for number in chance.sample(able, len(able)):
            if number not in tried:
                tried.add(number)
                if number not in holder or take(holder[number], tried):
                    holder[number] = shape
                    return True
        return False

    if not all(take(shape, set()) for shape in range(len(order))):
        return None
    return {number: order[shape] for number, shape in holder.items()}
