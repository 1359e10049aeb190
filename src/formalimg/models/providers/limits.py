"""Limits on server responses: compressed and decompressed size, and no redirects with credentials.

All SDKs use httpx or a fork of it, so the limits are event hooks of its clients: proxies and certificates stay
as the SDKs and the user's environment set them.
"""

from __future__ import annotations

import io
import zlib
from collections.abc import Awaitable, Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeAlias

from formalimg._util.images import image_type
from formalimg._util.memory_gate import MemoryGate, reserve_answer, reserve_answer_in_thread
from formalimg.errors import FormalimgError
from formalimg.models.base import CallError
from formalimg.models.pricing import note_received
from formalimg.models.secrets import redact

if TYPE_CHECKING:
    from httpx2 import URL, Request, Response

AsyncHooks: TypeAlias = dict[str, list[Callable[..., Awaitable[None]]]]

MAX_CHAT_BYTES = 16_000_000  # size of an answer of a chat model; real ones stay below 1 MB
MAX_IMAGE_BYTES = 64_000_000  # size of an image file
MAX_IMAGE_ANSWER_BYTES = 100_000_000  # size of an answer with an image in it, as base64
MAX_ERROR_BYTES = 1_000_000  # size of an answer with an error status. A larger one keeps its status and loses its text.
MAX_JSON_ITEMS = 1_000_000  # lists, objects and commas of an answer: parsed, each takes a hundred times its size
MAX_MODEL_ITEMS = 400_000  # the same for SDKs that make an object of their own of each
# Answers up to this size are read at once; larger ones share what is reserved for all of them together.
SMALL_ANSWER_BYTES = 4_000_000
# Bytes of large answers in use: two gates, since a judge with an image at hand waits for answers in words.
_IMAGE_ANSWERS, _CHAT_ANSWERS = MemoryGate(MAX_IMAGE_ANSWER_BYTES), MemoryGate(2 * MAX_CHAT_BYTES)
_INFLATE_STEP = 1_000_000  # bytes that are decompressed at once, so that the size is looked at before it is there


class _AnswerTooLargeError(Exception):
    pass


class AnswerBody:
    """The body of a response, collected as it is received."""

    def __init__(self, response: Response, max_bytes: int, max_items: int = MAX_JSON_ITEMS) -> None:
        self._is_error = response.status_code >= 300
        self._limit = MAX_ERROR_BYTES if self._is_error else max_bytes
        self._max_items = max_items
        self._file = io.BytesIO()  # many tiny chunks would take more memory in a list
        self._received = 0
        self.wanted = 0
        self._is_admitted = False
        self._pending = b""
        self._gate = _CHAT_ANSWERS if max_bytes <= MAX_CHAT_BYTES else _IMAGE_ANSWERS
        encoding = response.headers.get("content-encoding", "").strip().lower()
        if encoding not in ("", "identity", "gzip", "x-gzip"):
            raise CallError("wrong", f"the answer is compressed as {redact(encoding):.40}, which was not asked for")
        self._inflater = zlib.decompressobj(zlib.MAX_WBITS | 16) if encoding.endswith("gzip") else None
        length = response.headers.get("content-length", "")
        is_plain = self._inflater is None and length.isdecimal() and len(length) < 12
        self._expected = min(int(length), self._limit) if is_plain else self._limit

    async def read(self, stream: Any) -> bytes:
        """Read a stream until its end or a limit, waiting while large answers use too much memory."""
        async for chunk in stream:
            if not self.add(chunk):
                break
            if self.wanted:
                await reserve_answer(self._gate, self.wanted)
                if not self.resume():
                    break
        await stream.aclose()
        return self.content()

    def read_in_thread(self, stream: Any, check: Callable[[], None]) -> bytes:
        """Read a stream as `read` does, from a blocking thread; `check` may raise an exception to stop it."""
        for chunk in stream:
            check()
            if not self.add(chunk):
                break
            if self.wanted:
                reserve_answer_in_thread(self._gate, self.wanted, check)
                if not self.resume():
                    break
        return self.content()

    def add(self, chunk: bytes) -> bool:
        """Append a chunk and return whether to continue reading, after `wanted` bytes of memory have been reserved."""
        self._received += len(chunk)
        return self._append(chunk)

    def resume(self) -> bool:
        """Resume after the memory has been reserved, and return whether to continue reading."""
        self._is_admitted, self.wanted = True, 0
        pending, self._pending = self._pending, b""
        return self._append(pending)

    def _append(self, chunk: bytes) -> bool:
        before = self._file.tell()
        try:
            if self._received > self._limit:
                raise _AnswerTooLargeError
            if self._inflater is None:
                self._file.write(chunk)
                self._pause_if_large(b"")
            else:
                self._inflate(self._inflater, chunk)
            if not self._is_error:
                note_received(self._file.tell() - before)
        except _AnswerTooLargeError:
            size = f"{self._limit // 1_000_000} MB"
            if not self._is_error:
                raise CallError("wrong", f"the server answered with more than {size}") from None
            self._file = io.BytesIO(f"the server answered with more than {size} of error text".encode())
            return False
        except zlib.error:
            raise CallError("wrong", "the answer cannot be decompressed") from None
        return True

    def content(self) -> bytes:
        """Return the complete decompressed body."""
        body = self._file.getvalue()
        if image_type(body) is None and sum(map(body.count, (b",", b"[", b"{"))) > self._max_items:
            raise CallError("wrong", f"the server answered with more than {self._max_items:,} items of JSON")
        return body

    def _pause_if_large(self, pending: bytes) -> bool:
        if not self._is_admitted and self._file.tell() > SMALL_ANSWER_BYTES:
            self._pending, self.wanted = pending, self._expected
        return self.wanted > 0

    def _inflate(self, inflater: Any, chunk: bytes) -> None:
        while not inflater.eof:
            part = inflater.decompress(chunk, _INFLATE_STEP)
            if self._file.tell() + len(part) > self._limit:
                raise _AnswerTooLargeError
            self._file.write(part)
            chunk = inflater.unconsumed_tail
            if self._pause_if_large(chunk):
                return
            if len(part) < _INFLATE_STEP:  # else there may be more, also of what is read already
                return


def limit_answers(max_bytes: int, max_items: int = MAX_JSON_ITEMS) -> AsyncHooks:
    """Return event hooks for an async client that sends credentials."""

    async def on_response(response: Response) -> None:
        refuse_redirect(response)
        await _read_response(response, max_bytes, max_items)

    return {"request": [_on_request], "response": [on_response]}


def limit_downloads(max_bytes: int) -> AsyncHooks:
    """Return event hooks for an async client that sends no credentials and may follow redirects to other servers."""
    return {"request": [_on_request], "response": [lambda response: _read_response(response, max_bytes)]}


async def _on_request(request: Request) -> None:
    ask_for_gzip(request)


def ask_for_gzip(request: Request) -> None:
    """Restrict responses to plain or gzip encoding, because only gzip is decompressed incrementally."""
    request.headers["accept-encoding"] = "gzip"


def refuse_redirect(response: Response) -> None:
    """Raise an error if a redirect would send the key, prompt and images to another server.

    Another server has another host or port, or is the same one without TLS.
    """
    if not response.has_redirect_location:
        return
    source = response.request.url
    try:
        target = source.join(response.headers["location"])
    except Exception:  # the libraries have no common type for it
        raise CallError("wrong", "the server redirects to an address that cannot be read") from None
    is_upgrade = (source.scheme, target.scheme) == ("http", "https") and source.port is target.port is None
    if source.host == target.host and (is_upgrade or (source.scheme, source.port) == (target.scheme, target.port)):
        return
    raise FormalimgError(
        f"{_format_origin(source)} redirects to {_format_origin(target)}, and the key is not sent there: "
        "if that is the right server, name it in base_url"
    )


def carries_credentials(request: Request) -> bool:
    """Return whether a request contains a key or a body, and therefore must not be sent to another server."""
    return request.method not in ("GET", "HEAD") or any(
        name in request.headers for name in ("authorization", "x-api-key", "api-key", "x-goog-api-key", "cookie")
    )


def replace_body(response: Response, content: bytes) -> None:
    """Replace the stream of a response by its decompressed body."""
    library: Any = import_module(type(response).__module__.partition(".")[0])
    elapsed = getattr(response.stream, "elapsed", None)
    if elapsed is not None:
        response.elapsed = elapsed
    response.headers.pop("content-encoding", None)
    response.stream = library.ByteStream(content)


async def _read_response(response: Response, max_bytes: int, max_items: int = MAX_JSON_ITEMS) -> None:
    replace_body(response, await AnswerBody(response, max_bytes, max_items).read(response.stream))
    await response.aread()


def _format_origin(url: URL) -> str:
    port = "" if url.port is None else f":{url.port}"
    return redact(f"{url.scheme}://{url.host:.200}{port}")


def http_library() -> Any:
    """Return the HTTP library used by the installed SDKs."""
    try:
        return import_module("httpx2")
    except ImportError:
        return import_module("httpx")


def find_served_error(error: BaseException | None) -> CallError | FormalimgError | None:
    """Return the error that a hook raised from a chain of SDK exceptions, or None."""
    while error is not None:
        if isinstance(error, CallError | FormalimgError):
            return error
        error = error.__cause__ or error.__context__
    return None
