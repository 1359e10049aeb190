"""Base contract of chat models: ChatModel, Message, and the replies Answered and Unanswered."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Generic, Literal, Protocol, TypeAlias

from formalimg.models.base import Identified, Usage
from formalimg.types import AnswerType, Setting

if TYPE_CHECKING:
    pass


@dataclass(frozen=True)
class Attachment:
    """An image in a message: the bytes of the file and its media type, such as image/png."""

    data: bytes
    media_type: str


@dataclass(frozen=True)
class Message:
    """One message of a conversation: role and ordered parts, each text or image."""

    role: Literal["system", "user", "assistant"]
    parts: tuple[str | Attachment, ...]


@dataclass(frozen=True)
class Completion:
    """Raw response of a provider, before it is parsed.

    Attributes:
        text: the generated text.
        ended: why generation ended: complete, cut off by a length limit, or refused.
        usage: tokens used.
        served: what was actually used (the model id that the server reports …).
        p_yes: the probability of yes, 0 to 1, if a yes/no question was asked and the server reported it; else None.
        first_tokens: the probability of each token that could have begun the answer, if it is plain text and the server
            told; else empty.
    """

    text: str
    ended: Literal["stop", "length", "refusal"] = "stop"
    usage: Usage = field(default_factory=Usage)
    served: Mapping[str, Setting] = field(default_factory=dict)
    p_yes: float | None = None
    first_tokens: Mapping[str, float] = field(default_factory=dict)


class ChatProvider(Identified, Protocol):
    """One API call to a chat model. Retries, rate limits, cache and parsing are added by `build_chat_model`."""

    async def complete(self, messages: Sequence[Message], schema: Mapping[str, object] | None) -> Completion:
        """Send one request."""
        ...


@dataclass(frozen=True)
class Answered(Generic[AnswerType]):
    """A chat model answered in the requested form.

    Attributes:
        value: the parsed answer.
        raw: the answer as received.
        usage: what all attempts used; nothing if the answer came from the cache.
        cost: the same in US dollars; None if the price is unknown.
        served: what was actually used.
        cached: whether the answer came from the cache.
        p_yes: the probability of yes, if a yes/no question was asked and the server reported it; else None.
        first_tokens: the probability of each token that could have begun the answer, if it is plain text and the server
            told; else empty.
    """

    value: AnswerType
    raw: str
    usage: Usage = field(default_factory=Usage)
    cost: float | None = 0.0
    served: Mapping[str, Setting] = field(default_factory=dict)
    cached: bool = False
    p_yes: float | None = None
    first_tokens: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Unanswered:
    """No answer, or none that can be parsed: never a guess."""

    # the model refused, its answers cannot be parsed, or no response was received
    kind: Literal["refused", "unreadable", "failed"]
    reason: str  # what happened, on one line
    raw: str = ""  # the last answer as received, if there was one
    usage: Usage = field(default_factory=Usage)  # what all attempts used
    cost: float | None = 0.0  # the same in US dollars; None if the price is unknown


Reply: TypeAlias = Answered[AnswerType] | Unanswered
