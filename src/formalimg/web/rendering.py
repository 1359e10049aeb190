"""Render HTML pages from Jinja2 templates, and format rates."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from functools import cache

from jinja2 import Environment
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from formalimg._util.text import environment
from formalimg.stats.observations import Band, Rate
from formalimg.types import Benchmark
from formalimg.web.viewer.urls import build_url

static_pages: ContextVar[bool] = ContextVar("static_pages", default=False)
"""Whether pages are rendered for an export, which has no server. Templates read it as `static`."""


def page_endpoint(show: Callable[[Request], Response]) -> Callable[[Request], Awaitable[Response]]:
    """Return an endpoint that renders a page in a thread, or synchronously during an export."""

    async def endpoint(request: Request) -> Response:
        return show(request) if static_pages.get() else await run_in_threadpool(show, request)

    return endpoint


def page(template: str, status: int = 200, **values: object) -> Response:
    """Render a template as an HTML response."""
    return Response(fragment(template, **values), status, media_type="text/html; charset=utf-8")


def fragment(template: str, **values: object) -> str:
    """Render a template."""
    return _templates().get_template(template).render(values, static=static_pages.get())


@cache
def _templates() -> Environment:
    templates = environment("formalimg.web")
    templates.globals["build_url"] = build_url
    return templates


def percent(share: float | None) -> str:
    """Format a share as a percentage, such as `93.5 %`."""
    return "–" if share is None else f"{100 * share:.1f} %"


def rate_text(figure: Rate | Band, suite: Benchmark) -> str:
    """Format a pass rate in percent or a mean score, with † if some images are unscored."""
    if figure.value is None:
        return "–"
    mark = "†" if figure.coverage < 1 else ""
    return mark + (f"{figure.value:.2f}" if suite.has_scores else percent(figure.value))
