"""Connections that do not wait for ever, for a request or for a client that reads no answer; and not too many."""

from __future__ import annotations

import asyncio
from typing import Any

import h11
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from formalimg.rewards.server.refusing import RefusedError

CROWDED = "formalimg.crowded"
"""A key that is in the scope of requests over connections beyond the limit."""

_FAR_TOO_MANY = 4
"""Over so many times the limit, connections are not even told that they are too many."""


def patient_for(seconds: float, most: int) -> type[asyncio.Protocol]:
    """The protocol of HTTP for uvicorn, with limits that uvicorn does not have.

    From the beginning of a connection, and from the end of each answer, the client has so many seconds until the head
    of its next request is there, however slowly it sends it. A client that lets an answer lie is cut off after the
    same time. How long a body may take is not known here.

    Requests over more than so many connections are marked as `CROWDED`, and the application refuses them: were they
    refused by uvicorn, nobody would be told when to come back, and nobody would count them. Four times as many are
    too many for that too: any more are closed at once, before there are more than a process may hold.
    """

    class Patient(H11Protocol):
        def __init__(self, *given: Any, **named: Any) -> None:
            super().__init__(*given, **named)
            self._without_request: asyncio.TimerHandle | None = None
            self._unread: asyncio.TimerHandle | None = None

        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            super().connection_made(transport)
            if len(self.connections) > _FAR_TOO_MANY * most:
                transport.abort()
            elif len(self.connections) > most:
                self.app = _crowded(self.app)
            self._wait_for_request()

        def connection_lost(self, exc: Exception | None) -> None:
            for timer in (self._without_request, self._unread):
                if timer is not None:
                    timer.cancel()
            super().connection_lost(exc)

        def handle_events(self) -> None:
            before = self.cycle
            super().handle_events()
            if self.cycle is not before and not self.cycle.response_complete and self._without_request is not None:
                self._without_request.cancel()

        def on_response_complete(self) -> None:
            # Before the rest, which may find that the next request has arrived already.
            self._wait_for_request()
            super().on_response_complete()

        def send_400_response(self, msg: str) -> None:
            """Refuse what is no HTTP; it may also be the rest of a request that was answered before it was there."""
            if self.cycle is not None and not self.cycle.response_complete:
                self.cycle.disconnected = True  # now, so that nobody else answers
                self.cycle.message_event.set()
            if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
                answer = RefusedError(400, "this is no HTTP that can be read: send HTTP/1.1", closes=True).answer()
                told = h11.Response(status_code=answer.status_code, headers=answer.raw_headers, reason=b"Bad Request")
                for event in (told, h11.Data(data=bytes(answer.body)), h11.EndOfMessage()):
                    self.transport.write(self.conn.send(event) or b"")
            self.transport.close()

        def pause_writing(self) -> None:
            super().pause_writing()
            self._unread = self.loop.call_later(seconds, self.transport.abort)

        def resume_writing(self) -> None:
            super().resume_writing()
            if self._unread is not None:
                self._unread.cancel()

        def _wait_for_request(self) -> None:
            if self._without_request is not None:
                self._without_request.cancel()
            self._without_request = self.loop.call_later(seconds, self.transport.abort)

    return Patient


def _crowded(app: ASGIApp) -> ASGIApp:
    async def marked(scope: Scope, receive: Receive, send: Send) -> None:
        await app({**scope, CROWDED: True}, receive, send)

    return marked
