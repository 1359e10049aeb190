"""Run a coroutine from synchronous code, also inside a notebook that already has a running event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

Result = TypeVar("Result")


def run_sync(work: Callable[[], Coroutine[Any, Any, Result]]) -> Result:
    """Run the coroutine to completion and return its result; in a thread of its own if a loop is running here."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work())
    with ThreadPoolExecutor(1) as other:
        return other.submit(lambda: asyncio.run(work())).result()
