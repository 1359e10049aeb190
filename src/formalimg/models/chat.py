"""Chat models: words and pictures in, an answer of a known form out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Generic, Literal, Protocol, TypeAlias, TypeVar

from formalimg.models.base import Engaged, Named, Setting, Usage

if TYPE_CHECKING:
    from pydantic import BaseModel

AnswerType = TypeVar("AnswerType", bound="BaseModel")


@dataclass(frozen=True)
class Attachment:
    """A picture in a message: the file as it is, and its type, such as image/png."""

    data: bytes
    media_type: str


@dataclass(frozen=True)
class Message:
    """One turn of a conversation, its parts in their order."""

    role: Literal["system", "user", "assistant"]
    parts: tuple[str | Attachment, ...]


@dataclass(frozen=True)
class Completion:
    """What a provider gave back, before anyone has read it.

    Attributes:
        text: the words.
        ended: whether the model came to its end, was cut off by a limit, or declined.
        usage: what it cost in tokens.
        served: what was really used (the model id that the server names …).
    """

    text: str
    ended: Literal["stop", "length", "refusal"] = "stop"
    usage: Usage = field(default_factory=Usage)
    served: Mapping[str, Setting] = field(default_factory=dict)


class ChatProvider(Named, Protocol):
    """What each provider brings: one call. Retries, limits, caching and reading are done for all of them alike."""

    async def complete(self, messages: Sequence[Message], schema: Mapping[str, object] | None) -> Completion:
        """Ask once.

        Args:
            messages: the conversation.
            schema: JSON schema of the wanted answer, for servers that can be held to one; others leave it aside.

        Raises:
            CallError: if no completion came.
            FormalimgError: if no call can ever succeed: a wrong key, a model that does not exist.
        """
        ...


@dataclass(frozen=True)
class Answered(Generic[AnswerType]):
    """A chat model answered in the wanted form.

    Attributes:
        value: the answer.
        raw: the answer as it came.
        usage: what all attempts used up; nothing if the answer was remembered.
        cost: the same in US dollars; None if nobody knows the price.
        served: what was really used.
        remembered: whether it came from the cache.
    """

    value: AnswerType
    raw: str
    usage: Usage = field(default_factory=Usage)
    cost: float | None = 0.0
    served: Mapping[str, Setting] = field(default_factory=dict)
    remembered: bool = False


@dataclass(frozen=True)
class Unanswered:
    """No answer, or none that can be read: never a guess.

    Attributes:
        kind: the model declined; its answers cannot be read; or none came.
        reason: what happened, in one line.
        raw: the last answer as it came, if there was one.
        usage: what all attempts used up.
        cost: the same in US dollars; None if nobody knows the price.
    """

    kind: Literal["refused", "unreadable", "failed"]
    reason: str
    raw: str = ""
    usage: Usage = field(default_factory=Usage)
    cost: float | None = 0.0


Reply: TypeAlias = Answered[AnswerType] | Unanswered


class ChatModel(Engaged, Protocol):
    """Words and pictures in, an answer of a known form out."""

    async def ask(self, messages: Sequence[Message], answer_type: type[AnswerType]) -> Reply[AnswerType]:
        """Ask, and read the answer as a Pydantic type; what cannot be read is asked again, then `Unanswered`."""
        ...
