"""Live progress: server-sent events about runs in progress, from a poller shared by all open pages.

The poller runs only while a page listens. Streams are limited in number and in time; browsers connect again by
themselves, and a page without a stream shows the same when it is loaded again.
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

_MAX_STREAMS = 64  # Number of pages that listen at the same time
_MAX_SECONDS = 600.0  # Seconds after which a stream ends, so that forgotten ones do not stay
_HEARTBEAT = 15.0  # Seconds without news after which a comment is sent, which shows whether anybody still listens
_INTERVAL = 1.0  # Seconds between two looks at the runs
_LOAD_FACTOR = 10  # The poller waits at least so many times as long as a look takes: on slow disks it looks less often


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
        """Respond with a stream of events, or with an error if too many pages are listening.

        A stream is counted before anything is awaited, so that none comes in between, until its connection ends.
        """
        if self._streams >= self._max_streams:
            message = "Refused: too many pages listen for progress: close some.\n"
            refusal = PlainTextResponse(message, 503, {"Retry-After": "30", "Connection": "close"})
            await refusal(scope, receive, send)
            return
        self._streams += 1
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
        seen, end = 0, monotonic() + _MAX_SECONDS
        while monotonic() < end:
            event = await self._next(seen)
            seen = self._number if event else seen
            yield event or ": nothing new\n\n"

    async def _next(self, seen: int) -> str:
        """Wait for an event newer than `seen` and return it, or an empty string on timeout."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_HEARTBEAT), self._changed:
                await self._changed.wait_for(lambda: self._number > seen)
                return self._event
        return ""

    async def _poll(self) -> None:
        """Poll the runs while a page is listening, and announce changes."""
        while self._streams:
            begun = monotonic()
            event = await run_in_threadpool(self._look)
            if event != self._event:
                async with self._changed:
                    self._event, self._number = event, self._number + 1
                    self._changed.notify_all()
            await asyncio.sleep(max(self._interval, _LOAD_FACTOR * (monotonic() - begun)))

    def _look(self) -> str:
        running = {name: progress_text(found)._asdict() for name, found in self._index.in_progress()}
        return f"event: runs\ndata: {json.dumps({'state': self._index.state_digest(), 'running': running})}\n\n"
