"""Prometheus metrics of the server."""

from __future__ import annotations

import os
import time
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from formalimg.rewards.result import RewardScore

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
