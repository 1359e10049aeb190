"""Conflicts of a binding, which no image can show, and doubts, about which viewers could not agree.

Containment assumes nothing that is not stated. A bee that is inside a cup and inside a house is fine, as the cup can be
in the house; a bee inside two houses is not. Relations that tell nothing, or of which a second pair of eyes would ask
what is meant, count as problems too: a cup inside a necklace that lies on a laptop, and above the laptop.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations, permutations
from types import MappingProxyType
from typing import Literal, NamedTuple, TypeAlias

from formalimg.benchmarks.conceptmix.plausibility import (
    AXIS_CONSTRAINTS,
    FAR_FETCHED,
    BoundRelation,
    bound_relations,
    can_be_inside,
    can_be_outside,
    can_have_shape,
    contradictory_orders,
    find_cycle,
    implausibility,
    is_kind_of,
    object_facts,
)
from formalimg.benchmarks.conceptmix.spec import Binding, BoundObject
from formalimg.benchmarks.conceptmix.words import converse_of, is_person

ConflictReason: TypeAlias = Literal[
    "shape",
    "kind",
    "itself",
    "twice",
    "order",
    "touch",
    "nesting",
    "outside",
    "beside",
    "apart",
    "fit",
    "many",
    "paint",
]

RULES: Mapping[ConflictReason, str] = MappingProxyType(
    {
        "shape": "an object has a shape that it cannot have and still be known for what it is",
        "kind": "an object is one of another's kind, as a corgi is a dog, so that nobody knows which of them is meant",
        "itself": "a relation holds between an object and itself",
        "twice": "the same relation is asked for twice, between the same objects",
        "order": "relations run in a cycle: from left to right, in height or in depth",
        "touch": "two objects must touch (top, bottom) and must not touch (above, below)",
        "nesting": "objects are inside one another in a cycle",
        "outside": "an object is outside of another that it is inside of, or with which it shares what is inside",
        "beside": "an object is inside of another and also on one side of it",
        "apart": "an object is inside of two others, or inside of one and touches another, that cannot be in one place",
        "fit": "an object is inside of another that nothing, or nothing as large, can be inside of",
        "many": "there are fewer objects than others that they must be inside of, on top of or underneath",
        "paint": "a person is painted all over and also fluffy, metallic or of glass, and nobody can see both",
    }
)
"""Why a binding is rejected, by reason."""

TOUCHING = frozenset({"top", "bottom"})
NOT_TOUCHING = frozenset({"above", "below"})


class Conflict(NamedTuple):
    """A contradiction: the rule it breaks, and a one-line explanation."""

    reason: ConflictReason
    detail: str


Containers: TypeAlias = Mapping[int, frozenset[int]]
"""All containers of an object, direct or not, by its id."""


def containment_conflicts(
    objects: Sequence[BoundObject], placed: Sequence[BoundRelation], names: Mapping[int, str]
) -> Iterator[Conflict]:
    """Yield the containment conflicts of relations between different objects."""
    within = containers_of(placed)
    yield from _nesting_conflicts(placed, names)
    yield from _inside_and_outside(placed, within, names)
    yield from _inside_and_beside(placed, within, names)
    yield from _in_two_places(objects, placed, within, names)
    yield from _touching_across(objects, placed, within, names)


def nesting_cycle(placed: Sequence[BoundRelation]) -> tuple[int, ...]:
    """Return objects that are inside one another in a cycle; empty if there is none."""
    return find_cycle((first, second) for name, first, second in placed if name == "inside")


def excludes_inside(relation: BoundRelation, content: int, container: int) -> bool:
    """Return whether a relation other than *inside* rules out that `content` is inside `container`."""
    if {relation.first, relation.second} != {content, container}:
        return False
    return relation.name == "outside" or relation.name in AXIS_CONSTRAINTS


def containers_of(placed: Sequence[BoundRelation]) -> dict[int, frozenset[int]]:
    """Return all containers of each object that is inside anything."""
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


def _nesting_conflicts(placed: Sequence[BoundRelation], names: Mapping[int, str]) -> Iterator[Conflict]:
    cycle = nesting_cycle(placed)
    if cycle:
        listed = [names[obj] for obj in cycle]
        yield Conflict("nesting", f"{', '.join(listed[:-1])} and {listed[-1]} cannot be inside one another")


def _inside_and_outside(
    placed: Sequence[BoundRelation], within: Containers, names: Mapping[int, str]
) -> Iterator[Conflict]:
    for name, first, second in placed:
        if name != "outside":
            continue
        if any({first, second} <= {one, *within.get(one, ())} for one in names):
            pair = f"{names[first]} cannot be outside of {names[second]}"
            yield Conflict("outside", f"{pair}: one is inside the other, or something is inside both")


def _inside_and_beside(
    placed: Sequence[BoundRelation], within: Containers, names: Mapping[int, str]
) -> Iterator[Conflict]:
    for relation in placed:
        for content, container in ((relation.first, relation.second), (relation.second, relation.first)):
            if relation.name == "outside" or container not in within.get(content, ()):
                continue
            if excludes_inside(relation, content, container):
                inside = f"{names[content]} is inside {names[container]}"
                yield Conflict("beside", f"{inside}, so it cannot be in the relation {relation.name!r} to it")


def _in_two_places(
    objects: Sequence[BoundObject], placed: Sequence[BoundRelation], within: Containers, names: Mapping[int, str]
) -> Iterator[Conflict]:
    for content, containers in within.items():
        for one, other in combinations(sorted(containers - {content}), 2):
            if not _may_be_inside(objects, placed, one, other) and not _may_be_inside(objects, placed, other, one):
                both = f"{names[one]} and {names[other]}"
                yield Conflict("apart", f"{names[content]} cannot be inside {both}, neither of which is in the other")


def _touching_across(
    objects: Sequence[BoundObject], placed: Sequence[BoundRelation], within: Containers, names: Mapping[int, str]
) -> Iterator[Conflict]:
    for relation in placed:
        if relation.name not in TOUCHING:
            continue
        for content, touched in ((relation.first, relation.second), (relation.second, relation.first)):
            for container in sorted(within.get(content, frozenset()) - {content, touched}):
                if _may_be_inside(objects, placed, touched, container):
                    continue
                elsewhere = f"{names[touched]}, which cannot be in there"
                yield Conflict("apart", f"{names[content]} is inside {names[container]} and touches {elsewhere}")


def _may_be_inside(
    objects: Sequence[BoundObject], placed: Sequence[BoundRelation], content: int, container: int
) -> bool:
    """Return whether nothing rules out that one is inside the other, stated or not."""
    return can_be_inside(objects[content - 1], objects[container - 1]) and not any(
        excludes_inside(relation, content, container) for relation in placed
    )


def find_conflicts(binding: Binding) -> tuple[Conflict, ...]:
    """Return everything in a binding that no image can show, or that viewers could not agree on.

    Relations that are still open contradict nothing yet.
    """
    placed = bound_relations(binding.relations)
    return (
        *_impossible_shapes(binding.objects),
        *_ambiguous_kinds(binding.objects),
        *_painted_materials(binding.objects),
        *relation_conflicts(binding.objects, placed),
    )


def relation_conflicts(objects: Sequence[BoundObject], placed: Sequence[BoundRelation]) -> tuple[Conflict, ...]:
    """Return the conflicts of the relations; no further relation can resolve them."""
    names = {number: f"the {obj.item}" for number, obj in enumerate(objects, 1)}
    between = [relation for relation in placed if relation.first != relation.second]
    return (
        *_self_relations(placed, names),
        *_duplicate_relations(between, names),
        *_contradictory_orders(between, names),
        *_contradictory_touches(between, names),
        *containment_conflicts(objects, between, names),
        *_misfits(between, objects, names),
        *_too_few(between, objects, names),
    )


def _impossible_shapes(objects: Sequence[BoundObject]) -> Iterator[Conflict]:
    for obj in objects:
        shape = obj.attributes.get("shape")
        if shape is not None and not can_have_shape(obj.item, shape):
            yield Conflict("shape", f"the {obj.item} cannot have the shape of a {shape}")


def _ambiguous_kinds(objects: Sequence[BoundObject]) -> Iterator[Conflict]:
    for one, other in permutations(objects, 2):
        if is_kind_of(one.item, other.item):
            yield Conflict("kind", f"the {one.item} is a {other.item} too, and nobody knows which of them is meant")


def _painted_materials(objects: Sequence[BoundObject]) -> Iterator[Conflict]:
    # The colour of a person is that of paint, so that it is not taken for that of skin.
    for obj in objects:
        if is_person(obj.item) and {"color", "texture"} <= set(obj.attributes):
            yield Conflict("paint", f"the {obj.item} cannot be painted all over and {obj.attributes['texture']} too")


def _self_relations(placed: Sequence[BoundRelation], names: Mapping[int, str]) -> Iterator[Conflict]:
    for name, first, second in placed:
        if first == second:
            yield Conflict("itself", f"{names[first]} cannot be in the relation {name!r} to itself")


def _duplicate_relations(placed: Sequence[BoundRelation], names: Mapping[int, str]) -> Iterator[Conflict]:
    for number, relation in enumerate(placed):
        if relation in placed[:number]:
            name, first, second = relation
            yield Conflict("twice", f"{names[first]} and {names[second]} are in the relation {name!r} twice")


def _contradictory_orders(placed: Sequence[BoundRelation], names: Mapping[int, str]) -> Iterator[Conflict]:
    # Cycles of containment have a rule of their own.
    sound = [relation for relation in placed if relation.name != "inside"] if nesting_cycle(placed) else placed
    for axis, cycle in contradictory_orders(sound):
        yield Conflict("order", f"{_join_names(cycle, names)} cannot be in this order {axis}")


def _contradictory_touches(placed: Sequence[BoundRelation], names: Mapping[int, str]) -> Iterator[Conflict]:
    for one, other in combinations(placed, 2):
        if {one.first, one.second} == {other.first, other.second} and (
            (one.name in TOUCHING and other.name in NOT_TOUCHING)
            or (one.name in NOT_TOUCHING and other.name in TOUCHING)
        ):
            yield Conflict("touch", f"{_join_names((one.first, one.second), names)} must touch and must not")


def _misfits(
    placed: Sequence[BoundRelation], objects: Sequence[BoundObject], names: Mapping[int, str]
) -> Iterator[Conflict]:
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


def _too_few(
    placed: Sequence[BoundRelation], objects: Sequence[BoundObject], names: Mapping[int, str]
) -> Iterator[Conflict]:
    """Yield objects on top of more others than there are of them, or underneath more fixed ones."""
    for number in sorted({obj for relation in placed if relation.name in TOUCHING for obj in relation[1:]}):
        obj = objects[number - 1]
        tops = {other for name, one, other in placed if name == "top" and one == number}
        tops |= {one for name, one, other in placed if name == "bottom" and other == number}
        loads = {other for name, one, other in placed if name == "bottom" and one == number}
        # What can be lifted may lie on top of the object instead, as many of it as there are.
        standing = {other for other in loads if object_facts(objects[other - 1].item).rooted}
        for where, others in (("on top of", tops), ("underneath", standing)):
            if sum(_count(objects[other - 1]) for other in others) > _count(obj):
                listed = _join_names(sorted(others), names)
                yield Conflict("many", f"{names[number]} cannot be {where} all of {listed} at once: there are too few")


def _count(obj: BoundObject) -> int:
    """Return how many there are of an object: one, unless a number says otherwise."""
    number = obj.attributes.get("number", "1")
    return int(number) if number.isascii() and number.isdigit() else 1


def _join_names(ids: Sequence[int], names: Mapping[int, str]) -> str:
    listed = [names[obj] for obj in ids]
    return listed[0] if len(listed) == 1 else f"{', '.join(listed[:-1])} and {listed[-1]}"


class SceneObjects(NamedTuple):
    """The objects of an image; the first `drawn` of them were drawn, the others added."""

    objects: tuple[BoundObject, ...]
    drawn: int


def count_problems(placed: Sequence[BoundRelation], scene: SceneObjects) -> int:
    """Return the number of conflicts, of relations without information, and of relations that leave viewers in doubt.

    A relation has no information if it puts an object outside of what it could not be inside of anyway, or if both
    objects were only added. Viewers are in doubt of objects whose relative places are said in more than one way, of a
    material of what is named after another one, of objects that must be inside something though it is not stated, of
    objects inside something that have a relation to what is not in there, and of objects that rest on something or
    hover above it and have relations which that makes strange. Relations that are far-fetched count as well.
    """
    objects, drawn = scene
    idle = 0
    doubtful = _implied_containments(placed) + _relations_across(placed) + _relations_of_stacks(placed)
    doubtful += _loops(placed) + sum(_has_a_second_material(obj) for obj in objects)
    for number, relation in enumerate(placed):
        name, first, second = relation
        # An unknown relation may be symmetric, as "next to" is.
        idle += BoundRelation(converse_of(name) or name, second, first) in placed[:number]
        idle += first > drawn and second > drawn
        idle += name == "outside" and _is_redundant_outside(relation, placed, objects)
        doubtful += first != second and implausibility(name, objects[first - 1], objects[second - 1]) >= FAR_FETCHED
    return len(relation_conflicts(objects, placed)) + idle + doubtful


def _is_redundant_outside(
    relation: BoundRelation, placed: Sequence[BoundRelation], objects: Sequence[BoundObject]
) -> bool:
    """Return whether the first object could not be inside the second anyway."""
    _, first, second = relation
    return not can_be_outside(objects[first - 1], objects[second - 1]) or any(
        excludes_inside(other, first, second) for other in placed if other.name != "outside"
    )


def _loops(placed: Sequence[BoundRelation]) -> int:
    """Count relations in space between objects that others already connect.

    The last of them follows from the others, or only a contrived view shows them all: a tree to the right of a bridge
    and to the left of a truck that the bridge is behind.
    """
    groups: list[set[int]] = []
    loops = 0
    for name, first, second in placed:
        if name not in AXIS_CONSTRAINTS:
            continue
        joined = [group for group in groups if group & {first, second}]
        loops += len(joined) == 1 and {first, second} <= joined[0]
        groups = [*(group for group in groups if group not in joined), {first, second}.union(*joined)]
    return loops


def _has_a_second_material(obj: BoundObject) -> bool:
    """Return whether an object has a texture though its name says what it consists of: a dirt road made of glass."""
    return "texture" in obj.attributes and object_facts(obj.item).named_after_material


def _relations_across(placed: Sequence[BoundRelation]) -> int:
    """Count relations between what is inside of something and what is not in there.

    Whether a bag is beside the cat in the box, or beside the box, or in it, is as one likes.
    """
    within = containers_of(placed)
    nowhere: frozenset[int] = frozenset()
    return sum(
        bool(within.get(content, nowhere) - {other} - within.get(other, nowhere))
        for name, first, second in placed
        if name != "inside"
        for content, other in ((first, second), (second, first))
    )


def _relations_of_stacks(placed: Sequence[BoundRelation]) -> int:
    """Count relations that leave viewers in doubt because an object rests on another, or hovers above it.

    What rests on a bridge is where the bridge is, so that nothing else should have a relation to both. It rests on
    nothing else, hovers above nothing else, and like what hovers it is plainly outside of everything. And a box that
    hovers is no place for others to be in or out of.
    """
    stacks = {
        (first, second) if name == "top" else (second, first) for name, first, second in placed if name in TOUCHING
    }
    hovering = [first if name == "above" else second for name, first, second in placed if name in NOT_TOUCHING]
    if not stacks and not hovering:
        return 0
    related: dict[int, set[int]] = {}
    for _, first, second in placed:
        related.setdefault(first, set()).add(second)
        related.setdefault(second, set()).add(first)
    resting = {upper for upper, _ in stacks}
    shared = sum(len((related[upper] & related[lower]) - {upper, lower}) for upper, lower in stacks)
    bounds = sum(
        (name == "outside" and first in {*resting, *hovering}) or (name in ("inside", "outside") and second in hovering)
        for name, first, second in placed
    )
    return shared + len(stacks) - len(resting) + sum(obj in resting for obj in hovering) + bounds


def _implied_containments(placed: Sequence[BoundRelation]) -> int:
    """Count objects that must be inside something though it is not stated, as the table of a cat that is in a house."""
    within = containers_of(placed)
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
