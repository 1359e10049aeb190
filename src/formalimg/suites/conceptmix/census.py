"""What a set of ConceptMix items is made of."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from formalimg.suites.conceptmix.spec import Concept, ConceptSpec
from formalimg.suites.item import Item


@dataclass
class ConceptCensus:
    """Counts over a set of items.

    Attributes:
        items: how many items there are.
        levels: how many of each level.
        objects: how many items have so many objects among their concepts.
        concepts: how often each concept is asked for.
        words: how many words the prompts of each level have, in all.
        references: how many objects were added that nobody asks for.
    """

    items: int = 0
    levels: Counter[int] = field(default_factory=Counter)
    objects: Counter[int] = field(default_factory=Counter)
    concepts: Counter[Concept] = field(default_factory=Counter)
    words: Counter[int] = field(default_factory=Counter)
    references: int = 0


def take_concept_census(items: Iterable[Item[ConceptSpec]]) -> ConceptCensus:
    """Count what the items are made of."""
    census = ConceptCensus()
    for item in items:
        asked = item.spec.concepts
        objects = sum(each.category == "object" for each in asked)
        census.items += 1
        census.levels[item.level] += 1
        census.objects[objects] += 1
        census.concepts.update(each.concept for each in asked)
        census.words[item.level] += len(item.prompt.split())
        if item.spec.binding is not None:
            census.references += len(item.spec.binding.objects) - objects
    return census
