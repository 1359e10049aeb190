"""Scaling and overhead of workers: runs on a Ray cluster on this machine against the local engine.

Embedded models compute, so two workers on two cores should be faster than one; overhead is the processor time of all
processes together that an image with its verdict takes more than in the local engine. Waiting models stand for remote
ones: each worker waits for one answer at a time and takes no processor, so that n workers should make n times the
images of one. Counted is the time in which all workers are at work, not how long they take to start.
"""

from __future__ import annotations

import argparse
import asyncio
import io
import os
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import NamedTuple

from PIL import Image

from formalimg.benchmarks.formal.spec import FormulaSpec
from formalimg.benchmarks.loader import load
from formalimg.judges.factory import open_judge
from formalimg.logic.parser import parse
from formalimg.models.base import Generated, ImageRequest, ImageResult
from formalimg.models.registry import open_image_model
from formalimg.runs.config import RunConfig
from formalimg.runs.execution import execute
from formalimg.runs.plan import Selection
from formalimg.runs.progress import Progress
from formalimg.runs.ray.pool import WorkerPool, open_worker_pool
from formalimg.runs.ray.worker import ResourceRequest
from formalimg.types import Item, Setting

WAIT = 0.5
ROUNDS = 20
"""So many images each waiting worker makes."""

WARM = 20
"""So many images are made by all before the clock starts: the first ones load libraries."""


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--per-level", type=int, default=40, help="items of each level of Knolling (default 40)")
    options.add_argument("--actors", default="1,4,16,64", help="how many waiting workers (default 1,4,16,64)")
    options.add_argument("--only", choices=["embedded", "waiting"], help="measure only these")
    chosen = options.parse_args()
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # as the command line does, and Ray for its workers
    if chosen.only != "waiting":
        embedded(10 * chosen.per_level, chosen.per_level)
    if chosen.only != "embedded":
        waiting([int(text) for text in chosen.actors.split(",")])


class Moment(NamedTuple):
    """How much was done, and what time and processor time it was."""

    done: int
    seconds: float
    cpu: float


class Clock:
    """Records when all workers are busy, and when enough is done for the run to stop."""

    def __init__(self, pool: WorkerPool | None, warm: int, most: int | None = None) -> None:
        self._pool = pool
        self._warm = warm
        self._most = most
        self._all_there: int | None = None
        self.began: Moment | None = None
        self.ended = Moment(0, 0, 0)

    def __call__(self, progress: Progress) -> None:
        done = progress.judged if progress.verdicts else progress.made
        if self._all_there is None and (self._pool is None or "starting" not in self._pool.rates_text()):
            self._all_there = done
        if self._all_there is None or done < self._all_there + self._warm or done == self.ended.done:
            return
        self.ended = Moment(done, time.monotonic(), 0)
        self.began = self.began or self.ended._replace(cpu=cpu_seconds())
        progress.stopped |= self._most is not None and done - self.began.done >= self._most

    @property
    def rate(self) -> float:
        """Images per second."""
        assert self.began is not None, "the run was over before all workers were there: ask for more items"
        return (self.ended.done - self.began.done) / (self.ended.seconds - self.began.seconds)

    @property
    def cpu(self) -> float:
        """Processor seconds per image, of this process and all that it started."""
        assert self.began is not None
        return (cpu_seconds() - self.began.cpu) / (self.ended.done - self.began.done)


def cpu_seconds() -> float:
    """The processor time that this process and those below it have used so far."""
    of: dict[int, int] = {}
    below: dict[int, list[int]] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:  # it has just ended
            continue
        pid = int(stat.parent.name)
        of[pid] = int(fields[11]) + int(fields[12])
        below.setdefault(int(fields[1]), []).append(pid)

    def family(pid: int) -> Iterator[int]:
        yield pid
        for child in below.get(pid, ()):
            yield from family(child)

    return sum(of.get(pid, 0) for pid in family(os.getpid())) / os.sysconf("SC_CLK_TCK")


# --- models that compute


def embedded(count: int, per_level: int) -> None:
    print(f"builtin/reader and builtin/icons, {count:,} images of 512 pixels, {os.cpu_count()} cores")
    print(f"  {'':<20}{'pictures/s':>12}{'of 1 worker':>13}{'CPU ms/image':>16}{'more than local':>17}")
    local = _embedded(None, per_level)
    print(f"  {'local engine':<20}{local.rate:>12.1f}{'':>13}{local.cpu * 1000:>16.1f}", flush=True)
    one = None
    for workers in (1, 2):
        found = _embedded(workers, per_level)
        one = one or found
        name = f"ray, {workers} worker{'s' * (workers > 1)}"
        more = (found.cpu - local.cpu) * 1000
        print(f"  {name:<20}{found.rate:>12.1f}{found.rate / one.rate:>13.2f}{found.cpu * 1000:>16.1f}{more:>+17.1f}")


class Found(NamedTuple):
    """Images per second, and processor seconds per image."""

    rate: float
    cpu: float


def _embedded(workers: int | None, per_level: int) -> Found:
    items, selection = load("knolling"), Selection(per_level=per_level)
    opening, judging = partial(open_image_model, "builtin/reader"), partial(open_judge, "knolling")
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "run"
        if workers is None:
            clock = Clock(None, WARM)
            execute(RunConfig(items, opening(), selection, size=512), folder, judging(), on_progress=clock)
            return Found(clock.rate, clock.cpu)
        with redirect_stdout(sys.stderr), open_worker_pool(opening, judging, workers=workers, address="local") as pool:
            assert pool.model is not None
            clock = Clock(pool, WARM)
            execute(RunConfig(items, pool.model, selection, size=512), folder, pool.judge, on_progress=clock)
            return Found(clock.rate, clock.cpu)


# --- models that wait


@dataclass
class Waiting:
    """Answers one request at a time, after a delay."""

    name: str = "benchmark/waiting"
    settings: Mapping[str, Setting] = field(default_factory=dict)
    batch: int = 1
    concurrency: int = 1
    sees_spec: bool = False
    image: bytes = field(default_factory=lambda: _small_image())

    async def generate(self, requests: Sequence[ImageRequest]) -> AsyncIterator[ImageResult]:
        for request in requests:
            await asyncio.sleep(WAIT)
            # What follows the end of a PNG file is ignored: each image has its own bytes.
            yield Generated(self.image + request.item.encode())


def waiting(numbers: Sequence[int]) -> None:
    print(f"waiting models, {WAIT * 1000:.0f} ms an image, {ROUNDS} images for each worker")
    print(f"  {'workers':<20}{'pictures/s':>12}{'of linear':>13}")
    for workers in numbers:
        rate = _waiting_rate(workers)
        print(f"  {workers:<20}{rate:>12.1f}{rate * WAIT / workers:>13.0%}", flush=True)


def _waiting_rate(workers: int) -> float:
    spec = FormulaSpec.of(parse("(exists ?x (and (Is ?x 'cup') (Has ?x 'red')))"))
    count = 2_000 + workers * ROUNDS * 4  # more than are made while the last workers still start
    items = [Item("knolling", str(number), 1, f"A red cup, number {number}.", spec, (), "1") for number in range(count)]
    with (
        tempfile.TemporaryDirectory() as place,
        redirect_stdout(sys.stderr),  # Ray has much to say of many workers
        open_worker_pool(Waiting, workers=workers, resources=ResourceRequest(cpus=0), address="local") as pool,
    ):
        assert pool.model is not None
        clock = Clock(pool, workers, workers * ROUNDS)
        execute(RunConfig(items, pool.model, size=64), Path(place) / "run", on_progress=clock)
        return clock.rate


def _small_image() -> bytes:
    file = io.BytesIO()
    Image.radial_gradient("L").resize((64, 64)).convert("RGB").save(file, "PNG")
    return file.getvalue()


if __name__ == "__main__":
    main()
