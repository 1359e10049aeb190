"""A client for a reward server with retries and persistent connections, usable in place of a `Scorer`."""

from __future__ import annotations

import contextlib
import json
import logging
import os
import re
import secrets
import time
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from formalimg._util.text import truncate
from formalimg.benchmarks.formal.spec import FormulaSpec
from formalimg.benchmarks.registry import suite
from formalimg.errors import FormalimgError
from formalimg.logic.syntax import Formula
from formalimg.rewards.inputs import ImageLike, load_image, load_scene, require_task
from formalimg.rewards.result import PairError, RewardScore
from formalimg.rewards.tasks import TaskLike
from formalimg.types import Item, Unscored

_MAX_DELAY = 30.0  # Maximum number of seconds between retries
_MAX_BYTES = 32 * 1024 * 1024  # Maximum number of bytes of images in a request; servers accept twice as many by default
_INDEXED_FIELD = re.compile(r"(items|images)\[(\d{1,9})\]")  # The beginning of an error message that is about one image
_log = logging.getLogger(__name__)


class ServerError(FormalimgError):
    """Raised when a reward server rejects a request or does not respond.

    Attributes:
        status: the HTTP status; None if there was no answer.
        index: the index, among all pairs of the call, of the one that was refused; None if it was none of them.
    """

    def __init__(self, message: str, status: int | None = None, index: int | None = None) -> None:
        super().__init__(message)
        self.status, self.index = status, index


class _HttpAnswer(NamedTuple):
    status: int
    body: bytes
    retry_after: float | None


class RewardClient:
    """A client that requests rewards from a server, with the same methods as `Scorer`.

    Connections are kept alive. It may be used by several threads at once, each with its own connection, and by other
    processes, forked or pickled to, which open their own. Requests to a server that is busy, or cannot be reached, are
    retried with exponential backoff.
    """

    def __init__(
        self, url: str, *, token: str | None = None, timeout: float = 300.0, retries: int = 8, batch: int = 64
    ) -> None:
        """Create a client for the server at a URL.

        Args:
            url: the URL, such as http://127.0.0.1:8424.
            token: the server's token, if it has one.
            timeout: seconds that an answer may take.
            retries: how often a request to a busy or unreachable server is retried.
            batch: maximum number of images in a request, with no more than 32 MiB of them unless it is one; more are
                sent one batch after the other.
        """
        try:
            parts = urlsplit(url)
            host, port = parts.hostname, parts.port
        except ValueError:
            host = None
        if not host or parts.scheme not in ("http", "https"):
            raise FormalimgError(f"{url[:80]!r} is not the address of a server: write http://HOST:PORT")
        if token is not None and (not token.isascii() or any(not "!" <= character <= "~" for character in token)):
            raise FormalimgError("this token cannot be sent: it must be ASCII, without spaces and ends of lines")
        if timeout <= 0 or retries < 0 or batch < 1:
            raise FormalimgError("a client needs a timeout above 0, no fewer than 0 retries, and batches of at least 1")
        self._connection_type = HTTPSConnection if parts.scheme == "https" else HTTPConnection
        self._host, self._port, self._path = host, port, parts.path.rstrip("/")
        self._headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        self._timeout, self._retries, self._batch = timeout, retries, batch
        self._connections = _ConnectionPool()

    def score(self, images: Iterable[ImageLike], items: Iterable[TaskLike], *, parts: bool = True) -> list[RewardScore]:
        """Score images in order, each against its item; without `parts`, the scores are the same and come sooner."""
        images, tasks = list(images), list(items)
        if len(images) != len(tasks):
            raise FormalimgError(f"{len(images)} images and {len(tasks)} items: give one item for each image")
        return self.score_all(zip(images, tasks, strict=True), parts=parts)

    def score_all(self, pairs: Iterable[tuple[ImageLike, TaskLike]], *, parts: bool = True) -> list[RewardScore]:
        """Score pairs as `Scorer.score_all` does."""
        tasks: list[Mapping[str, Any]] = []
        rewards: dict[int, RewardScore] = {}
        images: dict[int, Mapping[str, Any] | bytes] = {}
        for index, (image, task) in enumerate(pairs):
            try:
                tasks.append(_encode_task(task))
            except FormalimgError as error:
                raise PairError(index, error) from error
            encoded = _encode_image(image)
            if isinstance(encoded, RewardScore):
                rewards[index] = encoded
            else:
                images[index] = encoded
        for batch in self._split_batches(images):
            body, content_type = _encode_request([(images[index], tasks[index]) for index in batch], parts=parts)
            headers = {"Content-Type": content_type}
            results = _parse_object(self._send("POST", "/v1/score", body, headers, batch)).get("results")
            if not isinstance(results, list) or len(results) != len(batch):
                raise ServerError("the server did not answer with one result for each image: is it a reward server?")
            rewards.update(zip(batch, map(RewardScore.from_json, results), strict=True))
        return [rewards[index] for index in range(len(tasks))]

    def about(self) -> Mapping[str, Any]:
        """Return the server's description: its version, models and vocabulary digests."""
        return _parse_object(self._send("GET", "/v1/about"))

    def close(self) -> None:
        """Close the idle connections."""
        self._connections.close()

    def __enter__(self) -> RewardClient:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _split_batches(self, images: Mapping[int, Mapping[str, Any] | bytes]) -> Iterator[list[int]]:
        batch: list[int] = []
        size = 0
        for index, image in images.items():
            length = len(image) if isinstance(image, bytes) else 0
            if batch and (len(batch) == self._batch or size + length > _MAX_BYTES):
                yield batch
                batch, size = [], 0
            batch.append(index)
            size += length
        if batch:
            yield batch

    def _send(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        headers: Mapping[str, str] | None = None,
        indices: Sequence[int] = (),
    ) -> bytes:
        """Send a request and return the response body, retrying while the server is busy or unreachable."""
        for attempt in range(self._retries + 1):
            delay = min(0.1 * 2**attempt, _MAX_DELAY)
            try:
                answer = self._exchange(method, self._path + path, body, {**self._headers, **(headers or {})})
            except TimeoutError as error:  # it may be working still, and a retry would have it work twice
                raise ServerError(
                    f"the reward server at {self._host} gave no answer in {self._timeout:g} seconds: send less at "
                    "once, or give a longer timeout"
                ) from error
            except (OSError, HTTPException) as error:
                failure = ServerError(
                    f"the reward server at {self._host} does not answer: {type(error).__name__}: {error}"
                )
            else:
                if answer.status == 200:
                    return answer.body
                failure = _server_error(answer, indices)
                if answer.status != 503:
                    raise failure
                delay = min(max(delay, answer.retry_after or 0.0), _MAX_DELAY)
            if attempt < self._retries:
                _log.info("retry %d of %d in %.1f s: %s", attempt + 1, self._retries, delay, failure)
                time.sleep(delay)
        raise failure

    def _exchange(self, *request: Any) -> _HttpAnswer:
        connection = self._connections.take()
        if connection is not None:
            with contextlib.suppress(ConnectionError, HTTPException):  # the server has closed it while it was idle
                return self._exchange_over(connection, *request)
        return self._exchange_over(self._connection_type(self._host, self._port, timeout=self._timeout), *request)

    def _exchange_over(self, connection: HTTPConnection, *request: Any) -> _HttpAnswer:
        try:
            connection.request(*request)
            response = connection.getresponse()
            # A date is not supported: the usual delay is used.
            delay = response.getheader("Retry-After", "")
            answer = _HttpAnswer(response.status, response.read(), float(delay) if delay.isdecimal() else None)
        except BaseException:
            connection.close()
            raise
        if response.will_close:
            connection.close()
        else:
            self._connections.put_back(connection)
        return answer


class _ConnectionPool:
    """A lock-free pool of idle connections, shared between threads but not between processes."""

    def __init__(self) -> None:
        self._idle: deque[HTTPConnection] = deque()
        self._process = os.getpid()

    def __reduce__(self) -> tuple[type[_ConnectionPool], tuple[()]]:
        return type(self), ()  # another process opens its own

    def take(self) -> HTTPConnection | None:
        """Return the most recently used connection, or None if there is none."""
        with contextlib.suppress(IndexError):
            return self._connections().pop()
        return None

    def put_back(self, connection: HTTPConnection) -> None:
        """Return a connection to the pool."""
        self._connections().append(connection)

    def close(self) -> None:
        """Close all connections."""
        while (connection := self.take()) is not None:
            connection.close()

    def _connections(self) -> deque[HTTPConnection]:
        if self._process != os.getpid():
            # After a fork, the parent goes on to use them: requests would run into each other, and each process could
            # read the answer to the other's request.
            self._idle = deque()
            self._process = os.getpid()
        return self._idle


def _encode_request(
    pairs: Sequence[tuple[Mapping[str, Any] | bytes, Mapping[str, Any]]], *, parts: bool
) -> tuple[bytes, str]:
    """Return body and content type: images are files of a multipart request, scenes and tasks are JSON."""
    files = {f"image{index}": image for index, (image, _) in enumerate(pairs) if isinstance(image, bytes)}
    images = [
        {"file": f"image{index}"} if isinstance(image, bytes) else {"scene": image}
        for index, (image, _) in enumerate(pairs)
    ]
    request = {"items": [item for _, item in pairs], "images": images, **({} if parts else {"parts": False})}
    try:
        text = json.dumps(request, allow_nan=False).encode("ascii")
    except (TypeError, ValueError, RecursionError) as error:
        raise FormalimgError(f"this cannot be sent as JSON: {error}") from error
    if not files:
        return text, "application/json"
    boundary = secrets.token_hex(24)
    disposition = f"--{boundary}\r\nContent-Disposition: form-data; name="
    chunks = [f'{disposition}"request"\r\nContent-Type: application/json\r\n\r\n'.encode(), text, b"\r\n"]
    for name, data in files.items():
        head = f'{disposition}"{name}"; filename="{name}"\r\nContent-Type: application/octet-stream\r\n\r\n'
        chunks += [head.encode("ascii"), data, b"\r\n"]
    body = b"".join([*chunks, f"--{boundary}--\r\n".encode()])
    return body, f"multipart/form-data; boundary={boundary}"


def _encode_image(image: ImageLike) -> Mapping[str, Any] | bytes | RewardScore:
    """Encode an image as its file content or scene, or return a reward with the reason if it cannot be read.

    Scenes are parsed first, because they may contain arrays or unreadable values, which JSON does not support.
    """
    scene = load_scene(image)
    if isinstance(scene, Unscored):
        return RewardScore.missing(scene)
    if scene is not None:
        return {**scene.scene.to_json(), **({"style": scene.style} if scene.style is not None else {})}
    loaded = load_image(image)
    return RewardScore.missing(loaded) if isinstance(loaded, Unscored) else loaded.data


def _encode_task(task: TaskLike) -> Mapping[str, Any]:
    if isinstance(task, Mapping):
        return require_task(task)
    if isinstance(task, str | Formula):
        return {"formula": str(task)}
    if isinstance(task, Item) and isinstance(task.spec, FormulaSpec) and suite(task.suite).is_grounded:
        # Not by its id, under which the server may know another item: only the formula decides.
        return {"formula": task.spec.text, "vocabulary": suite(task.suite).vocabulary}
    match task:
        case (str(name), str() | int() as number):
            return {"suite": name, "id": str(number)}
    raise FormalimgError(
        f"a {type(task).__name__} cannot be sent to a server: give suite and id, a formula, or words and questions"
    )


def _server_error(answer: _HttpAnswer, indices: Sequence[int]) -> ServerError:
    """Convert an error response to an exception, translating its index to an index into all pairs."""
    try:
        message = str(json.loads(answer.body)["error"])
    except (ValueError, KeyError, TypeError, RecursionError):
        message = answer.body[:200].decode("utf-8", "replace")
    index, match = None, _INDEXED_FIELD.match(message)
    if match and int(match[2]) < len(indices):
        index = indices[int(match[2])]
        message = f"{match[1]}[{index}]{message[match.end() :]}"
    text = f"the reward server refused ({answer.status}): {truncate(message, 500, 100)}"
    return ServerError(text, answer.status, index)


def _parse_object(body: bytes) -> Mapping[str, Any]:
    try:
        value = json.loads(body)
    except ValueError as error:
        raise ServerError("the server did not answer with JSON: is it a reward server?") from error
    if not isinstance(value, dict):
        raise ServerError("the server did not answer with a JSON object: is it a reward server?")
    return value
