"""Running coroutines from synchronous code, including notebooks, and functions from async code."""

from __future__ import annotations

import asyncio
import inspect
import signal
import threading
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, TypeVar

Result = TypeVar("Result")


def run_sync(work: Callable[[], Coroutine[Any, Any, Result]]) -> Result:
    """Run the coroutine to completion and return its result, in a separate thread if an event loop is running."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        with _interrupts_cancel():
            return asyncio.run(work())
    with ThreadPoolExecutor(1) as executor:
        return executor.submit(lambda: asyncio.run(work())).result()


@contextmanager
def _interrupts_cancel() -> Iterator[None]:
    """Let Ctrl-C cancel the coroutine where asyncio does not do so because of a custom signal handler."""
    before = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(before):
        yield
        return
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


async def call_function(function: Callable[..., Any], *values: object, **named: object) -> Any:
    """Call a user's function, awaiting coroutines and running other functions in a thread, and return its result."""
    if inspect.iscoroutinefunction(function):
        return await function(*values, **named)
    output = await asyncio.to_thread(function, *values, **named)
    # Objects and partial functions do not always show beforehand that they are async.
    return await output if inspect.isawaitable(output) else output
