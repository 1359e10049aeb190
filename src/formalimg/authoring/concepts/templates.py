"""A mix: concepts that were drawn and bound, ready to be put into words."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from formalimg.authoring.plan import VERSION, Slot, WritingPlan
from formalimg.prompts import load_prompts
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


_OURS = Path(__file__).parent / "prompts"


class Texts:
    """All texts for ConceptMix.

    Attributes:
        versions: of the texts, by name.
    """

    def __init__(self, folder: Path | None = None) -> None:
        """Read the texts.

        Args:
            folder: where texts lie that replace ours.

        Raises:
            PromptError: if a text lacks a placeholder, or has one that nobody fills.
        """
        self._texts = load_prompts(_OURS, folder)
        self.versions = {name: text.version for name, text in self._texts.items()}

    def asking_to_bind(self, binding: Binding) -> str:
        """What the writer is sent if something in a binding is open."""
        return self._texts["write-binding"].fill({"binding": _json(binding)})

    def asking_for_caption(self, mix: Mix) -> str:
        """What the writer is sent for the caption."""
        return self._texts["write-caption"].fill(_told(mix))

    def asking_to_check(self, mix: Mix, caption: str, *, repeat: bool) -> str:
        """What the checker is sent; it may have to repeat the caption, as in the published code."""
        return self._texts["repeat-caption" if repeat else "check-caption"].fill({**_told(mix), "caption": caption})

    def asking_for_questions(self, mix: Mix, caption: str) -> str:
        """What the writer is sent for the questions."""
        return self._texts["write-questions"].fill(
            {"statements": _listed(mix.statements), "caption": caption, "count": str(len(mix.statements))}
        )


def _told(mix: Mix) -> dict[str, str]:
    return {"statements": _listed(mix.statements), "binding": _json(mix.binding)}


def _listed(statements: Sequence[str]) -> str:
    return "\n".join(f"{number}. {statement}" for number, statement in enumerate(statements, 1))


def _json(binding: Binding) -> str:
    return json.dumps(binding.to_json(), ensure_ascii=False)
