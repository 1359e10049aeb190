"""The authoring engine: rounds of concurrent attempts, resumable at any moment."""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from typing import Any

from formalimg._util.aio import run_sync
from formalimg.benchmarks.authoring.acceptance import AuthoringState, current_state
from formalimg.benchmarks.authoring.conversation import Conversation, LimitedChatModel, Part
from formalimg.benchmarks.authoring.journal import JOURNAL_FILE, AuthoringJournal
from formalimg.benchmarks.authoring.outcomes import AttemptOutcome, Reason, Rejection, add_costs
from formalimg.benchmarks.authoring.task import AuthoringTask
from formalimg.benchmarks.authoring.writing_card import write_manifest
from formalimg.benchmarks.authoring.writing_plan import VERSION, AuthoringPlan, Slot, authoring_of
from formalimg.benchmarks.items_file import write_items
from formalimg.errors import FormalimgError
from formalimg.models.pricing import UNKNOWN_PRICE, price_of
from formalimg.models.spending import Spending, advise_on_unknown_cost, open_meter
from formalimg.types import ChatModel, Item

_TURNS = 3
"""How often, in one go, an attempt is made to which no answer came. The models have tried more than once themselves."""


@dataclass(frozen=True)
class AuthoringResult:
    """Result of an authoring run."""

    items: tuple[Item[Any], ...]  # the accepted items, in the order of their ids
    accepted: int  # how many attempts were accepted; of groups, one gives several items
    path: Path | None  # where they lie; None as long as answers are outstanding
    tried: int  # how many attempts were made, with those to which no answer came
    rejections: Mapping[Reason, int]  # how many of them were rejected, by reason
    unsettled: int  # how many passed all checks, but wait for the others of their round
    missing: Mapping[int, int]  # how many items of each level could not be had within the attempts
    outstanding: int  # how many answers did not come; the same call asks for them again
    cost: float | None  # of all answers, in US dollars; None if nobody knows the price
    over_budget: bool = False  # whether answers are outstanding because the budget is used up
    estimated: int = 0  # how many calls were counted by an estimate, because what they used was not reported


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
    """Write items with a chat model, and accept only those that pass every check.

    Everything heard is kept in the folder at once. If the program ends before its time, the same call goes on where
    it was; the same seed and the same answers give the same items.
    """
    if budget is not None and not budget >= 0:
        raise FormalimgError(f"a budget of {budget} cannot be kept: give 0 or more US dollars")
    place = Path(folder)
    require_own_items(place)
    craft = authoring_of(plan.suite).task(plan, prompts)
    asked = authoring_settings(plan, craft, writer, checker or writer)
    journal = AuthoringJournal(place, plan.suite, asked)
    try:
        outcomes = journal.outcomes()
        spending = Spending()
        spending.budget, spending.cost = budget, journal.cost(outcomes)
        work = _AuthoringRun(plan, craft, writer, checker or writer, journal, outcomes, spending, on_progress)
        stands = run_sync(work.to_the_end)
        result = _result(plan, craft, asked, place, outcomes, stands)
        over_budget = bool(stands.to_ask) and spending.over_budget
        return replace(result, over_budget=over_budget, estimated=spending.estimated)
    finally:
        journal.close()


def require_own_items(folder: Path) -> None:
    """Refuse a folder with items from elsewhere, which would be replaced."""
    if (folder / "items.jsonl").exists() and not (folder / JOURNAL_FILE).exists():
        raise FormalimgError(f"{folder} holds items already: choose another folder")


def authoring_settings(
    plan: AuthoringPlan, craft: AuthoringTask, writer: ChatModel, checker: ChatModel
) -> dict[str, object]:
    """Return all settings that shape the items, without the number of attempts, which may be raised on resume."""
    return {
        "rules": VERSION,
        "suite": plan.suite,
        "levels": list(plan.levels),
        "per_level": plan.per_level,
        "seed": plan.seed,
        "version": plan.version,
        "writer": [writer.name, dict(writer.settings)],
        "checker": [checker.name, dict(checker.settings)],
        **craft.shapes,
    }


@dataclass(frozen=True)
class _AuthoringRun:
    plan: AuthoringPlan
    craft: AuthoringTask
    writer: ChatModel
    checker: ChatModel
    journal: AuthoringJournal
    outcomes: list[AttemptOutcome]
    spending: Spending
    on_progress: Callable[[int], None]

    async def to_the_end(self) -> AuthoringState:
        """Round after round, until all is settled or answers do not come."""
        at_a_time = self.writer.concurrency
        writer = LimitedChatModel(self.writer, asyncio.Semaphore(at_a_time))
        parts: dict[Part, LimitedChatModel] = {"writer": writer, "checker": writer}
        if self.checker is not self.writer:
            at_a_time += self.checker.concurrency
            parts["checker"] = LimitedChatModel(self.checker, asyncio.Semaphore(self.checker.concurrency))
        turns: Counter[int] = Counter()
        while True:
            stands = current_state(self.plan, self.outcomes, self.craft.likeness)
            self.on_progress(len(stands.shelf.items) + len(stands.missing))
            if not stands.to_ask or turns[stands.round] == _TURNS or not self.spending.may_spend:
                return stands
            turns[stands.round] += 1
            await self._all(stands, parts, at_a_time)

    async def _all(self, stands: AuthoringState, parts: Mapping[Part, LimitedChatModel], at_a_time: int) -> None:
        """One attempt at each item that is still to be had in this round."""
        passed = count(len(stands.shelf.items) + stands.unsettled + 1)
        slots = deque(stands.to_ask)

        async def hand() -> None:
            while slots and self.spending.may_spend:
                outcome = await self._attempt(slots.popleft(), stands, parts)
                if outcome is not None and not isinstance(outcome.result, Rejection):
                    self.on_progress(next(passed))
            self._require_known_costs()

        hands = [asyncio.create_task(hand()) for _ in range(at_a_time)]
        try:
            await asyncio.gather(*hands)
        except Exception:
            slots.clear()
            await asyncio.gather(*hands, return_exceptions=True)  # what is on its way will be paid for: it is kept
            raise
        finally:
            for task in hands:
                task.cancel()
            await asyncio.gather(*hands, return_exceptions=True)

    async def _attempt(
        self, slot: Slot, stands: AuthoringState, parts: Mapping[Part, LimitedChatModel]
    ) -> AttemptOutcome | None:
        """Make an attempt and keep its outcome; None if the budget is used up and it has cost nothing."""
        with open_meter(self.spending) as meter:
            talk = Conversation(slot.id, stands.round, parts, self.journal, meter)
            try:
                outcome = await self.craft.attempt(slot, stands.round, talk, stands.shelf)
            except FormalimgError as error:
                if meter.cost:  # attempts at an answer that were paid for before the one that can never succeed
                    cost = replace(talk.expense, cost=add_costs(talk.expense.cost, meter.cost))
                    self._keep(AttemptOutcome(slot.id, stands.round, Rejection("unanswered", str(error)), cost))
                raise
        if meter.blocked and not outcome.is_final and outcome.expense.cost == 0:
            return None
        self._keep(outcome)
        return outcome

    def _keep(self, outcome: AttemptOutcome) -> None:
        self.journal.keep(outcome)
        self.outcomes.append(outcome)

    def _require_known_costs(self) -> None:
        if self.spending.budget is not None and self.spending.unpriced:
            parties = (self.writer, self.checker)
            unknown = next((one for one in parties if price_of(one) == UNKNOWN_PRICE), self.writer)
            raise FormalimgError(advise_on_unknown_cost(unknown, per_image=False))


def _result(
    plan: AuthoringPlan,
    craft: AuthoringTask,
    asked: Mapping[str, object],
    folder: Path,
    outcomes: Sequence[AttemptOutcome],
    stands: AuthoringState,
) -> AuthoringResult:
    items, path = craft.items(stands), None
    if items and not stands.to_ask:
        craft.write_companions(stands.accepted, folder)
        path = write_items(items, folder)
    tried = [outcome for outcome in outcomes if outcome.attempt < plan.attempts]
    summary = craft.summary(tried, stands.accepted)
    manifest = write_manifest(folder, asked, plan.attempts, len(items), outcomes, stands, summary)
    return AuthoringResult(
        items,
        len(stands.accepted),
        path,
        manifest.tried,
        stands.rejections,
        stands.unsettled,
        dict(sorted(Counter(slot.level for slot in stands.missing).items())),
        len(stands.to_ask),
        manifest.cost,
    )
