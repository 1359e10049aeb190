"""Calls of a judge or grounder that is being measured: counted against a budget, and ended if it only fails."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import TypeVar

from formalimg._util.text import truncate
from formalimg.errors import FormalimgError, OverBudgetError
from formalimg.judges.base import Grounding
from formalimg.models.spending import Spending, advise_on_unknown_cost, open_meter
from formalimg.types import Grounder, Judge, Unscored, Verdict

MAX_FAILURES = 20
"""After so many failures in a row certification ends: what does not answer cannot be measured."""

_Answer = TypeVar("_Answer", bound=Grounding | Verdict | Unscored)
_A = TypeVar("_A")
_B = TypeVar("_B")


class MeteredCalls:
    """Calls that are counted against a budget, and reported one by one."""

    def __init__(self, party: Grounder | Judge, spending: Spending, on_progress: Callable[[int], None]) -> None:
        """Begin to count."""
        self.name = party.name
        self._party = party
        self._spending = spending
        self._on_progress = on_progress
        self._done = 0
        self._failures = 0

    async def answer(self, ask: Callable[[], Awaitable[_Answer]]) -> _Answer:
        """Return the answer of a call."""
        answer: _Answer | None = None
        if self._spending.may_spend:
            with open_meter(self._spending, finish=True) as meter:
                answer = await ask()
                _, unpriced = meter.settle(answer.cost or 0.0, int(answer.cost is None))
            if unpriced and self._spending.budget is not None:
                raise FormalimgError(advise_on_unknown_cost(self._party, per_image=False))
            if meter.blocked:
                answer = None
        if answer is None:
            raise OverBudgetError(
                f"the budget of ${self._spending.budget:.2f} is used up after {self._done} images: the same command "
                "with a larger budget goes on, with the answers so far from the cache"
            )
        self._count_failures(answer)
        self._done += 1
        self._on_progress(self._done)
        return answer

    def _count_failures(self, answer: Grounding | Verdict | Unscored) -> None:
        """Count failures in a row, and end the certification when there are too many."""
        if not isinstance(answer, Unscored) or answer.reason != "judge failed":
            self._failures = 0
            return
        self._failures += 1
        if self._failures >= MAX_FAILURES:
            raise FormalimgError(
                f"{self.name} failed {self._failures} times in a row, the last time: "
                f"{truncate(answer.detail, 300, 60)}: mend that; the same command goes on, with the answers so far "
                "from the cache"
            )


async def map_concurrently(work: Callable[[_A], Awaitable[_B]], values: Iterable[_A], concurrency: int) -> list[_B]:
    """Return the results in the order of the values, with at most `concurrency` of them in work at any time."""
    results: dict[int, _B] = {}
    numbered = iter(enumerate(values))

    async def worker() -> None:
        for number, value in numbered:
            results[number] = await work(value)

    await asyncio.gather(*(worker() for _ in range(concurrency)))
    return [results[number] for number in sorted(results)]
