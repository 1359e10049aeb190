"""Authoring of a benchmark, and the authoring task: what differs between benchmarks."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from formalimg.benchmarks.authoring.acceptance import AcceptedItems, AuthoringState, Similarity
from formalimg.benchmarks.authoring.conversation import Conversation
from formalimg.benchmarks.authoring.outcomes import AttemptOutcome, RejectedError, Rejection
from formalimg.benchmarks.authoring.writing_plan import AuthoringExtent, AuthoringPlan, Slot, WritingChoices
from formalimg.types import Item

if TYPE_CHECKING:
    from formalimg.benchmarks.authoring.reviewing import Reviewing


class Authoring(ABC):
    """How items of a benchmark are written."""

    # the options of `formalimg items write` that it takes, besides those that all take
    options: ClassVar[frozenset[str]] = frozenset()
    choices: ClassVar[WritingChoices] = WritingChoices()  # the defaults of its own options
    # the level of a place, where each place is for the items of all levels; else None
    level_of_groups: ClassVar[int | None] = None

    def choose(self, name: str, options: Mapping[str, Any]) -> tuple[str, WritingChoices]:
        """Return the suite that is written, and its choices, from the options that were given for a suite."""
        return name, self.choices

    @abstractmethod
    def extent(self, name: str, choices: Any, levels: tuple[int, ...], per_level: int) -> AuthoringExtent:
        """Return the usual size of an authoring run."""

    @abstractmethod
    def task(self, plan: AuthoringPlan, prompts: Path | None) -> AuthoringTask:
        """Return the task of a plan."""

    def is_checked(self, plan: AuthoringPlan) -> bool:
        """Return whether a model checks what was written."""
        return True

    def unit(self, plan: AuthoringPlan) -> str:
        """Return what places are for, such as groups; empty if each is for one item of its level."""
        return ""

    def reviewing(self) -> Reviewing | None:
        """Return how people review what was written; None if they do not."""
        return None


class AuthoringTask(ABC):
    """Authoring of one kind of items."""

    @property
    @abstractmethod
    def likeness(self) -> Similarity:
        """Return when two items are duplicates."""

    @property
    @abstractmethod
    def shapes(self) -> Mapping[str, object]:
        """Return the settings that shape the items, besides levels, counts and seed."""

    async def attempt(self, slot: Slot, number: int, talk: Conversation, shelf: AcceptedItems) -> AttemptOutcome:
        """Run one attempt."""
        notes: dict[str, Any] = {}
        result: Item[Any] | Rejection
        try:
            result = await self.write(slot, number, talk, shelf, notes)
        except RejectedError as error:
            result = error.rejection
        return AttemptOutcome(slot.id, number, result, talk.expense, notes)

    async def write(
        self, slot: Slot, number: int, talk: Conversation, shelf: AcceptedItems, notes: dict[str, Any]
    ) -> Item[Any]:
        """Return the item of an attempt, or raise `RejectedError`; what is worth knowing is added to the notes.

        The shelf is only looked at, so that hopeless answers cost no second question.
        """
        raise NotImplementedError

    @abstractmethod
    def summary(self, tried: Sequence[AttemptOutcome], accepted: Sequence[AttemptOutcome]) -> Mapping[str, object]:
        """What the card says of the notes that all attempts and those of accepted items have left."""

    def fewest_questions(self, first: str) -> int:
        """Return how many questions an item takes at least, given the form of the first answer: words and a check."""
        return 2

    def items(self, stands: AuthoringState) -> tuple[Item[Any], ...]:
        """Return the items of all accepted attempts, in slot order."""
        return tuple(item for _, item in sorted(stands.shelf.items.items()))

    def write_companions(self, accepted: Sequence[AttemptOutcome], folder: Path) -> None:
        """Write what goes beside the items."""
        return


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
