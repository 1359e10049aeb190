"""Which two objects each relation goes to: without contradiction if that can be, and as one would expect to see it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations, permutations
from random import Random
from typing import NamedTuple

from formalimg.suites.conceptmix.conflict_rules import TOUCHING
from formalimg.suites.conceptmix.conflicts import relation_conflicts
from formalimg.suites.conceptmix.containment import rules_out_inside, within_of
from formalimg.suites.conceptmix.knowledge import can_be_inside
from formalimg.suites.conceptmix.plausibility import far_fetched
from formalimg.suites.conceptmix.spatial_order import Placed
from formalimg.suites.conceptmix.spec import BoundObject, Relation
from formalimg.suites.conceptmix.words import converse_of

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
