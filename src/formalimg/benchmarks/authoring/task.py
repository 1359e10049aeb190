"""Authoring of a benchmark: its interface, the plan of a run, its task, and the human review of written groups."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple, Protocol, TypeAlias

from formalimg.benchmarks.registry import suite, suite_names
from formalimg.errors import FormalimgError
from formalimg.types import Item

if TYPE_CHECKING:
    from formalimg.benchmarks.authoring.conversation import Conversation
    from formalimg.benchmarks.authoring.outcomes import (
        AcceptedItems,
        AttemptOutcome,
        AuthoringState,
        Rejection,
        Similarity,
    )


VERSION = 1  # Raised with every change after which other assignments are given, or answers are accepted differently
MOST_ATTEMPTS = 100
_LONGEST_WORDS = 3000  # The most characters of a prompt; the longest published one has about a thousand


class AuthoringExtent(NamedTuple):
    """The size of an authoring run: levels, items per level, and attempts per item."""

    levels: tuple[int, ...]
    per_level: int
    attempts: int


class Slot(NamedTuple):
    """A slot for one item: its id and level."""

    id: int
    level: int


class WritingChoices:
    """The authoring options of a benchmark; this base class has none."""

    suites: ClassVar[str] = ""  # the suites that they are for, as messages name them

    @property
    def made(self) -> tuple[str, ...]:
        """The options that differ from their defaults, as written on the command line."""
        return ()


@dataclass(frozen=True)
class AuthoringPlan:
    """The plan of the items that a chat model is to write."""

    suite: str  # the benchmark, such as `knolling`; probes of a benchmark are suites of their own
    levels: tuple[int, ...] = ()  # the levels (K or k) to write; none for those of the paper. Groups have all of them
    per_level: int = 0  # number of items of each level; 0 for as many as in the paper. Groups are counted by their laws
    seed: int = 1  # another seed, other assignments
    attempts: int = 0  # attempts per item; 0 for 6, or more where draws often conflict
    version: str = ""  # the version that the items carry
    choices: Any = None  # the options of the benchmark, in a type of its own; None for their defaults

    def __post_init__(self) -> None:
        authoring = authoring_of(self.suite)
        if type(self.choices) is not type(authoring.choices):
            if self.choices is not None and self.choices.made:
                made = ", ".join(self.choices.made)
                raise FormalimgError(f"{made}: for {self.choices.suites} only, not for {self.suite}")
            object.__setattr__(self, "choices", authoring.choices)
        usual = authoring.extent(self.suite, self.choices, self.levels, self.per_level)
        for name, value in usual._asdict().items():
            object.__setattr__(self, name, getattr(self, name) or value)
        if len(set(self.levels)) < len(self.levels):
            raise FormalimgError("each level can be requested only once, as in --levels 1-7")
        if self.per_level < 1:
            raise FormalimgError("at least one item per level must be requested")
        if not 1 <= self.attempts <= MOST_ATTEMPTS:
            raise FormalimgError(f"attempts must be between 1 and {MOST_ATTEMPTS}")

    @property
    def slots(self) -> tuple[Slot, ...]:
        """The slots of all items, ordered by id; a slot may hold all levels of a group."""
        level_of_groups = authoring_of(self.suite).level_of_groups
        levels = self.levels if level_of_groups is None else (level_of_groups,)
        return tuple(
            Slot(number * self.per_level + index, level)
            for number, level in enumerate(levels)
            for index in range(self.per_level)
        )


class Authoring(ABC):
    """The interface of a benchmark for writing its items with a chat model."""

    options: ClassVar[frozenset[str]] = frozenset()  # its own options of `formalimg items write`
    choices: ClassVar[WritingChoices] = WritingChoices()  # the defaults of its own options
    level_of_groups: ClassVar[int | None] = None  # the level of slots that hold items of all levels

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


def authoring_of(name: str, options: Mapping[str, object] | None = None) -> Authoring:
    """Return the authoring interface of a suite; raise an error if it has none or does not support an option."""
    authoring = suite(name).authoring()
    if authoring is None:
        if suite(name).synthesis() is not None:
            raise FormalimgError(f"items of {name} are drawn, not written: use formalimg items synth {name}")
        raise FormalimgError(f"items of {name} are not written by a model: pull them, or give your own as items.jsonl")
    unfit = [option for option in options or () if option not in authoring.options]
    if unfit:
        candidates = filter(None, (suite(suite_name).authoring() for suite_name in suite_names()))
        owner = next(candidate for candidate in candidates if unfit[0] in candidate.options)
        listed = ", ".join(option for option in unfit if option in owner.options)
        raise FormalimgError(f"{listed}: for {owner.choices.suites} only, not for {name}")
    return authoring


class AuthoringTask(ABC):
    """A task that writes one kind of items."""

    @property
    @abstractmethod
    def likeness(self) -> Similarity:
        """The rule that decides when two items are duplicates."""

    @property
    @abstractmethod
    def shapes(self) -> Mapping[str, object]:
        """The settings that affect the items, except levels, counts and seed."""

    async def attempt(self, slot: Slot, number: int, talk: Conversation, shelf: AcceptedItems) -> AttemptOutcome:
        """Run one attempt."""
        from formalimg.benchmarks.authoring.outcomes import AttemptOutcome, RejectedError

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

        The shelf is only read: an answer that duplicates an item on it is rejected before the checker is asked.
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


def clean_prompt(words: str) -> str | Rejection:
    """Return the text on a single line, or a rejection if it cannot be a prompt."""
    from formalimg.benchmarks.authoring.outcomes import Rejection

    line = " ".join(words.split())
    if not line:
        return Rejection("unfit words", "there are none")
    if len(line) > _LONGEST_WORDS:
        return Rejection("unfit words", f"{len(line):,} characters, the limit is {_LONGEST_WORDS:,}")
    if not line.isprintable():
        return Rejection("unfit words", "characters that cannot be printed")
    return line


Choice: TypeAlias = Literal["accept", "reject", ""]
"""What a person chooses; empty takes a choice back. A group that was changed and is accepted counts as edited."""


class UnknownGroupError(FormalimgError):
    """Raised if the queue has no group of the given name."""


class StaleGroupError(FormalimgError):
    """Raised if the group has changed since it was read."""


class LevelQuestions(NamedTuple):
    """The questions about images of one or more levels."""

    title: str  # which levels
    level: str  # as in the queue: 1, or 2 for 2 and 3 together
    questions: list[dict[str, object]]  # the questions as plain data


class ReviewedGroup(Protocol):
    """A group in a queue, with the checker's findings and the reviewer's decision."""

    @property
    def id(self) -> str: ...
    @property
    def group(self) -> Any: ...  # with the fields that its page shows
    @property
    def field(self) -> str: ...  # of knowledge
    @property
    def fields_on_offer(self) -> Mapping[str, Sequence[str]]: ...  # what a field may be changed to, by its name
    @property
    def searched_text(self) -> str: ...
    @property
    def findings(self) -> list[str]: ...  # of the checker
    @property
    def decision(self) -> str: ...  # accept, edit or reject; empty if nobody has decided
    @property
    def note(self) -> str: ...  # what somebody wrote beside it
    @property
    def is_changed(self) -> bool: ...  # differs from the exported one
    @property
    def version(self) -> str: ...  # changes with anything that somebody changes
    def level_questions(self) -> list[LevelQuestions]: ...  # none if they cannot score an image


class ReviewDesk(Protocol):
    """A review queue open for decisions."""

    @property
    def path(self) -> Path: ...
    def lines(self) -> Sequence[ReviewedGroup]: ...  # in queue order
    def tried(self, name: str, changes: Mapping[str, Any]) -> ReviewedGroup: ...  # as with changes; nothing is stored
    def decide(
        self,
        name: str,
        version: str,
        *,
        choice: Choice | None = None,
        note: str | None = None,
        changes: Mapping[str, Any] | None = None,
    ) -> ReviewedGroup: ...  # stores a decision, a note or changes


class ImportedReview(NamedTuple):
    """The result of importing the decisions of a queue."""

    decisions: Mapping[str, str]  # of each group, by its id; empty for undecided ones
    undecided: Collection[str]  # the undecided groups
    overruled: Collection[str]  # the groups that are kept though the checker objects
    items: int  # how many items were written
    path: Path | None  # where they are; None if no groups are kept


class Reviewing(NamedTuple):
    """The functions of a benchmark for human review of its written groups."""

    export_queue: Callable[[str, Path], int]  # writes groups of a folder, file or suite; returns their number
    open_desk: Callable[[Path], ReviewDesk]
    import_queue: Callable[[Path, Path, str], ImportedReview]  # queue, folder and version of the accepted groups


def reviewing() -> Reviewing:
    """Return the review interface of the first benchmark that has one."""
    for name in suite_names():
        authoring = suite(name).authoring()
        if authoring is not None and (review := authoring.reviewing()) is not None:
            return review
    raise FormalimgError("this benchmark has no groups to review")
