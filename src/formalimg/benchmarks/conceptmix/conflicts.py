"""Conflicts, which make a binding impossible to depict, and doubts, on which viewers would disagree.

Containment assumes nothing that is not stated. A bee that is inside a cup and inside a house is fine, as the cup can be
in the house; a bee inside two houses is not. Relations that tell nothing, or of which a second pair of eyes would ask
what is meant, count as problems too: a cup inside a necklace that lies on a laptop, and above the laptop.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations, permutations
from types import MappingProxyType
from typing import NamedTuple, TypeAlias

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

RULES: Mapping[str, str] = MappingProxyType(
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

_TOUCHING = frozenset({"top", "bottom"})
_HOVERING = frozenset({"above", "below"})


class Conflict(NamedTuple):
    """A violated rule and a one-line explanation."""

    reason: str
    detail: str


Containers: TypeAlias = Mapping[int, frozenset[int]]  # All containers of an object, direct or not, by its id


def find_conflicts(binding: Binding) -> tuple[Conflict, ...]:
    """Return all conflicts in a binding: contradictions and requests that viewers could not agree on.

    Relations that are still open contradict nothing yet.
    """
    objects = binding.objects
    return (
        *_impossible_shapes(objects),
        *_ambiguous_kinds(objects),
        *_find_paint_conflicts(objects),
        *relation_conflicts(objects, bound_relations(binding.relations)),
    )


def _impossible_shapes(objects: Sequence[BoundObject]) -> Iterator[Conflict]:
    for obj in objects:
        shape = obj.attributes.get("shape")
        if shape is not None and not can_have_shape(obj.item, shape):
            yield Conflict("shape", f"the {obj.item} cannot have the shape of a {shape}")


def _ambiguous_kinds(objects: Sequence[BoundObject]) -> Iterator[Conflict]:
    for special, general in permutations(objects, 2):
        if is_kind_of(special.item, general.item):
            yield Conflict(
                "kind", f"the {special.item} is a {general.item} too, and nobody knows which of them is meant"
            )


def _find_paint_conflicts(objects: Sequence[BoundObject]) -> Iterator[Conflict]:
    # The colour of a person is that of paint, so that it is not taken for that of skin.
    for obj in objects:
        if is_person(obj.item) and {"color", "texture"} <= set(obj.attributes):
            yield Conflict("paint", f"the {obj.item} cannot be painted all over and {obj.attributes['texture']} too")


def relation_conflicts(objects: Sequence[BoundObject], placed: Sequence[BoundRelation]) -> tuple[Conflict, ...]:
    """Return the conflicts among relations, none of which can be resolved by adding relations."""
    names = {number: f"the {obj.item}" for number, obj in enumerate(objects, 1)}
    loops = [
        Conflict("itself", f"{names[first]} cannot be in the relation {name!r} to itself")
        for name, first, second in placed
        if first == second
    ]
    between = [relation for relation in placed if relation.first != relation.second]
    return (*loops, *_RelationChecks(objects, between, names, containers_of(between)).conflicts())


class _RelationChecks(NamedTuple):
    """Conflict rules for relations between different objects."""

    objects: Sequence[BoundObject]
    placed: Sequence[BoundRelation]
    names: Mapping[int, str]
    within: Containers

    def conflicts(self) -> Iterator[Conflict]:
        yield from self._duplicates()
        yield from self._contradictory_orders()
        yield from self._contradictory_touches()
        cycle = find_cycle((first, second) for name, first, second in self.placed if name == "inside")
        if cycle:
            yield Conflict("nesting", f"{self._join(cycle)} cannot be inside one another")
        yield from self._inside_and_outside()
        yield from self._inside_and_beside()
        yield from self._inside_two()
        yield from self._touching_across()
        yield from self._misfits()
        yield from self._too_few()

    def _join(self, ids: Sequence[int]) -> str:
        *names, last = (self.names[number] for number in ids)
        return f"{', '.join(names)} and {last}" if names else last

    def _duplicates(self) -> Iterator[Conflict]:
        for index, (name, first, second) in enumerate(self.placed):
            if self.placed[index] in self.placed[:index]:
                pair = f"{self.names[first]} and {self.names[second]}"
                yield Conflict("twice", f"{pair} are in the relation {name!r} twice")

    def _contradictory_orders(self) -> Iterator[Conflict]:
        # Cycles of containment have a rule of their own.
        nested = find_cycle((first, second) for name, first, second in self.placed if name == "inside")
        sound = [relation for relation in self.placed if not nested or relation.name != "inside"]
        for axis, cycle in contradictory_orders(sound):
            yield Conflict("order", f"{self._join(cycle)} cannot be in this order {axis}")

    def _contradictory_touches(self) -> Iterator[Conflict]:
        for relation, second in combinations(self.placed, 2):
            same = {relation.first, relation.second} == {second.first, second.second}
            if same and any(a.name in _TOUCHING and b.name in _HOVERING for a, b in permutations((relation, second))):
                yield Conflict("touch", f"{self._join((relation.first, relation.second))} must touch and must not")

    def _inside_and_outside(self) -> Iterator[Conflict]:
        for name, first, second in self.placed:
            if name == "outside" and any(
                {first, second} <= {number, *self.within.get(number, ())} for number in self.names
            ):
                pair = f"{self.names[first]} cannot be outside of {self.names[second]}"
                yield Conflict("outside", f"{pair}: one is inside the other, or something is inside both")

    def _inside_and_beside(self) -> Iterator[Conflict]:
        for relation in self.placed:
            for content, container in permutations(relation[1:]) if relation.name != "outside" else ():
                inside = container in self.within.get(content, ())
                if inside and _excludes_inside(relation, content, container):
                    stated = f"{self.names[content]} is inside {self.names[container]}"
                    yield Conflict("beside", f"{stated}, so it cannot be in the relation {relation.name!r} to it")

    def _inside_two(self) -> Iterator[Conflict]:
        for content, containers in self.within.items():
            for pair in combinations(sorted(containers - {content}), 2):
                if not any(self._may_be_inside(*order) for order in permutations(pair)):
                    pair_names = f"{self.names[pair[0]]} and {self.names[pair[1]]}"
                    detail = f"{self.names[content]} cannot be inside {pair_names}, neither of which is in the other"
                    yield Conflict("apart", detail)

    def _touching_across(self) -> Iterator[Conflict]:
        for relation in self.placed:
            for content, touched in permutations(relation[1:]) if relation.name in _TOUCHING else ():
                for container in sorted(self.within.get(content, frozenset()) - {content, touched}):
                    if not self._may_be_inside(touched, container):
                        inside = f"{self.names[content]} is inside {self.names[container]}"
                        yield Conflict("apart", f"{inside} and touches {self.names[touched]}, which cannot be in there")

    def _may_be_inside(self, content: int, container: int) -> bool:
        """Return whether `content` can be inside `container`, given their sizes and all placed relations."""
        return can_be_inside(self.objects[content - 1], self.objects[container - 1]) and not any(
            _excludes_inside(relation, content, container) for relation in self.placed
        )

    def _misfits(self) -> Iterator[Conflict]:
        for name, first, second in self.placed:
            if name != "inside":
                continue
            content, container = self.objects[first - 1], self.objects[second - 1]
            sizes = (content.attributes.get("size"), container.attributes.get("size"))
            inside = f"{self.names[first]} cannot be inside"
            if not can_be_inside(content, container):
                yield Conflict("fit", f"{inside} {self.names[second]}")
            elif _object_count(content) < _object_count(container):
                yield Conflict("many", f"{inside} {_object_count(container)} of {self.names[second]} at once")
            elif sizes == ("huge", "tiny"):
                pair = f"a huge {content.item} and a tiny {container.item}"
                yield Conflict("fit", f"nobody sees {pair} with the one inside")

    def _too_few(self) -> Iterator[Conflict]:
        """Yield a conflict for each object with more supports, or more fixed objects on top, than its count allows."""
        for number in sorted({end for relation in self.placed if relation.name in _TOUCHING for end in relation[1:]}):
            supports = {second for name, first, second in self.placed if name == "top" and first == number}
            supports |= {first for name, first, second in self.placed if name == "bottom" and second == number}
            loads = {second for name, first, second in self.placed if name == "bottom" and first == number}
            # What can be lifted may lie on top of the object instead, as many of it as there are.
            rooted = {load for load in loads if object_facts(self.objects[load - 1].item).rooted}
            for position, group in (("on top of", supports), ("underneath", rooted)):
                if sum(_object_count(self.objects[load - 1]) for load in group) > _object_count(
                    self.objects[number - 1]
                ):
                    detail = f"{position} all of {self._join(sorted(group))} at once"
                    yield Conflict("many", f"{self.names[number]} cannot be {detail}: there are too few")


def _object_count(obj: BoundObject) -> int:
    """Return the number of instances of an object, 1 by default."""
    number = obj.attributes.get("number", "1")
    return int(number) if number.isascii() and number.isdigit() else 1


def _excludes_inside(relation: BoundRelation, content: int, container: int) -> bool:
    """Return whether a relation other than *inside* contradicts `content` being inside `container`."""
    same = {relation.first, relation.second} == {content, container}
    return same and (relation.name == "outside" or relation.name in AXIS_CONSTRAINTS)


def containers_of(placed: Sequence[BoundRelation]) -> dict[int, frozenset[int]]:
    """Return the direct and indirect containers of each contained object."""
    direct: dict[int, set[int]] = {}
    for name, first, second in placed:
        if name == "inside":
            direct.setdefault(first, set()).add(second)
    within: dict[int, frozenset[int]] = {}
    for start in direct:
        reached: set[int] = set()
        ahead = list(direct[start])
        while ahead:
            container = ahead.pop()
            if container not in reached:
                reached.add(container)
                ahead.extend(direct.get(container, ()))
        within[start] = frozenset(reached)
    return within


class SceneObjects(NamedTuple):
    """The objects in a scene, of which the first `drawn` were sampled and the rest added."""

    objects: tuple[BoundObject, ...]
    drawn: int


def count_problems(placed: Sequence[BoundRelation], scene: SceneObjects) -> int:
    """Count conflicts, uninformative relations, and relations that leave viewers in doubt.

    A relation has no information if it puts an object outside of what it could not be inside of anyway, or if both
    objects were only added. Viewers are in doubt of objects whose relative places are said in more than one way, of a
    material of what is named after another one, of objects that must be inside something though it is not stated, of
    objects inside something that have a relation to what is not in there, and of objects that rest on something or
    hover above it and have relations which that makes strange. Relations that are far-fetched count as well.
    """
    objects, drawn = scene
    within = containers_of(placed)
    problems = _count_implied_containments(placed, within) + _count_relations_across(placed, within)
    problems += _count_stack_doubts(placed) + _count_loops(placed)
    # Such as a dirt road made of glass.
    problems += sum("texture" in obj.attributes and object_facts(obj.item).named_after_material for obj in objects)
    for index, relation in enumerate(placed):
        name, first, second = relation
        # An unknown relation may be symmetric, as "next to" is.
        problems += BoundRelation(converse_of(name) or name, second, first) in placed[:index]
        problems += first > drawn and second > drawn
        # What could not be inside anyway.
        problems += name == "outside" and (
            not can_be_outside(objects[first - 1], objects[second - 1])
            or any(_excludes_inside(further, first, second) for further in placed if further.name != "outside")
        )
        problems += first != second and implausibility(name, objects[first - 1], objects[second - 1]) >= FAR_FETCHED
    return len(relation_conflicts(objects, placed)) + problems


def _count_loops(placed: Sequence[BoundRelation]) -> int:
    """Count axis relations between objects that earlier relations already connect.

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


_NOWHERE: frozenset[int] = frozenset()


def _count_relations_across(placed: Sequence[BoundRelation], within: Containers) -> int:
    """Count relations between an object inside a container and an object outside of it.

    Whether a bag is beside the cat in the box, or beside the box, or in it, is as one likes.
    """
    return sum(
        bool(within.get(content, _NOWHERE) - {outer} - within.get(outer, _NOWHERE))
        for name, first, second in placed
        if name != "inside"
        for content, outer in ((first, second), (second, first))
    )


def _count_stack_doubts(placed: Sequence[BoundRelation]) -> int:
    """Count relations made doubtful by an object that rests on, or hovers above, another object.

    What rests on a bridge is where the bridge is, so that nothing else should have a relation to both. It rests on
    nothing else, hovers above nothing else, and like what hovers it is plainly outside of everything. And a box that
    hovers is no place for others to be in or out of.
    """
    stacks = {
        (first, second) if name == "top" else (second, first) for name, first, second in placed if name in _TOUCHING
    }
    hovering = [first if name == "above" else second for name, first, second in placed if name in _HOVERING]
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


def _count_implied_containments(placed: Sequence[BoundRelation], within: Containers) -> int:
    """Count unstated containments that relations imply, as for the table under a cat that is inside a house."""

    def are_apart(first: int, second: int) -> bool:
        return first not in within.get(second, _NOWHERE) and second not in within.get(first, _NOWHERE)

    shared = sum(are_apart(*pair) for containers in within.values() for pair in combinations(containers, 2))
    touching = sum(
        are_apart(container, touched)
        for name, first, second in placed
        if name in _TOUCHING
        for content, touched in ((first, second), (second, first))
        for container in within.get(content, _NOWHERE) - {touched}
    )
    return shared + touching
