"""Asking a chat model about a picture until its answer makes sense: twice at most, and what it cost is added up."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Generic, TypeVar

from formalimg.judges.base import UnscoredReason
from formalimg.models import Attachment, ChatModel, Message, Setting, Unanswered
from formalimg.prompts import Prompt

if TYPE_CHECKING:
    from pydantic import BaseModel


AnswerType = TypeVar("AnswerType", bound="BaseModel")


@dataclass(frozen=True)
class Understood(Generic[AnswerType]):
    """An answer that makes sense.

    Attributes:
        value: the answer.
        raw: all answers as they came, the last of which is this one.
        served: what was really used.
        cost: what all of them cost, in US dollars; None if nobody knows the price.
    """

    value: AnswerType
    raw: tuple[str, ...]
    served: Mapping[str, Setting] = field(default_factory=dict)
    cost: float | None = 0.0


@dataclass(frozen=True)
class NoAnswer:
    """No answer that can be used.

    Attributes:
        reason: the sort of reason.
        detail: what happened, in one line.
        raw: all answers as they came, if any did.
        cost: what all of them cost, in US dollars; None if nobody knows the price.
    """

    reason: UnscoredReason
    detail: str
    raw: tuple[str, ...] = ()
    cost: float | None = 0.0


async def ask_until_understood(
    chat: ChatModel,
    question: Sequence[str | Attachment],
    answer_type: type[AnswerType],
    problem: Callable[[AnswerType], str | None],
    again: Prompt,
) -> Understood[AnswerType] | NoAnswer:
    """Ask a question; if the answer has the wanted form but cannot be right, say what is wrong and ask once more.

    Args:
        chat: who is asked.
        question: words and pictures.
        answer_type: the form of the answer.
        problem: what is wrong with an answer, in words for the model; None if it can be used.
        again: the words that ask again, with a place for the `{problem}`.
    """
    messages = [Message("user", tuple(question))]
    raw: list[str] = []
    cost: float | None = 0.0
    wrong: str | None = None
    for _ in range(2):
        reply = await chat.ask(messages, answer_type)
        cost = added(cost, reply.cost)
        raw.append(reply.raw)
        if isinstance(reply, Unanswered):
            reason, detail = _told(reply)
            return NoAnswer(reason, f"{chat.name} {detail}", tuple(filter(None, raw)), cost)
        wrong = problem(reply.value)
        if wrong is None:
            return Understood(reply.value, tuple(raw), reply.served, cost)
        # The conversation goes on, so that it is another question than before: a remembered answer is of no use here.
        messages += [Message("assistant", (reply.raw,)), Message("user", (again.fill({"problem": wrong}),))]
    await _forgotten(chat, messages, answer_type)
    return NoAnswer("not understood", f"{chat.name} answered twice what cannot be: {wrong}", tuple(raw), cost)


async def _forgotten(chat: ChatModel, messages: Sequence[Message], answer_type: type[AnswerType]) -> None:
    """Let a model that remembers its answers forget these, so that a resumed run hears others."""
    forget = getattr(chat, "forget", None)
    if forget is not None:
        for end in range(1, len(messages), 2):
            await forget(messages[:end], answer_type)


def added(cost: float | None, more: float | None) -> float | None:
    """Two costs together; not known if one of them is not."""
    return None if cost is None or more is None else cost + more


def _told(reply: Unanswered) -> tuple[UnscoredReason, str]:
    match reply.kind:
        case "unreadable":
            return "not understood", f"gave answers that cannot be read: {reply.reason}"
        case "refused":
            return "judge failed", f"declined to look: {reply.reason}"
        case "failed":
            return "judge failed", f"did not answer: {reply.reason}"
