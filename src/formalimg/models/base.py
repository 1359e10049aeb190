"""Requests, results, messages, usage, provider identity and call errors that models exchange."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Generic, Literal, Protocol, TypeAlias, runtime_checkable

from formalimg.types import AnswerType, Setting

if TYPE_CHECKING:
    from formalimg.models.folder.file_matching import MatchReport, RequestedImage


MIN_KEY_LENGTH = 8  # shorter values are no API keys, and redacting them would garble messages

CallErrorKind: TypeAlias = Literal[
    "busy",  # rate limited: wait, then retry
    "unavailable",  # outage, broken connection or timeout: retry
    "refused",  # the provider declines this request: do not retry
    "wrong",  # the response is not what the API promises (no image, no text, HTML): retry
    "rejected",  # the request itself is invalid (unknown size, prompt too long): do not retry
]


class Identified(Protocol):
    """Identity of a provider: two providers with the same name and settings are considered equal."""

    @property
    def name(self) -> str:
        """Display name in the form `provider/model`."""

    @property
    def settings(self) -> Mapping[str, Setting]:
        """Everything except the input that affects the results. Must not contain secrets: it is stored and shown."""


@dataclass(frozen=True)
class Usage:
    """Tokens and images that a call used, if the provider reports them."""

    input_tokens: int = 0  # tokens sent
    output_tokens: int = 0  # tokens received
    images: int = 0  # images generated

    def __add__(self, more: Usage) -> Usage:
        tokens = self.input_tokens + more.input_tokens, self.output_tokens + more.output_tokens
        return Usage(*tokens, self.images + more.images)


class NotStartedError(Exception):
    """Raised when the run is stopped before a request is sent; resuming the run sends the request."""


class CallError(Exception):
    """A provider call that returned no result. Its message must not contain an API key."""

    def __init__(
        self, kind: CallErrorKind, reason: str, retry_after: float | None = None, usage: Usage | None = None
    ) -> None:
        super().__init__(reason)
        self.kind = kind
        self.reason = reason  # what happened, on one line, as the provider reports it
        self.retry_after = retry_after  # seconds after which the provider allows the next call, if it says so
        self.usage = usage or Usage()  # what the call used all the same, as far as the provider reports it

    @property
    def is_retryable(self) -> bool:
        """Whether the same call might succeed later."""
        return self.kind not in ("refused", "rejected")


@dataclass(frozen=True)
class ImageRequest:
    """One image to generate."""

    item: str  # id of the item the image is for; only models that load finished images use it
    sample: int  # index of the image among those of the item, from 0
    prompt: str  # the text prompt
    seed: int  # seed for models that take one, so that the image can be reproduced
    size: int = 1024  # requested width and height in pixels; a model may return another size
    spec: object | None = None  # what the image must show, in the suite's own terms. None unless the model `sees_spec`
    # a conditioning image such as a rendered layout, as the bytes of a PNG file; None if there is none
    reference: bytes | None = None
    # name of the item's suite; only built-in models use it, which draw each suite in a world of its own
    suite: str = ""


@dataclass(frozen=True)
class Generated:
    """A generated image."""

    data: bytes  # the file as received: PNG, JPEG or WebP
    # what was actually used (model id, size, steps …), as far as the model reports it
    served: Mapping[str, Setting] = field(default_factory=dict)
    cost: float | None = 0.0  # cost of all attempts in US dollars; None if the price is unknown


@dataclass(frozen=True)
class Refused:
    """The model declined to generate this image, for instance by a safety filter."""

    reason: str  # what happened, on one line
    # cost of all attempts in US dollars, as some refusals are paid for; None if the price is unknown
    cost: float | None = 0.0


@dataclass(frozen=True)
class Failed:
    """No image was received because of an error such as an outage or a timeout."""

    reason: str  # what happened, on one line
    absent: bool = False  # no generation was attempted: the image should have existed already and does not
    # cost of all attempts in US dollars: an answer of no use is paid for; None if the price is unknown
    cost: float | None = 0.0


ImageResult: TypeAlias = Generated | Refused | Failed


@runtime_checkable
class PremadeImageModel(Protocol):
    """An image model that serves premade images and can report in advance which of them exist."""

    def match(self, images: Sequence[RequestedImage]) -> MatchReport:
        """Match files to these images, given in suite order. Must be called before `run --no-judge`."""

    def fingerprint(self, item: str, sample: int) -> str:
        """Return a short string that changes when the image file changes; missing files share one value."""


@dataclass(frozen=True)
class Attachment:
    """An image in a message: the file content and its media type, such as image/png."""

    data: bytes
    media_type: str


@dataclass(frozen=True)
class Message:
    """One message of a conversation: a role and an ordered sequence of text and image parts."""

    role: Literal["system", "user", "assistant"]
    parts: tuple[str | Attachment, ...]


@dataclass(frozen=True)
class Completion:
    """Raw response of a provider before parsing."""

    text: str  # the generated text
    ended: Literal["stop", "length", "refusal"] = "stop"  # complete, cut off by a length limit, or refused
    usage: Usage = field(default_factory=Usage)  # tokens used
    served: Mapping[str, Setting] = field(default_factory=dict)  # what was actually used, as the server reports it
    p_yes: float | None = None  # the probability of yes, if a yes/no question was asked and the server reported it
    # the probability of each token that could have begun the answer, if it is plain text and the server told
    first_tokens: Mapping[str, float] = field(default_factory=dict)


class ChatProvider(Identified, Protocol):
    """One API call to a chat model. `build_chat_model` adds retries, rate limits, caching and parsing."""

    async def complete(self, messages: Sequence[Message], schema: Mapping[str, object] | None) -> Completion:
        """Send one request."""


@dataclass(frozen=True)
class Answered(Generic[AnswerType]):
    """The outcome when a chat model answers in the requested format."""

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
    """A missing or unparseable answer; the answer is never guessed."""

    # the model refused, its answers cannot be parsed, or no response was received
    kind: Literal["refused", "unreadable", "failed"]
    reason: str  # what happened, on one line
    raw: str = ""  # the last answer as received, if there was one
    usage: Usage = field(default_factory=Usage)  # what all attempts used
    cost: float | None = 0.0  # the same in US dollars; None if the price is unknown


Reply: TypeAlias = Answered[AnswerType] | Unanswered
