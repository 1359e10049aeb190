"""Cost tracking during calls, so that a budget also applies between retries of a request.

An answer of a model comes after all its attempts. Costs that were counted only then would let each request pay for all
its retries after the budget is used up. So whoever keeps a budget opens a `Meter` around a piece of work (an image, a
verdict), models add each call to it as soon as it is paid for, and begin no call once it says so.
"""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from formalimg._util.memory_gate import AnswerReservation, answer_memory
from formalimg.errors import FormalimgError
from formalimg.models.base import CallError, Identified, Usage

if TYPE_CHECKING:
    from formalimg.models.base import Completion
    from formalimg.models.image_provider import ImageCompletion
    from formalimg.models.pricing import Price

NO_USAGE = "not reported: the cost is an estimate"
"""What `served` says under `usage` of an answer whose cost is an estimate."""


class Spending:
    """Tracks the cost of a run against its budget."""

    cost: float = 0.0  # the cost so far in US dollars, as far as it is known
    unpriced: int = 0  # number of results with an unknown cost
    estimated: int = 0  # number of calls whose use was not reported, so that they are counted by an estimate
    budget: float | None = None  # the spending limit in US dollars; None for no limit

    def spend(self, cost: float, unpriced: int = 0, estimated: int = 0) -> None:
        """Add a cost, and the numbers of results with unknown and estimated costs."""
        self.cost += cost
        self.unpriced += unpriced
        self.estimated += estimated

    @property
    def over_budget(self) -> bool:
        """Whether the budget is exhausted."""
        return self.budget is not None and self.cost >= self.budget

    @property
    def may_spend(self) -> bool:
        """Whether another call may start: not if the budget is exhausted, or is set while a cost is unknown."""
        return self.budget is None or not (self.over_budget or self.unpriced)


class Meter:
    """Tracks the cost of the calls of one task while they are made."""

    def __init__(self, limit: Spending, memory: AnswerReservation, *, finish: bool) -> None:
        self.cost = 0.0
        self.unpriced = 0
        self.blocked = False
        self.wasted = False
        self.memory = memory
        self._limit = limit
        self._finish = finish
        self._begun = False

    def may_begin_call(self) -> bool:
        """Return whether another call may start, and record if it may not."""
        # Work that goes well is finished, or what it cost would be lost with it; nothing is paid for a second time.
        finish = self._finish and self._begun and not self.wasted and not self._limit.unpriced
        self.blocked |= not (self._limit.may_spend or finish)
        return not self.blocked

    def count(self, cost: float | None, *, estimated: bool = False) -> None:
        """Count the cost of a call, or None if it is unknown."""
        self._begun = True
        unpriced = int(cost is None and not self.unpriced)
        self.cost += cost or 0.0
        self.unpriced += unpriced
        self._limit.spend(cost or 0.0, unpriced, int(estimated))

    def settle(self, cost: float = 0.0, unpriced: int = 0) -> tuple[float, int]:
        """Add any cost that a result reports beyond the counted calls, return the total, and reset the meter.

        Models that call nobody through us, or in other processes, say it only in their results.
        """
        total, unknown = max(cost, self.cost), max(unpriced, self.unpriced)
        if total > self.cost or unknown > self.unpriced:
            self._limit.spend(total - self.cost, unknown - self.unpriced)
        self.cost, self.unpriced = 0.0, 0
        return total, unknown


_meter: ContextVar[Meter | None] = ContextVar("formalimg_meter", default=None)


@contextmanager
def open_meter(limit: Spending, *, finish: bool = False) -> Iterator[Meter]:
    """Count all calls in this context, including those of tasks started in it, against the limit."""
    with answer_memory() as memory:
        meter = Meter(limit, memory, finish=finish)
        token = _meter.set(meter)
        try:
            yield meter
        finally:
            _meter.reset(token)


def may_begin_call() -> bool:
    """Return whether the current budget, if any, allows another call."""
    meter = _meter.get()
    return meter is None or meter.may_begin_call()


def note_waste() -> None:
    """Record that an answer was unusable, so that it is not retried once the budget is exhausted."""
    if (meter := _meter.get()) is not None:
        meter.wasted = True


Completed = TypeVar("Completed", bound="Completion | ImageCompletion")


@dataclass
class _Call:
    usage: Usage | None = None  # what it used, once an answer says so
    received: int = 0  # bytes of a good answer that came in so far


_call: ContextVar[_Call | None] = ContextVar("formalimg_call", default=None)


def note_usage(usage: Usage) -> Usage:
    """Record the usage of a call as soon as its answer arrives, because it is billed even if processing fails.

    For providers. What follows (a download, a check) may fail or take too long, and the cost would be forgotten.
    """
    if (call := _call.get()) is not None:
        call.usage = usage
    return usage


def note_received(size: int) -> None:
    """Record the received bytes of an answer, because the call is billed even if the rest never arrives."""
    if (call := _call.get()) is not None:
        call.received += size


def note_text(text: str) -> None:
    """Record the text of an answer as an estimate of its size if its bytes were not counted."""
    if (call := _call.get()) is not None:
        call.received = max(call.received, len(text.encode("utf-8", "replace")))


class RequestCost:
    """Total usage and cost of all attempts at a request."""

    def __init__(self, price: Price, complete: Callable[[Usage, int], Usage], *, keeps_answers: bool = False) -> None:
        self.usage = Usage()
        self.cost: float | None = 0.0
        self.estimated = 0
        self._price = price
        self._complete = complete
        self._keeps_answers = keeps_answers

    async def attempt(self, send: Callable[[], Awaitable[Completed]]) -> Completed:
        """Make one call and count its cost if it was answered, even if the answer is unusable.

        A call that was given up without an answer counts too: it was sent, and is likely to be billed.
        """
        call = _Call()
        token = _call.set(call)
        try:
            with answer_memory() as memory:
                result = await send()
                if self._keeps_answers:
                    memory.pass_on()
        except CallError as error:
            note_waste()
            if error.usage != Usage():
                call.usage = error.usage
            if call.usage or call.received or error.kind == "wrong":  # an answer came, and is not what was promised
                self.count(call.usage or Usage(), call.received)
            raise
        except FormalimgError:
            if call.usage:
                self.count(call.usage)
            raise
        except asyncio.CancelledError:  # by the time limit, or together with the run
            note_waste()
            if call.usage or self._price.cost(self._complete(Usage(), call.received)) is not None:
                self.count(call.usage or Usage(), call.received)
            raise
        except Exception:  # of a library that could not read the answer
            note_waste()
            self.count(call.usage or Usage(), call.received)
            raise
        finally:
            _call.reset(token)
        self.count(result.usage, call.received)
        return result

    def count(self, reported: Usage, received: int = 0) -> None:
        """Count the cost of a call, estimated from the received bytes if its usage was not reported."""
        usage = self._complete(reported, received)
        cost = self._price.cost(usage)
        estimated = bool(cost) and usage != reported
        self.usage += usage
        self.cost = None if self.cost is None or cost is None else self.cost + cost
        self.estimated += estimated
        if (meter := _meter.get()) is not None:
            meter.count(cost, estimated=estimated)


def advise_on_unknown_price(name: str, *, per_image: bool) -> str:
    """Return a message that a budget requires the model's price, with the option that sets it."""
    option = f"--price {shlex.quote(name)}"
    tokens = f"per million tokens sent and received, as in {option}={'5/40' if per_image else '0.15/0.60'}"
    form = f"DOLLARS (per image, as in {option}=0.04; or {tokens})" if per_image else f"IN/OUT (US dollars {tokens})"
    return f"nobody knows what {name} costs, so no budget can be kept: add {option}={form}, or list it in prices.toml"


def advise_on_unknown_cost(party: Identified, *, per_image: bool) -> str:
    """Return a message that a budget cannot be enforced after a call of unknown cost, with advice."""
    from formalimg.models.pricing import UNKNOWN_PRICE, price_of  # here, because most costs are known

    if price_of(party) == UNKNOWN_PRICE:
        return advise_on_unknown_price(party.name, per_image=per_image)
    return (
        f"{party.name} did not say what a call used, so the budget cannot be kept: give the price of an image, "
        "as in --price model=0.04"
    )
