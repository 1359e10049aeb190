"""The authoring engine: resumable rounds of concurrent attempts, and an estimate of their cost."""

from __future__ import annotations

import asyncio
import json
from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing, nullcontext
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

from formalimg._util.aio import run_sync
from formalimg._util.io import atomic_write_text
from formalimg.benchmarks.authoring.conversation import (
    JOURNAL_FILE,
    AuthoringJournal,
    Conversation,
    LimitedChatModel,
    Part,
)
from formalimg.benchmarks.authoring.outcomes import (
    REASONS,
    AttemptOutcome,
    AuthoringState,
    Reason,
    Rejection,
    add_costs,
    current_state,
)
from formalimg.benchmarks.authoring.task import VERSION, AuthoringPlan, AuthoringTask, Slot, authoring_of
from formalimg.benchmarks.items_file import write_items
from formalimg.errors import FormalimgError
from formalimg.models.base import Message, Reply, Unanswered, Usage
from formalimg.models.pricing import UNKNOWN_PRICE, Spending, advise_on_unknown_cost, open_meter, price_of
from formalimg.types import AnswerType, ChatModel, Item, Setting

_TURNS = 3
"""How often, in one go, an attempt is made to which no answer came. The models have tried more than once themselves."""


@dataclass(frozen=True)
class AuthoringResult:
    """The result of an authoring run."""

    items: tuple[Item[Any], ...]  # in the order of their ids
    accepted: int  # number of accepted attempts; of groups, one gives several items
    path: Path | None  # of the items; None as long as answers are outstanding
    tried: int  # number of attempts, with those without an answer
    rejections: Mapping[Reason, int]  # number of rejected attempts by reason
    unsettled: int  # number of attempts that passed all checks, but wait for the others of their round
    missing: Mapping[int, int]  # number of items by level that could not be had within the attempts
    outstanding: int  # number of missing answers; the same call asks for them again
    cost: float | None  # of all answers, in US dollars; None if the price is unknown
    over_budget: bool = False  # whether answers are outstanding because the budget is used up
    estimated: int = 0  # number of calls with an estimated cost, because what they used was not reported


def author_suite(
    plan: AuthoringPlan,
    writer: ChatModel,
    folder: str | Path,
    *,
    checker: ChatModel | None = None,
    prompts: Path | None = None,
    budget: float | None = None,
    on_progress: Callable[[int], None] = lambda count: None,
) -> AuthoringResult:
    """Write items with a chat model, accepting only those that pass every check.

    Every answer is stored in the folder at once, so the same call resumes an interrupted run. The same seed and answers
    always give the same items.
    """
    if budget is not None and not budget >= 0:
        raise FormalimgError(f"invalid budget {budget}: give 0 or more US dollars")
    path = Path(folder)
    _require_own_items(path)
    task = authoring_of(plan.suite).task(plan, prompts)
    settings = _list_settings(plan, task, writer, checker or writer)
    with closing(AuthoringJournal(path, plan.suite, settings)) as journal:
        outcomes = journal.outcomes()
        spending = Spending()
        spending.budget, spending.cost = budget, journal.cost(outcomes)
        run = _AuthoringRun(plan, task, writer, checker or writer, journal, outcomes, spending, on_progress)
        state = run_sync(run.to_the_end)
        return _write_result(plan, task, settings, path, outcomes, state, spending)


def _require_own_items(folder: Path) -> None:
    if (folder / "items.jsonl").exists() and not (folder / JOURNAL_FILE).exists():
        raise FormalimgError(f"{folder} holds items already: choose another folder")


def _list_settings(
    plan: AuthoringPlan, task: AuthoringTask, writer: ChatModel, checker: ChatModel
) -> dict[str, object]:
    """Return all settings that affect the items, except the number of attempts, which may be raised on resume."""
    return {
        "rules": VERSION,
        "suite": plan.suite,
        "levels": list(plan.levels),
        "per_level": plan.per_level,
        "seed": plan.seed,
        "version": plan.version,
        "writer": [writer.name, dict(writer.settings)],
        "checker": [checker.name, dict(checker.settings)],
        **task.shapes,
    }


@dataclass(frozen=True)
class _AuthoringRun:
    plan: AuthoringPlan
    task: AuthoringTask
    writer: ChatModel
    checker: ChatModel
    journal: AuthoringJournal
    outcomes: list[AttemptOutcome]
    spending: Spending
    on_progress: Callable[[int], None]

    async def to_the_end(self) -> AuthoringState:
        """Run rounds until every slot is settled, no more answers arrive, or the budget is exhausted."""
        concurrency = self.writer.concurrency
        writer = LimitedChatModel(self.writer, asyncio.Semaphore(concurrency))
        parts: dict[Part, LimitedChatModel] = {"writer": writer, "checker": writer}
        if self.checker is not self.writer:
            concurrency += self.checker.concurrency
            parts["checker"] = LimitedChatModel(self.checker, asyncio.Semaphore(self.checker.concurrency))
        turns: Counter[int] = Counter()
        while True:
            state = current_state(self.plan, self.outcomes, self.task.likeness)
            self.on_progress(len(state.shelf.items) + len(state.missing))
            if not state.to_ask or turns[state.round] == _TURNS or not self.spending.may_spend:
                return state
            turns[state.round] += 1
            await self._run_round(state, parts, concurrency)

    async def _run_round(self, state: AuthoringState, parts: Mapping[Part, LimitedChatModel], concurrency: int) -> None:
        """Attempt each item that is still missing in this round."""
        passed = count(len(state.shelf.items) + state.unsettled + 1)
        slots = deque(state.to_ask)

        async def work() -> None:
            while slots and self.spending.may_spend:
                outcome = await self._attempt(slots.popleft(), state, parts)
                if outcome is not None and not isinstance(outcome.result, Rejection):
                    self.on_progress(next(passed))
            if self.spending.budget is not None and self.spending.unpriced:
                models = (self.writer, self.checker)
                unknown = next((model for model in models if price_of(model) == UNKNOWN_PRICE), self.writer)
                raise FormalimgError(advise_on_unknown_cost(unknown, per_image=False))

        workers = [asyncio.create_task(work()) for _ in range(concurrency)]
        try:
            await asyncio.gather(*workers)
        except Exception:
            slots.clear()
            await asyncio.gather(*workers, return_exceptions=True)  # what is on its way will be paid for: it is kept
            raise
        finally:
            for worker in workers:
                worker.cancel()
            await asyncio.gather(*workers, return_exceptions=True)

    async def _attempt(
        self, slot: Slot, state: AuthoringState, parts: Mapping[Part, LimitedChatModel]
    ) -> AttemptOutcome | None:
        """Make an attempt and store its outcome; return None if the budget was exhausted before it cost anything."""
        with open_meter(self.spending) as meter:
            talk = Conversation(slot.id, state.round, parts, self.journal, meter)
            try:
                outcome = await self.task.attempt(slot, state.round, talk, state.shelf)
            except FormalimgError as error:
                if meter.cost:  # attempts at an answer that were paid for before the one that can never succeed
                    cost = replace(talk.expense, cost=add_costs(talk.expense.cost, meter.cost))
                    self._keep(AttemptOutcome(slot.id, state.round, Rejection("unanswered", str(error)), cost))
                raise
        if meter.blocked and not outcome.is_final and outcome.expense.cost == 0:
            return None
        self._keep(outcome)
        return outcome

    def _keep(self, outcome: AttemptOutcome) -> None:
        self.journal.keep(outcome)
        self.outcomes.append(outcome)


def _write_result(
    plan: AuthoringPlan,
    task: AuthoringTask,
    settings: Mapping[str, object],
    folder: Path,
    outcomes: Sequence[AttemptOutcome],
    state: AuthoringState,
    spending: Spending,
) -> AuthoringResult:
    """Write the items if every slot is settled, and always the manifest `writing.json`."""
    items, path = task.items(state), None
    if items and not state.to_ask:
        task.write_companions(state.accepted, folder)
        path = write_items(items, folder)
    tried = [outcome for outcome in outcomes if outcome.attempt < plan.attempts]
    usage = Usage()
    total: float | None = 0.0
    for outcome in tried:
        usage += outcome.expense.usage
        total = add_costs(total, outcome.expense.cost)
    served: dict[str, dict[str, Mapping[str, Setting]]] = {}
    for outcome in outcomes:
        for part, model in outcome.expense.served.items():
            served.setdefault(part, {}).setdefault(json.dumps(model, sort_keys=True), model)
    missing = dict(sorted(Counter(slot.level for slot in state.missing).items()))
    manifest = {
        **settings,
        "attempts": plan.attempts,
        "complete": not state.to_ask,
        "items": len(items),
        "missing": missing,
        "outstanding": len(state.to_ask),
        "tried": len(tried),
        "unsettled": state.unsettled,
        "rejections": {reason: state.rejections[reason] for reason in REASONS if state.rejections[reason]},
        **task.summary(tried, state.accepted),
        "served": {part: [entries[key] for key in sorted(entries)] for part, entries in sorted(served.items())},
        "usage": {"input_tokens": usage.input_tokens, "output_tokens": usage.output_tokens},
        "cost": total,
    }
    atomic_write_text(folder / "writing.json", json.dumps(manifest, indent=2, ensure_ascii=False) + "\n")
    return AuthoringResult(
        items,
        len(state.accepted),
        path,
        len(tried),
        state.rejections,
        state.unsettled,
        missing,
        len(state.to_ask),
        total,
        over_budget=bool(state.to_ask) and spending.over_budget,
        estimated=spending.estimated,
    )


# --- estimate

_CHARACTERS_PER_TOKEN = 4
_ANSWER = 150  # Tokens of an answer, roughly; a model that thinks takes more


class AuthoringEstimate(NamedTuple):
    """Estimate of an authoring run in which every answer is accepted."""

    places: int  # number of empty slots
    questions: int  # number of questions asked for them; more for each answer that is rejected
    cost: float | None  # in US dollars, about; None if the price is unknown
    first: str  # the first request; empty if there is none


def estimate_authoring(
    plan: AuthoringPlan,
    writer: ChatModel,
    folder: str | Path,
    *,
    checker: ChatModel | None = None,
    prompts: Path | None = None,
) -> AuthoringEstimate:
    """Return the minimum requests that `author_suite` would make with the same arguments, without sending any."""
    path = Path(folder)
    _require_own_items(path)
    authoring = authoring_of(plan.suite)
    task = authoring.task(plan, prompts)
    outcomes: Sequence[AttemptOutcome] = ()
    if (path / JOURNAL_FILE).exists():
        settings = _list_settings(plan, task, writer, checker or writer)
        with closing(AuthoringJournal(path, plan.suite, settings)) as journal:
            outcomes = journal.outcomes()
    state = current_state(plan, outcomes, task.likeness)
    requests = run_sync(lambda: _first_requests(plan, task, state))
    questions = [task.fewest_questions(form) for _, form in requests]
    # Each further question of an item is taken to be as long as its first one, and one of them is a check.
    checks = int(authoring.is_checked(plan))
    tokens = [len(text) // _CHARACTERS_PER_TOKEN for text, _ in requests]
    checking = Usage(input_tokens=checks * sum(tokens), output_tokens=checks * _ANSWER * len(requests))
    writing = Usage(
        input_tokens=sum(length * (number - checks) for length, number in zip(tokens, questions, strict=True)),
        output_tokens=_ANSWER * (sum(questions) - checks * len(requests)),
    )
    cost = add_costs(price_of(writer).cost(writing), price_of(checker or writer).cost(checking)) if requests else 0.0
    return AuthoringEstimate(
        len(state.to_ask) + len(state.to_retry), sum(questions), cost, requests[0][0] if requests else ""
    )


@dataclass
class _RecordingModel:
    """A chat model that records requests and never answers them."""

    requests: list[tuple[str, str]] = field(default_factory=list)  # text and answer type
    name: str = "nobody"
    settings: Mapping[str, Setting] = field(default_factory=dict)
    concurrency: int = 1

    async def ask(self, messages: Sequence[Message], answer_type: type[AnswerType]) -> Reply[AnswerType]:
        text = "".join(part for message in messages for part in message.parts if isinstance(part, str))
        self.requests.append((text, answer_type.__name__))
        return Unanswered("failed", "nobody is asked")


async def _first_requests(plan: AuthoringPlan, task: AuthoringTask, state: AuthoringState) -> list[tuple[str, str]]:
    """Return the first requests of each slot, from the first attempt that makes any."""
    model = _RecordingModel()
    limited = LimitedChatModel(model, nullcontext())
    parts: dict[Part, LimitedChatModel] = {"writer": limited, "checker": limited}
    pending = [*((slot, state.round) for slot in state.to_ask), *((slot, state.round + 1) for slot in state.to_retry)]
    for slot, first in pending:
        before = len(model.requests)
        for attempt in range(first, plan.attempts):
            await task.attempt(slot, attempt, Conversation(slot.id, attempt, parts), state.shelf)
            if len(model.requests) > before:
                break
    return model.requests
