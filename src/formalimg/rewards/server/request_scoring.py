"""Admission and scoring of requests: scenes in one thread, images by grounder and judges, cancelled on disconnect."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass
from queue import SimpleQueue
from threading import Thread
from typing import Generic, NamedTuple, TypeAlias, TypeVar

from starlette.requests import ClientDisconnect
from starlette.types import Receive

from formalimg.errors import FormalimgError
from formalimg.models.secrets import redact
from formalimg.rewards.result import PairError, RewardScore
from formalimg.rewards.server.request_body import SMALL_REQUEST, Limits, RequestBody, RequestError
from formalimg.rewards.server.score_request import ScoreEntry, ScoreRequest, ServerContext
from formalimg.types import Unscored

_DISCONNECT_DELAY = 0.25  # Seconds after which the connection of a waiting client is watched for a disconnect
_MAX_GROUP = 64  # How many scenes are scored before looking again whether the client still waits
_PART_LENGTH = 100  # Characters of a part in an answer besides its texts
_BATCH = 8  # Maximum number of jobs that are done before their results are handed back
_MAX_BATCH_SECONDS = 0.25  # Seconds that a batch may take; then the executor counts as blocked
_log = logging.getLogger("formalimg.rewards.server")

Argument = TypeVar("Argument")
Result = TypeVar("Result")

RequestParser: TypeAlias = Callable[[RequestBody, ServerContext], ScoreRequest]
"""Parses requests as one kind of client sends them."""


class AdmissionControl:
    """Admission control with a concurrency limit, bound to one event loop."""

    def __init__(self, limits: Limits) -> None:
        self.in_flight = 0  # number of requests that are processed
        self.waiting = 0  # number of requests that wait
        self._free = asyncio.Semaphore(limits.max_concurrency)
        self._max_waiting, self._max_wait = limits.max_waiting, limits.max_wait

    @contextlib.asynccontextmanager
    async def admit(self) -> AsyncIterator[None]:
        """Wait for admission and hold it for the duration of the block."""
        if self._free.locked():
            await self._wait()
        else:  # the usual case, which needs no clock
            await self._free.acquire()
        self.in_flight += 1
        try:
            yield
        finally:
            self.in_flight -= 1
            self._free.release()

    async def _wait(self) -> None:
        if self.waiting >= self._max_waiting:
            raise RequestError(503, f"{self.waiting:,} requests are already waiting: retry later", retry_after=1)
        self.waiting += 1
        try:
            async with asyncio.timeout(self._max_wait):
                await self._free.acquire()
        except TimeoutError as error:
            message = f"the server was busy for {self._max_wait:g} seconds: come back later"
            raise RequestError(503, message, retry_after=1) from error
        finally:
            self.waiting -= 1


class RequestScoring:
    """Scores requests in one event loop."""

    def __init__(self, context: ServerContext) -> None:
        self._context = context
        self._executor = BatchExecutor(self._score_scenes)
        self.close = self._executor.close

    async def score(self, body: RequestBody, parse: RequestParser) -> tuple[list[RewardScore], str]:
        """Score a request, and return the rewards and the JSON of the response."""
        try:
            scored = await self._score_scenes_in_thread(body, parse)
            if scored.pairs:
                scored.rewards.update(await self._score_images(scored))
        except FormalimgError as error:  # for the operator of the server, such as a wrong key
            message = redact(str(error))
            _log.error("%s", message)
            raise RequestError(500, f"the judge cannot work: {message}") from error
        rewards = [scored.rewards[index] for index in range(len(scored.rewards))]
        is_short = sum(map(_text_length, rewards)) <= SMALL_REQUEST
        answer = scored.request.answer
        text = answer(rewards) if is_short else await asyncio.to_thread(answer, rewards)
        self._check_length(len(text))  # in ASCII
        return rewards, text

    def _check_length(self, length: int) -> None:
        limit = self._context.limits.max_body_bytes
        if length > limit:
            message = f"the answer would have more than {limit:,} bytes"
            raise RequestError(413, f'{message}: send fewer items at once, or "parts": false')

    async def _score_images(self, scored: _PartlyScored) -> dict[int, RewardScore]:
        pairs, refused = dict(scored.pairs), dict[int, RewardScore]()
        while pairs:
            try:
                with _errors_by_index(list(pairs)):
                    rewards = await self._context.scorer.score(pairs.values(), parts=scored.request.parts)
            except _ItemError as error:  # all tasks are looked at before the first image is
                if not scored.request.has_item_errors:
                    raise
                refused[error.index] = RewardScore.missing(Unscored("not judged", str(error)))
                del pairs[error.index]
            else:
                return {**refused, **dict(zip(pairs, rewards, strict=True))}
        return refused

    async def _score_scenes_in_thread(self, body: RequestBody, parse: RequestParser) -> _PartlyScored:
        job = _ScoreJob(body, parse)
        is_short = not body.files and len(body.text) <= SMALL_REQUEST
        try:
            return await (self._executor.submit(job) if is_short else asyncio.to_thread(self._score_scenes, job))
        except asyncio.CancelledError:
            job.is_cancelled = True
            raise

    def _score_scenes(self, job: _ScoreJob) -> _PartlyScored:
        """Parse a request and score its scenes in the scoring thread."""
        request = job.parse(job.body, self._context)
        scored, length = _PartlyScored({}, {}, request), 0
        scenes: dict[int, ScoreEntry] = {}
        for index, entry in enumerate(request.entries):
            if isinstance(entry, RewardScore):
                scored.rewards[index] = entry
            elif isinstance(entry.image, Mapping):
                scenes[index] = entry
            else:
                scored.pairs[index] = entry
        group_size = 1 if request.parts else _MAX_GROUP  # without parts, scenes of one task are scored as a group
        indices = list(scenes)
        for start in range(0, len(indices), group_size):
            group = indices[start : start + group_size]
            if job.is_cancelled:
                break
            with _errors_by_index(group):
                rewards = self._context.scorer.score_all([scenes[index] for index in group], parts=request.parts)
            scored.rewards.update(zip(group, rewards, strict=True))
            length += sum(map(_text_length, rewards))
            self._check_length(length)
        return scored


@dataclass(slots=True)
class _ScoreJob:
    body: RequestBody
    parse: RequestParser
    is_cancelled: bool = False


class _PartlyScored(NamedTuple):
    rewards: dict[int, RewardScore]  # those known by now, by their index
    pairs: dict[int, ScoreEntry]  # the images that have to be judged, by their index
    request: ScoreRequest


class _ItemError(RequestError):
    def __init__(self, index: int, cause: PairError) -> None:
        super().__init__(400, redact(cause.reason), where=f"items[{index}]", problems=cause.problems)
        self.index = index


async def cancel_on_disconnect(work: Awaitable[Result], receive: Receive) -> Result:
    """Await the work and return its result, cancelling it if the client disconnects.

    The connection is not watched at first, because this would take longer than most work.
    """
    current = asyncio.current_task()
    assert current is not None
    watcher: asyncio.Task[None] | None = None
    is_cancelled = is_over = False

    async def wait_for_disconnect() -> None:
        while (await receive())["type"] != "http.disconnect":
            pass

    def watch() -> None:
        nonlocal watcher
        watcher = asyncio.create_task(wait_for_disconnect())
        watcher.add_done_callback(cancel)

    def cancel(_: object) -> None:
        nonlocal is_cancelled
        if not is_over:
            is_cancelled = current.cancel()

    timer = asyncio.get_running_loop().call_later(_DISCONNECT_DELAY, watch)
    try:
        return await work
    except asyncio.CancelledError:
        if is_cancelled and current.uncancel() == 0:
            raise ClientDisconnect from None
        raise
    finally:
        is_over = True
        timer.cancel()
        if watcher is not None:
            watcher.cancel()


@contextlib.contextmanager
def _errors_by_index(indices: list[int]) -> Iterator[None]:
    """Convert errors about pairs to request errors with the item's index, as given by `indices`."""
    try:
        yield
    except PairError as error:
        raise _ItemError(indices[error.index], error) from error


def _text_length(score: RewardScore) -> int:
    """Return the size in bytes of a reward's texts in a response."""
    lengths = [_json_length(part.name) + _json_length(part.reason) + _PART_LENGTH for part in score.parts]
    return _json_length(score.reason) + sum(lengths)


def _json_length(text: str) -> int:
    """Return the length of a text encoded as JSON, where an escaped character uses up to 12 bytes."""
    return len(text) if text.isascii() and text.isprintable() else len(json.dumps(text))


# --- the batch executor


class BatchExecutor(Generic[Argument, Result]):
    """A single thread that runs short jobs sequentially and returns their results in batches.

    Python runs short jobs faster one after the other than side by side, and switching from one thread to another costs
    about as much as a short job does. So the thread that is already running takes waiting jobs along. A long job blocks
    only the executor: the jobs behind it run in threads of their own. Belongs to one event loop.
    """

    def __init__(self, work: Callable[[Argument], Result]) -> None:
        """Start a thread that runs each job by calling `work`."""
        self._work = work
        self._batches = SimpleQueue[asyncio.AbstractEventLoop | None]()
        # A daemon: when the program ends, nobody waits for its results.
        Thread(target=self._run, name="formalimg-batches", daemon=True).start()
        self._waiting = deque[tuple[Argument, asyncio.Future[Result]]]()
        self._done = deque[tuple[asyncio.Future[Result], Result | None, BaseException | None]]()
        self._is_busy = self._is_blocked = False
        self._timer: asyncio.TimerHandle | None = None

    async def submit(self, argument: Argument) -> Result:
        """Run a job and return its result, abandoning the job if the caller is cancelled."""
        if not self._is_blocked:
            with contextlib.suppress(_BlockedError):
                loop = asyncio.get_running_loop()
                future: asyncio.Future[Result] = loop.create_future()
                self._waiting.append((argument, future))
                if not self._is_busy:
                    self._start_batch(loop)
                return await future
        return await asyncio.to_thread(self._work, argument)

    def close(self) -> None:
        """Stop accepting jobs, without waiting for the current one."""
        self._batches.put(None)

    def _start_batch(self, loop: asyncio.AbstractEventLoop) -> None:
        self._is_busy = True
        self._timer = loop.call_later(_MAX_BATCH_SECONDS, self._give_way)
        self._batches.put(loop)

    def _run(self) -> None:
        while (loop := self._batches.get()) is not None:
            for _ in range(_BATCH):
                try:
                    argument, future = self._waiting.popleft()
                except IndexError:
                    break
                if not future.done():
                    try:
                        self._done.append((future, self._work(argument), None))
                    except BaseException as error:  # raised to the caller
                        self._done.append((future, None, error))
            with contextlib.suppress(RuntimeError):  # the loop has ended, and all callers in it
                loop.call_soon_threadsafe(self._end_batch, loop)

    def _end_batch(self, loop: asyncio.AbstractEventLoop) -> None:
        self._hand_back()
        self._is_busy = self._is_blocked = False
        if self._timer is not None:
            self._timer.cancel()
        if self._waiting:
            self._start_batch(loop)

    def _hand_back(self) -> None:
        while self._done:
            future, result, error = self._done.popleft()
            if future.done():  # given up
                continue
            if error is None:
                future.set_result(result)  # type: ignore[arg-type]
            else:
                future.set_exception(error)

    def _give_way(self) -> None:
        """Return finished results and reassign waiting jobs, since the thread is blocked."""
        self._is_blocked = True
        self._hand_back()
        while self._waiting:
            with contextlib.suppress(IndexError):  # the thread was faster
                _, future = self._waiting.popleft()
                if not future.done():
                    future.set_exception(_BlockedError())


class _BlockedError(Exception):
    """Raised for a job that has not started because the previous one is blocking the thread."""
