"""Retries and rate limits: spacing, waiting for Retry-After, asking again only where that may help."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from formalimg.errors import FormalimgError
from formalimg.models.base import CallError, CallErrorKind
from formalimg.models.options import Options
from formalimg.models.retry import RateLimiter, RetryPolicy, chat_retry_policy, few_attempts, image_retry_policy
from tests.support.virtual_time import VirtualTime


class Server:
    def __init__(self, time: VirtualTime, faults: Sequence[Exception] = ()) -> None:
        self._time = time
        self._faults = list(faults)
        self.called_at: list[float] = []

    async def call(self) -> str:
        self.called_at.append(self._time.now)
        if self._faults:
            raise self._faults.pop(0)
        return "fine"


def _door(time: VirtualTime, chance: float = 1.0, **retry_policy: float | None) -> RateLimiter:
    return RateLimiter(RetryPolicy(**retry_policy), clock=time.clock, sleep=time.sleep, jitter=lambda: chance)  # type: ignore[arg-type]


def _outcome(time: VirtualTime, door: RateLimiter, call: Callable[[], Awaitable[str]]) -> object:
    return time.run(door.call(call))[0]


@pytest.mark.parametrize(
    ("fault", "faults", "called_at", "policy"),
    [
        *((fault, 3, [0, 1, 3, 7], {}) for fault in ("busy", "unavailable", "wrong")),
        *((fault, 1, [0], {}) for fault in ("refused", "rejected")),
        ("busy", 9, [0, 1, 3, 7], {"max_attempts": 4}),
        ("unavailable", 9, [0, 3, 9, 21, 41, 61], {"initial_backoff": 3, "max_backoff": 20}),
    ],
)
def test_what_may_pass_is_tried_again_after_waits_that_double(
    fault: CallErrorKind, faults: int, called_at: list[float], policy: dict[str, float]
) -> None:
    time = VirtualTime()
    server = Server(time, [CallError(fault, f"number {number}") for number in range(faults)])
    outcome = _outcome(time, _door(time, **policy), server.call)
    assert server.called_at == called_at
    if len(called_at) > faults:
        assert outcome == "fine"
    else:
        assert isinstance(outcome, CallError)
        assert (outcome.kind, outcome.reason) == (fault, f"number {len(called_at) - 1}")


@given(st.lists(st.floats(0, 1), min_size=5, max_size=5))
@settings(max_examples=25, deadline=None)
def test_jitter_takes_anything_up_to_the_whole_wait(chances: list[float]) -> None:
    time = VirtualTime()
    server = Server(time, [CallError("unavailable", "")] * 9)
    drawn = iter(chances)
    door = RateLimiter(RetryPolicy(max_attempts=6), clock=time.clock, sleep=time.sleep, jitter=lambda: next(drawn))
    _outcome(time, door, server.call)
    assert time.slept == [chance * 2**number for number, chance in enumerate(chances)]


def test_everyone_waits_when_one_is_told_to() -> None:
    time = VirtualTime()
    server = Server(time, [CallError("busy", "slow down", retry_after=30)])
    door = _door(time, chance=0.5)

    async def later(seconds: float) -> str:
        await time.sleep(seconds)
        return await door.call(server.call)

    assert time.run(door.call(server.call), later(1), later(29), later(31)) == ["fine"] * 4
    first, *others = server.called_at
    assert first == 0
    assert len(others) == 4
    assert min(others) >= 30


def test_nobody_waits_for_hours() -> None:
    time = VirtualTime()
    server = Server(time, [CallError("busy", "come back tomorrow", retry_after=86_400)])
    door = _door(time)
    first, second = time.run(door.call(server.call), door.call(server.call))
    assert isinstance(first, CallError)
    assert isinstance(second, CallError)
    assert (first.kind, first.reason) == ("busy", "come back tomorrow")
    assert (second.kind, second.reason) == ("busy", "asks to wait 86400 s more")
    assert (server.called_at, time.now) == ([0], 0)


@given(st.integers(1, 40), st.floats(1, 600), st.integers(0, 3))
@settings(max_examples=30, deadline=None)
def test_no_minute_holds_more_calls_than_allowed(callers: int, rate: float, pauses: int) -> None:
    time = VirtualTime()
    server = Server(time, [CallError("busy", "", retry_after=7)] * pauses)
    door = _door(time, requests_per_minute=rate)
    time.run(*(door.call(server.call) for _ in range(callers)))
    assert len(server.called_at) == callers + pauses
    for start in server.called_at:
        inside = [at for at in server.called_at if start <= at < start + 60 - 1e-6]
        assert len(inside) <= rate + 1


def test_whoever_cancels_is_obeyed() -> None:
    async def cancel() -> None:
        task = asyncio.create_task(RateLimiter(RetryPolicy()).call(lambda: asyncio.sleep(60)))
        await asyncio.sleep(0.01)
        task.cancel()
        await task

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(cancel())


def test_manners_are_read_from_options() -> None:
    text = {
        "concurrency": "16",
        "rpm": "60",
        "timeout": "2.5",
        "max_attempts": "3",
        "initial_backoff": "0",
        "max_wait": "9",
    }
    given_options = Options("x/y", {**text, "parse_retries": "0", "cache": "off"})
    retry_policy = chat_retry_policy(given_options)
    given_options.reject_unknown()
    assert retry_policy == RetryPolicy(16, 60.0, 2.5, 3, 0.0, max_wait=9.0, parse_retries=0, cache=False)


def test_options_of_the_first_edition_are_still_read() -> None:
    old = Options("x/y", {"tries": "3", "first_wait": "0", "patience": "9", "reads": "0"})
    assert chat_retry_policy(old) == RetryPolicy(max_attempts=3, initial_backoff=0, max_wait=9, parse_retries=0)
    old.reject_unknown()
    with pytest.raises(FormalimgError, match="tries and max_attempts of x/y are the same option: give only max_attem"):
        image_retry_policy(Options("x/y", {"tries": "3", "max_attempts": "3"}))


def test_retries_and_waits_are_logged_without_keys(caplog: pytest.LogCaptureFixture) -> None:
    time = VirtualTime()
    server = Server(time, [CallError("busy", "slow down, sk-0123456789abcdef", 7.0), CallError("unavailable", "reset")])
    limiter = RateLimiter(RetryPolicy(), name="x/y", clock=time.clock, sleep=time.sleep, jitter=lambda: 0.5)
    with caplog.at_level("INFO", "formalimg.models"):
        assert _outcome(time, limiter, server.call) == "fine"
    assert {record.name for record in caplog.records} == {"formalimg.models.retry"}
    assert [record.getMessage() for record in caplog.records] == [
        "x/y: attempt 1 of 6 failed (busy: slow down, ***), retry after 7.0 s",
        "x/y: rate limit, waiting 7.0 s",
        "x/y: attempt 2 of 6 failed (unavailable: reset), retry after 1.0 s",
    ]


@pytest.mark.parametrize(("fault", "calls"), [("unavailable", 2), ("wrong", 2), ("busy", 6)])
def test_a_first_call_fails_at_the_second_outage_but_waits_for_a_busy_server(fault: CallErrorKind, calls: int) -> None:
    time = VirtualTime()
    server = Server(time, [CallError(fault, "not now")] * 9)

    async def first_call() -> str:
        with few_attempts():
            return await _door(time).call(server.call)

    assert isinstance(time.run(first_call())[0], CallError)
    assert len(server.called_at) == calls
