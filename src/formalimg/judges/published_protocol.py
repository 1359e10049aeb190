"""Published protocols: what judges share that ask and score as published scripts do.

What the published scripts take for an answer counts as they count it. What they leave out of their totals, or count as
a fail because no answer came, is `Unscored`.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar, Generic, Literal, Self, TypeAlias, TypeVar

from formalimg.judges.base import LoadedImage
from formalimg.judges.chat_images import encode_image
from formalimg.judges.chat_judge import NoValidAnswer, explain_unanswered
from formalimg.models.base import Answered, Attachment, Message
from formalimg.models.pricing import Price, price_of
from formalimg.models.text_answer import TextAnswer
from formalimg.prompts import USER_LINE, Prompt, load_prompts
from formalimg.types import ChatModel, Setting

Followed: TypeAlias = Literal["published", "paper", "official-code"]
"""The protocol that is followed: `published` where a paper and its published code do not differ."""

_PUBLISHED_FORMATS = (b"\x89PNG", b"\xff\xd8")
"""How the files begin that published scripts look for: PNG and JPEG."""

PublishedAnswerType = TypeVar("PublishedAnswerType", bound=TextAnswer)


@dataclass(frozen=True)
class PublishedReply(Generic[PublishedAnswerType]):
    """An answer that the published scripts would count.

    Attributes:
        value: the answer.
        raw: its text.
        served: what was actually used, as far as the provider says.
        cost: in US dollars; None if the price is unknown.
        p_yes: the probability of yes, if the question was one of yes or no and the server reported it; else None.
        first_tokens: the probability of each token that could have begun the answer, as far as reported; else empty.
    """

    value: PublishedAnswerType
    raw: str
    served: Mapping[str, Setting]
    cost: float | None
    p_yes: float | None = None
    first_tokens: Mapping[str, float] = field(default_factory=dict)


class PublishedJudge:
    """Base of the judges that ask as the published scripts do."""

    prompt_folder: ClassVar[Path]
    """The folder of its prompts."""
    rules: ClassVar[int] = 1
    """The version of the rules from answers to verdicts: raise it whenever a verdict may come out differently."""

    def __init__(
        self,
        chat: ChatModel,
        protocol: Followed,
        prompts: Mapping[str, str],
        own_prompts: Path | None = None,
        options: Mapping[str, Setting] | None = None,
    ) -> None:
        """Create a judge that asks this chat model."""
        texts = load_prompts(self.prompt_folder, own_prompts)
        self._chat = chat
        self._protocol: Followed = protocol
        self._prompts = {setting: texts[name] for setting, name in prompts.items()}
        self._options = dict(options or {})

    @property
    def name(self) -> str:
        """The name of the chat model."""
        return self._chat.name

    @property
    def settings(self) -> Mapping[str, Setting]:
        """The settings of the chat model, the protocol with the version of its rules, and the prompts."""
        return {
            **self._chat.settings,
            "protocol": self._protocol,
            **self._options,
            **{setting: str(prompt) for setting, prompt in self._prompts.items()},
            "protocol_rules": self.rules,
        }

    @property
    def price(self) -> Price:
        """The price of the chat model."""
        return price_of(self._chat)

    @property
    def concurrency(self) -> int:
        """As many images at a time as the chat model takes requests."""
        return self._chat.concurrency

    @property
    def as_code(self) -> bool:
        """Whether the published code decides where the paper says something else."""
        return self._protocol != "paper"

    def _label(self, prompt: Prompt, label: str) -> str | None:
        """Return the media type that a published script gives to all images, where its request is sent to the letter.

        That is so with the authors' text, and a server of the kind that they asked: others check the type.
        """
        return label if prompt.origin and self._chat.name.startswith("openai/") else None

    async def _ask(
        self, messages: Sequence[Message], answer_type: type[PublishedAnswerType]
    ) -> PublishedReply[PublishedAnswerType] | NoValidAnswer:
        """Ask once; the chat model repeats the request where the answer cannot be read."""
        reply = await self._chat.ask(messages, answer_type)
        if isinstance(reply, Answered):
            return PublishedReply(reply.value, reply.raw, reply.served, reply.cost, reply.p_yes, reply.first_tokens)
        reason, detail = explain_unanswered(reply)
        return NoValidAnswer(reason, f"{self.name} {detail}", tuple(filter(None, (reply.raw,))), reply.cost)


async def attach(image: LoadedImage, label: str | None = None) -> Attachment:
    """Return the image as it is sent, encoded in a thread, so that other images do not wait for it."""
    if label is not None and image.data.startswith(_PUBLISHED_FORMATS):
        return Attachment(image.data, label)
    return (await asyncio.to_thread(encode_image, image)).attachment


def system_and_user(prompt: Prompt, values: Mapping[str, str]) -> tuple[str, str]:
    """Return the two messages in a prompt, filled: up to the line `[user]`, and from there on.

    Blanks at their ends are part of a text of the authors, and of no other.
    """
    system, separator, user = prompt.text.partition(USER_LINE)
    parts = (system, user) if prompt.origin else (system.strip(), user.strip())
    first, second = (replace(prompt, text=part).fill(values) for part in parts)
    return (first, second) if separator else ("", first)


_FIRST_WORD = re.compile(r"\W*yes\b", re.IGNORECASE)


class WordAnswer(TextAnswer):
    """One word, or whatever was said in its place.

    Attributes:
        text: all of it.
    """

    text: str

    @classmethod
    def from_text(cls, text: str) -> Self:
        """Take the text as it is."""
        return cls(text=text)

    def is_yes(self, *, as_code: bool) -> bool:
        """Return whether it says yes; anything else is a no."""
        return "Yes" in self.text if as_code else _FIRST_WORD.match(self.text) is not None


def parse_json(text: str) -> Any:
    """Return the value of a text in JSON."""
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("it is nested too deep") from None
