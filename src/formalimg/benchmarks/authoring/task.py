"""Interfaces for authoring a benchmark, and for the authoring task that differs between benchmarks."""

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
    """The interface of a benchmark for writing its items with a chat model."""

    # the options of `formalimg items write` that it takes, besides those that all take
    options: ClassVar[frozenset[str]] = frozenset()
    choices: ClassVar[WritingChoices] = WritingChoices()  # the defaults of its own options
    # the level of a place, where each place is for the items of all levels; else None
    level_of_groups: ClassVar[int | None] = None

    def choose(self, name: str, options: Mapping[str, Any]) -> tuple[str, WritingChoices]:
        """Return the suite to write and its choices, given a suite name and options."""
        return name, self.choices

    @abstractmethod
    def extent(self, name: str, choices: Any, levels: tuple[int, ...], per_level: int) -> AuthoringExtent:
        """Return the size of an authoring run, with defaults for levels and number of items."""

    @abstractmethod
    def task(self, plan: AuthoringPlan, prompts: Path | None) -> AuthoringTask:
        """Return the authoring task of a plan."""

    def is_checked(self, plan: AuthoringPlan) -> bool:
        """Return whether a model checks the answers."""
        return True

    def unit(self, plan: AuthoringPlan) -> str:
        """Return the name for what each slot holds, such as groups; empty if each holds one item."""
        return ""

    def reviewing(self) -> Reviewing | None:
        """Return the interface for human review; None if items are not reviewed."""
        return None


class AuthoringTask(ABC):
    """A task that writes one kind of items."""

    @property
    @abstractmethod
    def likeness(self) -> Similarity:
        """The rule that decides when two items are duplicates."""

    @property
    @abstractmethod
    def shapes(self) -> Mapping[str, object]:
        """Return the settings that shape the items, except levels, counts and seed."""

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
        """Return the item of an attempt and add details to the notes, or raise `RejectedError`.

        The shelf is only looked at, so that hopeless answers cost no second question.
        """
        raise NotImplementedError

    @abstractmethod
    def summary(self, tried: Sequence[AttemptOutcome], accepted: Sequence[AttemptOutcome]) -> Mapping[str, object]:
        """Return the entries of the manifest that summarize the notes of attempts and accepted items."""

    def fewest_questions(self, first: str) -> int:
        """Return the minimum number of requests for an item, given the form of the first answer."""
        return 2

    def items(self, stands: AuthoringState) -> tuple[Item[Any], ...]:
        """Return the items of all accepted attempts, in slot order."""
        return tuple(item for _, item in sorted(stands.shelf.items.items()))

    def write_companions(self, accepted: Sequence[AttemptOutcome], folder: Path) -> None:
        """Write any additional files that accompany the items."""
        return


_LONGEST_WORDS = 3000  # The most characters of a prompt; the longest published one has about a thousand


def clean_prompt(words: str) -> str | Rejection:
    """Return the text on a single line, or a rejection if it cannot be a prompt."""
    line = " ".join(words.split())
    if not line:
        return Rejection("unfit words", "there are none")
    if len(line) > _LONGEST_WORDS:
        return Rejection("unfit words", f"{len(line):,} characters, the limit is {_LONGEST_WORDS:,}")
    if not line.isprintable():
        return Rejection("unfit words", "characters that cannot be printed")
    return line
