"""What contradicts itself in what is inside, outside and beside what.

Nothing is taken to be somewhere that nobody said. A bee that is inside a cup and inside a house is fine, as the cup can
be in the house; a bee inside two houses is not.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import TypeAlias

from formalimg.suites.conceptmix.conflict_rules import TOUCHING, Conflict
from formalimg.suites.conceptmix.knowledge import can_be_inside
from formalimg.suites.conceptmix.spatial_order import SIDES, Placed, circle_of
from formalimg.suites.conceptmix.spec import BoundObject

Within: TypeAlias = Mapping[int, frozenset[int]]
"""All that an object is inside of, directly or not, by its id."""


def containment_conflicts(
    objects: Sequence[BoundObject], placed: Sequence[Placed], names: Mapping[int, str]
) -> Iterator[Conflict]:
    """The conflicts of relations between different objects that are about the inside of something."""
    within = within_of(placed)
    yield from _nesting_circles(placed, names)
    yield from _inside_and_outside(placed, within, names)
    yield from _inside_and_beside(placed, within, names)
    yield from _in_two_places(objects, placed, within, names)
    yield from _touching_across(objects, placed, within, names)


def nested_in_a_circle(placed: Sequence[Placed]) -> tuple[int, ...]:
    """Objects that are inside one another in a circle; none if there is no circle."""
    return circle_of((first, second) for name, first, second in placed if name == "inside")


def rules_out_inside(relation: Placed, content: int, container: int) -> bool:
    """Does a relation between the two, other than *inside*, say that the one is not inside the other?"""
    if {relation.first, relation.second} != {content, container}:
        return False
    # At the bottom of a box can be inside, as a ball that lies there.
    at_its_bottom = relation.name == "bottom" and relation.first == content
    return relation.name == "outside" or (relation.name in SIDES and not at_its_bottom)


def within_of(placed: Sequence[Placed]) -> dict[int, frozenset[int]]:
    """All that each object is inside of, for the objects that are inside of anything."""
    direct: dict[int, set[int]] = {}
    for name, first, second in placed:
        if name == "inside":
            direct.setdefault(first, set()).add(second)
    found: dict[int, frozenset[int]] = {}
    for start in direct:
        reached: set[int] = set()
        ahead = list(direct[start])
        while ahead:
            one = ahead.pop()
            if one not in reached:
                reached.add(one)
                ahead.extend(direct.get(one, ()))
        found[start] = frozenset(reached)
    return found


def _nesting_circles(placed: Sequence[Placed], names: Mapping[int, str]) -> Iterator[Conflict]:
    circle = nested_in_a_circle(placed)
    if circle:
        told = [names[thing] for thing in circle]
        yield Conflict("nesting", f"{', '.join(told[:-1])} and {told[-1]} cannot be inside one another")


def _inside_and_outside(placed: Sequence[Placed], within: Within, names: Mapping[int, str]) -> Iterator[Conflict]:
    for name, first, second in placed:
        if name != "outside":
            continue
        if any({first, second} <= {one, *within.get(one, ())} for one in names):
            pair = f"{names[first]} cannot be outside of {names[second]}"
            yield Conflict("outside", f"{pair}: one is inside the other, or something is inside both")


def _inside_and_beside(placed: Sequence[Placed], within: Within, names: Mapping[int, str]) -> Iterator[Conflict]:
    for relation in placed:
        for content, container in ((relation.first, relation.second), (relation.second, relation.first)):
            if relation.name == "outside" or container not in within.get(content, ()):
                continue
            if rules_out_inside(relation, content, container):
                inside = f"{names[content]} is inside {names[container]}"
                yield Conflict("beside", f"{inside}, so it cannot be in the relation {relation.name!r} to it")


def _in_two_places(
    objects: Sequence[BoundObject], placed: Sequence[Placed], within: Within, names: Mapping[int, str]
) -> Iterator[Conflict]:
    for content, containers in within.items():
        for one, other in combinations(sorted(containers - {content}), 2):
            if not _may_be_inside(objects, placed, one, other) and not _may_be_inside(objects, placed, other, one):
                both = f"{names[one]} and {names[other]}"
                yield Conflict("apart", f"{names[content]} cannot be inside {both}, neither of which is in the other")


def _touching_across(
    objects: Sequence[BoundObject], placed: Sequence[Placed], within: Within, names: Mapping[int, str]
) -> Iterator[Conflict]:
    for relation in placed:
        if relation.name not in TOUCHING:
            continue
        for content, touched in ((relation.first, relation.second), (relation.second, relation.first)):
            for container in sorted(within.get(content, frozenset()) - {content, touched}):
                # At the bottom of something one can touch it from within, even inside of something else.
                from_within = not rules_out_inside(relation, content, touched)
                if _may_be_inside(objects, placed, touched, container) or (
                    from_within and _may_be_inside(objects, placed, container, touched)
                ):
                    continue
                elsewhere = f"{names[touched]}, which cannot be in there"
                yield Conflict("apart", f"{names[content]} is inside {names[container]} and touches {elsewhere}")


def _may_be_inside(objects: Sequence[BoundObject], placed: Sequence[Placed], content: int, container: int) -> bool:
    """Does nothing speak against the one being inside the other? Whether it is said does not matter."""
    return can_be_inside(objects[content - 1], objects[container - 1]) and not any(
        rules_out_inside(relation, content, container) for relation in placed
    )
