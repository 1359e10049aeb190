"""Drawn and bound concepts, and the prompt templates filled with them."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from formalimg.benchmarks.authoring.writing_plan import VERSION, AuthoringPlan, Slot
from formalimg.benchmarks.conceptmix.binding import bind_attributes, bound_concepts
from formalimg.benchmarks.conceptmix.pools import Pools
from formalimg.benchmarks.conceptmix.questions import concept_statements
from formalimg.benchmarks.conceptmix.sampling import draw_concepts
from formalimg.benchmarks.conceptmix.spec import Binding, BoundConcept, Concept, ConceptSpec, RequestedConcept
from formalimg.prompts import load_prompts, read_prompt


class DrawnConcepts(NamedTuple):
    """Drawn concepts with bound attributes and open relations, and the random generator to go on with."""

    concepts: tuple[Concept, ...]
    binding: Binding
    chance: random.Random


@dataclass(frozen=True)
class ConceptMixture:
    """Concepts with a complete binding."""

    concepts: tuple[BoundConcept, ...]  # each with the objects it is about
    binding: Binding  # which belongs to which
    statements: tuple[str, ...]  # what each says of the image

    def spec(self, questions: Sequence[str]) -> ConceptSpec:
        """Return the spec of an item with these questions."""
        return ConceptSpec(
            tuple(
                RequestedConcept(bound.concept.category, bound.concept.value, statement, question, bound.objects)
                for bound, statement, question in zip(self.concepts, self.statements, questions, strict=True)
            ),
            self.binding,
        )


def draw_mixture(plan: AuthoringPlan, pools: Pools, slot: Slot, attempt: int) -> DrawnConcepts:
    """The concepts of an item's n-th attempt: others for each attempt, and always the same for the same plan."""
    chance = random.Random(f"write {VERSION} {plan.suite} {plan.seed} {slot.level} {slot.id} {attempt}")
    choices = plan.choices
    concepts = draw_concepts(slot.level, pools, chance, profile=choices.profile, only=choices.only)
    return DrawnConcepts(concepts, bind_attributes(concepts, pools, chance), chance)


def make_mixture(concepts: Sequence[Concept], binding: Binding, pools: Pools) -> ConceptMixture:
    """Combine concepts with their complete binding."""
    bound = bound_concepts(concepts, binding)
    return ConceptMixture(bound, binding, concept_statements(bound, binding, pools))


_OURS = Path(__file__).parent / "prompts"


class ConceptTemplates:
    """Prompt templates for ConceptMix.

    Attributes:
        versions: of the texts, by name.
        is_published: whether the texts are those of the authors.
    """

    def __init__(self, folder: Path | None = None) -> None:
        """Read the texts."""
        self._texts = load_prompts(_OURS, folder)
        self.is_published = bool(self._texts["write-caption"].origin)
        if folder is not None and self.is_published:
            self._texts |= {name: read_prompt(folder / f"{name}.txt") for name in ("binding-again", "caption-again")}
        self.versions = {name: text.version for name, text in self._texts.items()}

    def asking_to_bind(self, binding: Binding) -> str:
        """Return the prompt for completing a binding."""
        return self._texts["write-binding"].fill({"binding": _json(binding)})

    def asking_for_caption(self, mix: ConceptMixture) -> str:
        """Return the prompt for the caption."""
        values = _statement_list(mix)
        if self.is_published:
            values["statements"] = "".join(f"* {statement}\n" for statement in mix.statements)
        return self._texts["write-caption"].fill(values)

    def published(self, name: str) -> str:
        """Return a text of the authors that is none of ours."""
        return self._texts[name].fill({})

    def asking_to_check(self, mix: ConceptMixture, caption: str, *, repeat: bool) -> str:
        """Return the prompt for the checker, which may have to repeat the caption as in the published code."""
        return self._texts["repeat-caption" if repeat else "check-caption"].fill(
            {**_statement_list(mix), "caption": caption}
        )

    def asking_for_questions(self, mix: ConceptMixture, caption: str) -> str:
        """Return the prompt for the questions."""
        return self._texts["write-questions"].fill(
            {
                "statements": _listed(mix.statements),
                "caption": caption,
                "count": str(len(mix.statements)),
                "first": mix.concepts[0].concept.value,
            }
        )


def _statement_list(mix: ConceptMixture) -> dict[str, str]:
    return {"statements": _listed(mix.statements), "binding": _json(mix.binding)}


def _listed(statements: Sequence[str]) -> str:
    return "\n".join(f"{number}. {statement}" for number, statement in enumerate(statements, 1))


def _json(binding: Binding) -> str:
    return json.dumps(binding.to_json(), ensure_ascii=False)
