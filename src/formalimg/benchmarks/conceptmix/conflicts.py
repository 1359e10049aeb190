"""Conflicts, which make a binding impossible to depict, and doubts, on which viewers would disagree.

Containers may be inside each other even if this is not stated. A bee inside a cup and inside a house is possible, as
the cup can be in the house; a bee inside two houses is not.
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
_NOWHERE: frozenset[int] = frozenset()


class Conflict(NamedTuple):
    """A violated rule and a one-line explanation."""

    reason: str
    detail: str


Containers: TypeAlias = Mapping[int, frozenset[int]]  # All containers of an object, direct or not, by its id


def find_conflicts(binding: Binding) -> tuple[Conflict, ...]:
    """Return all conflicts in a binding; open relations contradict nothing yet."""
    conflicts = []
    for obj in binding.objects:
        shape = obj.attributes.get("shape")
        if shape is not None and not can_have_shape(obj.item, shape):
            conflicts.append(Conflict("shape", f"the {obj.item} cannot have the shape of a {shape}"))
    for special, general in permutations(binding.objects, 2):
        if is_kind_of(special.item, general.item):
            detail = f"the {special.item} is a {general.item} too, and nobody knows which of them is meant"
            conflicts.append(Conflict("kind", detail))
    for obj in binding.objects:
        # The colour of a person is that of paint, so that it is not taken for that of skin.
        if is_person(obj.item) and {"color", "texture"} <= set(obj.attributes):
            detail = f"the {obj.item} cannot be painted all over and {obj.attributes['texture']} too"
            conflicts.append(Conflict("paint", detail))
    return (*conflicts, *relation_conflicts(binding.objects, bound_relations(binding.relations)))


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
        yield from self._contradictions()
        yield from self._containments()
        yield from self._misfits()
        yield from self._too_few()

    def _join(self, ids: Sequence[int]) -> str:
        *names, last = (self.names[number] for number in ids)
        return f"{', '.join(names)} and {last}" if names else last

    def _contradictions(self) -> Iterator[Conflict]:
        for index, (name, first, second) in enumerate(self.placed):
            if self.placed[index] in self.placed[:index]:
                yield Conflict("twice", f"{self._join((first, second))} are in the relation {name!r} twice")
        # Cycles of containment have a rule of their own.
        nested = find_cycle((first, second) for name, first, second in self.placed if name == "inside")
        sound = [relation for relation in self.placed if not nested or relation.name != "inside"]
        for axis, cycle in contradictory_orders(sound):
            yield Conflict("order", f"{self._join(cycle)} cannot be in this order {axis}")
        for relation, later in combinations(self.placed, 2):
            same = {relation.first, relation.second} == {later.first, later.second}
            if same and any(a.name in _TOUCHING and b.name in _HOVERING for a, b in permutations((relation, later))):
                yield Conflict("touch", f"{self._join((relation.first, relation.second))} must touch and must not")
        if nested:
            yield Conflict("nesting", f"{self._join(nested)} cannot be inside one another")

    def _containments(self) -> Iterator[Conflict]:
        names, within = self.names, self.within
        for name, first, second in self.placed:
            if name == "outside" and any({first, second} <= {number, *within.get(number, ())} for number in names):
                pair_text = f"{names[first]} cannot be outside of {names[second]}"
                yield Conflict("outside", f"{pair_text}: one is inside the other, or something is inside both")
        for relation in self.placed:
            for content, container in permutations(relation[1:]) if relation.name != "outside" else ():
                if container in within.get(content, ()) and _excludes_inside(relation, content, container):
                    stated = f"{names[content]} is inside {names[container]}"
                    yield Conflict("beside", f"{stated}, so it cannot be in the relation {relation.name!r} to it")
        for content, containers in within.items():
            for pair in combinations(sorted(containers - {content}), 2):
                if not any(self._may_be_inside(*order) for order in permutations(pair)):
                    detail = f"{names[content]} cannot be inside {self._join(pair)}, neither of which is in the other"
                    yield Conflict("apart", detail)
        for relation in self.placed:
            for content, touched in permutations(relation[1:]) if relation.name in _TOUCHING else ():
                for container in sorted(within.get(content, _NOWHERE) - {content, touched}):
                    if not self._may_be_inside(touched, container):
                        inside = f"{names[content]} is inside {names[container]}"
                        yield Conflict("apart", f"{inside} and touches {names[touched]}, which cannot be in there")

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
    for start, ahead in direct.items():
        reached: set[int] = set()
        while ahead:
            reached |= ahead
            ahead = set().union(*(direct.get(container, ()) for container in ahead)) - reached
        within[start] = frozenset(reached)
    return within


class SceneObjects(NamedTuple):
    """The objects in a scene, of which the first `drawn` were sampled and the rest added."""

    objects: tuple[BoundObject, ...]
    drawn: int


def count_problems(placed: Sequence[BoundRelation], scene: SceneObjects) -> int:
    """Count conflicts, and relations that are uninformative, far-fetched or doubtful to viewers.

    A relation is uninformative if it puts an object outside of another that could not contain it anyway, or if both
    objects were added by the completion.
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
    """Count axis relations between objects that earlier relations already connect; they are implied or contrived."""
    groups: list[set[int]] = []
    loops = 0
    for name, first, second in placed:
        if name not in AXIS_CONSTRAINTS:
            continue
        joined = [group for group in groups if group & {first, second}]
        loops += len(joined) == 1 and {first, second} <= joined[0]
        groups = [*(group for group in groups if group not in joined), {first, second}.union(*joined)]
    return loops


def _count_relations_across(placed: Sequence[BoundRelation], within: Containers) -> int:
    """Count relations between an object inside a container and an object outside of it."""
    return sum(
        bool(within.get(content, _NOWHERE) - {outer} - within.get(outer, _NOWHERE))
        for name, first, second in placed
        if name != "inside"
        for content, outer in ((first, second), (second, first))
    )


def _count_stack_doubts(placed: Sequence[BoundRelation]) -> int:
    """Count relations that become doubtful because an object rests on, or hovers above, another object.

    An object on a bridge is where the bridge is, so no third object should have a relation to both. It should not rest
    on or hover above anything else, and like a hovering object it is obviously outside of everything. Nothing else
    should be inside or outside of a hovering container.
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
