"""Waiting for what runs in an event loop, from a program that has none, and from a notebook, which has its own."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

Result = TypeVar("Result")


def waited(work: Callable[[], Coroutine[Any, Any, Result]]) -> Result:
    """What comes of the work, once it is done."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work())
    with ThreadPoolExecutor(1) as other:
        return other.submit(lambda: asyncio.run(work())).result()
