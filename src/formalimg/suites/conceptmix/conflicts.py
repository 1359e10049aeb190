"""The rules that a binding must keep, so that an image can show it and viewers can agree that one does."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations, permutations
from types import MappingProxyType
from typing import Literal, NamedTuple, TypeAlias

from formalimg.suites.conceptmix.plausibility import (
    SIDES,
    Placed,
    can_be_inside,
    can_have_shape,
    circle_of,
    contradictory_orders,
    is_one_of,
    placed_relations,
    thing_of,
)
from formalimg.suites.conceptmix.spec import Binding, BoundObject

ConflictReason: TypeAlias = Literal[
    "shape", "kind", "itself", "twice", "order", "touch", "nesting", "outside", "beside", "apart", "fit", "many"
]

RULES: Mapping[ConflictReason, str] = MappingProxyType(
    {
        "shape": "an object has a shape that it cannot have and still be known for what it is",
        "kind": "an object is one of another's kind, as a corgi is a dog, so that nobody knows which of them is meant",
        "itself": "a relation holds between an object and itself",
        "twice": "the same relation is asked for twice, between the same objects",
        "order": "relations run in a circle: from left to right, in height or in depth",
        "touch": "two objects must touch (top, bottom) and must not touch (above, below)",
        "nesting": "objects are inside one another in a circle",
        "outside": "an object is outside of another that it is inside of, or with which it shares what is inside",
        "beside": "an object is inside of another and also on one side of it; only its bottom can be inside",
        "apart": "an object is inside of two others, or inside of one and touches another, that cannot be in one place",
        "fit": "an object is inside of another that nothing, or nothing as large, can be inside of",
        "many": "there are fewer objects than others that they must be inside of, on top of or at the foot of",
    }
)
"""Why a binding is refused, by reason."""

TOUCHING = frozenset({"top", "bottom"})
NOT_TOUCHING = frozenset({"above", "below"})


class Conflict(NamedTuple):
    """A contradiction: which rule it breaks, and what is wrong in one line."""

    reason: ConflictReason
    detail: str


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


__all__ = ["RULES", "Conflict", "ConflictReason", "conflicts", "relation_conflicts"]


def conflicts(binding: Binding) -> tuple[Conflict, ...]:
    """Everything in a binding that no image can show, or that viewers could not agree on.

    Relations that are still open contradict nothing yet.
    """
    placed = placed_relations(binding.relations)
    return (
        *_impossible_shapes(binding.objects),
        *_of_one_kind(binding.objects),
        *relation_conflicts(binding.objects, placed),
    )


def relation_conflicts(objects: Sequence[BoundObject], placed: Sequence[Placed]) -> tuple[Conflict, ...]:
    """The conflicts that come from relations; no further relation can mend them."""
    names = {number: f"the {thing.item}" for number, thing in enumerate(objects, 1)}
    between = [relation for relation in placed if relation.first != relation.second]
    return (
        *_relations_to_itself(placed, names),
        *_repetitions(between, names),
        *_contradictory_orders(between, names),
        *_contradictory_touches(between, names),
        *containment_conflicts(objects, between, names),
        *_misfits(between, objects, names),
        *_too_few(between, objects, names),
    )


def _impossible_shapes(objects: Sequence[BoundObject]) -> Iterator[Conflict]:
    for thing in objects:
        shape = thing.attributes.get("shape")
        if shape is not None and not can_have_shape(thing.item, shape):
            yield Conflict("shape", f"the {thing.item} cannot have the shape of a {shape}")


def _of_one_kind(objects: Sequence[BoundObject]) -> Iterator[Conflict]:
    for one, other in permutations(objects, 2):
        if is_one_of(one.item, other.item):
            yield Conflict("kind", f"the {one.item} is a {other.item} too, and nobody knows which of them is meant")


def _relations_to_itself(placed: Sequence[Placed], names: Mapping[int, str]) -> Iterator[Conflict]:
    for name, first, second in placed:
        if first == second:
            yield Conflict("itself", f"{names[first]} cannot be in the relation {name!r} to itself")


def _repetitions(placed: Sequence[Placed], names: Mapping[int, str]) -> Iterator[Conflict]:
    for number, relation in enumerate(placed):
        if relation in placed[:number]:
            name, first, second = relation
            yield Conflict("twice", f"{names[first]} and {names[second]} are in the relation {name!r} twice")


def _contradictory_orders(placed: Sequence[Placed], names: Mapping[int, str]) -> Iterator[Conflict]:
    # Circles of what is inside what are told by their own rule.
    sound = [relation for relation in placed if relation.name != "inside"] if nested_in_a_circle(placed) else placed
    for axis, circle in contradictory_orders(sound):
        yield Conflict("order", f"{_listed(circle, names)} cannot be in this order {axis}")


def _contradictory_touches(placed: Sequence[Placed], names: Mapping[int, str]) -> Iterator[Conflict]:
    for one, other in combinations(placed, 2):
        if {one.first, one.second} == {other.first, other.second} and (
            (one.name in TOUCHING and other.name in NOT_TOUCHING)
            or (one.name in NOT_TOUCHING and other.name in TOUCHING)
        ):
            yield Conflict("touch", f"{_listed((one.first, one.second), names)} must touch and must not")


def _misfits(placed: Sequence[Placed], objects: Sequence[BoundObject], names: Mapping[int, str]) -> Iterator[Conflict]:
    for name, first, second in placed:
        if name != "inside":
            continue
        content, container = objects[first - 1], objects[second - 1]
        sizes = (content.attributes.get("size"), container.attributes.get("size"))
        if not can_be_inside(content, container):
            yield Conflict("fit", f"{names[first]} cannot be inside {names[second]}")
        elif _count(content) < _count(container):
            yield Conflict("many", f"{names[first]} cannot be inside {_count(container)} of {names[second]} at once")
        elif sizes == ("huge", "tiny"):
            yield Conflict("fit", f"nobody sees a huge {content.item} and a tiny {container.item} with the one inside")


def _too_few(placed: Sequence[Placed], objects: Sequence[BoundObject], names: Mapping[int, str]) -> Iterator[Conflict]:
    """What is on top of more things than there are of it, or at the foot of more that stay where they stand."""
    for number, thing in enumerate(objects, 1):
        tops = {other for name, one, other in placed if name == "top" and one == number}
        feet = {other for name, one, other in placed if name == "bottom" and one == number}
        # What can be lifted may lie on top of the thing instead, as many of it as there are.
        standing = {other for other in feet if thing_of(objects[other - 1].item).rooted}
        for where, others in (("on top of", tops), ("at the bottom of", standing)):
            if sum(_count(objects[other - 1]) for other in others) > _count(thing):
                told = _listed(sorted(others), names)
                yield Conflict("many", f"{names[number]} cannot be {where} all of {told} at once: there are too few")


def _count(thing: BoundObject) -> int:
    """How many there are of an object; one, unless a number says more."""
    number = thing.attributes.get("number", "1")
    return int(number) if number.isascii() and number.isdigit() else 1


def _listed(things: Sequence[int], names: Mapping[int, str]) -> str:
    told = [names[thing] for thing in things]
    return told[0] if len(told) == 1 else f"{', '.join(told[:-1])} and {told[-1]}"
