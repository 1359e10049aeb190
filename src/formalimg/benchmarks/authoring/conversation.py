"""The conversation of one attempt with writer and checker, in which no answer is requested twice."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import asdict, dataclass
from typing import Any, Literal, Protocol, TypeAlias, TypeVar

from pydantic import BaseModel, ValidationError

from formalimg._util.strict_json import stored_json, stored_text
from formalimg.benchmarks.authoring.outcomes import MAX_ANSWER, AttemptCost, Rejection, stored_expense
from formalimg.errors import FormalimgError
from formalimg.models.base import Answered, Message, Reply, Unanswered, Usage
from formalimg.models.pricing import Meter
from formalimg.types import ChatModel

AnswerType = TypeVar("AnswerType", bound=BaseModel)

Part: TypeAlias = Literal["writer", "checker"]


@dataclass(frozen=True)
class LimitedChatModel:
    """A chat model with a limit on concurrent requests."""

    chat: ChatModel
    door: AbstractAsyncContextManager[object]


class AnswerMemory(Protocol):
    """Storage for the answers of unfinished attempts."""

    def recall(self, slot: int, attempt: int, question: str) -> str | None:
        """Return the stored answer to a question; None if there is none."""
        ...

    def remember(self, slot: int, attempt: int, question: str, answer: str) -> None:
        """Store an answer until its attempt is finished."""
        ...


class Conversation:
    """The questions and answers of one attempt.

    Attributes:
        expense: what was heard so far, and what it cost.
    """

    def __init__(
        self,
        slot: int,
        attempt: int,
        parts: Mapping[Part, LimitedChatModel],
        memory: AnswerMemory,
        meter: Meter | None = None,
    ) -> None:
        """Start the conversation of an attempt."""
        self.expense = AttemptCost()
        self._meter = meter
        self._place = (slot, attempt)
        self._parts = parts
        self._memory = memory

    def name_of(self, part: Part) -> str:
        """Return the name of the model in the given role."""
        return self._parts[part].chat.name

    async def ask(
        self, part: Part, text: str, answer_type: type[AnswerType], *, before: Sequence[Message] = ()
    ) -> AnswerType | Rejection:
        """Ask a question, and return its answer or a rejection; stored answers are reused after an interruption."""
        earlier = "".join(f"{message.role} {message.parts[0]} " for message in before)
        sent = f"{part} {answer_type.__name__} {earlier}{text}"
        question = hashlib.sha256(sent.encode("utf-8", "surrogatepass")).hexdigest()
        stored = self._memory.recall(*self._place, question)
        if stored is not None:
            reply: Reply[AnswerType] = _decode_reply(stored, answer_type)
        else:
            model = self._parts[part]
            async with model.door:
                if self._meter is not None and not self._meter.may_begin_call():
                    return _reject_unanswered(Unanswered("failed", "the budget is used up"), part)
                reply = await model.chat.ask([*before, Message("user", (text,))], answer_type)
            if self._meter is not None:
                self._meter.settle(reply.cost or 0.0, int(reply.cost is None))
            if isinstance(reply, Answered):
                self._memory.remember(*self._place, question, _encode_reply(reply))
        self.expense = self.expense.with_reply(part, reply)
        return reply.value if isinstance(reply, Answered) else _reject_unanswered(reply, part)


def require_answer(answer: object) -> dict[str, Any]:
    """Return the fields of a stored answer, after checking that it is valid."""
    fields: dict[str, Any] = stored_json(answer, "answer", dict)
    stored_text(fields.get("raw"), "raw", MAX_ANSWER)
    stored_expense(fields)
    return fields


def without_cost(answer: str) -> str:
    """Return a stored answer without its cost, which has already been counted."""
    return json.dumps({**require_answer(answer), "usage": asdict(Usage()), "cost": 0.0})


def _encode_reply(reply: Answered[AnswerType]) -> str:
    fields = {
        "value": reply.value.model_dump(mode="json", by_alias=True),
        "raw": reply.raw,
        "usage": asdict(reply.usage),
        "cost": reply.cost,
        "served": dict(reply.served),
    }
    return json.dumps(fields)  # in ASCII: an answer may hold half a character, which no file takes


def _decode_reply(answer: str, answer_type: type[AnswerType]) -> Answered[AnswerType]:
    fields = require_answer(answer)
    try:
        value = answer_type.model_validate(fields.get("value"))
    except ValidationError as error:
        raise FormalimgError("a stored answer cannot be read any more: choose another folder") from error
    return Answered(value, fields["raw"], Usage(**fields["usage"]), fields["cost"], fields["served"], cached=True)


def _reject_unanswered(reply: Unanswered, part: Part) -> Rejection:
    checking = part == "checker"
    if reply.kind == "failed":
        return Rejection("unanswered", f"{'check ' if checking else ''}{reply.reason}")
    if reply.kind == "refused":
        return Rejection("check refused" if checking else "refused", reply.reason)
    return Rejection("check unreadable" if checking else "unreadable", reply.reason)
