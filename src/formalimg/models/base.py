"""By what models and judges are known: whoever has the same name and settings is taken to be the same."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias

Setting: TypeAlias = str | int | float | bool | None
"""A value of a setting: it is written to files and takes part in keys, so it is plain."""


class Named(Protocol):
    """Somebody with a name and settings."""

    @property
    def name(self) -> str:
        """How users write it, `provider/model`."""
        ...

    @property
    def settings(self) -> Mapping[str, Setting]:
        """Everything besides its input that shapes its answers, with the versions of rules and texts.

        No secrets: settings are stored and shown.
        """
        ...


class Engaged(Named, Protocol):
    """Somebody who can be given several objects to do at the same time."""

    @property
    def concurrency(self) -> int:
        """How many calls may run at the same time."""
        ...


Fault: TypeAlias = Literal[
    "busy",  # too many requests: wait, then ask again
    "unavailable",  # an outage, a broken connection, a time-out: ask again
    "refused",  # the provider declines this request: asking again is of no use
    "wrong",  # the answer is not what the interface promises: no image, no text, HTML
    "rejected",  # the request itself is wrong: unknown size, too long a prompt
]


class CallError(Exception):
    """A call that gave no result. Nothing in it may hold a key.

    Attributes:
        fault: what sort of failure it is.
        reason: what happened, in one line, as the provider said it.
        retry_after: for how many seconds the provider wants to be left alone, if it says so.
        usage: what it used up all the same, as far as the provider says.
    """

    def __init__(self, fault: Fault, reason: str, retry_after: float | None = None, usage: Usage | None = None) -> None:
        super().__init__(reason)
        self.fault = fault
        self.reason = reason
        self.retry_after = retry_after
        self.usage = usage or Usage()

    @property
    def worth_another_try(self) -> bool:
        """Might the same call succeed a little later?"""
        return self.fault in ("busy", "unavailable", "wrong")


@dataclass(frozen=True)
class Usage:
    """What a call used up, as far as the provider says.

    Attributes:
        input_tokens: tokens of what was sent.
        output_tokens: tokens of what came back.
        images: images that were made.
    """

    input_tokens: int = 0
    output_tokens: int = 0
    images: int = 0

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.images + other.images,
        )
