"""Binding of concepts to objects (ConceptMix, section 2.3, step 2), and detection of changes to a given binding."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from itertools import repeat

from formalimg.benchmarks.conceptmix.pools import Pools
from formalimg.benchmarks.conceptmix.spec import (
    ATTRIBUTES,
    OPEN,
    Binding,
    BindingError,
    BoundConcept,
    BoundObject,
    Concept,
    SpatialRelation,
)

__all__ = ["bind_attributes", "binding_changes", "bound_concepts"]


def bind_attributes(concepts: Sequence[Concept], pools: Pools, rng: random.Random) -> Binding:
    """Give each attribute to a random object that has none of its category yet."""
    items = [concept.value for concept in concepts if concept.category == "object"]
    if not items:
        raise BindingError("there is no object among the concepts: draw at least one")
    attributes: list[dict[str, str]] = [{} for _ in items]
    for category, value in concepts:
        if category in ATTRIBUTES:
            free = [held for held in attributes if category not in held]
            if not free:
                raise BindingError(f"no object is left for the {category} {value!r}: all {len(items)} have one already")
            rng.choice(free)[category] = value
    sentence = pools["spatial"].sentence
    return Binding(
        tuple(BoundObject(item, held) for item, held in zip(items, attributes, strict=True)),
        _final_style(concepts),
        tuple(
            SpatialRelation(value, sentence(value).replace("{value}", value))
            for category, value in concepts
            if category == "spatial"
        ),
    )


def bound_concepts(concepts: Sequence[Concept], binding: Binding) -> tuple[BoundConcept, ...]:
    """Return the objects of each concept.

    An object is about itself, an attribute about the object that has it, a spatial concept about the two that it
    relates, and a style about none. The same attribute twice is about two objects, in the order of their ids.
    """
    # Equal concepts share an iterator, so that the second goes on where the first stopped.
    places = {concept: _candidate_ids(concept, concepts, binding) for concept in concepts}
    found = []
    for concept in concepts:
        ids = next(places[concept], None)
        if ids is None:
            often = concepts.count(concept)
            raise BindingError(
                f"the binding lacks the {concept.category} {concept.value!r}"
                + (f", which is among the concepts {often} times" if often > 1 else "")
            )
        found.append(BoundConcept(concept, ids))
    return tuple(found)


def _candidate_ids(concept: Concept, concepts: Sequence[Concept], binding: Binding) -> Iterator[tuple[int, ...]]:
    """Yield the ids of the objects that a concept can belong to, as often as the binding has it."""
    category, value = concept
    if category == "style":
        if binding.style == _final_style(concepts):
            yield from repeat(())
    elif category == "spatial":
        for relation in binding.relations:
            if relation.name == value:
                yield _relation_ids(relation, len(binding.objects))
    else:
        drawn = sum(other.category == "object" for other in concepts)  # those that were added come after them
        for number, obj in enumerate(binding.objects[:drawn], 1):
            if (obj.item if category == "object" else obj.attributes.get(category)) == value:
                yield (number,)


def _relation_ids(relation: SpatialRelation, objects: int) -> tuple[int, int]:
    first, second = relation.first, relation.second
    if first is None or second is None:
        raise BindingError(f"the relation {relation.name!r} is still open: say which two objects it is about")
    if first == second or not (1 <= first <= objects and 1 <= second <= objects):
        raise BindingError(
            f"the relation {relation.name!r} is between {first} and {second}, which are not two of {objects} objects"
        )
    return first, second


def _final_style(concepts: Sequence[Concept]) -> str | None:
    styles = [concept.value for concept in concepts if concept.category == "style"]
    return styles[-1] if styles else None


def binding_changes(given: Binding, after: Binding) -> str | None:
    """Describe how a completed binding changes what was given.

    To complete a binding is to fill in the open ids of its relations, each with two different objects, and to add
    objects that have an item and nothing else. Anything more is a change, and so is anything left open.
    """
    return (
        "; ".join(
            (*_object_list_changes(given, after), *_style_changes(given, after), *_relation_list_changes(given, after))
        )
        or None
    )


def _object_list_changes(given: Binding, after: Binding) -> Iterator[str]:
    for number, obj in enumerate(given.objects, 1):
        if number > len(after.objects):
            yield f"object {number} ({obj.item}) is missing"
        else:
            yield from _object_changes(f"object {number}", obj, after.objects[number - 1])
    for number, obj in enumerate(after.objects[len(given.objects) :], len(given.objects) + 1):
        if obj.attributes:
            held = ", ".join(f"{category} {value}" for category, value in obj.attributes.items())
            yield f"object {number} ({obj.item}) was added and may have an item only, but it has {held}"


def _object_changes(name: str, given: BoundObject, after: BoundObject) -> Iterator[str]:
    if given.item != after.item:
        yield f"the item of {name} was {given.item!r} and is now {after.item!r}"
    for category in {**given.attributes, **after.attributes}:
        old, new = given.attributes.get(category), after.attributes.get(category)
        if old is None:
            yield f"{name} ({given.item}) had no {category} and is now given {new!r}"
        elif new is None:
            yield f"{name} ({given.item}) has lost its {category} {old!r}"
        elif old != new:
            yield f"the {category} of {name} ({given.item}) was {old!r} and is now {new!r}"


def _style_changes(given: Binding, after: Binding) -> Iterator[str]:
    if given.style is None and after.style is not None:
        yield f"there was no style and now there is {after.style!r}"
    elif given.style is not None and after.style is None:
        yield f"the style {given.style!r} is missing"
    elif given.style != after.style:
        yield f"the style was {given.style!r} and is now {after.style!r}"


def _relation_list_changes(given: Binding, after: Binding) -> Iterator[str]:
    for number, relation in enumerate(given.relations, 1):
        if number > len(after.relations):
            yield f"relation {number} ({relation.name}) is missing"
        else:
            yield from _relation_changes(
                f"relation {number}", relation, after.relations[number - 1], len(after.objects)
            )
    for number, relation in enumerate(after.relations[len(given.relations) :], len(given.relations) + 1):
        yield f"relation {number} ({relation.name}) was added, but only objects may be"


def _relation_changes(name: str, given: SpatialRelation, after: SpatialRelation, objects: int) -> Iterator[str]:
    if given.name != after.name:
        yield f"{name} was {given.name!r} and is now {after.name!r}; names and order must stay"
    elif given.description != after.description:
        yield f"the description of {name} ({given.name}) was {given.description!r} and is now {after.description!r}"
    ends = (("ObjectA_id", given.first, after.first), ("ObjectB_id", given.second, after.second))
    for key, old, new in ends:
        if old is not None and old != new:
            yield f"{key} of {name} ({given.name}) was {old} and is now {OPEN if new is None else new}"
        elif new is None:
            yield f"{key} of {name} ({given.name}) is still {OPEN!r}; fill in the id of an object"
        elif not 1 <= new <= objects:
            yield f"{key} of {name} ({given.name}) is {new}, but objects are 1 to {objects}"
    if after.first is not None and after.first == after.second:
        yield f"{name} ({given.name}) is between object {after.first} and itself; it needs two objects"
