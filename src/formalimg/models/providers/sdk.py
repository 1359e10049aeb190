"""Clients of the OpenAI and Anthropic SDKs, pooled per event loop, without retries.

One tool generates both libraries, so their errors have the same names and shapes. The module also contains the wire
format of chat completions, used by compatible servers and Hugging Face.
"""

from __future__ import annotations

import asyncio
import base64
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from types import ModuleType
from typing import TYPE_CHECKING, Any, Generic, TypeAlias, TypeVar
from weakref import WeakKeyDictionary

from formalimg._util.installing import install_line
from formalimg.errors import FormalimgError
from formalimg.models.base import Attachment, CallError, Message, Usage
from formalimg.models.options import server_api_key
from formalimg.models.providers.http import Endpoint, json_object, one_line, read_usage
from formalimg.models.providers.limits import MAX_IMAGE_ANSWER_BYTES, find_served_error, limit_answers
from formalimg.types import Setting

if TYPE_CHECKING:
    from openai import AsyncOpenAI

OpenAIClient: TypeAlias = "SdkClient[AsyncOpenAI]"
OPENAI_KEY = "OPENAI_API_KEY"


T = TypeVar("T")
Client = TypeVar("Client", bound=Any)

_CALLS_PER_CLIENT = 8  # concurrent calls of one client; for more there are more clients

_closers: WeakKeyDictionary[asyncio.AbstractEventLoop, list[Any]] = WeakKeyDictionary()
"""Close objects at the end of their event loops, also if nothing else refers to them any more by then."""


class PerEventLoop(Generic[T]):
    """Creates one object per event loop, such as a connection pool, so that a model works in several loops."""

    def __init__(self, create: Callable[[], T], close: Callable[[T], Awaitable[None]]) -> None:
        self._create = create
        self._close = close
        self._objects: WeakKeyDictionary[asyncio.AbstractEventLoop, T] = WeakKeyDictionary()

    def get(self) -> T:
        """Return the object of the running event loop."""
        loop = asyncio.get_running_loop()
        if loop not in self._objects:
            self._objects[loop] = self._create()
            closer = _close_with_loop(self._objects[loop], self._close)
            _closers.setdefault(loop, []).extend([closer, asyncio.ensure_future(anext(closer))])
        return self._objects[loop]


async def _close_with_loop(obj: T, close: Callable[[T], Awaitable[None]]) -> AsyncIterator[None]:
    try:
        yield
    finally:
        await close(obj)


class ClientPool(Generic[Client]):
    """A growing pool of a library's clients.

    For every call, the libraries check all connections of a client, and ask the system whether each idle one is still
    open. With many connections, a client spends more time on this than on the calls.
    """

    def __init__(self, connect: Callable[[], Client]) -> None:
        self._connect = connect
        self._clients: list[Client] = []
        self._free: list[Client] = []  # each as often as there are calls that it can take beside those it is making

    @contextmanager
    def acquire(self) -> Iterator[Client]:
        """Provide a client that has capacity for a call."""
        if not self._free:
            self._clients.append(self._connect())
            self._free += self._clients[-1:] * _CALLS_PER_CLIENT
        client = self._free.pop()
        try:
            yield client
        finally:
            self._free.append(client)

    async def close(self) -> None:
        """Close the connections of all clients."""
        for client in self._clients:
            await client.close()


class SdkClient(Generic[Client]):
    """A server accessed through an SDK: one request per call, no retries, errors translated."""

    def __init__(self, library: ModuleType, endpoint: Endpoint, connect: Callable[[], Client]) -> None:
        self._library = library
        self._endpoint = endpoint
        self._pools = PerEventLoop(lambda: ClientPool(connect), ClientPool.close)

    async def call(self, send: Callable[[Client], Awaitable[Any]]) -> tuple[dict[str, Any], dict[str, Setting]]:
        """Make one call; return the response JSON and the server's request id, if any."""
        try:
            with self._pools.get().acquire() as client:
                response = (await send(client)).http_response
        except self._library.APIError as error:
            failed = self._translate(error)
        else:
            content = json_object(response.content)
            problem = content.get("error")
            if problem and not {"choices", "data", "content"} & content.keys():  # some gateways send it with status 200
                code = problem.get("code") if isinstance(problem, dict) else None
                status = code if isinstance(code, int) and 400 <= code < 600 else 502
                raise self._error(status, content, {}, content)
            request_id = response.headers.get("x-request-id") or response.headers.get("request-id")
            return content, {"request_id": request_id} if request_id else {}
        # Outside of the handler, so that the SDK's exception, which may show parts of a key, is not attached to it.
        raise failed

    def _translate(self, error: Any) -> CallError | FormalimgError:
        if isinstance(error, self._library.APIStatusError):
            try:
                body = error.response.json()  # of which the SDKs expose only a part
            except (ValueError, RecursionError, RuntimeError):  # no JSON, or not read by the SDK
                body = None
            return self._error(error.status_code, error.body, error.response.headers, body)
        if (served := find_served_error(error)) is not None:
            return served
        if isinstance(error, self._library.APITimeoutError) and not _is_refused(error):
            return CallError("unavailable", f"{self._endpoint.url} did not answer in time")
        if isinstance(error, self._library.APIConnectionError):
            reason = one_line(str(error.__cause__ or error)) or "no reason given"
            return CallError("unavailable", f"the connection to {self._endpoint.url} failed: {reason}")
        return CallError("wrong", one_line(str(error)))

    def _error(
        self, status: int, body: object, headers: Mapping[str, str], whole: object
    ) -> CallError | FormalimgError:
        """Translate an error in any format that the SDKs and servers use, with the usage that some of them bill."""
        inner = (body.get("error") or body.get("detail") or body) if isinstance(body, Mapping) else body
        code, message = "", str(inner or "")
        if isinstance(inner, Mapping):
            code = str(inner.get("code") or inner.get("type") or "")
            parameter = f"{inner['param']}: " if isinstance(inner.get("param"), str) else ""
            message = f"{parameter}{inner.get('message') or inner.get('msg') or ''}"
        failed = self._endpoint.error(status, code, message, headers)
        report = whole.get("usage") if isinstance(whole, Mapping) else None
        usage = read_usage(report, ["input_tokens", "prompt_tokens"], ["output_tokens", "completion_tokens"])
        if isinstance(failed, CallError) and usage != Usage():
            failed.usage = usage
        return failed


def _is_refused(error: BaseException) -> bool:
    """Return whether a connection was refused, which the SDKs with aiohttp report as a timeout."""
    cause: BaseException | None = error
    while cause is not None and not isinstance(cause, ConnectionRefusedError):
        cause = cause.__cause__
    return cause is not None


def connect_openai(
    model: str, base_url: str | None, timeout: float, max_bytes: int = MAX_IMAGE_ANSWER_BYTES
) -> OpenAIClient:
    """Return a client for the server at `base_url`, or for OpenAI if it is None."""
    try:
        import openai
    except ImportError:
        raise FormalimgError(f"{model} needs the openai library: {install_line('openai')}") from None
    key = server_api_key(model, [OPENAI_KEY], base_url)
    url = base_url or "https://api.openai.com/v1"
    hooks = limit_answers(max_bytes)

    def connect() -> AsyncOpenAI:
        try:
            # Where aiohttp is installed, the library takes a third less time for a call with it.
            http_client = openai.DefaultAioHttpClient(timeout=timeout, event_hooks=hooks)
        except RuntimeError:  # by which the library says that it is not
            http_client = openai.DefaultAsyncHttpxClient(timeout=timeout, event_hooks=hooks)
        return openai.AsyncOpenAI(api_key=key, base_url=url, timeout=timeout, max_retries=0, http_client=http_client)

    return SdkClient(openai, Endpoint(model, OPENAI_KEY, url), connect)


async def complete_chat(
    server: OpenAIClient, model: str, fields: Mapping[str, object]
) -> tuple[dict[str, Any], dict[str, Setting]]:
    """Call the chat completions API, as in `SdkClient.call`."""
    # Most fields go past the library: servers know more of them than it has names for, and in messages it would look
    # at every value, to find the same.
    return await server.call(
        lambda client: client.chat.completions.with_raw_response.create(model=model, messages=[], extra_body=fields)
    )


def first_message(answer: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the first choice of a chat completions response, and its message."""
    choices = answer.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    message = choice.get("message") if isinstance(choice, dict) else None
    if not isinstance(choice, dict) or not isinstance(message, dict):
        raise CallError("wrong", "there is no message in the answer")
    return choice, message


def response_format(mode: str, schema: Mapping[str, object] | None) -> dict[str, object] | None:
    """Return the `response_format` field for a schema mode, or None to omit it."""
    if mode == "json_schema":
        return {"type": "json_schema", "json_schema": {"name": "answer", "strict": True, "schema": dict(schema or {})}}
    return {"type": "json_object"} if mode == "json_object" else None


def encode_message(message: Message, detail: str | None = None) -> dict[str, object]:
    """Convert a message to the chat completions format."""
    # A single text goes as it is: not every server takes a list where there is no image.
    if len(message.parts) == 1 and isinstance(message.parts[0], str):
        return {"role": message.role, "content": message.parts[0]}
    return {"role": message.role, "content": [_encode_part(part, detail) for part in message.parts]}


def _encode_part(part: str | Attachment, detail: str | None) -> dict[str, object]:
    if isinstance(part, str):
        return {"type": "text", "text": part}
    image = {"url": f"data:{part.media_type};base64,{base64.b64encode(part.data).decode()}"}
    return {"type": "image_url", "image_url": image if detail is None else {**image, "detail": detail}}
