"""The client: rewards from a server, for programs that call `Scorer` elsewhere."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from formalimg._util.text import truncate
from formalimg.errors import FormalimgError
from formalimg.rewards import ImageLike, PairError, Scored, TaskLike
from formalimg.rewards.server.kept_connections import KeptConnections
from formalimg.rewards.server.sending import Letter, asked, letter, shown

_LONGEST_PAUSE = 30.0

_MOST_BYTES = 32 * 1024 * 1024
"""So many bytes of images are sent at once; servers take twice as many unless told otherwise."""


_PLACE = re.compile(r"(items|images)\[(\d{1,9})\]")
"""What a refusal begins with that is for one image."""


class ServerError(FormalimgError):
    """A reward server that refused, or did not answer.

    Attributes:
        status: that of HTTP; None if there was no answer.
        place: the place, among all pairs that were given, of the one that was refused; None if it was none of them.
    """

    def __init__(self, words: str, status: int | None = None, place: int | None = None) -> None:
        super().__init__(words)
        self.status, self.place = status, place


class _Answer(NamedTuple):
    status: int
    body: bytes
    retry_after: float | None


class RewardClient:
    """Asks a reward server, and gives what a `Scorer` gives.

    Connections are kept. It may be used by several threads at once, each with a connection of its own, and by other
    processes, forked or sent to (pickled), which make their own. A server that is busy, or cannot be reached, is asked
    again some times, later and later.
    """

    def __init__(
        self, url: str, *, token: str | None = None, timeout: float = 300.0, retries: int = 8, batch: int = 64
    ) -> None:
        """A client of the server at this address.

        Args:
            url: the address, such as http://127.0.0.1:8424.
            token: the server's token, if it has one.
            timeout: how many seconds an answer may take.
            retries: how often a server that is busy or away is asked again.
            batch: how many images are sent at once, and no more than 32 MiB of them unless it is one; more are sent
                one batch after the other.

        Raises:
            FormalimgError: if this is no address.
        """
        try:
            parts = urlsplit(url)
            host, port = parts.hostname, parts.port
        except ValueError:
            host = None
        if not host or parts.scheme not in ("http", "https"):
            raise FormalimgError(f"{url[:80]!r} is no address of a server: write http://HOST:PORT")
        if token is not None and (not token.isascii() or any(not "!" <= character <= "~" for character in token)):
            raise FormalimgError("this token cannot be sent: it must be ASCII, without spaces and ends of lines")
        if timeout <= 0 or retries < 0 or batch < 1:
            raise FormalimgError("a client needs a timeout above 0, no fewer than 0 retries, and batches of at least 1")
        self._kind = HTTPSConnection if parts.scheme == "https" else HTTPConnection
        self._host, self._port, self._path = host, port, parts.path.rstrip("/")
        self._headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        self._timeout, self._retries, self._batch = timeout, retries, batch
        self._kept = KeptConnections()

    def score(self, images: Iterable[ImageLike], items: Iterable[TaskLike], *, parts: bool = True) -> list[Scored]:
        """The rewards of images, each with its item, in their order.

        Args:
            images: the images.
            items: what each is to show.
            parts: whether to tell the parts, and why some fall short. Without, the scores are the same and come sooner.

        Raises:
            ServerError: if the server refuses, or does not answer.
            FormalimgError: if there are more of one than of the other, or something cannot be sent.
        """
        images, tasks = list(images), list(items)
        if len(images) != len(tasks):
            raise FormalimgError(f"{len(images)} images and {len(tasks)} items: give one item for each image")
        return self.score_all(zip(images, tasks, strict=True), parts=parts)

    def score_all(self, pairs: Iterable[tuple[ImageLike, TaskLike]], *, parts: bool = True) -> list[Scored]:
        """The same for pairs, as `Scorer.score_all` takes them.

        Raises:
            PairError: if what an image is to show cannot be sent.
            ServerError: if the server refuses, or does not answer.
        """
        tasks: dict[int, Mapping[str, Any]] = {}
        found: dict[int, Scored] = {}
        sent: dict[int, Mapping[str, Any] | bytes] = {}
        for place, (image, task) in enumerate(pairs):
            try:
                tasks[place] = asked(task)
            except FormalimgError as error:
                raise PairError(place, error) from error
            seen = shown(image)
            if isinstance(seen, Scored):
                found[place] = seen
            else:
                sent[place] = seen
        for batch in self._batches(sent):
            written = letter([(sent[at], tasks[at]) for at in batch], parts=parts)
            found.update(zip(batch, self._results(written, batch), strict=True))
        return [found[place] for place in range(len(tasks))]

    def about(self) -> Mapping[str, Any]:
        """What the server says of itself: its version, who looks, the digests of its vocabularies. Keep it."""
        return _object(self._asked("GET", "/v1/about", None))

    def close(self) -> None:
        """Close the connections that are kept."""
        self._kept.close()

    def __enter__(self) -> RewardClient:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _batches(self, sent: Mapping[int, Mapping[str, Any] | bytes]) -> Iterator[list[int]]:
        """The places of what is sent at once."""
        batch: list[int] = []
        size = 0
        for place, image in sent.items():
            length = len(image) if isinstance(image, bytes) else 0
            if batch and (len(batch) == self._batch or size + length > _MOST_BYTES):
                yield batch
                batch, size = [], 0
            batch.append(place)
            size += length
        if batch:
            yield batch

    def _results(self, written: Letter, places: Sequence[int]) -> list[Scored]:
        results = _object(self._asked("POST", "/v1/score", written, places)).get("results")
        if not isinstance(results, list) or len(results) != len(places):
            raise ServerError("the server did not answer with one result for each image: is it a reward server?")
        return [Scored.from_json(result) for result in results]

    def _asked(self, method: str, path: str, sent: Letter | None, places: Sequence[int] = ()) -> bytes:
        """The answer to a request for the pairs of these places; asked again while the server is busy or away."""
        for attempt in range(self._retries + 1):
            pause = min(0.1 * 2**attempt, _LONGEST_PAUSE)
            try:
                answer = self._exchanged(method, path, sent)
            except TimeoutError as error:  # it may be at work still, and asking again would have it work twice
                raise ServerError(
                    f"the reward server at {self._host} gave no answer in {self._timeout:g} seconds: send less at "
                    "once, or give a longer timeout"
                ) from error
            except (OSError, HTTPException) as error:
                told = ServerError(
                    f"the reward server at {self._host} does not answer: {type(error).__name__}: {error}"
                )
            else:
                if answer.status == 200:
                    return answer.body
                told = _refusal(answer, places)
                if answer.status != 503:
                    raise told
                pause = min(max(pause, answer.retry_after or 0.0), _LONGEST_PAUSE)
            if attempt < self._retries:
                time.sleep(pause)
        raise told

    def _exchanged(self, method: str, path: str, sent: Letter | None) -> _Answer:
        connection = self._kept.take()
        if connection is not None:
            try:
                return self._over(connection, method, path, sent)
            except (ConnectionError, HTTPException):
                pass  # it was kept, and the server has let go of it meanwhile
        return self._over(self._kind(self._host, self._port, timeout=self._timeout), method, path, sent)

    def _over(self, connection: HTTPConnection, method: str, path: str, sent: Letter | None) -> _Answer:
        headers = {**self._headers, **({} if sent is None else {"Content-Type": sent.content_type})}
        try:
            connection.request(method, self._path + path, None if sent is None else sent.body, headers)
            response = connection.getresponse()
            answer = _Answer(response.status, response.read(), _seconds(response.getheader("Retry-After")))
        except BaseException:
            connection.close()
            raise
        if response.will_close:
            connection.close()
        else:
            self._kept.keep(connection)
        return answer


def _refusal(answer: _Answer, places: Sequence[int]) -> ServerError:
    """A refusal in words, with the place among all that was given: servers count within a request."""
    try:
        words = str(json.loads(answer.body)["error"])
    except (ValueError, KeyError, TypeError, RecursionError):
        words = answer.body[:200].decode("utf-8", "replace")
    place, begins = None, _PLACE.match(words)
    if begins and int(begins[2]) < len(places):
        place = places[int(begins[2])]
        words = f"{begins[1]}[{place}]{words[begins.end() :]}"
    told = f"the reward server refused ({answer.status}): {truncate(words, 500, 100)}"
    return ServerError(told, answer.status, place)


def _object(body: bytes) -> Mapping[str, Any]:
    try:
        found = json.loads(body)
    except ValueError as error:
        raise ServerError("the server did not answer with JSON: is it a reward server?") from error
    if not isinstance(found, dict):
        raise ServerError("the server did not answer with an object of JSON: is it a reward server?")
    return found


def _seconds(told: str | None) -> float | None:
    """Only numbers of seconds: dates are not understood, and the usual pause is made."""
    return float(told) if told is not None and told.isdecimal() else None
