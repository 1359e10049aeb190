"""Clients of the OpenAI and Anthropic SDKs: pooled per event loop, one call each, errors translated.

One tool generates both libraries, so their errors have the same names and shapes.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from types import ModuleType
from typing import Any, Generic, NamedTuple, Protocol, TypeVar
from weakref import WeakKeyDictionary

from formalimg.errors import FormalimgError
from formalimg.models.base import CallError, Usage
from formalimg.models.providers.http import (
    Endpoint,
    ErrorResponse,
    error_from_response,
    json_object,
    one_line,
    read_usage,
)
from formalimg.models.providers.limits import served_error


class Closeable(Protocol):
    """A client with connections to close."""

    async def close(self) -> None:
        """Close all connections."""
        ...


T = TypeVar("T")
Client = TypeVar("Client", bound=Closeable)

_CALLS_PER_CLIENT = 8
"""Concurrent calls of one client; for more there are more clients."""

_closers: WeakKeyDictionary[asyncio.AbstractEventLoop, list[Any]] = WeakKeyDictionary()
"""Close objects at the end of their event loops, also if nothing else refers to them any more by then."""


class PerEventLoop(Generic[T]):
    """Creates one object per event loop, such as open connections, so that a model can be used in several loops."""

    def __init__(self, create: Callable[[], T], close: Callable[[T], Awaitable[None]] | None = None) -> None:
        """Nothing is created yet."""
        self._create = create
        self._close = close
        self._objects: WeakKeyDictionary[asyncio.AbstractEventLoop, T] = WeakKeyDictionary()

    def get(self) -> T:
        """Return the object of the running loop."""
        loop = asyncio.get_running_loop()
        if loop not in self._objects:
            self._objects[loop] = self._create()
            if self._close is not None:
                closer = _close_with_loop(self._objects[loop], self._close)
                _closers.setdefault(loop, []).extend([closer, asyncio.ensure_future(anext(closer))])
        return self._objects[loop]


async def _close_with_loop(obj: T, close: Callable[[T], Awaitable[None]]) -> AsyncIterator[None]:
    """Close an object when its loop ends: a loop then ends all async generators that have begun in it."""
    try:
        yield
    finally:
        await close(obj)


class SdkResponse(NamedTuple):
    """A JSON response and the request id that the server assigned, if any."""

    content: dict[str, Any]
    request_id: str | None


class ClientPool(Generic[Client]):
    """Clients of a library, as many as are needed.

    With every call the libraries look at all connections of a client, and at each idle one they ask the system
    whether it is still there. A client with many connections is busier with that than with the calls.
    """

    def __init__(self, connect: Callable[[], Client]) -> None:
        self._connect = connect
        self._clients: list[Client] = []
        self._free: list[Client] = []  # each as often as there are calls that it can take beside those it is making

    @contextmanager
    def acquire(self) -> Iterator[Client]:
        """Provide a client with capacity for a call."""
        if not self._free:
            self._clients.append(self._connect())
            self._free += self._clients[-1:] * _CALLS_PER_CLIENT
        client = self._free.pop()
        try:
            yield client
        finally:
            self._free.append(client)

    async def close(self) -> None:
        """Close all connections."""
        for client in self._clients:
            await client.close()


class SdkClient(Generic[Client]):
    """A server that is called through an SDK: one request per call, no retries, errors translated."""

    def __init__(self, library: ModuleType, endpoint: Endpoint, connect: Callable[[], Client]) -> None:
        """Create a client; it connects at the first call."""
        self._library = library
        self._endpoint = endpoint
        self._pools = PerEventLoop(lambda: ClientPool(connect), ClientPool.close)

    async def call(self, send: Callable[[Client], Awaitable[Any]]) -> SdkResponse:
        """Make one call."""
        try:
            with self._pools.get().acquire() as client:
                response = (await send(client)).http_response
        except self._library.APIError as error:
            failed = self._translate(error)
        else:
            content = json_object(response.content)
            self._raise_for_error(content)
            return SdkResponse(content, response.headers.get("x-request-id") or response.headers.get("request-id"))
        # Outside of the handler, so that the SDK's exception, which may show parts of a key, is not attached to it.
        raise failed

    def _translate(self, error: Any) -> CallError | FormalimgError:
        if isinstance(error, self._library.APIStatusError):
            return _with_usage(
                error_from_response(
                    _error_response(error.status_code, error.body, error.response.headers), self._endpoint
                ),
                _body(error.response),
            )
        if (served := served_error(error)) is not None:
            return served
        if isinstance(error, self._library.APITimeoutError) and not _is_refused(error):
            return CallError("unavailable", f"{self._endpoint.url} did not answer in time")
        if isinstance(error, self._library.APIConnectionError):
            why = one_line(str(error.__cause__ or error)) or "no reason given"
            return CallError("unavailable", f"the connection to {self._endpoint.url} failed: {why}")
        return CallError("wrong", one_line(str(error)))

    def _raise_for_error(self, content: Mapping[str, Any]) -> None:
        """Raise the error in a response of status 200, as some gateways send it."""
        error = content.get("error")
        if error and not {"choices", "data", "content"} & content.keys():
            code = error.get("code") if isinstance(error, dict) else None
            status = code if isinstance(code, int) and 400 <= code < 600 else 502
            raise _with_usage(error_from_response(_error_response(status, content, {}), self._endpoint), content)


def _is_refused(error: BaseException) -> bool:
    """Whether a connection was refused: with aiohttp, the SDKs report that as a timeout."""
    cause: BaseException | None = error
    while cause is not None and not isinstance(cause, ConnectionRefusedError):
        cause = cause.__cause__
    return cause is not None


def _error_response(status: int, body: object, headers: Mapping[str, str]) -> ErrorResponse:
    """OpenAI's library takes the error out of its wrapping, Anthropic's does not, and servers wrap it in other ways."""
    inner = body
    if isinstance(body, Mapping):
        inner = body.get("error") or body.get("detail") or body
    if not isinstance(inner, Mapping):
        return ErrorResponse(status, "", str(inner or ""), headers)
    code, message = inner.get("code") or inner.get("type"), inner.get("message") or inner.get("msg")
    about = f"{inner['param']}: " if isinstance(inner.get("param"), str) else ""
    return ErrorResponse(status, str(code or ""), f"{about}{message or ''}", headers)


def _body(response: Any) -> object:
    """Return the whole body of an error response as JSON; the SDKs keep only a part of it."""
    try:
        return response.json()
    except (ValueError, RecursionError, RuntimeError):  # no JSON, or not read by the SDK
        return None


def _with_usage(failed: CallError | FormalimgError, body: object) -> CallError | FormalimgError:
    """Add what the call used, if the body of an error says so: some servers bill what they then block."""
    used = body.get("usage") if isinstance(body, Mapping) else None
    usage = read_usage(used, ["input_tokens", "prompt_tokens"], ["output_tokens", "completion_tokens"])
    if isinstance(failed, CallError) and usage != Usage():
        failed.usage = usage
    return failed
