"""What workers are to hold, and what they say: values that travel between machines."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.metadata import version
from typing import Generic, NamedTuple, TypeVar

from formalimg._util.text import truncate
from formalimg.errors import FormalimgError
from formalimg.judges import Judge, Unscored, Verdict
from formalimg.models import Answer, Engaged, ImageModel, Setting, redacted

_HEAD, _TAIL = 400, 100
"""So many characters of a message are kept from its beginning and its end, as in a run folder."""

Worked = TypeVar("Worked", bound=Engaged)


@dataclass(frozen=True)
class Opened(Generic[Worked]):
    """A model or a judge that was opened here, and how a worker opens the same.

    Attributes:
        here: the one that was opened here.
        opening: opens another. It must be known by its place in a package (a function, or a `functools.partial` of
            one with plain values), so that it can be called on another machine.
    """

    here: Worked
    opening: Callable[[], Worked]

    @classmethod
    def by(cls, opening: Callable[[], Worked]) -> Opened[Worked]:
        """What this opens."""
        return cls(opening(), opening)

    @property
    def wanted(self) -> Wanted[Worked]:
        """What a worker is told."""
        return Wanted(self.opening, self.here.name, dict(self.here.settings))


@dataclass(frozen=True)
class Wanted(Generic[Worked]):
    """A model or a judge that each worker is to open, and as what it must be known there.

    Attributes:
        opening: opens it.
        name, settings: those it has where the run was started. Keys are made of them, so it must have the same there.
    """

    opening: Callable[[], Worked]
    name: str
    settings: Mapping[str, Setting]

    def open(self) -> Worked:
        """Open it.

        Raises:
            FormalimgError: if it cannot be opened, or is not the same here.
        """
        party = self.opening()
        here, there = {"name": party.name, **party.settings}, {"name": self.name, **self.settings}
        unlike = sorted(key for key in {*here, *there} if here.get(key) != there.get(key))
        if unlike:
            raise FormalimgError(
                f"{self.name} is not the same as where the run was started ({', '.join(unlike)} differ): use the same "
                "versions and files on all machines, and say what it would choose by itself, such as dtype"
            )
        return party


class Holding(NamedTuple):
    """All that a worker is to hold.

    Attributes:
        model, judge: what it opens; None for nothing.
        version: the version of formalimg that it must have.
        folder: the folder from which the run was started: it goes there, if it is there too, for files and `.env`.
    """

    model: Wanted[ImageModel] | None
    judge: Wanted[Judge] | None
    version: str
    folder: str


class Trouble(NamedTuple):
    """What went wrong, in one line without keys, and whether the whole run must end for it."""

    told: str
    ends_run: bool = False


class Greeting(NamedTuple):
    """A worker is there, on this machine, and can work unless there is trouble."""

    host: str
    trouble: Trouble | None = None


class Made(NamedTuple):
    """The answers to the first so many requests of a batch, and why there are no more.

    Attributes:
        answers: in the order of the requests.
        trouble: why some are missing; None if none is.
        batch: how many requests the model likes to be given from now on.
    """

    answers: list[Answer]
    trouble: Trouble | None = None
    batch: int = 1


class Looked(NamedTuple):
    """What a judge said, or why it said nothing."""

    verdict: Verdict | Unscored | None
    trouble: Trouble | None = None


def installed_version() -> str:
    """The version of formalimg that is installed here."""
    return version("formalimg")


def trouble_of(error: BaseException) -> Trouble:
    """What an exception says. Exceptions themselves do not travel: their classes may be unknown elsewhere."""
    text = truncate(redacted(" ".join(str(error).split())), _HEAD, _TAIL)
    if isinstance(error, FormalimgError):
        return Trouble(text, ends_run=True)
    return Trouble(f"{type(error).__name__}: {text}" if text else type(error).__name__)
