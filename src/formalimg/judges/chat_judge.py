"""The chat judge: ask a chat model about an image, validate the answer, retry once, and keep evidence and cost.

Clause, question and score judges and the VLM grounder are chat judges. They differ in prompt, in answer type, and in
how answers become parts of a verdict.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Generic, TypeVar

from formalimg.errors import FormalimgError
from formalimg.judges.base import DECLINED, LoadedImage, UnscoredReason
from formalimg.judges.chat_images import ChatImage, ImagePosition, build_question, encode_image
from formalimg.models.base import Message, Unanswered
from formalimg.models.pricing import Price, price_of
from formalimg.models.spending import note_waste
from formalimg.models.structured_output import read_aside
from formalimg.prompts import load_prompts
from formalimg.types import ChatModel, Setting

if TYPE_CHECKING:
    from pydantic import BaseModel

JudgeAnswer = TypeVar("JudgeAnswer", bound="BaseModel")

PROMPTS = Path(__file__).parent / "prompts"
"""The folders of the prompts of judges that several benchmarks have."""
_MAX_ATTEMPTS = 2


@dataclass(frozen=True)
class ValidAnswer(Generic[JudgeAnswer]):
    """An answer that passed validation.

    Attributes:
        value: the answer.
        raw: the text of all attempts; the last one is this answer.
        served: what was actually used, as far as the provider says.
        cost: the cost of all attempts in US dollars; None if the price is unknown.
        p_yes: the probability of yes, if the question was one of yes or no and the server reported it; else None.
    """

    value: JudgeAnswer
    raw: tuple[str, ...]
    served: Mapping[str, Setting] = field(default_factory=dict)
    cost: float | None = 0.0
    p_yes: float | None = None


@dataclass(frozen=True)
class NoValidAnswer:
    """Why there is no valid answer."""

    reason: UnscoredReason  # the kind of failure
    detail: str  # what happened, in one line
    raw: tuple[str, ...] = ()  # the text of all attempts, if there is any
    cost: float | None = 0.0  # the cost of all attempts in US dollars; None if the price is unknown


class ChatJudge:
    """Base of everything that asks a chat model about an image."""

    prompt_folder: ClassVar[Path]
    """The folder of its prompts."""
    retry_prompt: ClassVar[str]
    """The prompt that reports a `{problem}` with an answer and asks again."""
    rules: ClassVar[Mapping[str, Setting]] = {"judging_rules": 1}
    """The version of the rules from answers to verdicts: raise it whenever a verdict may come out differently."""
    image_position: ClassVar[ImagePosition] = "first"
    """Where the image goes in a prompt without a placeholder for it."""

    def __init__(
        self,
        chat: ChatModel,
        options: Mapping[str, Setting],
        prompts: Mapping[str, str],
        own_prompts: Path | None = None,
    ) -> None:
        """Create a judge that asks this chat model."""
        texts = load_prompts(self.prompt_folder, own_prompts)
        self._chat = chat
        self._options = dict(options)
        self._prompts = {setting: texts[name] for setting, name in prompts.items()}
        self._retry = texts[self.retry_prompt]

    @property
    def name(self) -> str:
        """The name of the chat model."""
        return self._chat.name

    @property
    def settings(self) -> Mapping[str, Setting]:
        """The settings of the chat model, how it is asked, with which prompts, and the version of the rules."""
        return {
            **self._chat.settings,
            **self._options,
            **{setting: str(prompt) for setting, prompt in self._prompts.items()},
            "prompt_again": str(self._retry),
            **self.rules,
        }

    @property
    def price(self) -> Price:
        """The price of the chat model."""
        return price_of(self._chat)

    @property
    def concurrency(self) -> int:
        """As many images at a time as the chat model takes requests."""
        return self._chat.concurrency

    async def _encode(self, image: LoadedImage, *, on_grid: bool = False) -> ChatImage:
        """Encode the image in a thread, so that other images do not wait for it."""
        return await asyncio.to_thread(encode_image, image, on_grid=on_grid)

    async def _ask(
        self,
        image: ChatImage,
        values: Mapping[str, str],
        answer_type: type[JudgeAnswer],
        find_problem: Callable[[JudgeAnswer], str | None],
        prompt: str = "prompt",
    ) -> ValidAnswer[JudgeAnswer] | NoValidAnswer:
        """Ask a question; if the answer parses but is not valid, report the problem and ask once more."""
        question = build_question(image.attachment, self._prompts[prompt], values, self.image_position)
        messages = [Message("user", question)]
        raw: list[str] = []
        cost: float | None = 0.0
        problem: str | None = None
        for _ in range(_MAX_ATTEMPTS):
            reply = await self._chat.ask(messages, answer_type)
            cost = total_cost((cost, reply.cost))
            raw.append(reply.raw)
            if isinstance(reply, Unanswered):
                reason, detail = explain_unanswered(reply)
                return NoValidAnswer(reason, f"{self.name} {detail}", tuple(filter(None, raw)), cost)
            problem = await read_aside(len(reply.raw), find_problem, reply.value)
            if problem is None:
                return ValidAnswer(reply.value, tuple(raw), reply.served, cost, reply.p_yes)
            # The conversation goes on, which makes it a new request: a cached answer would be of no use here.
            messages += [
                Message("assistant", (reply.raw,)),
                Message("user", (self._retry.fill({"problem": problem}),)),
            ]
        note_waste()
        await self._forget(messages, answer_type)
        detail = f"{self.name} answered twice what cannot be: {problem}"
        return NoValidAnswer("not understood", detail, tuple(raw), cost)

    async def _forget(self, messages: Sequence[Message], answer_type: type[BaseModel]) -> None:
        """Remove invalid answers from the cache of the chat model, so that a resumed run asks anew."""
        forget = getattr(self._chat, "forget", None)
        if forget is not None:
            for end in range(1, len(messages), 2):
                await forget(messages[:end], answer_type)


def check_option(option: str, value: str, known: Sequence[str]) -> None:
    """Refuse a value that an option does not have."""
    if value not in known:
        raise FormalimgError(f"unknown {option} {value!r}: known are {', '.join(known)}")


def total_cost(costs: Iterable[float | None]) -> float | None:
    """Return the sum of the costs; None if one of them is unknown."""
    total = 0.0
    for cost in costs:
        if cost is None:
            return None
        total += cost
    return total


def numbering_problem(count: int, listed: str) -> str:
    """Return the message for answers whose numbers are not 1 to `count`; `listed` are the numbers they have."""
    return f"it must answer the questions 1 to {count}, each once and in this order, but it has {listed or 'none'}"


def explain_unanswered(reply: Unanswered) -> tuple[UnscoredReason, str]:
    """Return why there is no verdict without an answer: the kind of reason, and what the model did."""
    explanations: Mapping[str, tuple[UnscoredReason, str]] = {
        "unreadable": ("not understood", "gave answers that cannot be read"),
        "refused": ("judge failed", DECLINED),
        "failed": ("judge failed", "did not answer"),
    }
    reason, action = explanations[reply.kind]
    return reason, f"{action}: {reply.reason}"
