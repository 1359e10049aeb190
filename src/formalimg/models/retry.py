"""Retry with exponential backoff, rate limits and timeouts for calls to remote models."""

from __future__ import annotations

import asyncio
import logging
import random
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import TypeVar

from formalimg.errors import FormalimgError
from formalimg.models.base import CallError
from formalimg.models.options import Options
from formalimg.models.pricing import Price, may_begin_call, read_price
from formalimg.models.secrets import redact

Result = TypeVar("Result")

_log = logging.getLogger(__name__)

# option names of the first edition, still accepted: configs and commands of earlier runs contain them
_OLD_NAMES = (
    *(("tries", "max_attempts"), ("first_wait", "initial_backoff")),
    *(("patience", "max_wait"), ("reads", "parse_retries")),
)


@dataclass(frozen=True)
class RetryPolicy:
    """Retry policy of a remote model. It does not affect the results and is therefore not part of the settings."""

    concurrency: int = 8  # maximum number of calls that run at the same time
    requests_per_minute: float | None = None  # rate limit for starting calls, evenly spaced; None for no limit
    timeout: float = 120.0  # seconds after which a call without a response is given up
    max_attempts: int = 6  # maximum number of attempts per call, if it fails in a retryable way
    initial_backoff: float = 1.0  # maximum delay in seconds before the second attempt; it doubles with each further one
    max_backoff: float = 60.0  # maximum delay in seconds before any attempt
    # if a provider asks for a longer wait than this many seconds, calls fail instead of waiting
    max_wait: float = 300.0
    parse_retries: int = 2  # how often a chat model is asked again if its answer cannot be parsed
    cache: bool = True  # whether answers of a chat model are cached, so that the same question is paid for once
    price: Price | None = None  # the price that the user gave by hand; None for that of the price lists


DEFAULT_RETRY_POLICY = RetryPolicy()  # the policy unless a provider or a user sets another one
_FEW = 2
_few_attempts: ContextVar[bool] = ContextVar("formalimg_few_attempts", default=False)


@contextmanager
def few_attempts() -> Iterator[None]:
    """Limit the retries of calls within this context, so that a first call to an unreachable server fails early.

    Waiting for a busy server is not limited, because it is reachable.
    """
    token = _few_attempts.set(True)
    try:
        yield
    finally:
        _few_attempts.reset(token)


def image_retry_policy(options: Options, default: RetryPolicy = DEFAULT_RETRY_POLICY) -> RetryPolicy:
    """Parse the retry policy of an image model from its options, such as rpm, timeout and max_attempts."""
    return _read_policy(options, default, per_image=True)


def _read_policy(options: Options, default: RetryPolicy, *, per_image: bool) -> RetryPolicy:
    price = options.text("price", None)
    for old, new in _OLD_NAMES:
        options.accept_old_name(old, new)
    return replace(
        default,
        concurrency=options.integer("concurrency", default.concurrency, minimum=1, maximum=1024),
        requests_per_minute=options.number("rpm", default.requests_per_minute, minimum=0.01),
        timeout=options.number("timeout", default.timeout, minimum=0.01),
        max_attempts=options.integer("max_attempts", default.max_attempts, minimum=1, maximum=100),
        initial_backoff=options.number("initial_backoff", default.initial_backoff, minimum=0),
        max_wait=options.number("max_wait", default.max_wait, minimum=0),
        price=default.price if price is None else read_price(price, per_image=per_image),
    )


def chat_retry_policy(options: Options, default: RetryPolicy = DEFAULT_RETRY_POLICY) -> RetryPolicy:
    """Parse the retry policy of a chat model, which adds parse_retries and cache to that of an image model."""
    return replace(
        _read_policy(options, default, per_image=False),
        parse_retries=options.integer("parse_retries", default.parse_retries, minimum=0, maximum=20),
        cache=options.flag("cache", default.cache),
    )


class RateLimiter:
    """Rate limit, timeout and retries for a remote model, shared by all its callers."""

    def __init__(
        self,
        retry_policy: RetryPolicy,
        *,
        name: str = "model",
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        self._policy = retry_policy
        self._name = name
        self._clock = clock
        self._sleep = sleep
        self._jitter = jitter
        self._spacing = 60 / retry_policy.requests_per_minute if retry_policy.requests_per_minute else 0.0
        self._next_start = float("-inf")
        self._blocked_until = float("-inf")

    async def call(self, send: Callable[[], Awaitable[Result]]) -> Result:
        """Await `send()` with retries; exceptions never contain an API key."""
        attempts = 0
        failed: CallError | FormalimgError = CallError("rejected", "the budget is used up: no call was made")
        while True:
            if may_begin_call():
                await self._wait_for_start()
            if not may_begin_call():  # it may have been used up by others while this one waited
                raise failed
            attempts += 1
            started = self._clock()
            _log.debug("%s: call, attempt %d", self._name, attempts)
            limit = self._policy.timeout
            try:
                async with asyncio.timeout(limit):
                    result = await send()
                _log.debug("%s: response after %.2f s", self._name, self._clock() - started)
                return result
            except TimeoutError:
                failed = CallError("unavailable", f"no answer within {limit:g} s")
            except CallError as error:
                failed = CallError(error.kind, redact(error.reason), error.retry_after, error.usage)
            except FormalimgError as error:
                failed = FormalimgError(redact(str(error)))
            except Exception as error:  # of a library that the provider did not expect; its text may hold anything
                failed = CallError("wrong", redact(f"{type(error).__name__}: {error}"))
            # Raised out here, so that what was caught, which may hold a key, is not attached to it.
            if isinstance(failed, FormalimgError):
                raise failed
            retry_after = failed.retry_after or 0.0
            self._blocked_until = max(self._blocked_until, self._clock() + retry_after)
            policy = self._policy
            few = _few_attempts.get() and failed.kind != "busy"
            max_attempts = min(_FEW, policy.max_attempts) if few else policy.max_attempts
            last = not failed.is_retryable or attempts >= max_attempts or retry_after > policy.max_wait
            if last or not may_begin_call():
                _log.info("%s: failed after attempt %d (%s: %s)", self._name, attempts, failed.kind, failed.reason)
                raise failed
            span = min(policy.max_backoff, policy.initial_backoff * 2.0 ** (attempts - 1))
            delay = self._jitter() * span  # full jitter over a span that doubles with every attempt
            _log.info(
                "%s: attempt %d of %d failed (%s: %s), retry after %.1f s",
                *(self._name, attempts, policy.max_attempts, failed.kind, failed.reason, max(delay, retry_after)),
            )
            await self._sleep(delay)

    async def _wait_for_start(self) -> None:
        while True:
            now = self._clock()
            blocked = self._blocked_until - now
            if blocked > self._policy.max_wait:
                raise CallError("busy", f"asks to wait {blocked:.0f} s more")
            start = max(now, self._blocked_until, self._next_start)
            if self._spacing:
                self._next_start = start + self._spacing
            elif start > now:  # callers that waited for the same moment must not all start at once
                start += self._jitter() * self._policy.initial_backoff
            if start > now:
                # Spacing by the user's own rate limit happens at every call, so only the provider's waits are news.
                level = logging.INFO if blocked > 0 else logging.DEBUG
                _log.log(level, "%s: rate limit, waiting %.1f s", self._name, start - now)
                await self._sleep(start - now)
            if self._blocked_until <= self._clock():
                return
