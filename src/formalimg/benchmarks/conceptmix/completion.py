"""Completion of a binding without a chat model: objects for open relations (ConceptMix, section 2.3, step 2).

The sampled objects are used first. A plain reference object is added only if a relation between any two of them would
cause a conflict or doubt, or if a size has no object of usual size for comparison.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
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

_MAX_TRIALS = 300  # How many placements to try before choosing greedily, relation by relation
_MAX_GREEDY = 100  # How many placements of a relation to look at when choosing greedily
_MAX_ADDED = 3  # Maximum number of reference objects; what they cannot resolve is left to `conflicts` to report
_SHORTLIST = 8  # How many reference objects are examined closely
_CONSTRAINED_FIRST = frozenset({"inside", "top", "bottom", "outside", "above", "below"})
"""Relations that few pairs of objects can be in; they are placed first."""


class _Completion(NamedTuple):
    """A candidate completion: its objects, and the placed relations by their index in the binding."""

    objects: tuple[BoundObject, ...]
    placed: Mapping[int, BoundRelation]
    problems: tuple[int, int]  # what is lacking or without use; conflicts and doubts
    implausible: int


def complete_binding(binding: Binding, rng: Random) -> Binding:
    """Choose plausible objects for open relations, adding reference objects where needed; conflicts may remain."""
    best = _complete_with(binding, binding.objects, rng)
    for _ in range(_MAX_ADDED):
        if best.problems == (0, 0):
            break
        extended = _complete_with_reference(binding, best.objects, rng)
        if extended.problems >= best.problems:
            break
        best = extended
    relations = list(binding.relations)
    for index, (_, first, second) in best.placed.items():
        relations[index] = replace(relations[index], first=first, second=second)
    return replace(binding, objects=best.objects, relations=tuple(relations))


def lacks_size_reference(binding: Binding) -> bool:
    """Return whether sizes cannot be judged because every object has a size attribute."""
    return bool(binding.objects) and all("size" in obj.attributes for obj in binding.objects)


def _complete_with_reference(binding: Binding, objects: tuple[BoundObject, ...], rng: Random) -> _Completion:
    items = [obj.item for obj in objects]
    candidates = [
        BoundObject(obj.name)
        for obj in reference_objects()
        if not any(obj.name == item or is_kind_of(obj.name, item) or is_kind_of(item, obj.name) for item in items)
    ]
    rng.shuffle(candidates)
    candidates.sort(key=lambda candidate: _reference_cost(candidate, binding))
    completions = [_complete_with(binding, (*objects, candidate), rng) for candidate in candidates[:_SHORTLIST]]
    return min(completions, key=lambda completion: completion[2:])


def _reference_cost(candidate: BoundObject, binding: Binding) -> int:
    """Return how implausible a reference object is, in its best relations to the drawn objects."""
    return _company_cost(candidate, binding) + sum(
        min(
            implausibility(relation.name, *pair)
            for obj in binding.objects
            for pair in ((candidate, obj), (obj, candidate))
        )
        for relation in binding.relations
        if relation.is_open
    )


def _company_cost(candidate: BoundObject, binding: Binding) -> int:
    """Return how implausible a reference object is next to the drawn objects, and as a size reference."""
    company = sum(scene_mismatch(candidate, obj) for obj in binding.objects)
    if not lacks_size_reference(binding):
        return company
    return company + min(reference_mismatch(candidate, obj) for obj in binding.objects)


def _complete_with(binding: Binding, objects: tuple[BoundObject, ...], rng: Random) -> _Completion:
    indexes = [index for index, relation in enumerate(binding.relations) if relation.is_open]
    indexes.sort(key=lambda index: binding.relations[index].name not in _CONSTRAINED_FIRST)
    scene, placed = SceneObjects(objects, len(binding.objects)), bound_relations(binding.relations)
    added: tuple[BoundRelation, ...] = ()
    if len(objects) > 1:
        added = _place_relations([binding.relations[index] for index in indexes], placed, scene, rng)
    placed = (*placed, *added)
    problems = (_count_lacking(binding, objects, placed), count_problems(placed, scene))
    implausible = sum(implausibility(name, objects[a - 1], objects[b - 1]) for name, a, b in placed)
    implausible += sum(_company_cost(obj, binding) for obj in objects[scene.drawn :])
    return _Completion(objects, dict(zip(indexes, added, strict=False)), problems, implausible)


def _count_lacking(binding: Binding, objects: Sequence[BoundObject], placed: Sequence[BoundRelation]) -> int:
    """Count open relations, sizes without a reference object, and unused added objects."""
    drawn = len(binding.objects)
    compares = lacks_size_reference(binding)
    busy = {end for relation in placed for end in relation[1:]}
    # The first object that is added serves as a measure, if one is needed.
    idle = sum(number not in busy for number in range(drawn + 1 + compares, len(objects) + 1))
    return len(binding.relations) - len(placed) + (compares and len(objects) == drawn) + idle


def _place_relations(
    relations: Sequence[SpatialRelation], placed: tuple[BoundRelation, ...], scene: SceneObjects, rng: Random
) -> tuple[BoundRelation, ...]:
    trials = iter(range(_MAX_TRIALS))
    best = _search_placement(relations, placed, count_problems(placed, scene), scene, rng, trials)
    if best is None:
        best = placed
        for relation in relations:
            best = (*best, _greedy_placement(relation, best, scene, rng))
    return best[len(placed) :]


def _search_placement(
    relations: Sequence[SpatialRelation],
    placed: tuple[BoundRelation, ...],
    allowed: int,
    scene: SceneObjects,
    rng: Random,
    trials: Iterator[int],
) -> tuple[BoundRelation, ...] | None:
    """Return the first placement without new problems, most plausible first, or None if the search is exhausted."""
    if not relations:
        return placed
    for candidate in _rank_placements(relations[0], placed, scene, rng):
        if next(trials, None) is None:
            return None
        longer = (*placed, candidate)
        if count_problems(longer, scene) <= allowed:
            result = _search_placement(relations[1:], longer, allowed, scene, rng, trials)
            if result is not None:
                return result
    return None


def _greedy_placement(
    relation: SpatialRelation, placed: tuple[BoundRelation, ...], scene: SceneObjects, rng: Random
) -> BoundRelation:
    """Return the most plausible placement that adds no problems, or the placement that adds the fewest."""
    allowed, counts = count_problems(placed, scene), []
    candidates = _rank_placements(relation, placed, scene, rng)[:_MAX_GREEDY]
    for candidate in candidates:
        counts.append(count_problems((*placed, candidate), scene))
        if counts[-1] <= allowed:
            return candidate
    return candidates[counts.index(min(counts))]


def _rank_placements(
    relation: SpatialRelation, placed: Sequence[BoundRelation], scene: SceneObjects, rng: Random
) -> list[BoundRelation]:
    """Return all object pairs for a relation, most plausible first, breaking ties at random."""
    pairs = [
        BoundRelation(relation.name, first, second)
        for first, second in permutations(range(1, len(scene.objects) + 1), 2)
        if relation.first in (None, first) and relation.second in (None, second)
    ]
    return sorted(pairs, key=lambda pair: (_placement_cost(pair, placed, scene), rng.random()))


def _placement_cost(pair: BoundRelation, placed: Sequence[BoundRelation], scene: SceneObjects) -> int:
    """Return how implausible a relation is, plus a penalty for reusing objects while others have no relation."""
    ends = {pair.first, pair.second}
    same_pair = sum(ends == {earlier.first, earlier.second} for earlier in placed)
    busy = {end for earlier in placed for end in earlier[1:]}
    crowding = len(ends & busy) if len(busy) < len(scene.objects) else 0
    added = (0, 1, 5)[sum(end > scene.drawn for end in pair[1:])]
    objects = (scene.objects[end - 1] for end in pair[1:])
    return implausibility(pair.name, *objects) + 2 * same_pair + crowding + added


def assign_shapes(binding: Binding, rng: Random) -> Binding:
    """Reassign the shapes if some object cannot have its shape and all can be matched; else change nothing."""
    shapes = [obj.attributes.get("shape") for obj in binding.objects]
    items = [obj.item for obj in binding.objects]
    if all(shape is None or can_have_shape(item, shape) for item, shape in zip(items, shapes, strict=True)):
        return binding
    matched = _match_shapes([shape for shape in shapes if shape is not None], items, rng)
    if matched is None:
        return binding
    objects = []
    for index, obj in enumerate(binding.objects):
        attributes = {category: value for category, value in obj.attributes.items() if category != "shape"}
        objects.append(replace(obj, attributes=attributes | ({"shape": matched[index]} if index in matched else {})))
    return replace(binding, objects=tuple(objects))


def _match_shapes(shapes: Sequence[str], items: Sequence[str], rng: Random) -> Mapping[int, str] | None:
    """Match each shape to a different compatible item, by index, or return None if that is impossible."""
    order = rng.sample(shapes, len(shapes))
    holders: dict[int, int] = {}  # the shape of each item, both by index

    def assign(shape: int, visited: set[int]) -> bool:
        """Assign a shape to an item, displacing another shape if necessary (augmenting path)."""
        able = [index for index, item in enumerate(items) if can_have_shape(item, order[shape])]
        for index in rng.sample(able, len(able)):
            if index not in visited:
                visited.add(index)
                if index not in holders or assign(holders[index], visited):
                    holders[index] = shape
                    return True
        return False

    if not all(assign(shape, set()) for shape in range(len(order))):
        return None
    return {index: order[shape] for index, shape in holders.items()}
