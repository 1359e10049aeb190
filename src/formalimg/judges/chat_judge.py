"""Base classes for judges that query a chat model about an image, with our prompts or as published scripts do.

Clause, question and score judges and the VLM grounder are chat judges, which validate the answer and retry once. They
differ in prompt, in answer type, and in how answers become parts of a verdict.
"""

from __future__ import annotations

import asyncio
import io
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Literal, NamedTuple, Self, TypeAlias, TypeVar

from formalimg._util.images import png_bytes
from formalimg.errors import FormalimgError
from formalimg.judges.base import DECLINED, LoadedImage, UnscoredReason
from formalimg.models.base import Answered, Attachment, Message, Unanswered
from formalimg.models.pricing import Price, note_waste, price_of
from formalimg.models.structured_output import TextAnswer, read_aside
from formalimg.prompts import USER_LINE, Prompt, load_prompts
from formalimg.types import ChatModel, Setting

if TYPE_CHECKING:
    from pydantic import BaseModel

JudgeAnswer = TypeVar("JudgeAnswer", bound="BaseModel")
PublishedAnswerType = TypeVar("PublishedAnswerType", bound=TextAnswer)
ImagePosition: TypeAlias = Literal["first", "last"]

PROMPTS = Path(__file__).parent / "prompts"  # The folders of the prompts of judges that several benchmarks have
_MAX_ATTEMPTS = 2
Followed: TypeAlias = Literal["published", "paper", "official-code"]
"""The protocol that is followed: `published` where a paper and its published code do not differ."""
_PUBLISHED_FORMATS = (b"\x89PNG", b"\xff\xd8")  # How the files begin that published scripts look for: PNG and JPEG
_YES = re.compile(r"\W*yes\b", re.IGNORECASE)

GRID = 28  # Models that answer in pixels split images into patches of this size, and rescale what does not fit
MAX_PIXELS = 1280 * GRID * GRID
MAX_SIDE = 1512  # Some service would scale larger images down on the way, without a notice
_PLACEHOLDER = "{picture}"
_MEDIA_TYPES = {"PNG": "image/png", "JPEG": "image/jpeg", "WEBP": "image/webp"}
_PNG_COMPRESSION = -1  # The default of Pillow: cached answers are found again by the bytes that were sent


@dataclass(frozen=True)
class ValidAnswer(Generic[JudgeAnswer]):
    """An answer that passed validation."""

    value: JudgeAnswer
    raw: tuple[str, ...]  # the text of all attempts; the last one is this answer
    served: Mapping[str, Setting] = field(default_factory=dict)  # what was actually used, as far as the provider says
    cost: float | None = 0.0  # the cost of all attempts in US dollars; None if the price is unknown
    p_yes: float | None = None  # the probability of yes, if that was asked and the server reported it


@dataclass(frozen=True)
class NoValidAnswer:
    """The reason why the chat model gave no valid answer."""

    reason: UnscoredReason  # the kind of failure
    detail: str  # what happened, in one line
    raw: tuple[str, ...] = ()  # the text of all attempts, if there is any
    cost: float | None = 0.0  # the cost of all attempts in US dollars; None if the price is unknown


class PromptedChat:
    """A chat model with its prompts, which users can override, and the options of its judge."""

    prompt_folder: ClassVar[Path]  # the folder of its prompts
    retry_prompt: ClassVar[str] = ""  # the prompt that reports a `{problem}` with an answer and asks again, if any
    rules: ClassVar[Mapping[str, Setting]]
    """The version of the rules from answers to verdicts: raise it whenever a verdict may come out differently."""

    def __init__(
        self,
        chat: ChatModel,
        options: Mapping[str, Setting],
        prompts: Mapping[str, str],  # the names of the texts, by the settings that record them
        own_prompts: Path | None = None,
    ) -> None:
        self._texts = load_prompts(self.prompt_folder, own_prompts)
        self._chat = chat
        self._options = dict(options)
        names = {**prompts, "prompt_again": self.retry_prompt} if self.retry_prompt else prompts
        self._prompts = {setting: self._texts[name] for setting, name in names.items()}

    @property
    def name(self) -> str:
        return self._chat.name

    @property
    def price(self) -> Price:
        return price_of(self._chat)

    @property
    def concurrency(self) -> int:
        return self._chat.concurrency

    @property
    def settings(self) -> Mapping[str, Setting]:
        prompts = {setting: str(prompt) for setting, prompt in self._prompts.items()}
        return {**self._chat.settings, **self._options, **prompts, **self.rules}

    def _no_answer(self, reply: Unanswered, raw: Sequence[str], cost: float | None) -> NoValidAnswer:
        reason, detail = explain_unanswered(reply)
        return NoValidAnswer(reason, f"{self.name} {detail}", tuple(filter(None, raw)), cost)


class ChatJudge(PromptedChat):
    """Base class for judges and grounders that query a chat model and retry once after an invalid answer."""

    rules: ClassVar[Mapping[str, Setting]] = {"judging_rules": 1}
    image_position: ClassVar[ImagePosition] = "first"  # the place of the image in a prompt without a placeholder for it

    async def _encode(self, image: LoadedImage, *, on_grid: bool = False) -> ChatImage:
        return await asyncio.to_thread(encode_image, image, on_grid=on_grid)

    async def _ask(
        self,
        image: ChatImage,
        values: Mapping[str, str],
        answer_type: type[JudgeAnswer],
        find_problem: Callable[[JudgeAnswer], str | None],
        prompt: str = "prompt",
    ) -> ValidAnswer[JudgeAnswer] | NoValidAnswer:
        """Query the chat model, and retry once with an error message if the answer is invalid."""
        question = _build_question(image.attachment, self._prompts[prompt], values, self.image_position)
        messages = [Message("user", question)]
        raw: list[str] = []
        cost: float | None = 0.0
        problem: str | None = None
        for _ in range(_MAX_ATTEMPTS):
            reply = await self._chat.ask(messages, answer_type)
            cost = total_cost((cost, reply.cost))
            raw.append(reply.raw)
            if isinstance(reply, Unanswered):
                return self._no_answer(reply, raw, cost)
            problem = await read_aside(len(reply.raw), find_problem, reply.value)
            if problem is None:
                return ValidAnswer(reply.value, tuple(raw), reply.served, cost, reply.p_yes)
            # The conversation goes on, which makes it a new request: a cached answer would be of no use here.
            again = self._prompts["prompt_again"].fill({"problem": problem})
            messages += [Message("assistant", (reply.raw,)), Message("user", (again,))]
        note_waste()
        forget = getattr(self._chat, "forget", None)
        if forget is not None:  # so that a resumed run asks anew
            for end in range(1, len(messages), 2):
                await forget(messages[:end], answer_type)
        detail = f"{self.name} answered twice what cannot be: {problem}"
        return NoValidAnswer("not understood", detail, tuple(raw), cost)


class PublishedJudge(PromptedChat):
    """Base class for judges that follow published scripts.

    Answers that the published scripts accept count as they do there. Images that the scripts leave out of their totals,
    or count as failed because there is no answer, are `Unscored`.
    """

    rules: ClassVar[Mapping[str, Setting]] = {"protocol_rules": 1}

    def __init__(
        self,
        chat: ChatModel,
        protocol: Followed,
        prompts: Mapping[str, str],
        own_prompts: Path | None = None,
        options: Mapping[str, Setting] | None = None,
    ) -> None:
        super().__init__(chat, {"protocol": protocol, **(options or {})}, prompts, own_prompts)
        self._protocol = protocol

    @property
    def as_code(self) -> bool:
        """Whether the published code takes precedence over the paper."""
        return self._protocol != "paper"

    def _label(self, prompt: Prompt, label: str) -> str | None:
        """Return the media type declared by a published script if its request is reproduced exactly, else None.

        This requires the authors' text and the kind of server that they used, because others check the type.
        """
        return label if prompt.origin and self._chat.name.startswith("openai/") else None

    async def _ask(
        self, messages: Sequence[Message], answer_type: type[PublishedAnswerType]
    ) -> Answered[PublishedAnswerType] | NoValidAnswer:
        reply = await self._chat.ask(messages, answer_type)
        return reply if isinstance(reply, Answered) else self._no_answer(reply, (reply.raw,), reply.cost)


async def attach_image(image: LoadedImage, label: str | None = None) -> Attachment:
    """Encode an image as an attachment, in a worker thread to avoid blocking the event loop."""
    if label is not None and image.data.startswith(_PUBLISHED_FORMATS):
        return Attachment(image.data, label)
    return (await asyncio.to_thread(encode_image, image)).attachment


def system_and_user(prompt: Prompt, values: Mapping[str, str]) -> tuple[str, str]:
    """Split a prompt at the `[user]` line, and return the filled system and user messages.

    Surrounding blanks are kept only in texts by the benchmark authors.
    """
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


def check_option(option: str, value: str, values: Sequence[str]) -> None:
    """Raise an error if `value` is not among the allowed values of an option."""
    if value not in values:
        raise FormalimgError(f"unknown {option} {value!r}: choose from {', '.join(values)}")


def total_cost(costs: Iterable[float | None]) -> float | None:
    """Return the sum of the costs, or None if any of them is unknown."""
    total = 0.0
    for cost in costs:
        if cost is None:
            return None
        total += cost
    return total


def numbering_problem(count: int, listed: str) -> str:
    """Return the error message for answers that are not numbered 1 to `count`."""
    return f"it must answer the questions 1 to {count}, each once and in this order, but it has {listed or 'none'}"


def explain_unanswered(reply: Unanswered) -> tuple[UnscoredReason, str]:
    """Return the unscored reason and a detail message for a request without an answer."""
    explanations: Mapping[str, tuple[UnscoredReason, str]] = {
        "unreadable": ("not understood", "gave answers that cannot be read"),
        "refused": ("judge failed", DECLINED),
        "failed": ("judge failed", "did not answer"),
    }
    reason, action = explanations[reply.kind]
    return reason, f"{action}: {reply.reason}"


# --- images


class ChatImage(NamedTuple):
    """An image encoded for a chat model, with its size in pixels."""

    attachment: Attachment
    width: int
    height: int


def encode_image(image: LoadedImage, *, on_grid: bool = False) -> ChatImage:
    """Encode an image for a chat model, converting it to PNG only if necessary.

    The file is sent as is, except where a model might see another image in it than the one that is judged:
    rotated (EXIF) and transparent images, animations, and files other than PNG, JPEG or WebP are sent as PNG.
    """
    size = size_on_grid(*image.pil.size) if on_grid else image.pil.size
    media_type = _unambiguous_type(image.data)
    if media_type is not None and size == image.pil.size:
        return ChatImage(Attachment(image.data, media_type), *size)
    from PIL.Image import Resampling

    scaled = image.pil if image.pil.size == size else image.pil.resize(size, Resampling.LANCZOS)
    return ChatImage(Attachment(png_bytes(scaled, compress_level=_PNG_COMPRESSION), "image/png"), *size)


def size_on_grid(width: int, height: int) -> tuple[int, int]:
    """Return the closest size that services with 28-pixel patches leave unchanged."""
    scale = min(1.0, (MAX_PIXELS / (width * height)) ** 0.5, MAX_SIDE / max(width, height))
    if scale == 1.0:
        across, down = (max(GRID, round(side / GRID) * GRID) for side in (width, height))
        if across * down <= MAX_PIXELS and max(across, down) <= MAX_SIDE:
            return across, down
    return max(GRID, int(width * scale / GRID) * GRID), max(GRID, int(height * scale / GRID) * GRID)


def _unambiguous_type(data: bytes) -> str | None:
    """Return the media type of the file, or None if decoders could render it differently."""
    from PIL import ExifTags, Image

    try:
        with Image.open(io.BytesIO(data)) as opened:
            rotated = opened.getexif().get(ExifTags.Base.Orientation, 1) != 1
            odd = opened.mode not in ("RGB", "L") or "transparency" in opened.info or getattr(opened, "n_frames", 1) > 1
            return None if rotated or odd else _MEDIA_TYPES.get(opened.format or "")
    except (OSError, ValueError, SyntaxError):  # the caller decoded it in another way
        return None


def _build_question(
    image: Attachment, prompt: Prompt, values: Mapping[str, str], default_position: ImagePosition
) -> tuple[str | Attachment, ...]:
    """Build the message for a prompt, with the image inserted at its placeholder.

    Our prompts start with the text shared by all questions, then the image, then the question, so that servers with a
    prefix cache read the instruction once for all images, and each image once for all questions.
    """
    before, placeholder, after = prompt.text.partition(_PLACEHOLDER)
    if not placeholder:
        text = prompt.fill(values)
        return (image, text) if default_position == "first" else (text, image)
    # Further placeholders refer to the same image.
    texts = [replace(prompt, text=part.strip()).fill({**values, "picture": "the picture"}) for part in (before, after)]
    return tuple(part for part in (texts[0], image, texts[1]) if part)
