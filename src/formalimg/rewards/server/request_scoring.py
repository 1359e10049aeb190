"""Scoring of requests: scenes by one thread, images by the grounder and the judges; the client is watched meanwhile."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
from collections.abc import Awaitable, Callable, Iterator, Mapping
from typing import NamedTuple, TypeAlias, TypeVar

from starlette.requests import ClientDisconnect
from starlette.types import Receive

from formalimg.errors import FormalimgError
from formalimg.models.secrets import redact
from formalimg.rewards.result import PairError, RewardScore
from formalimg.rewards.server.batch_executor import BatchExecutor
from formalimg.rewards.server.http_errors import RequestError
from formalimg.rewards.server.request_body import SMALL_REQUEST, RequestBody
from formalimg.rewards.server.score_request import ScoreEntry, ScoreRequest, ServerContext
from formalimg.types import Unscored

_DISCONNECT_DELAY = 0.25
"""Seconds after which the connection of a waiting client is watched for a disconnect."""

_MAX_TOGETHER = 64
"""How many scenes are scored before looking again whether the client still waits."""

_PART_LENGTH = 100
"""Characters of a part in an answer besides its texts."""

_log = logging.getLogger("formalimg.rewards.server")

Result = TypeVar("Result")

RequestParser: TypeAlias = Callable[[RequestBody, ServerContext], ScoreRequest]
"""Parses requests as one kind of client sends them."""


class ScoredRequest(NamedTuple):
    """The rewards of a request, and the JSON of its answer."""

    found: list[RewardScore]
    answer: str


class RequestScoring:
    """Scores requests. Belongs to one event loop."""

    def __init__(self, context: ServerContext) -> None:
        self._context = context
        self._executor = BatchExecutor(self._score_scenes)

    def close(self) -> None:
        """End the thread."""
        self._executor.close()

    async def score(self, body: RequestBody, parse: RequestParser) -> ScoredRequest:
        """Return the rewards of a request.

        Raises:
            RequestError: if something is wrong with it, or the judge cannot work.
        """
        try:
            begun = await self._score_scenes_in_thread(body, parse)
            judged = await self._score_images(begun) if begun.pairs else {}
        except FormalimgError as error:  # for the operator of the server, such as a wrong key
            message = redact(str(error))
            _log.error("%s", message)
            raise RequestError(500, f"the judge cannot work: {message}") from error
        by_index = {**begun.found, **judged}
        found = [by_index[index] for index in range(len(by_index))]
        length = sum(map(_text_length, found))
        write = begun.request.answer
        answer = write(found) if length <= SMALL_REQUEST else await asyncio.to_thread(write, found)
        if len(answer) > self._context.limits.max_answer_bytes:  # in ASCII
            raise self._too_long()
        return ScoredRequest(found, answer)

    def _too_long(self) -> RequestError:
        message = f"the answer would have more than {self._context.limits.max_answer_bytes:,} bytes"
        return RequestError(413, f'{message}: send fewer items at once, or "parts": false')

    async def _score_images(self, begun: _PartlyScored) -> dict[int, RewardScore]:
        pairs, refused = dict(begun.pairs), dict[int, RewardScore]()
        while pairs:
            try:
                with _errors_by_index(list(pairs)):
                    judged = await self._context.scorer.score(pairs.values(), parts=begun.request.parts)
            except _ItemError as error:  # all tasks are looked at before the first image is
                if not begun.request.has_item_errors:
                    raise
                refused[error.index] = RewardScore.missing(Unscored("not judged", str(error)))
                del pairs[error.index]
            else:
                return {**refused, **dict(zip(pairs, judged, strict=True))}
        return refused

    async def _score_scenes_in_thread(self, body: RequestBody, parse: RequestParser) -> _PartlyScored:
        job = _ScoreJob(body, parse)
        try:
            if not body.files and len(body.text) <= SMALL_REQUEST:
                return await self._executor.submit(job)
            return await asyncio.to_thread(self._score_scenes, job)
        except asyncio.CancelledError:
            job.is_cancelled = True
            raise

    def _score_scenes(self, job: _ScoreJob) -> _PartlyScored:
        """Parse a request and score its scenes: in one thread, so that threads are switched only once."""
        request = job.parse(job.body, self._context)
        begun, room = _PartlyScored({}, {}, request), self._context.limits.max_answer_bytes
        scenes: dict[int, ScoreEntry] = {}
        for index, entry in enumerate(request.entries):
            if isinstance(entry, RewardScore):
                begun.found[index] = entry
            elif isinstance(entry.image, Mapping):
                scenes[index] = entry
            else:
                begun.pairs[index] = entry
        together = 1 if request.parts else _MAX_TOGETHER  # without parts, scenes of one task are scored as a group
        numbers = list(scenes)
        for start in range(0, len(numbers), together):
            chosen = numbers[start : start + together]
            if job.is_cancelled:
                break
            with _errors_by_index(chosen):
                found = self._context.scorer.score_all([scenes[index] for index in chosen], parts=request.parts)
            begun.found.update(zip(chosen, found, strict=True))
            room -= sum(map(_text_length, found))
            if room < 0:
                raise self._too_long()
        return begun


class _ScoreJob:
    """A request that a thread works on, and whether nobody waits for it any longer."""

    __slots__ = ("body", "is_cancelled", "parse")

    def __init__(self, body: RequestBody, parse: RequestParser) -> None:
        self.body, self.parse, self.is_cancelled = body, parse, False


class _PartlyScored(NamedTuple):
    """A parsed request whose scenes are scored."""

    found: dict[int, RewardScore]  # the rewards of scenes, by their index
    pairs: dict[int, ScoreEntry]  # the images that have to be judged, by their index
    request: ScoreRequest  # the request


class _ItemError(RequestError):
    """An item of a request that cannot be scored, and its index."""

    def __init__(self, index: int, why: PairError) -> None:
        super().__init__(400, redact(why.reason), where=f"items[{index}]", problems=why.problems)
        self.index = index


async def cancel_on_disconnect(work: Awaitable[Result], receive: Receive) -> Result:
    """Return the result of the work; cancel it as soon as the client disconnects.

    The connection is not watched at first: that would take longer than most work does.
    """
    working = asyncio.current_task()
    assert working is not None
    watcher: asyncio.Task[None] | None = None
    is_cancelled = is_over = False

    def watch() -> None:
        nonlocal watcher
        watcher = asyncio.create_task(_wait_for_disconnect(receive))
        watcher.add_done_callback(cancel)

    def cancel(_: object) -> None:
        nonlocal is_cancelled
        if not is_over:
            is_cancelled = working.cancel()

    timer = asyncio.get_running_loop().call_later(_DISCONNECT_DELAY, watch)
    try:
        return await work
    except asyncio.CancelledError:
        if is_cancelled and working.uncancel() == 0:
            raise ClientDisconnect from None
        raise
    finally:
        is_over = True
        timer.cancel()
        if watcher is not None:
            watcher.cancel()


async def _wait_for_disconnect(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


@contextlib.contextmanager
def _errors_by_index(indices: list[int]) -> Iterator[None]:
    """Name the item that cannot be scored by its index in the request, where the pairs have these indices."""
    try:
        yield
    except PairError as error:
        raise _ItemError(indices[error.place], error) from error


def _text_length(score: RewardScore) -> int:
    """Return the number of bytes of a reward's texts in an answer, which make up most of it."""
    return _escaped_length(score.reason) + sum(
        [_escaped_length(part.name) + _escaped_length(part.reason) + _PART_LENGTH for part in score.parts]
    )


def _escaped_length(text: str) -> int:
    """Return the length of a text as JSON: a character that is not ASCII, or not printable, takes up to 12 bytes."""
    return len(text) if text.isascii() and text.isprintable() else len(json.dumps(text))
