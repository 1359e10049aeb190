"""Objects that belong to an event loop, such as open connections: one for each loop that asks."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from types import ModuleType
from typing import Any, Generic, NamedTuple, Protocol, TypeVar
from weakref import WeakKeyDictionary

from formalimg.errors import FormalimgError
from formalimg.models.base import CallError
from formalimg.models.providers.http import Rejection, Whom, failure, json_object, one_line

T = TypeVar("T")

_closings: WeakKeyDictionary[asyncio.AbstractEventLoop, list[Any]] = WeakKeyDictionary()
"""What will close objects at the end of their loops, also if nobody else knows them any more by then."""


class PerLoop(Generic[T]):
    """Makes an object when an event loop first asks for it. A model may so be used in one loop after another."""

    def __init__(self, make: Callable[[], T], close: Callable[[T], Awaitable[None]] | None = None) -> None:
        """Nothing is made yet.

        Args:
            make: makes an object for the loop that is running.
            close: is called at the end of that loop.
        """
        self._make = make
        self._close = close
        self._made: WeakKeyDictionary[asyncio.AbstractEventLoop, T] = WeakKeyDictionary()

    def here(self) -> T:
        """The object of the loop that is running."""
        loop = asyncio.get_running_loop()
        if loop not in self._made:
            self._made[loop] = self._make()
            if self._close is not None:
                closing = _closing(self._made[loop], self._close)
                _closings.setdefault(loop, []).extend([closing, asyncio.ensure_future(anext(closing))])
        return self._made[loop]


async def _closing(obj: T, close: Callable[[T], Awaitable[None]]) -> AsyncIterator[None]:
    """Closes an object when its loop ends: a loop then ends all async generators that have begun in it."""
    try:
        yield
    finally:
        await close(obj)


class Closeable(Protocol):
    """What the clients of both libraries can do."""

    async def close(self) -> None:
        """Close all connections."""
        ...


Client = TypeVar("Client", bound=Closeable)

_CALLS_OF_A_CLIENT = 8
"""So many calls a client makes at the same time; for more there are more clients."""


class ServerAnswer(NamedTuple):
    """What a server answered, and the number it gave to the request, if any."""

    content: dict[str, Any]
    request_id: str | None


class Clients(Generic[Client]):
    """Clients of a library, as many as are needed.

    With every call the libraries look at all connections of a client, and at each that rests they ask the system
    whether it is still there. A client with many connections is busier with that than with the calls.
    """

    def __init__(self, connect: Callable[[], Client]) -> None:
        self._connect = connect
        self._clients: list[Client] = []
        self._free: list[Client] = []  # each as often as there are calls that it can take beside those it is making

    @contextmanager
    def one(self) -> Iterator[Client]:
        """A client that has room for a call."""
        if not self._free:
            self._clients.append(self._connect())
            self._free += self._clients[-1:] * _CALLS_OF_A_CLIENT
        client = self._free.pop()
        try:
            yield client
        finally:
            self._free.append(client)

    async def close(self) -> None:
        """Close all connections."""
        for client in self._clients:
            await client.close()


class SdkServer(Generic[Client]):
    """A server and how to call it once: no retries, and failures in our words."""

    def __init__(self, library: ModuleType, whom: Whom, connect: Callable[[], Client]) -> None:
        """A server that has not been called yet.

        Args:
            library: the library, for its errors.
            whom: who is called, for messages.
            connect: makes a client of the library; clients are not shared between event loops.
        """
        self._library = library
        self._whom = whom
        self._clients = PerLoop(lambda: Clients(connect), Clients.close)

    async def call(self, make: Callable[[Client], Awaitable[Any]]) -> ServerAnswer:
        """Make one call.

        Args:
            make: from a client to a call for a raw response.

        Raises:
            CallError: if no answer came, or one that is no JSON object.
            FormalimgError: if no call can ever succeed.
        """
        try:
            with self._clients.here().one() as client:
                response = (await make(client)).http_response
        except self._library.APIError as error:
            failed = self._meaning(error)
        else:
            answer = json_object(response.content)
            self._look_for_error(answer)
            return ServerAnswer(answer, response.headers.get("x-request-id") or response.headers.get("request-id"))
        # Outside of the handler, so that what the library said, which may show parts of a key, is not attached to it.
        raise failed

    def _meaning(self, error: Any) -> CallError | FormalimgError:
        if isinstance(error, self._library.APIStatusError):
            return failure(_rejection(error.status_code, error.body, error.response.headers), self._whom)
        if isinstance(error, self._library.APITimeoutError):
            return CallError("unavailable", f"{self._whom.place} did not answer in time")
        if isinstance(error, self._library.APIConnectionError):
            why = one_line(str(error.__cause__ or error))
            return CallError("unavailable", f"the connection to {self._whom.place} failed: {why or 'no reason given'}")
        return CallError("wrong", one_line(str(error)))

    def _look_for_error(self, answer: Mapping[str, Any]) -> None:
        """Some gateways answer 200 and put the error inside."""
        error = answer.get("error")
        if error and not {"choices", "data", "content"} & answer.keys():
            code = error.get("code") if isinstance(error, dict) else None
            status = code if isinstance(code, int) and 400 <= code < 600 else 502
            raise failure(_rejection(status, answer, {}), self._whom)


def _rejection(status: int, body: object, headers: Mapping[str, str]) -> Rejection:
    """OpenAI's library takes the error out of its wrapping, Anthropic's does not, and servers wrap it in other ways."""
    inner = body
    if isinstance(body, Mapping):
        inner = body.get("error") or body.get("detail") or body
    if not isinstance(inner, Mapping):
        return Rejection(status, "", str(inner or ""), headers)
    code, message = inner.get("code") or inner.get("type"), inner.get("message") or inner.get("msg")
    about = f"{inner['param']}: " if isinstance(inner.get("param"), str) else ""
    return Rejection(status, str(code or ""), f"{about}{message or ''}", headers)
