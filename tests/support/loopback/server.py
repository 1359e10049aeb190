"""The server itself: a thread of its own on 127.0.0.1, with a journal of what came in."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from dataclasses import replace
from types import TracebackType

from tests.support.loopback.anthropic import ANTHROPIC
from tests.support.loopback.dialects import Asked, Dialect, Paint, Parts, Reply
from tests.support.loopback.faults import EVERYWHERE, Fault, Faults, never
from tests.support.loopback.http import Connection, Request, Response, Timed
from tests.support.loopback.images import painted
from tests.support.loopback.openai import OPENAI

_HTML = b"<!doctype html><html><head><title>Bad gateway</title></head><body>Please come back later.</body></html>"


def _no_words(asked: Asked) -> str:
    return "{}"


class Loopback:
    """Serves while it is entered.

    Attributes:
        requests: everything that came in, in the order of arrival.
        most_at_once: how many requests were open at the same time at most.
    """

    def __init__(
        self,
        *,
        faults: Faults = never,
        paint: Paint = painted,
        reply: Reply = _no_words,
        latency: float = 0.0,
        dialects: Sequence[Dialect] = (OPENAI, ANTHROPIC),
    ) -> None:
        """A server that does not run yet.

        Args:
            faults: which requests go wrong, and how; images that are fetched by their address are not counted.
            paint: what is in the images.
            reply: what chat models say.
            latency: seconds from a request to its answer.
            dialects: which providers it plays.
        """
        self.requests: list[Request] = []
        self.most_at_once = 0
        self._faults = faults
        self._paint = paint
        self._reply = reply
        self._latency = latency
        self._dialects = dialects
        self._counted = 0
        self._open = 0
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._serve, daemon=True, name="loopback")
        self._ready = threading.Event()
        self._port = 0

    @property
    def url(self) -> str:
        """Where it stands, without a slash at the end."""
        return f"http://127.0.0.1:{self._port}"

    def __enter__(self) -> Loopback:
        self._thread.start()
        assert self._ready.wait(10), "the server did not start"
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)

    def _serve(self) -> None:
        asyncio.set_event_loop(self._loop)
        starting = self._loop.create_server(lambda: Connection(self._answer, self._answered), "127.0.0.1", 0)
        server = self._loop.run_until_complete(starting)
        self._port = server.sockets[0].getsockname()[1]
        self._ready.set()
        self._loop.run_forever()
        server.close()
        self._loop.close()

    def _answer(self, request: Request) -> Timed:
        self.requests.append(request)
        self._open += 1
        self.most_at_once = max(self.most_at_once, self._open)
        try:
            return Timed(self._response(request), self._latency)
        except Exception as error:
            # A request that does not keep to the dialect: the client sees it as a rejection that says why.
            return Timed(Response(f"loopback: {type(error).__name__}: {error}".encode(), 418), 0.0)

    def _answered(self) -> None:
        self._open -= 1

    def _response(self, request: Request) -> Response:
        parts = Parts(self._paint, self._reply, self.url)
        for dialect in self._dialects:
            for route in dialect.routes:
                if not route.path.fullmatch(request.path):
                    continue
                fault = None
                if request.method == "POST":
                    fault = self._faults(self._counted)
                    self._counted += 1
                if fault is not None and fault.kind.isdigit():
                    return _failed(dialect, fault)
                assert fault is None or fault.kind in (*EVERYWHERE, *dialect.own_faults), f"unknown fault {fault.kind}"
                return _spoiled(route.answer(request, fault, parts), fault)
        return Response.of({"detail": "Not Found"}, 404)


def _failed(dialect: Dialect, fault: Fault) -> Response:
    headers = {} if fault.retry_after is None else {"retry-after": fault.retry_after}
    status = int(fault.kind)
    return Response.of(dialect.error(status, fault.code, fault.message), status, headers)


def _spoiled(good: Response, fault: Fault | None) -> Response:
    """What becomes of a good answer on a bad line."""
    match fault.kind if fault else "":
        case "hang":
            return replace(good, silent=True)
        case "reset":
            return replace(good, cut=True)
        case "empty":
            return replace(good, body=b"")
        case "html":
            return replace(good, body=_HTML, headers={"content-type": "text/html"})
        case "truncated":
            return replace(good, body=good.body[: len(good.body) // 2])
        case "wrong type":
            return replace(good, headers={"content-type": "text/plain"})
        case _:
            return good
