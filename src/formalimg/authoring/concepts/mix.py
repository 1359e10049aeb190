"""A mix: concepts that were drawn and bound, ready to be put into words."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from formalimg.authoring.plan import VERSION, Slot, WritingPlan
from formalimg.suites import (
    AskedConcept,
    Binding,
    BoundConcept,
    Concept,
    ConceptSpec,
    Pools,
    bind_attributes,
    bound_concepts,
    draw_concepts,
    statements,
)


class Drawn(NamedTuple):
    """Concepts as they were drawn, with attributes bound and relations open, and the chance that is left."""

    concepts: tuple[Concept, ...]
    binding: Binding
    chance: random.Random


@dataclass(frozen=True)
class Mix:
    """Concepts with nothing open.

    Attributes:
        concepts: each with the objects it is about.
        binding: which belongs to which.
        statements: what each says of the image.
    """

    concepts: tuple[BoundConcept, ...]
    binding: Binding
    statements: tuple[str, ...]

    def spec(self, questions: Sequence[str]) -> ConceptSpec:
        """What an item with these questions asks for."""
        return ConceptSpec(
            tuple(
                AskedConcept(bound.concept.category, bound.concept.value, statement, question, bound.objects)
                for bound, statement, question in zip(self.concepts, self.statements, questions, strict=True)
            ),
            self.binding,
        )


def draw(plan: WritingPlan, pools: Pools, slot: Slot, attempt: int) -> Drawn:
    """The concepts of an item's n-th attempt: others for each attempt, and always the same for the same plan."""
    chance = random.Random(f"write {VERSION} {plan.suite} {plan.seed} {slot.level} {slot.id} {attempt}")
    choices = plan.choices
    concepts = draw_concepts(slot.level, pools, chance, profile=choices.profile, only=choices.only)
    return Drawn(concepts, bind_attributes(concepts, pools, chance), chance)


def mixed(concepts: Sequence[Concept], binding: Binding, pools: Pools) -> Mix:
    """Concepts and the binding that closes them, as a mix."""
    bound = bound_concepts(concepts, binding)
    return Mix(bound, binding, statements(bound, binding, pools))
