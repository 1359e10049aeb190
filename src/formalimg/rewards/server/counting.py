"""Numbers for whoever watches the server, in the text format of Prometheus."""

from __future__ import annotations

import os
import time
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from formalimg.rewards import Scored

_BOUNDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
"""Upper bounds of the classes of durations, in seconds."""

_OUTCOMES = ("passed", "failed", "unscored")

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class Counts:
    """What has happened since the server was started. It belongs to one thread."""

    def __init__(self) -> None:
        self._started = time.time()
        self._requests: Counter[tuple[str, int]] = Counter()
        self._items: Counter[str] = Counter(dict.fromkeys(_OUTCOMES, 0))
        self._durations = [0] * (len(_BOUNDS) + 1)
        self._seconds = 0.0

    def request(self, path: str, status: int) -> None:
        """A request was answered. The paths are those that the server knows, and one word for all others."""
        self._requests[path, status] += 1

    def scored(self, found: Iterable[Scored], seconds: float) -> None:
        """A request for scores was answered, so many seconds after it had begun."""
        for one in found:
            self._items["unscored" if one.passed is None else "passed" if one.passed else "failed"] += 1
        self._durations[bisect_left(_BOUNDS, seconds)] += 1
        self._seconds += seconds

    def text(self, gauges: Mapping[str, tuple[str, float]]) -> str:
        """All numbers.

        Args:
            gauges: what is to be told of this moment: a number by its name, with what it means.
        """
        return "\n".join((*self._counters(), *self._histogram(), *_gauges({**gauges, **self._process()}))) + "\n"

    def _counters(self) -> Iterator[str]:
        yield from _head("formalimg_requests_total", "counter", "Requests that were answered.")
        for (path, status), count in sorted(self._requests.items()):
            yield f'formalimg_requests_total{{path="{path}",status="{status}"}} {count}'
        yield from _head("formalimg_items_total", "counter", "Images that were asked about.")
        for outcome in _OUTCOMES:
            yield f'formalimg_items_total{{outcome="{outcome}"}} {self._items[outcome]}'

    def _histogram(self) -> Iterator[str]:
        name, below = "formalimg_score_seconds", 0
        yield from _head(name, "histogram", "How long requests for scores took, from their head to their answer.")
        for bound, count in zip((*map(str, _BOUNDS), "+Inf"), self._durations, strict=True):
            below += count
            yield f'{name}_bucket{{le="{bound}"}} {below}'
        yield f"{name}_sum {self._seconds:.6f}"
        yield f"{name}_count {below}"

    def _process(self) -> dict[str, tuple[str, float]]:
        found = {"process_start_time_seconds": ("When the server was started.", round(self._started, 3))}
        memory = resident_bytes()
        if memory is not None:
            found["process_resident_memory_bytes"] = ("Memory of this process, without its workers.", memory)
        return found


class Counting:
    """Stands around the server and counts its answers by their status."""

    def __init__(self, app: ASGIApp, counts: Counts, paths: frozenset[str]) -> None:
        """Count what this application answers; paths besides these are counted together."""
        self._app, self._counts, self._paths = app, counts, paths

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Have a request answered, and count it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        path = scope["path"] if scope["path"] in self._paths else "other"

        async def counting(message: Message) -> None:
            if message["type"] == "http.response.start":
                self._counts.request(path, message["status"])
            await send(message)

        try:
            await self._app(scope, receive, counting)
        except Exception:  # which is answered further outside
            self._counts.request(path, 500)
            raise


def resident_bytes() -> int | None:
    """How much memory this process has; None where the system does not tell."""
    try:
        return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, AttributeError):
        return None


def _gauges(gauges: Mapping[str, tuple[str, float]]) -> Iterator[str]:
    for name, (meaning, value) in gauges.items():
        yield from _head(name, "gauge", meaning)
        yield f"{name} {value}"


def _head(name: str, kind: str, meaning: str) -> tuple[str, str]:
    return f"# HELP {name} {meaning}", f"# TYPE {name} {kind}"
