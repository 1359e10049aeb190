"""Bound concepts for tests: written down briefly, or drawn at random."""

from __future__ import annotations

import random
from typing import NamedTuple

from formalimg.benchmarks.conceptmix.completion import complete_binding
from formalimg.benchmarks.conceptmix.conflicts import find_conflicts
from formalimg.benchmarks.conceptmix.pools import Pools
from formalimg.benchmarks.conceptmix.sampling import bind_attributes, draw_concepts
from formalimg.benchmarks.conceptmix.spec import (
    ATTRIBUTES,
    Binding,
    BoundConcept,
    BoundObject,
    Category,
    Concept,
    SpatialRelation,
    bound_concepts,
)

_CATEGORY_OF: dict[str, Category] = {
    **dict.fromkeys(["black", "blue", "brown", "gray", "green", "orange", "pink", "purple", "red", "white"], "color"),
    **dict.fromkeys(["2", "3", "4"], "number"),
    **dict.fromkeys(["circle", "heart", "rectangle", "square", "triangle", "star"], "shape"),
    **dict.fromkeys(["huge", "tiny"], "size"),
    **dict.fromkeys(["fluffy", "glass", "metallic", "wooden"], "texture"),
}


class Given(NamedTuple):
    concepts: tuple[BoundConcept, ...]
    binding: Binding


def given(text: str) -> Given:
    """From "3 red cat | +plate | 1 left 2 | style cubism"; a plus marks what somebody added."""
    objects: list[BoundObject] = []
    relations: list[SpatialRelation] = []
    concepts: list[BoundConcept] = []
    style = None
    for part in (part.strip() for part in text.split("|")):
        words = part.split()
        if words[0] == "style":
            style = " ".join(words[1:])
            concepts.append(BoundConcept(Concept("style", style), ()))
        elif words[0].isdigit() and words[-1].isdigit():
            relations.append(SpatialRelation(" ".join(words[1:-1]), "", int(words[0]), int(words[-1])))
        else:
            held = [word for word in words[:-1] if word in _CATEGORY_OF]
            item = " ".join(words[len(held) :])
            objects.append(BoundObject(item.removeprefix("+"), {_CATEGORY_OF[word]: word for word in held}))
            if not item.startswith("+"):
                place = (len(objects),)
                concepts.append(BoundConcept(Concept("object", item), place))
                concepts += [BoundConcept(Concept(_CATEGORY_OF[word], word), place) for word in held]
    for relation in relations:
        concepts.append(
            BoundConcept(Concept("spatial", relation.name), (relation.first or 0, relation.second or 0)),
        )
    return Given(tuple(concepts), Binding(tuple(objects), style, tuple(relations)))


def drawn(k: int, pools: Pools, rng: random.Random) -> Given:
    """Drawn concepts whose relations do not contradict each other; the shapes may be any."""
    while True:
        concepts = draw_concepts(k, pools, rng)
        closed = complete_binding(bind_attributes(concepts, pools, rng), rng)
        if all(conflict.reason in ("shape", "kind") for conflict in find_conflicts(closed)):
            return Given(bound_concepts(concepts, closed), closed)


def attributes_of(found: Given) -> list[BoundConcept]:
    return [one for one in found.concepts if one.concept.category in ATTRIBUTES]
