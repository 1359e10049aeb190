"""Messages and queues between the stages of the engine, and formatting of error messages."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Generic, NamedTuple, TypeVar

from formalimg._util.memory_gate import AnswerReservation
from formalimg._util.strict_json import dumps_storable
from formalimg._util.text import truncate
from formalimg.errors import FormalimgError
from formalimg.models.base import Failed, Generated, ImageResult, Refused
from formalimg.runs.inspection import InspectedImage
from formalimg.types import Item

if TYPE_CHECKING:
    from formalimg.runs.database import VerdictRow

T = TypeVar("T")


NO_PROMPT_REASON = "no prompt: the published record has none, so nothing was asked for"

_HEAD, _TAIL = 400, 100  # Characters kept from the beginning and the end of a message: some are whole web pages


class PlannedImage(NamedTuple):
    """An image to be generated."""

    item: Item[object]  # the item it belongs to
    sample: int  # the number of the image among those of the item, from 0
    key: str  # the content key of everything that shapes the image
    seed: int  # the seed to generate it with
    question: str  # the key of what the item asks for, under which verdicts are stored


class StoredImage(NamedTuple):
    """An image in the store: its file in `images`, and the SHA-256 digest of its bytes."""

    file: str
    sha256: str


class ArrivedAnswer(NamedTuple):
    """The answer of an image model, with its duration in seconds and its cost."""

    planned: PlannedImage  # the image that was asked for
    answer: ImageResult  # the answer
    seconds: float  # how many seconds after the request, or after the answer before it in a batch, it came
    cost: float = 0.0  # the cost of all attempts in US dollars, as far as it is known
    unpriced: int = 0  # 1 if a part of the cost is unknown
    # what it has reserved; released when it is stored; None if it cannot be large
    memory: AnswerReservation | None = None


class ImageToJudge(NamedTuple):
    """A stored image waiting for a judge, already decoded if it has just been generated."""

    item: Item[object]
    question: str
    stored: StoredImage
    inspected: InspectedImage | None = None


class JudgeResult(NamedTuple):
    """A verdict as a database row, with its duration in seconds."""

    entry: ImageToJudge
    row: VerdictRow
    seconds: float


class Channel(Generic[T]):
    """A bounded queue between stages that can be closed, which ends iteration over it."""

    def __init__(self, size: int) -> None:
        self._queue: asyncio.Queue[tuple[T] | None] = asyncio.Queue(size)

    async def put(self, entry: T) -> None:
        """Add an entry, waiting for free capacity."""
        await self._queue.put((entry,))

    async def close(self) -> None:
        """Close the channel to new entries."""
        await self._queue.put(None)

    def take_available(self, limit: int) -> Iterator[T]:
        """Yield up to `limit` available entries without waiting."""
        for _ in range(limit):
            if self._queue.empty():
                return
            entry = self._queue.get_nowait()
            if entry is None:
                self._queue.put_nowait(None)
                return
            yield entry[0]

    def __aiter__(self) -> Channel[T]:
        return self

    async def __anext__(self) -> T:
        entry = await self._queue.get()
        if entry is None:
            self._queue.put_nowait(None)  # for the next reader; there is room, as one was just taken
            raise StopAsyncIteration
        return entry[0]


def one_line(text: str, head: int = _HEAD, tail: int = _TAIL) -> str:
    """Return the text on one line, truncated and with API keys redacted."""
    from formalimg.models.secrets import redact  # here, because all may go well

    return truncate(redact(" ".join(text.split())), head, tail)


def error_text(error: BaseException) -> str:
    """Return the type and message of an exception on one line."""
    text = one_line(str(error))
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def is_own_cancellation(error: BaseException) -> bool:
    """Return whether the error is a cancellation of this task rather than one raised by a model or judge."""
    task = asyncio.current_task()
    return isinstance(error, asyncio.CancelledError) and task is not None and task.cancelling() > 0


def check_answer(answer: object) -> ImageResult:
    """Return the answer of an image model if it is valid, else `Failed` with the reason."""
    match answer:
        case Refused(reason=str()) | Failed(reason=str()):
            return answer
        case Generated(data=bytes(), served=served):
            try:
                dumps_storable(dict(served))
            except (TypeError, ValueError) as error:
                return Failed(f"what the model says it used is not plain data: {error_text(error)}", cost=answer.cost)
            if not any(isinstance(value, str) for value in served.values()):
                return answer
            from formalimg.models.secrets import redact_values  # here, because built-in models tell no texts

            return replace(answer, served=redact_values(served))
        case Generated():
            reason = f"the model gave {type(answer.data).__name__} in place of the bytes of an image"
            return Failed(reason, cost=answer.cost)
    return Failed(f"the model gave {type(answer).__name__} instead of an answer")


def root_error(errors: BaseExceptionGroup[BaseException]) -> BaseException:
    """Return the first error that a user can act on, or the first error if there is none."""
    leaves: list[BaseException] = []
    groups: list[BaseException] = [errors]
    while groups:
        error = groups.pop(0)
        if isinstance(error, BaseExceptionGroup):
            groups[:0] = error.exceptions
        else:
            leaves.append(error)
    return next((error for error in leaves if isinstance(error, FormalimgError)), leaves[0])
