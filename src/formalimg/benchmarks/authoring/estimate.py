"""Estimate of requests and cost of an authoring run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import closing, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from formalimg._util.aio import run_sync
from formalimg.benchmarks.authoring.acceptance import AuthoringState, current_state
from formalimg.benchmarks.authoring.conversation import Conversation, LimitedChatModel, Part
from formalimg.benchmarks.authoring.engine import authoring_settings, require_own_items
from formalimg.benchmarks.authoring.journal import JOURNAL_FILE, AuthoringJournal
from formalimg.benchmarks.authoring.task import AuthoringTask
from formalimg.benchmarks.authoring.writing_plan import AuthoringPlan, authoring_of
from formalimg.models.base import Message, Reply, Unanswered, Usage
from formalimg.models.pricing import price_of
from formalimg.types import AnswerType, ChatModel, Setting

_CHARACTERS_PER_TOKEN = 4
_ANSWER = 150
"""Tokens of an answer, roughly; a model that thinks takes more."""


class AuthoringEstimate(NamedTuple):
    """Estimate of an authoring run in which every answer is accepted."""

    places: int  # how many places for items are still empty
    questions: int  # how many questions would be asked for them; more for each answer that is rejected
    cost: float | None  # about what they would cost, in US dollars; None if nobody knows the price
    first: str  # what would be sent first; empty if nothing would


def estimate_authoring(
    plan: AuthoringPlan,
    writer: ChatModel,
    folder: str | Path,
    *,
    checker: ChatModel | None = None,
    prompts: Path | None = None,
) -> AuthoringEstimate:
    """What `write_suite` would ask at least with the same arguments. Nothing is asked or written."""
    require_own_items(Path(folder))
    authoring = authoring_of(plan.suite)
    craft = authoring.task(plan, prompts)
    stands = _estimate_state(plan, craft, Path(folder), writer, checker or writer)
    heard = run_sync(lambda: _first_requests(plan, craft, stands))
    questions = sum(craft.fewest_questions(first.form) for first in heard)
    # Each further question of an item is taken to be as long as its first one, and one of them is a check.
    checked = int(authoring.is_checked(plan))
    sent = [len(first.text) // _CHARACTERS_PER_TOKEN for first in heard]
    checks = Usage(input_tokens=checked * sum(sent), output_tokens=checked * _ANSWER * len(heard))
    further = (craft.fewest_questions(first.form) - checked for first in heard)
    words = sum(tokens * count for tokens, count in zip(sent, further, strict=True))
    others = Usage(input_tokens=words, output_tokens=_ANSWER * (questions - checked * len(heard)))
    costs = [price_of(writer).cost(others), price_of(checker or writer).cost(checks)]
    known = [cost for cost in costs if cost is not None]
    cost = sum(known) if len(known) == len(costs) or not heard else None
    return AuthoringEstimate(len(stands.to_ask) + len(stands.to_retry), questions, cost, heard[0].text if heard else "")


class _RecordedRequest(NamedTuple):
    text: str
    form: str


@dataclass
class _RecordingModel:
    """A chat model that records requests and never answers."""

    heard: list[_RecordedRequest] = field(default_factory=list)
    name: str = "nobody"
    settings: Mapping[str, Setting] = field(default_factory=dict)
    concurrency: int = 1

    async def ask(self, messages: Sequence[Message], answer_type: type[AnswerType]) -> Reply[AnswerType]:
        text = "".join(part for message in messages for part in message.parts if isinstance(part, str))
        self.heard.append(_RecordedRequest(text, answer_type.__name__))
        return Unanswered("failed", "nobody is asked")


class _NoMemory:
    def recall(self, slot: int, attempt: int, question: str) -> str | None:
        return None

    def remember(self, slot: int, attempt: int, question: str, answer: str) -> None:
        pass


def _estimate_state(
    plan: AuthoringPlan, craft: AuthoringTask, folder: Path, writer: ChatModel, checker: ChatModel
) -> AuthoringState:
    if not (folder / JOURNAL_FILE).exists():
        return current_state(plan, (), craft.likeness)
    with closing(AuthoringJournal(folder, plan.suite, authoring_settings(plan, craft, writer, checker))) as journal:
        return current_state(plan, journal.outcomes(), craft.likeness)


async def _first_requests(plan: AuthoringPlan, craft: AuthoringTask, stands: AuthoringState) -> list[_RecordedRequest]:
    """What would be asked first for each place, in the first attempt that asks anything."""
    listener = _RecordingModel()
    asked = LimitedChatModel(listener, nullcontext())
    parts: dict[Part, LimitedChatModel] = {"writer": asked, "checker": asked}
    begun = [*((slot, stands.round) for slot in stands.to_ask), *((slot, stands.round + 1) for slot in stands.to_retry)]
    for slot, first in begun:
        before = len(listener.heard)
        for attempt in range(first, plan.attempts):
            await craft.attempt(slot, attempt, Conversation(slot.id, attempt, parts, _NoMemory()), stands.shelf)
            if len(listener.heard) > before:
                break
    return listener.heard
