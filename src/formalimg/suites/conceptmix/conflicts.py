"""What in a binding contradicts itself, so that no image can show it and viewers could not agree that one does.

The unrealistic is welcome: a horse of glass, a man on top of a spoon. Refused is only what `RULES` says. These are
logic, but for shapes, kinds and what fits into what: there, what is known of objects decides (`things.toml`), and
nothing is held against objects of which nothing is known.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations, permutations

from formalimg.suites.conceptmix.conflict_rules import NOT_TOUCHING, RULES, TOUCHING, Conflict, ConflictReason
from formalimg.suites.conceptmix.containment import containment_conflicts, nested_in_a_circle
from formalimg.suites.conceptmix.knowledge import can_be_inside, can_have_shape, is_one_of, thing_of
from formalimg.suites.conceptmix.spatial_order import Placed, contradictory_orders, placed_relations
from formalimg.suites.conceptmix.spec import Binding, BoundObject

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
