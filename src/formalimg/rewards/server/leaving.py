"""Clients that leave before they have their answer: nobody works for them any longer."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import TypeVar

from starlette.requests import ClientDisconnect
from starlette.types import Receive

Made = TypeVar("Made")

_A_WHILE = 0.25
"""After so many seconds, a client that waits for its answer is watched, because it may leave."""


async def unless_gone(work: Awaitable[Made], receive: Receive) -> Made:
    """What the work gives; it is given up as soon as the client is gone.

    For a while nobody looks whether it is: that would take longer than most work does.

    Raises:
        ClientDisconnect: if it is.
    """
    working = asyncio.current_task()
    assert working is not None
    leaving: asyncio.Task[None] | None = None
    is_given_up = is_over = False

    def look() -> None:
        nonlocal leaving
        leaving = asyncio.create_task(_gone(receive))
        leaving.add_done_callback(give_up)

    def give_up(_: object) -> None:
        nonlocal is_given_up
        if not is_over:
            is_given_up = working.cancel()

    looking = asyncio.get_running_loop().call_later(_A_WHILE, look)
    try:
        return await work
    except asyncio.CancelledError:
        if is_given_up and working.uncancel() == 0:
            raise ClientDisconnect from None
        raise
    finally:
        is_over = True
        looking.cancel()
        if leaving is not None:
            leaving.cancel()


async def _gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
