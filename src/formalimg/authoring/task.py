"""The authoring task: what differs between kinds of suites."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from formalimg.authoring.acceptance import AcceptedItems, AuthoringState, Similarity
from formalimg.authoring.conversation import Conversation
from formalimg.authoring.outcomes import AttemptOutcome, Rejection
from formalimg.authoring.plan import AuthoringPlan, Slot
from formalimg.errors import FormalimgError
from formalimg.suites import Item, suite, write_items


class AuthoringTask(Protocol):
    """Authoring of one kind of items."""

    @property
    def likeness(self) -> Similarity:
        """Return when two items are duplicates."""
        ...

    @property
    def shapes(self) -> Mapping[str, object]:
        """Return the settings that shape the items, besides levels, counts and seed."""
        ...

    async def attempt(self, slot: Slot, number: int, talk: Conversation, shelf: AcceptedItems) -> AttemptOutcome:
        """Run one attempt. The shelf is only looked at, so that hopeless answers cost no second question."""
        ...

    def summary(self, tried: Sequence[AttemptOutcome], accepted: Sequence[AttemptOutcome]) -> Mapping[str, object]:
        """What the card says of the notes that all attempts and those of accepted items have left."""
        ...


def authoring_task(plan: AuthoringPlan, prompts: Path | None) -> AuthoringTask:
    """Return the authoring task of a plan.

    Args:
        plan: what to write.
        prompts: a folder with texts that replace ours.

    Raises:
        FormalimgError: if the texts or the concepts of the user cannot be used.
    """
    match suite(plan.suite).kind:  # each loads only what it needs
        case "concepts":
            from formalimg.authoring.concepts.attempts import ConceptAuthoring

            return ConceptAuthoring(plan, prompts)
        case "counterfactual":
            from formalimg.authoring.counterfactuals.groups import counterfactual_authoring

            return counterfactual_authoring(plan, prompts)
        case "formula":
            from formalimg.authoring.formulas.attempts import FormulaAuthoring

            return FormulaAuthoring(plan, prompts)
        case "questions":
            raise FormalimgError(f"items of {plan.suite} are not written: `formalimg score` makes them of your prompts")
        case "objects":
            raise FormalimgError(f"items of {plan.suite} are not written: pull them, or write lines in their format")


def finished_items(plan: AuthoringPlan, stands: AuthoringState) -> tuple[Item[Any], ...]:
    """Return the items of all accepted attempts, in slot order."""
    if suite(plan.suite).traits.has_scores:
        from formalimg.authoring.counterfactuals.groups import items_from_outcomes

        return items_from_outcomes(plan, stands.accepted)
    return tuple(item for _, item in sorted(stands.shelf.items.items()))


def write_results(plan: AuthoringPlan, items: Sequence[Item[Any]], stands: AuthoringState, folder: Path) -> Path:
    """Write the items and their companion files to the folder."""
    if suite(plan.suite).traits.has_scores:
        from formalimg.authoring.counterfactuals.groups import write_companions

        write_companions(plan, stands.accepted, folder)
    return write_items(items, folder)


_LONGEST_WORDS = 3000
"""The most characters of a prompt; the longest published one has about a thousand."""


def clean_prompt(words: str) -> str | Rejection:
    """Return the text on one line, if it can be a prompt."""
    line = " ".join(words.split())
    if not line:
        return Rejection("unfit words", "there are none")
    if len(line) > _LONGEST_WORDS:
        return Rejection("unfit words", f"{len(line):,} characters, the limit is {_LONGEST_WORDS:,}")
    if not line.isprintable():
        return Rejection("unfit words", "characters that cannot be printed")
    return line
