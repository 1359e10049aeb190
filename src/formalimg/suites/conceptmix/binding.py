"""Binding concepts to objects; ConceptMix, section 2.3, step 2."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from itertools import repeat

from formalimg.suites.conceptmix.pools import Pools
from formalimg.suites.conceptmix.spec import (
    ATTRIBUTES,
    Binding,
    BindingError,
    BoundConcept,
    BoundObject,
    Concept,
    Relation,
)
from formalimg.suites.conceptmix.tampering import tampering

__all__ = ["bind_attributes", "bound_concepts", "tampering"]


def bind_attributes(concepts: Sequence[Concept], pools: Pools, chance: random.Random) -> Binding:
    """Give each attribute to a random object that has none of its category yet.

    Args:
        concepts: what was drawn.
        pools: where the relations have their descriptions from.
        chance: where all chance comes from.

    Returns:
        A binding whose relations are open. It has one style: of several, which only the published code draws, the last.

    Raises:
        BindingError: if there is no object, or there are more attributes of a category than objects.
    """
    items = [concept.value for concept in concepts if concept.category == "object"]
    if not items:
        raise BindingError("there is no object among the concepts: draw at least one")
    attributes: list[dict[str, str]] = [{} for _ in items]
    for category, value in concepts:
        if category in ATTRIBUTES:
            free = [held for held in attributes if category not in held]
            if not free:
                raise BindingError(f"no object is left for the {category} {value!r}: all {len(items)} have one already")
            chance.choice(free)[category] = value
    sentence = pools["spatial"].sentence
    return Binding(
        tuple(BoundObject(item, held) for item, held in zip(items, attributes, strict=True)),
        _style_that_stays(concepts),
        tuple(
            Relation(value, sentence(value).replace("{value}", value))
            for category, value in concepts
            if category == "spatial"
        ),
    )


def bound_concepts(concepts: Sequence[Concept], binding: Binding) -> tuple[BoundConcept, ...]:
    """Which objects each concept is about.

    An object is about itself, an attribute about the object that has it, a spatial concept about the two that it
    relates, and a style about none. The same attribute twice is about two objects, in the order of their ids.

    Raises:
        BindingError: if a concept is not in the binding, or a relation is still open.
    """
    # Equal concepts share an iterator, so that the second goes on where the first stopped.
    places = {concept: _places(concept, concepts, binding) for concept in concepts}
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


def _places(concept: Concept, concepts: Sequence[Concept], binding: Binding) -> Iterator[tuple[int, ...]]:
    """The ids of the objects that a concept can be about, as often as the binding has it."""
    category, value = concept
    if category == "style":
        if binding.style == _style_that_stays(concepts):
            yield from repeat(())
    elif category == "spatial":
        for relation in binding.relations:
            if relation.name == value:
                yield _ends(relation, len(binding.objects))
    else:
        drawn = sum(other.category == "object" for other in concepts)  # those that were added come after them
        for number, thing in enumerate(binding.objects[:drawn], 1):
            if (thing.item if category == "object" else thing.attributes.get(category)) == value:
                yield (number,)


def _ends(relation: Relation, objects: int) -> tuple[int, int]:
    first, second = relation.first, relation.second
    if first is None or second is None:
        raise BindingError(f"the relation {relation.name!r} is still open: say which two objects it is about")
    if first == second or not (1 <= first <= objects and 1 <= second <= objects):
        raise BindingError(
            f"the relation {relation.name!r} is between {first} and {second}, which are not two of {objects} objects"
        )
    return first, second


def _style_that_stays(concepts: Sequence[Concept]) -> str | None:
    styles = [concept.value for concept in concepts if concept.category == "style"]
    return styles[-1] if styles else None
