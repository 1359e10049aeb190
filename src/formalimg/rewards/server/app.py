"""The reward server as an ASGI application: scores, health, numbers, and what it is."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import time
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from typing import NamedTuple

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from formalimg.errors import FormalimgError
from formalimg.models import redacted
from formalimg.rewards import PairError, Scored, Scorer
from formalimg.rewards.server.about import about
from formalimg.rewards.server.asking import Asked, read_asked
from formalimg.rewards.server.bodies import Bodies, Held, Sent
from formalimg.rewards.server.counting import CONTENT_TYPE, Counting, Counts
from formalimg.rewards.server.gate import Gate
from formalimg.rewards.server.lane import Lane
from formalimg.rewards.server.leaving import unless_gone
from formalimg.rewards.server.limits import Limits
from formalimg.rewards.server.processes import GrounderInProcesses
from formalimg.rewards.server.refusing import RefusedError
from formalimg.rewards.server.roots import Root
from formalimg.rewards.server.turns import BusyError, Turns

_SMALL = 256 * 1024
"""How many bytes a request may have that goes along the lane for small ones."""

_CLIENT_IS_GONE = 499
"""What is counted for a client that did not wait for its answer; nobody gets to see it."""

_log = logging.getLogger("formalimg.rewards.server")


def make_reward_app(
    scorer: Scorer,
    *,
    version: str,
    limits: Limits | None = None,
    token: str | None = None,
    root: Root | None = None,
    grounder: GrounderInProcesses | None = None,
) -> ASGIApp:
    """The reward server.

    Args:
        scorer: who scores.
        version: the version of formalimg.
        limits: how much it takes on.
        token: what clients must send; None for a server that only this machine can reach.
        root: the folder whose files may be named in place of images; None for none.
        grounder: the grounder of the scorer, if it works in processes that are to be started and ended.
    """
    desk = _Desk(scorer, version, limits or Limits(), root, grounder)
    routes = {
        "/v1/score": Route("/v1/score", desk.score, methods=["POST"]),
        "/v1/about": Route("/v1/about", desk.about, methods=["GET"]),
        "/metrics": Route("/metrics", desk.metrics, methods=["GET"]),
        "/healthz": Route("/healthz", desk.healthy, methods=["GET"]),
        "/readyz": Route("/readyz", desk.ready, methods=["GET"]),
    }
    return Starlette(
        routes=list(routes.values()),
        middleware=[Middleware(Counting, counts=desk.counts, paths=frozenset(routes)), Middleware(Gate, token=token)],
        exception_handlers={RefusedError: _refused, HTTPException: _told, Exception: _failed},
        lifespan=desk.lifespan,
    )


class _Desk:
    """Where requests are answered."""

    def __init__(
        self, scorer: Scorer, version: str, limits: Limits, root: Root | None, grounder: GrounderInProcesses | None
    ) -> None:
        self.counts = Counts()
        self._scorer, self._version, self._limits, self._root, self._grounder = scorer, version, limits, root, grounder
        self._turns = Turns(limits.at_once, limits.most_waiting, limits.longest_wait)
        self._held = Held()
        self._lane = Lane(self._begun)
        self._is_ready = False

    @contextlib.asynccontextmanager
    async def lifespan(self, _: Starlette) -> AsyncIterator[None]:
        """Start what takes long, and end it."""
        starting = asyncio.create_task(self._start())
        try:
            yield
        finally:
            starting.cancel()
            self._lane.close()
            if self._grounder is not None:
                await asyncio.to_thread(self._grounder.close)

    async def _start(self) -> None:
        if self._grounder is not None:
            await self._grounder.warm_up()
        self._is_ready = True

    async def score(self, request: Request) -> Response:
        """The rewards of images."""
        began = time.perf_counter()
        with Bodies(self._limits, self._held) as bodies:
            try:
                sent = await bodies.read(request)
                async with self._turns.taken():
                    found = await unless_gone(self._scored(sent), request.receive)
            except BusyError as error:
                raise RefusedError(503, str(error), retry_after=1) from error
            except ClientDisconnect:
                return Response(status_code=_CLIENT_IS_GONE)
            except asyncio.CancelledError as error:  # there was no time left to finish it
                words = "the server ends before this is done: come back later"
                raise RefusedError(503, words, retry_after=1, closes=True) from error
        self.counts.scored(found, time.perf_counter() - began)
        # Escaped, so that any text can be sent, also halves of characters that a judge has said.
        answer = json.dumps({"results": [one.to_json() for one in found]}, allow_nan=False, separators=(",", ":"))
        return Response(answer, media_type="application/json")

    async def _scored(self, sent: Sent) -> list[Scored]:
        try:
            begun = await self._begun_in_a_thread(sent)
            looked_at = await self._looked_at(begun) if begun.pairs else []
        except FormalimgError as error:  # for whoever runs the server, such as a wrong key
            words = redacted(str(error))
            _log.error("%s", words)
            raise RefusedError(500, f"the judge cannot work: {words}") from error
        found = {**begun.found, **dict(zip(begun.pairs, looked_at, strict=True))}
        return [found[place] for place in range(len(found))]

    async def _looked_at(self, begun: _Begun) -> list[Scored]:
        with _in_the_request(list(begun.pairs)):
            return await self._scorer.score(begun.pairs.values(), parts=begun.parts)

    async def _begun_in_a_thread(self, sent: Sent) -> _Begun:
        order = _Order(sent)
        try:
            if not sent.files and len(sent.text) <= _SMALL:
                return await self._lane.do(order)
            return await asyncio.to_thread(self._begun, order)
        except asyncio.CancelledError:
            order.is_given_up = True
            raise

    def _begun(self, order: _Order) -> _Begun:
        """Read a request and judge its scenes: in one thread, so that the way there and back is gone only once."""
        asked, parts = read_asked(order.sent, self._scorer, self._limits, self._root)
        begun = _Begun({}, {}, parts)
        for place, one in enumerate(asked):
            if order.is_given_up:
                break
            if isinstance(one.image, Mapping):
                with _in_the_request([place]):
                    [begun.found[place]] = self._scorer.score_all([one], parts=parts)
            else:
                begun.pairs[place] = one
        return begun

    async def about(self, _: Request) -> Response:
        """What shapes the rewards."""
        read = self._root is not None
        told = await asyncio.to_thread(about, self._version, self._scorer, self._limits, reads_files=read)
        return JSONResponse(told)

    async def metrics(self, _: Request) -> Response:
        """Numbers for whoever watches."""
        gauges = {
            "formalimg_in_flight": ("Requests that are worked on.", self._turns.in_flight),
            "formalimg_waiting": ("Requests that wait for their turn.", self._turns.waiting),
            "formalimg_held_bytes": ("Bytes of requests that are in memory.", self._held.bytes),
        }
        return PlainTextResponse(self.counts.text(gauges), media_type=CONTENT_TYPE)

    async def healthy(self, _: Request) -> Response:
        """Somebody is there."""
        return PlainTextResponse("ok\n")

    async def ready(self, _: Request) -> Response:
        """Everything that takes long to start is there."""
        return PlainTextResponse("ready\n") if self._is_ready else PlainTextResponse("starting\n", 503)


class _Order:
    """A request that a thread works on, and whether nobody waits for it any longer."""

    __slots__ = ("is_given_up", "sent")

    def __init__(self, sent: Sent) -> None:
        self.sent, self.is_given_up = sent, False


class _Begun(NamedTuple):
    """A request that was read.

    Attributes:
        found: the rewards of scenes, by their place.
        pairs: the images that somebody has to look at, by their place.
        parts: whether parts and reasons are asked for.
    """

    found: dict[int, Scored]
    pairs: dict[int, Asked]
    parts: bool


@contextlib.contextmanager
def _in_the_request(places: Sequence[int]) -> Iterator[None]:
    """Name the item that cannot be scored by its place in the request, where the pairs came from these places."""
    try:
        yield
    except PairError as error:
        where = f"items[{places[error.place]}]"
        raise RefusedError(400, redacted(error.told), where=where, problems=error.problems) from error


async def _refused(_: Request, error: Exception) -> Response:
    assert isinstance(error, RefusedError)
    return error.answer()


async def _told(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    words = {
        404: "there is nothing here: POST /v1/score, or GET /v1/about, /metrics, /healthz or /readyz",
        405: f"{request.method} is not for this: send {(error.headers or {}).get('Allow')}",
    }
    return JSONResponse({"error": words.get(error.status_code, error.detail)}, error.status_code, error.headers)


async def _failed(_: Request, error: Exception) -> Response:
    """A bug of ours: its traceback is on the server's standard error, and nobody else's business."""
    return JSONResponse({"error": "the server failed: its log says why"}, 500)
