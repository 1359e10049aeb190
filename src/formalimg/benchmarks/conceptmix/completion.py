"""Completion of a binding without a chat model (ConceptMix, section 2.3, step 2): objects for open relations.

The objects that were drawn are used first. A plain reference object is added only where it is needed:

- for a relation that no two objects can be in without a conflict, or only without information, because others imply it
  or an object is outside of one that it could not be inside of; or only in a way that leaves viewers in doubt or is
  far-fetched;
- for a size, when nothing of the usual size is there to compare with.

Nothing that was given is changed, except that `assign_shapes` may reassign shapes to objects that can have them.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import permutations
from random import Random
from typing import NamedTuple

from formalimg.benchmarks.conceptmix.conflicts import SceneObjects, count_problems
from formalimg.benchmarks.conceptmix.plausibility import (
    BoundRelation,
    bound_relations,
    can_have_shape,
    implausibility,
    is_kind_of,
    reference_mismatch,
    reference_objects,
    scene_mismatch,
)
from formalimg.benchmarks.conceptmix.spec import Binding, BoundObject, SpatialRelation

MAX_TRIALS = 300
"""How many placements to try before choosing greedily, relation by relation."""

MAX_GREEDY = 100
"""How many places of a relation to look at when choosing greedily."""


def place_relations(
    relations: Sequence[SpatialRelation], given: tuple[BoundRelation, ...], scene: SceneObjects, rng: Random
) -> tuple[BoundRelation, ...]:
    """Choose the objects of open relations, in order, given the others; there must be two objects."""
    trials = iter(range(MAX_TRIALS))
    found = _search_placement(relations, given, count_problems(given, scene), scene, rng, trials)
    if found is None:
        found = given
        for relation in relations:
            found = (*found, _greedy_placement(relation, found, scene, rng))
    return found[len(given) :]


def _greedy_placement(
    relation: SpatialRelation, placed: tuple[BoundRelation, ...], scene: SceneObjects, rng: Random
) -> BoundRelation:
    """Return the first place that adds no problem, most plausible first; else the one that adds the fewest."""
    allowed, counts = count_problems(placed, scene), []
    candidates = _ranked_placements(relation, placed, scene, rng)[:MAX_GREEDY]
    for candidate in candidates:
        counts.append(count_problems((*placed, candidate), scene))
        if counts[-1] <= allowed:
            return candidate
    return candidates[counts.index(min(counts))]


def _search_placement(
    relations: Sequence[SpatialRelation],
    placed: tuple[BoundRelation, ...],
    allowed: int,
    scene: SceneObjects,
    rng: Random,
    trials: Iterator[int],
) -> tuple[BoundRelation, ...] | None:
    """Return the first placement without new problems, most plausible first; None if the trials find none."""
    if not relations:
        return placed
    for candidate in _ranked_placements(relations[0], placed, scene, rng):
        if next(trials, None) is None:
            return None
        longer = (*placed, candidate)
        if count_problems(longer, scene) <= allowed:
            found = _search_placement(relations[1:], longer, allowed, scene, rng, trials)
            if found is not None:
                return found
    return None


def _ranked_placements(
    relation: SpatialRelation, placed: Sequence[BoundRelation], scene: SceneObjects, rng: Random
) -> list[BoundRelation]:
    """Return all pairs of objects for a relation, most plausible first; ties are broken at random."""
    pairs = [
        BoundRelation(relation.name, first, second)
        for first, second in permutations(range(1, len(scene.objects) + 1), 2)
        if relation.first in (None, first) and relation.second in (None, second)
    ]
    return sorted(pairs, key=lambda pair: (_placement_cost(pair, placed, scene), rng.random()))


def _placement_cost(pair: BoundRelation, placed: Sequence[BoundRelation], scene: SceneObjects) -> int:
    """Return how implausible a relation is, plus a penalty for crowding objects while others have no relation."""
    first, second = scene.objects[pair.first - 1], scene.objects[pair.second - 1]
    same_pair = sum({pair.first, pair.second} == {other.first, other.second} for other in placed)
    busy = {obj for other in placed for obj in (other.first, other.second)}
    crowding = len({pair.first, pair.second} & busy) if len(busy) < len(scene.objects) else 0
    added = (0, 1, 5)[(pair.first > scene.drawn) + (pair.second > scene.drawn)]
    return implausibility(pair.name, first, second) + 2 * same_pair + crowding + added


MAX_ADDED = 3
"""Maximum number of reference objects; what they cannot resolve is left to `conflicts` to report."""

SHORTLIST = 8
"""How many reference objects are examined closely."""

CONSTRAINED_FIRST = frozenset({"inside", "top", "bottom", "outside", "above", "below"})
"""Relations that few pairs of objects can be in; they are placed first."""


class CompletionCost(NamedTuple):
    """Cost of a completion, compared field by field: less is better."""

    lacking: int  # open relations, sizes without comparison, and added objects without use
    problems: int  # conflicts, and relations without information
    implausible: int  # how implausible it is


@dataclass(frozen=True)
class BindingCompletion:
    """A candidate completion: its objects, and the placed relations by their index in the binding."""

    objects: tuple[BoundObject, ...]
    placed: Mapping[int, BoundRelation]
    cost: CompletionCost


def complete_binding(binding: Binding, rng: Random) -> Binding:
    """Choose the objects of open relations, and add reference objects where needed.

    Pairs of objects that make sense are preferred; among equally good ones chance decides. If no way is free of
    conflicts, the best that was found is taken all the same, and `conflicts` tells what is wrong with it.
    """
    best = _complete(binding, binding.objects, rng)
    for _ in range(MAX_ADDED):
        if best.cost[:2] == (0, 0):
            break
        more = _complete_with_reference(binding, best.objects, rng)
        if more.cost[:2] >= best.cost[:2]:
            break
        best = more
    relations = tuple(
        replace(relation, first=best.placed[number].first, second=best.placed[number].second)
        if number in best.placed
        else relation
        for number, relation in enumerate(binding.relations)
    )
    return replace(binding, objects=best.objects, relations=relations)


def lacks_size_reference(binding: Binding) -> bool:
    """Return whether a size cannot be judged because nothing of the usual size is there to compare with."""
    sized = ["size" in obj.attributes for obj in binding.objects]
    return any(sized) and all(sized)


def _complete_with_reference(binding: Binding, objects: tuple[BoundObject, ...], rng: Random) -> BindingCompletion:
    """Return the best completion with one more reference object; ties are broken at random."""
    candidates = [
        BoundObject(obj.name)
        for obj in reference_objects()
        if not any(_share_name(obj.name, other.item) for other in objects)
    ]
    rng.shuffle(candidates)
    candidates.sort(key=lambda candidate: _reference_cost(candidate, binding))
    completions = [_complete(binding, (*objects, candidate), rng) for candidate in candidates[:SHORTLIST]]
    return min(completions, key=lambda completion: completion.cost)


def _reference_cost(candidate: BoundObject, binding: Binding) -> int:
    """Return how implausible a reference object is at best beside what was drawn; less is better."""
    return _company_cost(candidate, binding) + sum(
        min(
            implausibility(relation.name, *pair)
            for obj in binding.objects
            for pair in ((candidate, obj), (obj, candidate))
        )
        for relation in binding.relations
        if _is_open(relation)
    )


def _company_cost(candidate: BoundObject, binding: Binding) -> int:
    """Return how implausible a reference object is beside what was drawn, and as a size reference."""
    company = sum(scene_mismatch(candidate, obj) for obj in binding.objects)
    if not lacks_size_reference(binding):
        return company
    return company + min(reference_mismatch(candidate, obj) for obj in binding.objects)


def _complete(binding: Binding, objects: tuple[BoundObject, ...], rng: Random) -> BindingCompletion:
    """Return the best completion with these objects and no others."""
    given = bound_relations(binding.relations)
    places = [number for number, relation in enumerate(binding.relations) if _is_open(relation)]
    places.sort(key=lambda number: binding.relations[number].name not in CONSTRAINED_FIRST)
    found: tuple[BoundRelation, ...] = ()
    if len(objects) > 1:
        scene = SceneObjects(objects, len(binding.objects))
        found = place_relations([binding.relations[number] for number in places], given, scene, rng)
    return BindingCompletion(objects, dict(zip(places, found, strict=False)), _cost(binding, objects, (*given, *found)))


def _cost(binding: Binding, objects: tuple[BoundObject, ...], placed: tuple[BoundRelation, ...]) -> CompletionCost:
    drawn = len(binding.objects)
    compares = lacks_size_reference(binding)
    busy = {obj for relation in placed for obj in (relation.first, relation.second)}
    # The first object that is added serves as a measure, if one is needed.
    idle = sum(number not in busy for number in range(drawn + 1 + compares, len(objects) + 1))
    lacking = len(binding.relations) - len(placed) + (compares and len(objects) == drawn) + idle
    implausible = sum(implausibility(name, objects[one - 1], objects[other - 1]) for name, one, other in placed)
    company = sum(_company_cost(added, binding) for added in objects[drawn:])
    return CompletionCost(lacking, count_problems(placed, SceneObjects(objects, drawn)), implausible + company)


def _share_name(one: str, other: str) -> bool:
    return one == other or is_kind_of(one, other) or is_kind_of(other, one)


def _is_open(relation: SpatialRelation) -> bool:
    return relation.first is None or relation.second is None


def assign_shapes(binding: Binding, rng: random.Random) -> Binding:
    """Return the binding if every object can have its shape; otherwise reassign the shapes.

    If not all of the shapes can go to different objects that can have them, nothing is changed, and `conflicts` reports
    the problem.
    """
    shapes = [obj.attributes.get("shape") for obj in binding.objects]
    items = [obj.item for obj in binding.objects]
    if all(shape is None or can_have_shape(item, shape) for item, shape in zip(items, shapes, strict=True)):
        return binding
    dealt = _match_shapes([shape for shape in shapes if shape is not None], items, rng)
    if dealt is None:
        return binding
    objects = []
    for number, obj in enumerate(binding.objects):
        others = {category: value for category, value in obj.attributes.items() if category != "shape"}
        objects.append(replace(obj, attributes={**others, **({"shape": dealt[number]} if number in dealt else {})}))
    return replace(binding, objects=tuple(objects))


def _match_shapes(shapes: Sequence[str], items: Sequence[str], rng: random.Random) -> Mapping[int, str] | None:
    """Match each shape to a different item that can have it, by index; None if that is impossible."""
    order = rng.sample(shapes, len(shapes))
    holder: dict[int, int] = {}  # which shape each item has, both by their places

    def take(shape: int, tried: set[int]) -> bool:
        """Assign a shape to an item, displacing another shape if need be (augmenting path)."""
        able = [number for number, item in enumerate(items) if can_have_shape(item, order[shape])]
        for number in rng.sample(able, len(able)):
            if number not in tried:
                tried.add(number)
                if number not in holder or take(holder[number], tried):
                    holder[number] = shape
                    return True
        return False

    if not all(take(shape, set()) for shape in range(len(order))):
        return None
    return {number: order[shape] for number, shape in holder.items()}
