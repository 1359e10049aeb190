"""Live progress: server-sent events about runs in progress, from a poller shared by all open pages.

Streams are limited in number and in time; browsers reconnect, and a page without a stream can be reloaded.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from time import monotonic

from starlette.concurrency import run_in_threadpool
from starlette.responses import PlainTextResponse, StreamingResponse
from starlette.types import Receive, Scope, Send

from formalimg.web.connections import ENDS_ON_SHUTDOWN
from formalimg.web.viewer.index import RunIndex
from formalimg.web.viewer.runs import progress_text

_MAX_STREAMS = 64  # pages that listen at the same time
_MAX_SECONDS = 600.0  # of a stream, so that forgotten ones do not stay
_HEARTBEAT = 15.0  # seconds without news until a comment is sent, to notice closed connections
_INTERVAL = 1.0  # seconds between two polls
_LOAD_FACTOR = 10  # the poller waits at least this many times as long as a poll takes, for slow disks


class LiveRuns:
    """ASGI application that streams changes to all listening pages, bound to the server's event loop."""

    def __init__(self, index: RunIndex, *, interval: float = _INTERVAL, max_streams: int = _MAX_STREAMS) -> None:
        """Watch the runs of an index."""
        self._index, self._interval, self._max_streams = index, interval, max_streams
        self._streams = 0
        self._event, self._number = "", 0
        self._changed = asyncio.Condition()
        self._poller: asyncio.Task[None] | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Respond with a stream of events, or with an error if too many pages are listening."""
        if self._streams >= self._max_streams:
            message = "Refused: too many pages listen for progress: close some.\n"
            refusal = PlainTextResponse(message, 503, {"Retry-After": "30", "Connection": "close"})
            await refusal(scope, receive, send)
            return
        self._streams += 1  # before anything is awaited, until the connection ends
        try:
            scope[ENDS_ON_SHUTDOWN] = True
            headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
            events = StreamingResponse(self._events(), media_type="text/event-stream", headers=headers)
            await events(scope, receive, send)
        finally:
            self._streams -= 1

    async def _events(self) -> AsyncIterator[str]:
        if self._poller is None or self._poller.done():
            self._poller = asyncio.create_task(self._poll())
        yield "retry: 3000\n\n"
        last, end = 0, monotonic() + _MAX_SECONDS
        while monotonic() < end:
            event, last = await self._next(last)
            yield event

    async def _next(self, last: int) -> tuple[str, int]:
        """Wait for an event newer than `last` and return it, or a comment on timeout."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_HEARTBEAT), self._changed:
                await self._changed.wait_for(lambda: self._number > last)
                return self._event, self._number
        return ": nothing new\n\n", last

    async def _poll(self) -> None:
        """Poll the runs while a page is listening, and announce changes."""
        while self._streams:
            begun = monotonic()
            event = await run_in_threadpool(self._current_event)
            if event != self._event:
                async with self._changed:
                    self._event, self._number = event, self._number + 1
                    self._changed.notify_all()
            await asyncio.sleep(max(self._interval, _LOAD_FACTOR * (monotonic() - begun)))

    def _current_event(self) -> str:
        running = {name: progress_text(activity) for name, activity in self._index.in_progress()}
        return f"event: runs\ndata: {json.dumps({'state': self._index.state_digest(), 'running': running})}\n\n"
