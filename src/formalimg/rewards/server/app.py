"""The reward server as an ASGI application with scores, health checks, metrics and API documentation."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import os
import time
from bisect import bisect_left
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping
from dataclasses import astuple
from importlib.resources import files
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from formalimg._util.text import render_template
from formalimg.logic.vocabulary import vocabulary, vocabulary_names
from formalimg.rewards.result import RewardScore
from formalimg.rewards.scorer import Scorer
from formalimg.rewards.server.http_server import Authentication
from formalimg.rewards.server.processes import ProcessGrounder
from formalimg.rewards.server.request_body import BodyReader, HeldBytes, Limits, RequestError
from formalimg.rewards.server.request_scoring import (
    AdmissionControl,
    RequestParser,
    RequestScoring,
    cancel_on_disconnect,
)
from formalimg.rewards.server.score_request import (
    REWARDS,
    ImageRoot,
    ServerContext,
    parse_compute_request,
    parse_score_request,
    parse_unirl_request,
)

_CLIENT_CLOSED_REQUEST = 499  # the status that is counted for a client that disconnected; nobody gets to see it
# what clients know the limits as, in the order of their fields
_LIMIT_NAMES = (
    *("most_bytes", "most_items", "at_once", "most_waiting", "longest_wait", "timeout"),
    *("longest_end", "most_connections"),
)
_PACKAGE = "formalimg.rewards.server"
_DOCS_HEADERS: Mapping[str, str] = {
    # The page brings its style along, and nothing else is ever loaded.
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
}


def create_reward_app(
    scorer: Scorer,
    *,
    version: str,
    limits: Limits | None = None,
    token: str | None = None,
    root: ImageRoot | None = None,
    grounder: ProcessGrounder | None = None,
) -> ASGIApp:
    """Create the ASGI application of the reward server."""
    endpoints = _Endpoints(ServerContext(scorer, limits or Limits(), version, root), grounder)
    routes = [
        Route("/v1/score", endpoints.scores(parse_score_request), methods=["POST"]),
        Route("/compute", endpoints.scores(parse_compute_request), methods=["POST"]),
        Route("/score", endpoints.scores(parse_unirl_request), methods=["POST"]),
        Route("/v1/about", endpoints.about, methods=["GET"]),
        Route("/openapi.json", endpoints.openapi, methods=["GET"]),
        Route("/docs", endpoints.docs, methods=["GET"]),
        Route("/metrics", endpoints.metrics_text, methods=["GET"]),
        Route("/health", endpoints.health, methods=["GET"]),
        Route("/healthz", endpoints.healthy, methods=["GET"]),
        Route("/readyz", endpoints.ready, methods=["GET"]),
    ]
    paths = frozenset(route.path for route in routes)
    return Starlette(
        routes=routes,
        middleware=[
            Middleware(MetricsMiddleware, metrics=endpoints.metrics, paths=paths),
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
    def __init__(self, context: ServerContext, grounder: ProcessGrounder | None) -> None:
        self.metrics = Metrics()
        self._context, self._grounder = context, grounder
        self._admission = AdmissionControl(context.limits)
        self._held = HeldBytes()
        self._scoring = RequestScoring(context)
        self._is_ready = False

    @contextlib.asynccontextmanager
    async def lifespan(self, _: Starlette) -> AsyncIterator[None]:
        """Start slow components in the background, and stop them on shutdown."""
        starting = asyncio.create_task(self._start())
        try:
            yield
        finally:
            starting.cancel()
            self._scoring.close()
            if self._grounder is not None:
                await asyncio.to_thread(self._grounder.close)

    async def _start(self) -> None:
        if self._grounder is not None:
            await self._grounder.warm_up()
        self._is_ready = True

    def scores(self, parse: RequestParser) -> Callable[[Request], Awaitable[Response]]:
        """Return an endpoint that parses requests with `parse` and responds with rewards."""

        async def score(request: Request) -> Response:
            began = time.perf_counter()
            with BodyReader(self._context.limits, self._held) as reader:
                try:
                    body = await reader.read(request)
                    async with self._admission.admit():
                        rewards, answer = await cancel_on_disconnect(self._scoring.score(body, parse), request.receive)
                except ClientDisconnect:
                    return Response(status_code=_CLIENT_CLOSED_REQUEST)
                except asyncio.CancelledError as error:  # there was no time left to finish it
                    message = "the server ends before this is done: come back later"
                    raise RequestError(503, message, retry_after=1, closes=True) from error
            self.metrics.count_scores(rewards, time.perf_counter() - began)
            return Response(answer, media_type="application/json")

        return score

    async def about(self, _: Request) -> Response:
        """Respond with the settings that affect the rewards."""
        return JSONResponse(await asyncio.to_thread(_describe_server, self._context))

    async def openapi(self, _: Request) -> Response:
        """Respond with the OpenAPI document."""
        return JSONResponse(_describe_api(self._context.version))

    async def docs(self, _: Request) -> Response:
        """Respond with the API documentation as an HTML page."""
        page = _render_docs(_describe_api(self._context.version))
        return Response(page, media_type="text/html; charset=utf-8", headers=_DOCS_HEADERS)

    async def metrics_text(self, _: Request) -> Response:
        """Respond with the metrics."""
        gauges = {
            "formalimg_in_flight": ("Requests that are processed.", self._admission.in_flight),
            "formalimg_waiting": ("Requests that wait for admission.", self._admission.waiting),
            "formalimg_held_bytes": ("Bytes of requests that are in memory.", self._held.bytes),
        }
        return PlainTextResponse(self.metrics.text(gauges), media_type=CONTENT_TYPE)

    async def health(self, _: Request) -> Response:
        """Respond with the readiness of the server and its available rewards."""
        status = "ok" if self._is_ready else "starting"
        return JSONResponse({"status": status, "rewards": REWARDS}, 200 if self._is_ready else 503)

    async def healthy(self, _: Request) -> Response:
        """Respond that the server is alive."""
        return PlainTextResponse("ok\n")

    async def ready(self, _: Request) -> Response:
        """Respond with the readiness of all slow-starting components."""
        return PlainTextResponse("ready\n") if self._is_ready else PlainTextResponse("starting\n", 503)


async def _answer_request_error(_: Request, error: Exception) -> Response:
    assert isinstance(error, RequestError)
    return error.response()


async def _answer_http_exception(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    messages = {
        404: "there is nothing here: POST /v1/score, /compute or /score, or GET /docs for the list of all paths",
        405: f"{request.method} is not allowed here: send {(error.headers or {}).get('Allow')}",
    }
    return JSONResponse({"error": messages.get(error.status_code, error.detail)}, error.status_code, error.headers)


async def _answer_bug(_: Request, error: Exception) -> Response:
    """Respond to an internal error without details, leaving the traceback on standard error."""
    return JSONResponse({"error": "the server failed: its log says why"}, 500)


def _describe_server(context: ServerContext) -> Mapping[str, object]:
    """Describe what affects the rewards: version, models, settings, weights, digests and limits."""
    scorer, limits = context.scorer, context.limits
    return {
        "formalimg": context.version,
        "scorer": dict(scorer.settings),
        "looking": {
            role: {"name": model.name, "settings": dict(model.settings)} for role, model in scorer.parties.items()
        },
        "suites": dict(scorer.suite_digests()),
        "vocabularies": {name: _vocabulary_digest(name) for name in vocabulary_names()},
        "limits": dict(zip(_LIMIT_NAMES, astuple(limits), strict=True)),
        "reads_files": context.root is not None,
    }


def _vocabulary_digest(name: str) -> str:
    """Return a digest of the words and predicates of a vocabulary, without the predicate texts."""
    entries = vocabulary(name)
    content = {
        "words": {kind: list(words) for kind, words in entries.words.items()},
        "predicates": {predicate.name: list(predicate.arguments) for predicate in entries.predicates.values()},
    }
    return f"sha256:{hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()}"


# --- the description of the paths: OpenAPI for programs, and a plain page for people


def _describe_api(version: str) -> dict[str, Any]:
    document: dict[str, Any] = json.loads((files(_PACKAGE) / "openapi.json").read_text(encoding="utf-8"))
    document["info"]["version"] = version
    return document


def _render_docs(document: Mapping[str, Any]) -> str:
    operations = list(_list_operations(document))
    groups = [
        (tag["name"], tag["description"], [operation for name, operation in operations if name == tag["name"]])
        for tag in document["tags"]
    ]
    return str(render_template(_PACKAGE, "docs.html", info=document["info"], groups=groups))


def _list_operations(document: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    meanings = document["components"]["responses"]
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            responses = operation["responses"]
            yield (
                operation["tags"][0],
                {
                    "method": method.upper(),
                    "path": path,
                    "summary": operation["summary"],
                    "text": operation["description"],
                    "is_open": operation.get("security") == [],  # it needs no token
                    "request": _format_example(operation.get("requestBody", {})),
                    "answer": _format_example(responses["200"]),
                    "errors": [(code, meanings[code]["description"]) for code in responses if code != "200"],
                },
            )


def _format_example(body: Mapping[str, Any]) -> str:
    examples = (content["example"] for content in body.get("content", {}).values() if "example" in content)
    example = next(examples, "")
    return example.rstrip() if isinstance(example, str) else json.dumps(example, ensure_ascii=False, indent=1)


CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)  # seconds
_OUTCOMES = ("passed", "failed", "unscored")


class Metrics:
    """Counters since the start of the server, bound to one thread."""

    def __init__(self) -> None:
        self._started = time.time()
        self._requests: Counter[tuple[str, int]] = Counter()
        self._items: Counter[str] = Counter(dict.fromkeys(_OUTCOMES, 0))
        self._durations = [0] * (len(_BUCKETS) + 1)
        self._seconds = 0.0

    def count_request(self, path: str, status: int) -> None:
        """Count a completed request by path and status, where unknown paths share one label."""
        self._requests[path, status] += 1

    def count_scores(self, rewards: Iterable[RewardScore], seconds: float) -> None:
        """Count the scores of a completed request and its duration in seconds."""
        for reward in rewards:
            self._items["unscored" if reward.passed is None else "passed" if reward.passed else "failed"] += 1
        self._durations[bisect_left(_BUCKETS, seconds)] += 1
        self._seconds += seconds

    def text(self, gauges: Mapping[str, tuple[str, float]]) -> str:
        """Return all metrics as text."""
        gauges = {
            **gauges,
            "process_start_time_seconds": ("When the server was started.", round(self._started, 3)),
        }
        if (memory := resident_bytes()) is not None:
            gauges["process_resident_memory_bytes"] = ("Memory of this process, without its workers.", memory)
        return "\n".join([*self._lines(gauges), ""])

    def _lines(self, gauges: Mapping[str, tuple[str, float]]) -> Iterator[str]:
        name = "formalimg_requests_total"
        yield from _header_lines(name, "counter", "Requests that were answered.")
        for (path, status), count in sorted(self._requests.items()):
            yield f'{name}{{path="{path}",status="{status}"}} {count}'
        name = "formalimg_items_total"
        yield from _header_lines(name, "counter", "Images that were scored.")
        for outcome in _OUTCOMES:
            yield f'{name}{{outcome="{outcome}"}} {self._items[outcome]}'
        name, below = "formalimg_score_seconds", 0
        yield from _header_lines(name, "histogram", "Duration of requests for scores, from their head to their answer.")
        for bound, count in zip((*map(str, _BUCKETS), "+Inf"), self._durations, strict=True):
            below += count
            yield f'{name}_bucket{{le="{bound}"}} {below}'
        yield f"{name}_sum {self._seconds:.6f}"
        yield f"{name}_count {below}"
        for name, (meaning, value) in gauges.items():
            yield from _header_lines(name, "gauge", meaning)
            yield f"{name} {value}"


class MetricsMiddleware:
    """ASGI middleware that counts responses by status."""

    def __init__(self, app: ASGIApp, metrics: Metrics, paths: frozenset[str]) -> None:
        """Wrap an application, counting paths outside `paths` under one label."""
        self._app, self._metrics, self._paths = app, metrics, paths

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on and count its response."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        path = scope["path"] if scope["path"] in self._paths else "other"

        async def count_and_send(message: Message) -> None:
            if message["type"] == "http.response.start":
                self._metrics.count_request(path, message["status"])
            await send(message)

        try:
            await self._app(scope, receive, count_and_send)
        except Exception:  # which is answered further outside
            self._metrics.count_request(path, 500)
            raise


def resident_bytes() -> int | None:
    """Return the resident memory of this process, or None if the system does not report it."""
    try:
        return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, AttributeError):
        return None


def _header_lines(name: str, kind: str, meaning: str) -> tuple[str, str]:
    return f"# HELP {name} {meaning}", f"# TYPE {name} {kind}"
