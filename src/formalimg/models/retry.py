"""Good retry_policy towards remote models: not too much at once, waiting when told to, asking again when it may help."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import TypeVar

from formalimg.errors import FormalimgError
from formalimg.models.base import CallError
from formalimg.models.options import Options
from formalimg.models.secrets import redacted

Result = TypeVar("Result")


@dataclass(frozen=True)
class RetryPolicy:
    """How a remote model is called. None of it shapes what the model answers, so none of it is a setting.

    Attributes:
        concurrency: how many calls may run at the same time.
        requests_per_minute: how many calls may begin in a minute, evenly spread; None for as many as there are.
        timeout: seconds until a call without an answer is given up.
        tries: how often a call is tried in all, if it fails in a way that may pass.
        first_wait: seconds before the second try, at most; each further one may take twice as long.
        longest_wait: seconds before any try, at most.
        patience: if a provider wants to be left alone for longer than so many seconds, calls fail instead of waiting.
        reads: how often a chat model is asked again if its answer cannot be read.
        cache: whether answers of a chat model are remembered, so that nobody pays twice for the same one.
    """

    concurrency: int = 8
    requests_per_minute: float | None = None
    timeout: float = 120.0
    tries: int = 6
    first_wait: float = 1.0
    longest_wait: float = 60.0
    patience: float = 300.0
    reads: int = 2
    cache: bool = True


USUAL = RetryPolicy()
"""How a model is called unless its provider or its user says otherwise."""


def image_retry_policy(options: Options, usual: RetryPolicy = USUAL) -> RetryPolicy:
    """What the options of an image model ask for: concurrency, rpm, timeout, tries, first_wait, patience."""
    return replace(
        usual,
        concurrency=options.whole_number("concurrency", usual.concurrency, least=1, most=1024),
        requests_per_minute=options.number("rpm", usual.requests_per_minute, least=0.01),
        timeout=options.number("timeout", usual.timeout, least=0.01),
        tries=options.whole_number("tries", usual.tries, least=1, most=100),
        first_wait=options.number("first_wait", usual.first_wait, least=0),
        patience=options.number("patience", usual.patience, least=0),
    )


def chat_retry_policy(options: Options, usual: RetryPolicy = USUAL) -> RetryPolicy:
    """What the options of a chat model ask for: the same as for an image model, and reads and cache."""
    return replace(
        image_retry_policy(options, usual),
        reads=options.whole_number("reads", usual.reads, least=0, most=20),
        cache=options.flag("cache", usual.cache),
    )


class Door:
    """The way to one remote model, which all its callers share."""

    def __init__(
        self,
        retry_policy: RetryPolicy,
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        chance: Callable[[], float] = random.random,
    ) -> None:
        """A door that nobody has gone through yet.

        Args:
            retry_policy: how calls are made.
            clock: seconds that pass.
            sleep: waits for so many of them.
            chance: a number from 0 to 1, for waits that differ from caller to caller.
        """
        self._manners = retry_policy
        self._clock = clock
        self._sleep = sleep
        self._chance = chance
        self._spacing = 60 / retry_policy.requests_per_minute if retry_policy.requests_per_minute else 0.0
        self._next_turn = float("-inf")
        self._closed_until = float("-inf")

    async def politely(self, call: Callable[[], Awaitable[Result]]) -> Result:
        """Make a call, again if that may help; nothing that is raised holds a key.

        Raises:
            CallError: if no try brought a result: what the last one failed of.
            FormalimgError: if no call can ever succeed.
        """
        tries = 0
        while True:
            await self._turn()
            tries += 1
            failed: CallError | FormalimgError
            try:
                return await self._within_time(call)
            except CallError as error:
                failed = CallError(error.fault, redacted(error.reason), error.retry_after)
            except FormalimgError as error:
                failed = FormalimgError(redacted(str(error)))
            except Exception as error:  # of a library that the provider did not expect; its text may hold anything
                failed = CallError("wrong", redacted(f"{type(error).__name__}: {error}"))
            # Raised out here, so that what was caught, which may hold a key, is not attached to it.
            if isinstance(failed, FormalimgError):
                raise failed
            alone_for = failed.retry_after or 0.0
            self._closed_until = max(self._closed_until, self._clock() + alone_for)
            if not failed.worth_another_try or tries >= self._manners.tries or alone_for > self._manners.patience:
                raise failed
            await self._sleep(self._wait_after(tries))

    async def _within_time(self, call: Callable[[], Awaitable[Result]]) -> Result:
        limit = self._manners.timeout
        try:
            async with asyncio.timeout(limit):
                return await call()
        except TimeoutError:
            raise CallError("unavailable", f"no answer within {limit:g} s") from None

    async def _turn(self) -> None:
        """Wait until a call may begin."""
        while True:
            now = self._clock()
            if self._closed_until - now > self._manners.patience:
                raise CallError("busy", f"wants to be left alone for {self._closed_until - now:.0f} s more")
            turn = max(now, self._closed_until, self._next_turn)
            if self._spacing:
                self._next_turn = turn + self._spacing
            elif turn > now:  # whoever stands before a closed door does not rush in with all the others
                turn += self._chance() * self._manners.first_wait
            if turn > now:
                await self._sleep(turn - now)
            if self._closed_until <= self._clock():
                return

    def _wait_after(self, tries: int) -> float:
        """Full jitter: anything from nothing to a span that doubles with every try."""
        longest = min(self._manners.longest_wait, self._manners.first_wait * 2.0 ** (tries - 1))
        return self._chance() * longest
