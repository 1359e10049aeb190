"""What is particular to the items of one kind of suite; all else about writing is the same for all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol

from formalimg.authoring.conversation import Conversation
from formalimg.authoring.outcome import Outcome
from formalimg.authoring.plan import Slot, WritingPlan
from formalimg.authoring.shelf import Likeness, Shelf
from formalimg.suites import suite


class Craft(Protocol):
    """How items of one kind are written."""

    @property
    def likeness(self) -> Likeness:
        """When two items are the same."""
        ...

    @property
    def shapes(self) -> Mapping[str, object]:
        """All that shapes the items besides the plan's levels, numbers and seed, in plain data."""
        ...

    async def attempt(self, slot: Slot, number: int, talk: Conversation, shelf: Shelf) -> Outcome:
        """Make one attempt. The shelf is only looked at, so that hopeless answers cost no second question."""
        ...

    def summary(self, tried: Sequence[Outcome], accepted: Sequence[Outcome]) -> Mapping[str, object]:
        """What the card says of the notes that all attempts and those of accepted items have left."""
        ...


def craft_of(plan: WritingPlan, prompts: Path | None) -> Craft:
    """The craft for a plan.

    Args:
        plan: what to write.
        prompts: a folder with texts that replace ours.

    Raises:
        FormalimgError: if the texts or the concepts of the user cannot be used.
    """
    match suite(plan.suite).kind:  # each loads only what it needs
        case "concepts":
            from formalimg.authoring.concepts.craft import ConceptCraft

            return ConceptCraft(plan, prompts)
        case "counterfactual":
            from formalimg.authoring.counterfactuals.craft import counterfactual_craft

            return counterfactual_craft(plan, prompts)
        case "formula":
            from formalimg.authoring.formulas.craft import FormulaCraft

            return FormulaCraft(plan, prompts)
