"""Base classes for judges that follow published protocols.

What the published scripts take for an answer counts as they count it. What they leave out of their totals, or count as
a fail because no answer came, is `Unscored`.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar, Literal, Self, TypeAlias, TypeVar

from formalimg.benchmarks.questions.spec import COUNT_WORDS, GraphQuestion, QuestionSpec
from formalimg.judges.base import LoadedImage
from formalimg.judges.chat_judge import NoValidAnswer, PromptedChat, encode_image, explain_unanswered, total_cost
from formalimg.models.base import Answered, Attachment, Message
from formalimg.models.text_answer import TextAnswer
from formalimg.prompts import USER_LINE, Prompt
from formalimg.types import ChatModel, Item, Part, Setting, Unscored, Verdict

Followed: TypeAlias = Literal["published", "paper", "official-code"]
"""The protocol that is followed: `published` where a paper and its published code do not differ."""

_PUBLISHED_FORMATS = (b"\x89PNG", b"\xff\xd8")  # How the files begin that published scripts look for: PNG and JPEG
_YES = re.compile(r"\W*yes\b", re.IGNORECASE)
_FIRST_WORD = re.compile(r"[^\W_]+")
_THOUGHTS_END = "</think>"
_MAX_TOKENS = 16

PublishedAnswerType = TypeVar("PublishedAnswerType", bound=TextAnswer)


class PublishedJudge(PromptedChat):
    """Base class for judges that follow published scripts."""

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
        super().__init__(chat, options or {}, prompts, own_prompts)
        self._protocol: Followed = protocol

    @property
    def settings(self) -> Mapping[str, Setting]:
        return {
            **self._chat.settings,
            "protocol": self._protocol,
            **self._options,
            **{setting: str(prompt) for setting, prompt in self._prompts.items()},
            "protocol_rules": self.rules,
        }

    @property
    def as_code(self) -> bool:
        """Whether the published code takes precedence over the paper."""
        return self._protocol != "paper"

    def _label(self, prompt: Prompt, label: str) -> str | None:
        """Return the media type declared by a published script if its request is reproduced exactly, else None."""
        return label if prompt.origin and self._chat.name.startswith("openai/") else None

    async def _ask(
        self, messages: Sequence[Message], answer_type: type[PublishedAnswerType]
    ) -> Answered[PublishedAnswerType] | NoValidAnswer:
        """Query the chat model and return its answer, or `NoValidAnswer` if there is none."""
        reply = await self._chat.ask(messages, answer_type)
        if isinstance(reply, Answered):
            return reply
        reason, detail = explain_unanswered(reply)
        return NoValidAnswer(reason, f"{self.name} {detail}", tuple(filter(None, (reply.raw,))), reply.cost)


async def attach_image(image: LoadedImage, label: str | None = None) -> Attachment:
    """Encode an image as an attachment, in a worker thread to avoid blocking the event loop."""
    if label is not None and image.data.startswith(_PUBLISHED_FORMATS):
        return Attachment(image.data, label)
    return (await asyncio.to_thread(encode_image, image)).attachment


def system_and_user(prompt: Prompt, values: Mapping[str, str]) -> tuple[str, str]:
    """Split a prompt at the `[user]` line, and return the filled system and user messages."""
    system, separator, user = prompt.text.partition(USER_LINE)
    parts = (system, user) if prompt.origin else (system.strip(), user.strip())
    first, second = (replace(prompt, text=part).fill(values) for part in parts)
    return (first, second) if separator else ("", first)


class WordAnswer(TextAnswer):
    """One word, or whatever was said in its place.

    Attributes:
        text: all of it.
    """

    text: str

    @classmethod
    def from_text(cls, text: str) -> Self:
        """Wrap the text unchanged."""
        return cls(text=text)

    def is_yes(self, *, as_code: bool) -> bool:
        return "Yes" in self.text if as_code else _YES.match(self.text) is not None


def parse_json(text: str) -> Any:
    """Parse JSON text, raising `ValueError` if it is invalid or nested too deeply."""
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("it is nested too deep") from None


# --- questions in one word


class WordJudge(PublishedJudge):
    """Base class for judges that ask a chat model one question per request, to be answered in one word.

    The score of a part is 1 if the first word of the answer is the expected one, and else 0; its `p_yes` is the
    probability of the expected answer, if the server reports log-probabilities: the sum over the first tokens of its
    spellings. An image passes if every answer is the expected one. One user message, the image before the text.
    Evidence, all plain data:

    - `answers`: for each request, the question (`asked`), the answer that is good (`expected`), and the answer, word
      for word (`raw`);
    - `served`: what was actually used by the last request, as far as the provider says.
    """

    prompt: ClassVar[str]
    """The prompt that each question is sent with."""

    def __init__(
        self, chat: ChatModel, prompts: Path | None = None, options: Mapping[str, Setting] | None = None
    ) -> None:
        super().__init__(chat, "published", {"prompt": self.prompt}, prompts, options)

    def questions(self, item: Item[object]) -> int:
        return len(item.spec.questions) if isinstance(item.spec, QuestionSpec) else 0

    async def judge(self, item: Item[object], image: LoadedImage) -> Verdict | Unscored:
        spec = item.spec
        if not isinstance(spec, QuestionSpec) or not spec.questions:
            return Unscored("not understood", f"item {item.id} of {item.suite} has no questions to judge by")
        attachment = await attach_image(image)
        parts: list[Part] = []
        answers: list[dict[str, object]] = []
        cost: float | None = 0.0
        served: Mapping[str, Setting] = {}
        for question in spec.questions:
            text = self._prompts["prompt"].fill({"question": question.question})
            reply = await self._ask([Message("user", (attachment, text))], WordAnswer)
            if isinstance(reply, Answered) and not reply.raw.strip() and not reply.first_tokens:
                detail = f"{self.name} answered nothing"
                reply = NoValidAnswer("not understood", detail, (reply.raw,), reply.cost)
            cost = total_cost((cost, reply.cost))
            raw = list(reply.raw) if isinstance(reply, NoValidAnswer) else [reply.raw]
            answers.append({"asked": [question.question], "expected": question.expected, "raw": raw})
            if isinstance(reply, NoValidAnswer):
                missing = f"{len(spec.questions) - len(parts)} of {len(spec.questions)} questions have no answer"
                detail = f"{missing} ({question.question}): {reply.detail}"
                return Unscored(reply.reason, detail, {"answers": answers}, cost)
            served = reply.served
            parts.append(_word_part(question, reply.raw, self._chance(question, reply)))
        evidence: dict[str, object] = {"answers": answers, "served": dict(served)}
        return Verdict(all(part.score for part in parts), tuple(parts), evidence, cost)

    def _chance(self, question: GraphQuestion, reply: Answered[WordAnswer]) -> float | None:
        """Return the probability of the expected answer, or None if the server reports no log-probabilities."""
        return probability_of(reply.first_tokens, question.expected)


def list_spellings(expected: str) -> tuple[str, ...]:
    """Return the accepted spellings of an expected answer: as given, capitalized, and in digits for numbers."""
    digits = (str(COUNT_WORDS.index(expected)),) if expected in COUNT_WORDS else ()
    return (expected, expected.capitalize(), *digits)


def probability_of(chances: Mapping[str, float], expected: str) -> float | None:
    """Return the probability of an expected answer from first-token probabilities, or None if there are none."""
    return min(1.0, sum(chances.get(word, 0.0) for word in list_spellings(expected))) if chances else None


def _word_part(question: GraphQuestion, raw: str, chance: float | None) -> Part:
    word = _FIRST_WORD.search(raw.rpartition(_THOUGHTS_END)[2])
    is_right = word is not None and word[0].lower() in map(str.lower, list_spellings(question.expected))
    reason = f"{raw.strip()[:80]}, {question.expected} is expected"
    return Part(question.question, question.category, float(is_right), question.weight, reason=reason, p_yes=chance)


def open_word_chat(
    suite: str, name: str, options: Mapping[str, str], own_keys: tuple[str, ...]
) -> tuple[ChatModel, dict[str, Any]]:
    """Open a chat model for one-word answers, and return it with the options that belong to the judge."""
    from formalimg.judges.factory import open_chat
    from formalimg.models.options import logprobs_options, sampling_options

    # The first token decides; a few more make the answer readable where there are no log-probabilities.
    defaults = {**sampling_options(name, temperature=0, max_tokens=_MAX_TOKENS), **logprobs_options(name)}
    return open_chat(name, {**defaults, **options}, own_keys, suite, {})
