"""What is particular to the items of one kind of suite; all else about writing is the same for all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from formalimg.authoring.acceptance import Likeness, Shelf, Standing
from formalimg.authoring.conversation import Conversation
from formalimg.authoring.outcomes import Outcome, Rejection
from formalimg.authoring.plan import Slot, WritingPlan
from formalimg.suites import Item, suite, write_items


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
            from formalimg.authoring.concepts.attempts import ConceptCraft

            return ConceptCraft(plan, prompts)
        case "counterfactual":
            from formalimg.authoring.counterfactuals.groups import counterfactual_craft

            return counterfactual_craft(plan, prompts)
        case "formula":
            from formalimg.authoring.formulas.attempts import FormulaCraft

            return FormulaCraft(plan, prompts)


def finished_items(plan: WritingPlan, stands: Standing) -> tuple[Item[Any], ...]:
    """The items of all accepted attempts, in the order of their places."""
    if suite(plan.suite).kind == "counterfactual":
        from formalimg.authoring.counterfactuals.groups import items_of_outcomes

        return items_of_outcomes(plan, stands.accepted)
    return tuple(item for _, item in sorted(stands.shelf.items.items()))


def put_down(plan: WritingPlan, items: Sequence[Item[Any]], stands: Standing, folder: Path) -> Path:
    """Write the items to the folder, with what else belongs to them."""
    if suite(plan.suite).kind == "counterfactual":
        from formalimg.authoring.counterfactuals.groups import put_beside

        put_beside(plan, stands.accepted, folder)
    return write_items(items, folder)


_LONGEST_WORDS = 3000
"""The most characters of a prompt; the longest published one has about a thousand."""


def fit_words(words: str) -> str | Rejection:
    """The words on one line, if they can be a prompt."""
    line = " ".join(words.split())
    if not line:
        return Rejection("unfit words", "there are none")
    if len(line) > _LONGEST_WORDS:
        return Rejection("unfit words", f"{len(line):,} characters, the limit is {_LONGEST_WORDS:,}")
    if not line.isprintable():
        return Rejection("unfit words", "characters that cannot be printed")
    return line
