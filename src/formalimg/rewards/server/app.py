"""The reward server as an ASGI application: scores, health checks, metrics and its description."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Iterator, Mapping, Sequence
from typing import NamedTuple, TypeVar

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive

from formalimg.errors import FormalimgError
from formalimg.models import redact
from formalimg.rewards import PairError, RewardScore, Scorer
from formalimg.rewards.server.admission import AdmissionControl, Limits, ServerBusyError
from formalimg.rewards.server.auth import Authentication
from formalimg.rewards.server.batch_executor import BatchExecutor
from formalimg.rewards.server.http_errors import RequestError
from formalimg.rewards.server.metrics import CONTENT_TYPE, Metrics, MetricsMiddleware, describe_server
from formalimg.rewards.server.processes import ProcessGrounder
from formalimg.rewards.server.request_body import SMALL_REQUEST, BodyReader, HeldBytes, RequestBody
from formalimg.rewards.server.score_request import ImageRoot, ScoreEntry, parse_score_request

_CLIENT_CLOSED_REQUEST = 499
"""The status that is counted for a client that disconnected; nobody gets to see it."""

_DISCONNECT_DELAY = 0.25
"""Seconds after which the connection of a waiting client is watched for a disconnect."""

_MAX_TOGETHER = 64
"""How many scenes are scored before looking again whether the client still waits."""

_PART_LENGTH = 100
"""Characters of a part in an answer besides its texts."""

_log = logging.getLogger("formalimg.rewards.server")

Result = TypeVar("Result")


def create_reward_app(
    scorer: Scorer,
    *,
    version: str,
    limits: Limits | None = None,
    token: str | None = None,
    root: ImageRoot | None = None,
    grounder: ProcessGrounder | None = None,
) -> ASGIApp:
    """Return the reward server.

    Args:
        scorer: the scorer.
        version: the version of formalimg.
        limits: the limits of the server.
        token: what clients must send; None for a server that only this machine can reach.
        root: the folder whose files may be named in place of images; None for none.
        grounder: the grounder of the scorer, if it works in processes that are to be started and ended.
    """
    endpoints = _Endpoints(scorer, version, limits or Limits(), root, grounder)
    routes = {
        "/v1/score": Route("/v1/score", endpoints.score, methods=["POST"]),
        "/v1/about": Route("/v1/about", endpoints.about, methods=["GET"]),
        "/metrics": Route("/metrics", endpoints.metrics_text, methods=["GET"]),
        "/healthz": Route("/healthz", endpoints.healthy, methods=["GET"]),
        "/readyz": Route("/readyz", endpoints.ready, methods=["GET"]),
    }
    return Starlette(
        routes=list(routes.values()),
        middleware=[
            Middleware(MetricsMiddleware, metrics=endpoints.metrics, paths=frozenset(routes)),
            Middleware(Authentication, token=token),
        ],
        exception_handlers={
            RequestError: _answer_request_error,
            HTTPException: _answer_http_exception,
            Exception: _answer_bug,
        },
        lifespan=endpoints.lifespan,
    )


class _Endpoints:
    """The endpoints of the server."""

    def __init__(
        self, scorer: Scorer, version: str, limits: Limits, root: ImageRoot | None, grounder: ProcessGrounder | None
    ) -> None:
        self.metrics = Metrics()
        self._scorer, self._version, self._limits, self._root, self._grounder = scorer, version, limits, root, grounder
        self._admission = AdmissionControl(limits)
        self._held = HeldBytes()
        self._executor = BatchExecutor(self._score_scenes)
        self._is_ready = False

    @contextlib.asynccontextmanager
    async def lifespan(self, _: Starlette) -> AsyncIterator[None]:
        """Start what takes long, and end it."""
        starting = asyncio.create_task(self._start())
        try:
            yield
        finally:
            starting.cancel()
            self._executor.close()
            if self._grounder is not None:
                await asyncio.to_thread(self._grounder.close)

    async def _start(self) -> None:
        if self._grounder is not None:
            await self._grounder.warm_up()
        self._is_ready = True

    async def score(self, request: Request) -> Response:
        """Answer with the rewards of images."""
        began = time.perf_counter()
        with BodyReader(self._limits, self._held) as reader:
            try:
                body = await reader.read(request)
                async with self._admission.admitted():
                    found = await cancel_on_disconnect(self._score(body), request.receive)
            except ServerBusyError as error:
                raise RequestError(503, str(error), retry_after=1) from error
            except ClientDisconnect:
                return Response(status_code=_CLIENT_CLOSED_REQUEST)
            except asyncio.CancelledError as error:  # there was no time left to finish it
                message = "the server ends before this is done: come back later"
                raise RequestError(503, message, retry_after=1, closes=True) from error
        self.metrics.count_scores(found, time.perf_counter() - began)
        # Escaped, so that any text can be sent, also lone surrogates in a judge's answer.
        texts = (json.dumps(one.to_json(), allow_nan=False, separators=(",", ":")) for one in found)
        return Response(f'{{"results":[{",".join(texts)}]}}', media_type="application/json")

    async def _score(self, body: RequestBody) -> list[RewardScore]:
        try:
            begun = await self._score_scenes_in_thread(body)
            judged = await self._score_images(begun) if begun.pairs else []
        except FormalimgError as error:  # for the operator of the server, such as a wrong key
            message = redact(str(error))
            _log.error("%s", message)
            raise RequestError(500, f"the judge cannot work: {message}") from error
        found = {**begun.found, **dict(zip(begun.pairs, judged, strict=True))}
        return [found[index] for index in range(len(found))]

    async def _score_images(self, begun: _PartlyScored) -> list[RewardScore]:
        with _errors_by_index(list(begun.pairs)):
            return await self._scorer.score(begun.pairs.values(), parts=begun.parts)

    async def _score_scenes_in_thread(self, body: RequestBody) -> _PartlyScored:
        job = _ScoreJob(body)
        try:
            if not body.files and len(body.text) <= SMALL_REQUEST:
                return await self._executor.submit(job)
            return await asyncio.to_thread(self._score_scenes, job)
        except asyncio.CancelledError:
            job.is_cancelled = True
            raise

    def _score_scenes(self, job: _ScoreJob) -> _PartlyScored:
        """Parse a request and score its scenes: in one thread, so that threads are switched only once."""
        entries, parts = parse_score_request(job.body, self._scorer, self._limits, self._root)
        begun, room = _PartlyScored({}, {}, parts), self._limits.max_answer_bytes
        begun.pairs.update({i: entry for i, entry in enumerate(entries) if not isinstance(entry.image, Mapping)})
        scenes = [index for index in range(len(entries)) if index not in begun.pairs]
        together = 1 if parts else _MAX_TOGETHER  # without parts, scenes of one task are scored as a group
        for start in range(0, len(scenes), together):
            if job.is_cancelled:
                break
            chosen = scenes[start : start + together]
            with _errors_by_index(chosen):
                found = self._scorer.score_all([entries[index] for index in chosen], parts=parts)
            begun.found.update(zip(chosen, found, strict=True))
            room -= sum(map(_text_length, found))
            if room < 0:
                message = f"the answer would have more than {self._limits.max_answer_bytes:,} bytes"
                raise RequestError(413, f'{message}: send fewer items at once, or "parts": false')
        return begun

    async def about(self, _: Request) -> Response:
        """Answer with everything that shapes the rewards."""
        reads_files = self._root is not None
        described = await asyncio.to_thread(
            describe_server, self._version, self._scorer, self._limits, reads_files=reads_files
        )
        return JSONResponse(described)

    async def metrics_text(self, _: Request) -> Response:
        """Answer with the metrics."""
        gauges = {
            "formalimg_in_flight": ("Requests that are processed.", self._admission.in_flight),
            "formalimg_waiting": ("Requests that wait for admission.", self._admission.waiting),
            "formalimg_held_bytes": ("Bytes of requests that are in memory.", self._held.bytes),
        }
        return PlainTextResponse(self.metrics.text(gauges), media_type=CONTENT_TYPE)

    async def healthy(self, _: Request) -> Response:
        """Answer that the server is alive."""
        return PlainTextResponse("ok\n")

    async def ready(self, _: Request) -> Response:
        """Answer whether everything that takes long to start is ready."""
        return PlainTextResponse("ready\n") if self._is_ready else PlainTextResponse("starting\n", 503)


class _ScoreJob:
    """A request that a thread works on, and whether nobody waits for it any longer."""

    __slots__ = ("body", "is_cancelled")

    def __init__(self, body: RequestBody) -> None:
        self.body, self.is_cancelled = body, False


class _PartlyScored(NamedTuple):
    """A parsed request whose scenes are scored.

    Attributes:
        found: the rewards of scenes, by their index.
        pairs: the images that have to be judged, by their index.
        parts: whether parts and reasons are requested.
    """

    found: dict[int, RewardScore]
    pairs: dict[int, ScoreEntry]
    parts: bool


async def cancel_on_disconnect(work: Awaitable[Result], receive: Receive) -> Result:
    """Return the result of the work; cancel it as soon as the client disconnects.

    The connection is not watched at first: that would take longer than most work does.

    Raises:
        ClientDisconnect: if the client has disconnected.
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
def _errors_by_index(indices: Sequence[int]) -> Iterator[None]:
    """Name the item that cannot be scored by its index in the request, where the pairs have these indices."""
    try:
        yield
    except PairError as error:
        where = f"items[{indices[error.place]}]"
        raise RequestError(400, redact(error.reason), where=where, problems=error.problems) from error


def _text_length(score: RewardScore) -> int:
    """Return the number of characters of a reward's texts, which make up most of an answer."""
    return len(score.reason) + sum([len(part.name) + len(part.reason) + _PART_LENGTH for part in score.parts])


async def _answer_request_error(_: Request, error: Exception) -> Response:
    assert isinstance(error, RequestError)
    return error.response()


async def _answer_http_exception(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    messages = {
        404: "there is nothing here: POST /v1/score, or GET /v1/about, /metrics, /healthz or /readyz",
        405: f"{request.method} is not allowed here: send {(error.headers or {}).get('Allow')}",
    }
    return JSONResponse({"error": messages.get(error.status_code, error.detail)}, error.status_code, error.headers)


async def _answer_bug(_: Request, error: Exception) -> Response:
    """Answer without details: the traceback is on the server's standard error, and nobody else's business."""
    return JSONResponse({"error": "the server failed: its log says why"}, 500)
