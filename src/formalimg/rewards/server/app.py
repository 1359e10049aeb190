"""The reward server as an ASGI application with scores, health checks, metrics and API documentation."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from dataclasses import astuple
from importlib.resources import files
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from formalimg._util.templates import render_template
from formalimg.logic.vocabulary import vocabulary, vocabulary_names
from formalimg.rewards.scorer import Scorer
from formalimg.rewards.server.http_server import Authentication
from formalimg.rewards.server.metrics import CONTENT_TYPE, Metrics, MetricsMiddleware
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
