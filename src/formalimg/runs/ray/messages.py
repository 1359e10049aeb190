"""Messages between the driver and its workers: what to open, answers, verdicts and errors as plain values."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.metadata import version
from typing import Generic, NamedTuple, TypeVar

from formalimg.errors import FormalimgError
from formalimg.models.base import ImageResult
from formalimg.runs.messages import error_text, one_line
from formalimg.runs.parties import Reopenable
from formalimg.types import Concurrent, ImageModel, Judge, Setting, Unscored, Verdict

_MAX_MESSAGE = 4_000
"""Characters of the beginning and of the end of an error that ends the run."""

Party = TypeVar("Party", bound=Concurrent)


@dataclass(frozen=True)
class PartySpec(Generic[Party]):
    """A model or judge that each worker opens, and the identity that it must have there."""

    factory: Callable[[], Party]  # opens it
    name: str  # those it has where the run was started. Keys are made of them, so they must be the same
    settings: Mapping[str, Setting]

    @classmethod
    def of(cls, party: Reopenable[Party]) -> PartySpec[Party]:
        """Return the specification of what is open here."""
        return cls(party.factory, party.instance.name, dict(party.instance.settings))

    def open(self) -> Party:
        """Open it."""
        party = self.factory()
        here, there = {"name": party.name, **party.settings}, {"name": self.name, **self.settings}
        different = sorted(key for key in {*here, *there} if here.get(key) != there.get(key))
        if different:
            raise FormalimgError(
                f"{self.name} is not the same as where the run was started ({', '.join(different)} differ): use the "
                "same versions and files on all machines, and set what it would choose by itself, such as dtype"
            )
        return party


class WorkerSetup(NamedTuple):
    """Everything that a worker opens at its start."""

    model: PartySpec[ImageModel] | None  # what it opens; None for nothing
    judge: PartySpec[Judge] | None
    version: str  # the version of formalimg that it must have
    folder: str  # the folder from which the run was started; it changes there if it exists, for files and `.env`


class WorkerFailure(NamedTuple):
    """An error in one line without API keys, and whether it ends the whole run."""

    message: str
    ends_run: bool = False


class WorkerStatus(NamedTuple):
    """The host of a started worker, and why it cannot work, if it cannot."""

    host: str
    failure: WorkerFailure | None = None


class GeneratedBatch(NamedTuple):
    """The answers to the first requests of a batch, and why there are no more."""

    answers: list[ImageResult]  # in the order of the requests
    failure: WorkerFailure | None = None  # why some are missing; None if none is
    batch: int = 1  # the batch size that the model prefers from now on


class JudgedImage(NamedTuple):
    """The verdict of a judge, or why there is none."""

    verdict: Verdict | Unscored | None
    failure: WorkerFailure | None = None


def installed_version() -> str:
    """Return the version of formalimg that is installed here."""
    return version("formalimg")


def failure_of(error: BaseException) -> WorkerFailure:
    """Return an exception as a message. Exceptions themselves are not sent: their classes may be unknown elsewhere."""
    if isinstance(error, FormalimgError):
        # Whole, as where there is no cluster: the end of our own messages says what to do.
        return WorkerFailure(one_line(str(error), _MAX_MESSAGE, _MAX_MESSAGE), ends_run=True)
    return WorkerFailure(error_text(error))
