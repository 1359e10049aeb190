"""A slow stage slows the others down: what waits in memory stays small, and stages work at the same time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from formalimg.judges.base import LoadedImage
from formalimg.models.base import Failed, Generated, ImageRequest, ImageResult, Refused
from formalimg.runs.execution import execute
from formalimg.runs.messages import Channel
from formalimg.runs.progress import Progress
from formalimg.types import Item, Unscored, Verdict
from tests.support.models import NumberJudge, Speckles, small_items, speckled_for
from tests.support.run_contents import order, outcomes


@dataclass
class _Scales:
    inside: int = 0
    most: int = 0


@dataclass
class _Weighed(Speckles):
    scales: _Scales = field(default_factory=_Scales)

    async def generate(self, requests: Sequence[ImageRequest]) -> AsyncIterator[ImageResult]:
        for request in requests:
            self.scales.inside += 1
            self.scales.most = max(self.scales.most, self.scales.inside)
            yield speckled_for(request)


@dataclass
class _SlowJudge(NumberJudge):
    scales: _Scales = field(default_factory=_Scales)

    async def judge(self, item: Item[object], image: LoadedImage) -> Verdict:
        await asyncio.sleep(0.004)
        self.scales.inside -= 1
        return Verdict(True)


@pytest.mark.parametrize("concurrency", [1, 4])
def test_images_do_not_pile_up_before_a_slow_judge(tmp_path: Path, concurrency: int) -> None:
    scales = _Scales()
    model = _Weighed(scales=scales, concurrency=concurrency)
    judge = _SlowJudge(scales=scales, concurrency=concurrency)
    execute(order(model, small_items(200)), tmp_path / "run", judge)
    assert scales.inside == 0
    assert scales.most < 80, "no more than the short queues and what is in hand"


def test_making_and_judging_overlap(tmp_path: Path) -> None:
    model, judge = Speckles(seconds=0.05, concurrency=4), NumberJudge(seconds=0.05, concurrency=4)
    steps: list[tuple[int, int]] = []
    execute(
        order(model, small_items(40)),
        tmp_path / "run",
        judge,
        on_progress=lambda progress: steps.append((progress.made, progress.judged)),
    )
    assert any(made < 40 and judged > 0 for made, judged in steps)


@pytest.mark.parametrize(("batch", "concurrency"), [(1, 1), (3, 1), (1, 16), (3, 2), (100, 1)])
def test_models_get_batches_and_calls_as_they_like(tmp_path: Path, batch: int, concurrency: int) -> None:
    calls: list[int] = []
    running = most = 0

    class Counting(Speckles):
        async def generate(self, requests: Sequence[ImageRequest]) -> AsyncIterator[ImageResult]:
            nonlocal running, most
            calls.append(len(requests))
            running += 1
            most = max(most, running)
            await asyncio.sleep(0.01)
            for request in requests:
                yield speckled_for(request)
            running -= 1

    execute(order(Counting(batch=batch, concurrency=concurrency), small_items(16)), tmp_path / "run", NumberJudge())
    assert max(calls) == min(batch, 16)
    assert len(calls) == -(-16 // batch)
    assert most == min(concurrency, len(calls))
    assert all(outcome.passed is not None for outcome in outcomes(tmp_path / "run"))


def test_who_says_nothing_sensible_of_batches_and_calls_is_called_one_by_one(tmp_path: Path) -> None:
    model, judge = Speckles(batch=0, concurrency=0), NumberJudge(concurrency=0)
    assert execute(order(model), tmp_path / "run", judge).judged == 8


def test_progress_counts_up_to_its_end(tmp_path: Path) -> None:
    seen: list[tuple[int, int]] = []

    def told(progress: Progress) -> None:
        seen.append((progress.done, progress.steps))

    done = execute(order(samples=2), tmp_path / "run", NumberJudge(), on_progress=told)
    assert seen[-1] == (32, 32)
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)
    assert done.remaining_seconds == 0
    assert done.coverage == 1
    assert done.rate > 0


def test_progress_comes_to_its_end_whatever_becomes_of_the_images(tmp_path: Path) -> None:
    def answer(request: ImageRequest) -> ImageResult:
        bad: dict[str, ImageResult] = {"0": Refused("no"), "1": Failed("outage"), "2": Generated(b"no image")}
        return bad.get(request.item) or speckled_for(request)

    def verdict(item: Item[object], image: LoadedImage) -> Verdict | Unscored:
        return Unscored("not understood") if item.id == "3" else Verdict(item.id == "4")

    done = execute(order(Speckles(answer=answer)), tmp_path / "run", NumberJudge(verdict=verdict))
    assert (done.made, done.refused, done.failed) == (5, 1, 2)
    assert (done.passed, done.not_passed, done.unscored) == (1, 3, 1)
    assert done.done == done.steps == 8 + 5
    assert done.coverage == 4 / 8

    only_made = execute(order(Speckles(answer=answer)), tmp_path / "made")
    assert (only_made.made, only_made.verdicts, only_made.done, only_made.steps) == (5, 0, 8, 8)

    (tmp_path / "run" / "images" / "4.png").unlink()
    again = execute(order(), tmp_path / "run", NumberJudge(verdict=verdict))
    assert (again.made, again.judged) == (4, 4), "what is made again just as it was has its verdict already"
    assert again.done == again.steps == 8


@pytest.mark.parametrize(("verdicts", "finished"), [(9, 6), (0, 8)])
def test_the_pace_is_that_of_what_is_finished(verdicts: int, finished: int) -> None:
    progress = Progress(9, verdicts, made=8, passed=3 if verdicts else 0, not_passed=2 if verdicts else 0)
    progress.unscored = 1 if verdicts else 0
    progress.started -= 4
    before, pace, left, after = progress.seconds, progress.rate, progress.remaining_seconds, progress.seconds
    assert finished / after <= pace <= finished / before
    assert left is not None
    share_left = (progress.steps - progress.done) / progress.done
    assert before * share_left <= left <= after * share_left


def test_nothing_done_has_no_pace() -> None:
    assert Progress(9, 9).remaining_seconds is None
    assert Progress(9, 9).coverage is None


def test_a_closed_channel_ends_all_its_readers() -> None:
    async def play() -> list[list[int]]:
        channel = Channel[int](2)

        async def read() -> list[int]:
            return [number async for number in channel]

        async def write() -> None:
            for number in range(20):
                await channel.put(number)
            await channel.close()

        readers = [asyncio.create_task(read()) for _ in range(3)]
        await write()
        return [await reader for reader in readers]

    found = asyncio.run(play())
    assert sorted(number for numbers in found for number in numbers) == list(range(20))


def test_what_lies_in_a_channel_can_be_taken_at_once() -> None:
    async def play() -> tuple[list[int], list[int], list[int]]:
        channel = Channel[int](10)
        for number in range(5):
            await channel.put(number)
        await channel.close()
        first, rest = list(channel.take_available(3)), list(channel.take_available(9))
        return first, rest, [number async for number in channel]

    assert asyncio.run(play()) == ([0, 1, 2], [3, 4], [])
