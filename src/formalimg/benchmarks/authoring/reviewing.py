"""Human review of written groups: the interface of a benchmark for commands and browser pages."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple, Protocol, TypeAlias

from formalimg.benchmarks.registry import suite, suite_names
from formalimg.errors import FormalimgError

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
