"""Prometheus metrics of the server, and the server description for `/v1/about`."""

from __future__ import annotations

import hashlib
import json
import os
import time
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from formalimg.logic.vocabulary import vocabulary, vocabulary_names
from formalimg.rewards.result import RewardScore
from formalimg.rewards.scorer import Scorer
from formalimg.rewards.server.admission import Limits

_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
"""Upper bounds of the histogram of durations, in seconds."""

_OUTCOMES = ("passed", "failed", "unscored")

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


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
        lines = [*self._counters(), *self._histogram()]
        for name, (meaning, value) in {**gauges, **self._process_gauges()}.items():
            lines += [*_header_lines(name, "gauge", meaning), f"{name} {value}"]
        return "\n".join(lines) + "\n"

    def _counters(self) -> Iterator[str]:
        yield from _header_lines("formalimg_requests_total", "counter", "Requests that were answered.")
        for (path, status), count in sorted(self._requests.items()):
            yield f'formalimg_requests_total{{path="{path}",status="{status}"}} {count}'
        yield from _header_lines("formalimg_items_total", "counter", "Images that were scored.")
        for outcome in _OUTCOMES:
            yield f'formalimg_items_total{{outcome="{outcome}"}} {self._items[outcome]}'

    def _histogram(self) -> Iterator[str]:
        name, below = "formalimg_score_seconds", 0
        yield from _header_lines(name, "histogram", "Duration of requests for scores, from their head to their answer.")
        for bound, count in zip((*map(str, _BUCKETS), "+Inf"), self._durations, strict=True):
            below += count
            yield f'{name}_bucket{{le="{bound}"}} {below}'
        yield f"{name}_sum {self._seconds:.6f}"
        yield f"{name}_count {below}"

    def _process_gauges(self) -> dict[str, tuple[str, float]]:
        gauges = {"process_start_time_seconds": ("When the server was started.", round(self._started, 3))}
        memory = resident_bytes()
        if memory is not None:
            gauges["process_resident_memory_bytes"] = ("Memory of this process, without its workers.", memory)
        return gauges


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


def describe_server(version: str, scorer: Scorer, limits: Limits, *, reads_files: bool) -> Mapping[str, object]:
    """Describe the settings that affect the rewards: version, models, settings, weights, digests and limits."""
    return {
        "formalimg": version,
        "scorer": dict(scorer.settings),
        "looking": {
            role: {"name": model.name, "settings": dict(model.settings)} for role, model in scorer.parties.items()
        },
        "suites": dict(scorer.suite_digests()),
        "vocabularies": {name: _vocabulary_digest(name) for name in vocabulary_names()},
        "limits": {
            "most_bytes": limits.max_body_bytes,
            "most_items": limits.max_items,
            "at_once": limits.max_concurrency,
            "most_waiting": limits.max_waiting,
            "longest_wait": limits.max_wait,
            "timeout": limits.timeout,
            "longest_end": limits.shutdown_timeout,
            "most_connections": limits.max_connections,
        },
        "reads_files": reads_files,
    }


def _vocabulary_digest(name: str) -> str:
    """Return a digest of the words and predicates of a vocabulary, without the predicate texts."""
    entries = vocabulary(name)
    content = {
        "words": {kind: list(words) for kind, words in entries.words.items()},
        "predicates": {predicate.name: list(predicate.arguments) for predicate in entries.predicates.values()},
    }
    return f"sha256:{hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()}"
