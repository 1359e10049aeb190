"""Problems of placed relations: conflicts, relations that tell nothing, and relations that leave viewers in doubt.

A conflict cannot be shown. The others can, but a second pair of eyes would ask what is meant: a cup inside a necklace
that lies on a laptop, and above the laptop without touching it.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import NamedTuple

from formalimg.benchmarks.conceptmix.conflicts import (
    NOT_TOUCHING,
    TOUCHING,
    containers_of,
    excludes_inside,
    relation_conflicts,
)
from formalimg.benchmarks.conceptmix.plausibility import (
    AXIS_CONSTRAINTS,
    FAR_FETCHED,
    BoundRelation,
    can_be_outside,
    implausibility,
    object_facts,
)
from formalimg.benchmarks.conceptmix.spec import BoundObject
from formalimg.benchmarks.conceptmix.words import converse_of


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
