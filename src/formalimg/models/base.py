"""Base contracts of models and judges: name and settings, concurrency, usage, and call errors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias

Setting: TypeAlias = str | int | float | bool | None
"""The value of a setting. Settings are stored and hashed into keys, so only plain values are allowed."""

CallErrorKind: TypeAlias = Literal[
    "busy",  # rate limited: wait, then retry
    "unavailable",  # outage, broken connection or timeout: retry
    "refused",  # the provider declines this request: do not retry
    "wrong",  # the response is not what the API promises (no image, no text, HTML): retry
    "rejected",  # the request itself is invalid (unknown size, prompt too long): do not retry
]


class Identified(Protocol):
    """Identity of a model or judge: two with the same name and settings are taken to be the same."""

    @property
    def name(self) -> str:
        """Name as users write it, `provider/model`."""
        ...

    @property
    def settings(self) -> Mapping[str, Setting]:
        """Everything besides the input that shapes the results, with the versions of rules and texts.

        Must not contain secrets: settings are stored and shown.
        """
        ...


class Concurrent(Identified, Protocol):
    """A model or judge that can handle several calls at the same time."""

    @property
    def concurrency(self) -> int:
        """Maximum number of calls that may run at the same time."""
        ...


@dataclass(frozen=True)
class Usage:
    """Tokens and images that a call used, as far as the provider reports them.

    Attributes:
        input_tokens: tokens sent.
        output_tokens: tokens received.
        images: images generated.
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


class NotStartedError(Exception):
    """The run was stopped before a request was done: the request is left for when the run is resumed."""


class CallError(Exception):
    """A provider call that gave no result. Its texts must not contain an API key.

    Attributes:
        kind: category of the failure, the same for all providers.
        reason: what happened, on one line, as the provider reports it.
        retry_after: seconds after which the provider allows the next call, if it says so.
        usage: what the call used all the same, as far as the provider reports it.
    """

    def __init__(
        self, kind: CallErrorKind, reason: str, retry_after: float | None = None, usage: Usage | None = None
    ) -> None:
        super().__init__(reason)
        self.kind = kind
        self.reason = reason
        self.retry_after = retry_after
        self.usage = usage or Usage()

    @property
    def is_retryable(self) -> bool:
        """Whether the same call might succeed later."""
        return self.kind in ("busy", "unavailable", "wrong")
