"""What waits for its turn when a run is stopped is not begun: it costs nothing, and is left for the next time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from formalimg.judges.base import LoadedImage
from formalimg.models.base import Generated, ImageRequest, ImageResult, NotStartedError
from formalimg.runs.execution import execute
from formalimg.runs.progress import Progress
from formalimg.runs.ray.pool import CallScheduler, WorkerSlot
from formalimg.types import Item, Unscored, Verdict
from tests.support.models import NumberJudge, Speckles, speckled_for
from tests.support.run_contents import contents, order


@dataclass
class Queue:
    """Those who wait, one after the other, as for a single worker."""

    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    progress: Progress | None = None

    def watch_progress(self, progress: Progress) -> None:
        self.progress = progress

    async def __aenter__(self) -> None:
        await self.lock.acquire()
        if self.progress is not None and self.progress.stopped:
            self.lock.release()
            raise NotStartedError

    async def __aexit__(self, *error: object) -> None:
        self.lock.release()


@dataclass
class OneByOne(Queue, Speckles):
    """Has eight calls at a time, makes one image at a time, and takes a dollar for each."""

    concurrency: int = 8

    async def generate(self, requests: Sequence[ImageRequest]) -> AsyncIterator[ImageResult]:
        async with self:
            for request in requests:
                self.asked.append((request.item, request.sample))
                answer = speckled_for(request)
                assert isinstance(answer, Generated)
                await asyncio.sleep(0)
                yield Generated(answer.data, answer.served, 1.0)


@dataclass
class LooksOnce(Queue, NumberJudge):
    """Has eight calls at a time, and stops the run when it has looked at one image."""

    concurrency: int = 8

    async def judge(self, item: Item[object], image: LoadedImage) -> Verdict | Unscored:
        async with self:
            assert self.progress is not None
            self.progress.stopped = True
            return await NumberJudge.judge(self, item, image)


def test_a_budget_is_not_spent_by_those_who_wait(tmp_path: Path) -> None:
    first, second = OneByOne(), OneByOne()
    done = execute(order(first, budget=3.0), tmp_path / "run", NumberJudge())
    assert (done.made, done.failed, done.stopped) == (3, 0, True)
    done = execute(order(second), tmp_path / "run", NumberJudge())
    assert (done.made, done.failed) == (5, 0)
    assert len({*first.asked, *second.asked}) == 8
    execute(order(OneByOne()), tmp_path / "other", NumberJudge())
    assert contents(tmp_path / "run") == contents(tmp_path / "other")


def test_judges_who_wait_leave_their_images_for_the_next_time(tmp_path: Path) -> None:
    execute(order(), tmp_path / "run")
    done = execute(order(), tmp_path / "run", LooksOnce())
    assert (done.judged, done.unscored, done.stopped) == (1, 0, True)
    done = execute(order(), tmp_path / "run", NumberJudge())
    assert (done.judged, done.unscored) == (7, 0)


def test_a_turn_that_nobody_wants_any_more_is_not_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("formalimg.runs.ray.pool._POLL_SECONDS", 0.01)
    seat = WorkerSlot()
    seat.assign("worker", "here")

    async def waiting() -> str:
        turns = CallScheduler()
        with pytest.raises(NotStartedError):
            async with turns.next(lambda: False):  # although nobody ever comes
                pass
        turns.add(seat, 1)
        with pytest.raises(NotStartedError):
            async with turns.next(lambda: False):
                pass
        async with turns.next() as turn:
            return str(turn.worker)

    assert asyncio.run(waiting()) == "worker"
