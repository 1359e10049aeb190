"""Blocking library calls, each in a separate thread that ends with the call or at its timeout."""

from __future__ import annotations

import asyncio
import contextvars
import socket
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar

from formalimg.models.base import CallError
from formalimg.models.providers.limits import (
    MAX_MODEL_ITEMS,
    AnswerBody,
    ask_for_gzip,
    carries_credentials,
    refuse_redirect,
    replace_body,
)

if TYPE_CHECKING:
    from httpx2 import Client, Request, Response

Result = TypeVar("Result")

_current: contextvars.ContextVar[ThreadCall | None] = contextvars.ContextVar("formalimg_thread_call", default=None)
"""The call that this thread makes: clients are shared with other users of a library, who get none of our limits."""

_watching = threading.Lock()


class ThreadCall:
    """A blocking library call with limits on the total time and the size of its requests.

    Nothing waits for the thread: when its caller is cancelled, its socket is shut down, and it may not send another
    request. It is a daemon, so it does not keep the process alive either.
    """

    def __init__(self, timeout: float, max_bytes: int) -> None:
        self._timeout = timeout
        self._deadline = time.monotonic() + timeout
        self._max_bytes = max_bytes
        self._is_over = False
        self._socket: socket.socket | None = None

    @staticmethod
    def watch(client: Client) -> None:
        """Install hooks that apply the limits of the current call to every request of a client."""
        with _watching:
            hooks = client.event_hooks
            if _on_request not in hooks["request"]:
                # As new lists, since requests of other threads may be going through these; first, as others might read
                # the whole body.
                client.event_hooks = {
                    "request": [*hooks["request"], _on_request],
                    "response": [_on_response, *hooks["response"]],
                }

    async def run(self, function: Callable[..., Result], *args: Any) -> Result:
        """Run a function in a new thread and return its result or raise its exception."""
        loop = asyncio.get_running_loop()
        ended: asyncio.Future[Callable[[], Result]] = loop.create_future()

        def settle(outcome: Callable[[], Result]) -> None:
            if not ended.done():
                ended.set_result(outcome)

        def work() -> None:
            _current.set(self)
            outcome = _catch_outcome(function, *args)
            with suppress(RuntimeError):  # if the loop is over, nobody waits any more
                loop.call_soon_threadsafe(settle, outcome)

        thread = threading.Thread(target=contextvars.copy_context().run, args=(work,), daemon=True, name="model-call")
        thread.start()
        try:
            async with asyncio.timeout(max(0.0, self._deadline - time.monotonic())):
                outcome = await ended
        except TimeoutError:
            raise self._late() from None
        finally:
            self._stop()
        return outcome()

    def check(self) -> None:
        """Raise a `CallError` if the call timed out or its caller was cancelled."""
        if self._is_over or time.monotonic() >= self._deadline:
            raise self._late()

    def prepare(self, request: Request) -> None:
        """Set the remaining time as the timeout of a request, and trace its socket."""
        self.check()
        ask_for_gzip(request)
        remaining = max(0.01, self._deadline - time.monotonic())
        limits = request.extensions.get("timeout") or dict.fromkeys(("connect", "read", "write", "pool"))
        shorter = {name: remaining if value is None else min(value, remaining) for name, value in limits.items()}
        request.extensions = {**request.extensions, "timeout": shorter, "trace": self._trace}

    def receive(self, response: Response) -> None:
        """Read a response within the size and time limits."""
        if carries_credentials(response.request):
            refuse_redirect(response)
        self._hold(response.extensions.get("network_stream"))
        body = AnswerBody(response, self._max_bytes, MAX_MODEL_ITEMS)
        stream: Any = response.stream
        content = body.read_in_thread(stream, self.check)
        self._socket = None  # from here on it may belong to the next call
        stream.close()
        replace_body(response, content)
        response.read()

    def _trace(self, event: str, info: dict[str, Any]) -> None:
        if event.endswith(("connect_tcp.complete", "start_tls.complete")):
            self._hold(info.get("return_value"))

    def _hold(self, stream: Any) -> None:
        connection = None if stream is None else stream.get_extra_info("socket")
        self._socket = connection if isinstance(connection, socket.socket) else None

    def _stop(self) -> None:
        self._is_over = True
        if (connection := self._socket) is not None:
            with suppress(OSError):  # if it is closed already
                # That of the base class, which ends a read in the other thread and leaves the TLS state alone.
                socket.socket.shutdown(connection, socket.SHUT_RDWR)

    def _late(self) -> CallError:
        return CallError("unavailable", f"no answer within {self._timeout:g} s")


def _catch_outcome(function: Callable[..., Result], *args: Any) -> Callable[[], Result]:
    """Call a function and capture its outcome, because a future does not accept every exception."""
    try:
        result = function(*args)
    except BaseException as error:
        failed = error

        def fail() -> Result:
            raise failed

        return fail
    return lambda: result


def _on_request(request: Request) -> None:
    if (call := _current.get()) is not None:
        call.prepare(request)


def _on_response(response: Response) -> None:
    if (call := _current.get()) is not None:
        call.receive(response)
