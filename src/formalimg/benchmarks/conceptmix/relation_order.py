"""Relations in the order and in the groups in which a prompt states them."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

from formalimg.benchmarks.conceptmix.spec import Binding
from formalimg.benchmarks.conceptmix.words import lexicon_entry, relation_phrase

_JOINING = 0.8


@dataclass(frozen=True)
class PlacedRelation:
    """One relation with its usual phrase, subject and reference object."""

    name: str
    phrase: str
    subject: int
    reference: int

    @property
    def is_short(self) -> bool:
        """Whether it is a built-in relation without an aside."""
        entry = lexicon_entry("spatial", self.name)
        return "phrase" in entry and "aside" not in entry


def order_relations(binding: Binding) -> list[PlacedRelation]:
    """Return the relations in an order in which each mentions a known object, as far as possible."""
    left = [
        PlacedRelation(each.name, relation_phrase(each.name, each.description), each.first or 0, each.second or 0)
        for each in binding.relations
    ]
    ordered: list[PlacedRelation] = []
    mentioned: set[int] = set()
    while left:
        best = next((each for each in left if ordered and each.subject == ordered[-1].subject), None)
        best = best or next((each for each in left if {each.subject, each.reference} & mentioned), left[0])
        left.remove(best)
        ordered.append(best)
        mentioned |= {best.subject, best.reference}
    return ordered


def group_relations(relations: Sequence[PlacedRelation], rng: random.Random) -> list[list[PlacedRelation]]:
    """Group relations into sentences: two short relations of the same object may share one."""
    groups: list[list[PlacedRelation]] = []
    for each in relations:
        last = groups[-1] if groups else []
        # Not "behind a spoon and to the left of the spoon", nor "to the left of a spoon and to the left of a cup".
        fits = len(last) == 1 and last[0].subject == each.subject
        fits = fits and last[0].reference != each.reference and last[0].name != each.name
        if fits and last[0].is_short and each.is_short and rng.random() < _JOINING:
            last.append(each)
        else:
            groups.append([each])
    return groups
