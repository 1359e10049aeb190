"""The engine: queues, cancellation, timing, decoding, logging and estimates."""

from __future__ import annotations

import asyncio
import logging
import sqlite3
import subprocess
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from formalimg.benchmarks.conditions import Condition
from formalimg.benchmarks.items_file import decode_item
from formalimg.errors import FormalimgError
from formalimg.judges.base import LoadedImage
from formalimg.models.base import Failed, Generated, ImageRequest, ImageResult, Refused
from formalimg.runs.config import MAX_SIZE, MIN_SIZE, RunConfig, RunOptions
from formalimg.runs.execution import execute, judge_run
from formalimg.runs.messages import Channel
from formalimg.runs.prepared_run import estimate
from formalimg.runs.progress import Progress
from formalimg.runs.reader import open_run
from formalimg.types import Item, Setting, Unscored, Verdict
from tests.support.models import NumberJudge, Speckles, small_items, speckled_for, verdict_of
from tests.support.run_contents import order, outcomes
from tests.support.values import not_none


def cancelled_at_3(request: ImageRequest) -> ImageResult:
    if request.item == "3":
        raise asyncio.CancelledError
    return speckled_for(request)


def cancelled_at_5(item: Item[object], image: LoadedImage) -> Any:
    if item.id == "5":
        raise asyncio.CancelledError
    return verdict_of(item, image)


def test_what_a_model_or_a_judge_cancels_itself_is_recorded_as_failed(tmp_path: Path) -> None:
    done = execute(order(Speckles(answer=cancelled_at_3)), tmp_path / "run", NumberJudge(verdict=cancelled_at_5))
    assert (done.made, done.failed, done.judged, done.unscored) == (7, 1, 7, 1)
    found = {outcome.item: (outcome.reason, outcome.detail) for outcome in outcomes(tmp_path / "run")}
    assert found["3"] == ("generation failed", "CancelledError")
    assert found["5"] == ("judge failed", "CancelledError")


class Batches(Speckles):
    async def generate(self, requests: Sequence[ImageRequest]) -> AsyncIterator[ImageResult]:
        await asyncio.sleep(0.2)
        for request in requests:
            yield speckled_for(request)


def test_a_batch_is_counted_once(tmp_path: Path) -> None:
    order = RunConfig(small_items(8), Batches(batch=8, concurrency=1), size=16, made_with="formalimg")
    execute(order, tmp_path / "run")
    seconds = open_run(tmp_path / "run").image_seconds()
    assert len(seconds) == 8
    assert sum(seconds) >= 0.2
    assert sum(seconds) < 4 * max(seconds), "the whole batch was counted for each of its images"


@pytest.fixture
def decoded(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    records: list[str] = []

    def noted(record: str, suite: str) -> Any:
        records.append(record)
        return decode_item(record, suite)

    monkeypatch.setattr("formalimg.runs.reader.decode_item", noted)
    return records


def test_items_that_are_judged_are_not_decoded_again(tmp_path: Path, decoded: list[str]) -> None:
    execute(order(Speckles(), samples=2), tmp_path / "run", NumberJudge())
    assert judge_run(tmp_path / "run", NumberJudge()).judged == 0
    assert not decoded
    other = NumberJudge(settings={"other": 1})
    assert judge_run(tmp_path / "run", other).judged == len(other.judged) == 16
    assert len(set(decoded)) == len(decoded) == 8


def test_a_record_that_cannot_be_read_ends_judging_before_it_begins(tmp_path: Path) -> None:
    execute(order(Speckles()), tmp_path / "run")
    with sqlite3.connect(tmp_path / "run" / "results.sqlite") as database:
        database.execute("UPDATE items SET record = '{' WHERE position = (SELECT max(position) FROM items)")
    judge = NumberJudge()
    with pytest.raises(FormalimgError, match="not valid JSON"):
        judge_run(tmp_path / "run", judge)
    assert not judge.judged


def test_options_name_folders_and_check_limits(tmp_path: Path) -> None:
    model = Speckles()
    shared: Any = {"suite": "knolling", "runs": tmp_path}
    options = RunOptions(**shared, made_with="formalimg 1", items=small_items(3), per_level=1, size=MIN_SIZE)
    folder = options.folder_of(model)
    assert folder == tmp_path / "knolling-test-speckles"
    config = options.config(model)
    assert (config.size, config.made_with, config.selection.per_level) == (MIN_SIZE, "formalimg 1", 1)
    for size in (MIN_SIZE - 1, MAX_SIZE + 1):
        with pytest.raises(FormalimgError, match=f"give {MIN_SIZE} to {MAX_SIZE} pixels"):
            RunOptions(**shared, items=small_items(1), size=size).config(model)
    layouts = RunOptions(**shared, items=small_items(1), condition=Condition("text-layout"))
    assert layouts.folder_of(model).name == "knolling-test-speckles-text-layout"


def test_failed_images_are_logged(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "formalimg.runs")
    model = Speckles(answer=lambda request: Failed("the server is away"))
    execute(order(model, small_items(2)), tmp_path / "run", NumberJudge())
    messages = [record.getMessage() for record in caplog.records]
    assert sum("failed: the server is away" in message for message in messages) == 2
    assert any("2 images to generate, 0 existing ones to judge" in message for message in messages)


_FEW, _MANY = 300, 3_000
_MAX_BYTES_PER_ITEM = 5_000

_PROGRAM = """
import sys
from pathlib import Path
from formalimg.models import open_image_model
from formalimg.runs.config import RunOptions
from formalimg.runs.prepared_run import estimate

def peak():
    return int(Path("/proc/self/status").read_text().partition("VmHWM:")[2].split()[0]) * 1024

model = open_image_model("builtin/reader")
for place in sys.argv[1:]:
    options = RunOptions(suite="knolling", items=Path(place))
    planned = estimate(options.config(model), Path(place) / "run", None)
    print(planned.images, peak())
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="peak memory is read from /proc")
def test_items_are_not_held_in_memory(tmp_path: Path) -> None:
    from formalimg.benchmarks.items_file import encode_item
    from formalimg.benchmarks.loader import load

    lines = [encode_item(item) for item in load("knolling")]
    places = []
    for count in (_FEW, _MANY):
        place = tmp_path / str(count)
        place.mkdir()
        numbered = (
            lines[number % len(lines)].replace(f'"id": "{number % len(lines)}"', f'"id": "{number}"', 1)
            for number in range(count)
        )
        (place / "items.jsonl").write_text("".join(f"{line}\n" for line in numbered), encoding="utf-8")
        places.append(str(place))
    environment = {"FORMALIMG_CACHE": str(tmp_path / "cache"), "PYTHONPATH": ":".join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM, *places], capture_output=True, text=True, check=True, env=environment
    )
    (few, before), (many, after) = (map(int, line.split()) for line in done.stdout.splitlines())
    assert [few, many] == [_FEW, _MANY]
    assert (after - before) / (_MANY - _FEW) < _MAX_BYTES_PER_ITEM


class Asking:
    name = "openai/gpt-4o"
    settings: Mapping[str, Setting] = {}
    concurrency = 1

    def questions(self, item: Item[object]) -> int:
        return item.level

    async def judge(self, item: Item[object], image: LoadedImage) -> Verdict | Unscored:
        raise AssertionError("nobody is asked")


def test_everything_is_foreseen_and_then_nothing(tmp_path: Path) -> None:
    asked, folder = order(), tmp_path / "run"
    before = estimate(asked, folder, NumberJudge())
    assert (before.images, before.verdicts, before.questions, before.judge_cost) == (8, 8, 0, 0)
    assert before.first == asked.items[0].prompt
    assert estimate(asked, folder, None).judge_cost == 0
    assert not folder.exists()
    for judge, verdicts in ((None, 8), (NumberJudge(), 0)):
        execute(asked, folder, judge)
        after = estimate(asked, folder, NumberJudge())
        assert (after.images, after.verdicts) == (0, verdicts)


def test_questions_are_counted_and_priced_where_the_price_is_known(tmp_path: Path) -> None:
    judge = Asking()
    seen = estimate(order(), tmp_path / "run", judge)
    assert (seen.questions, seen.image_cost) == (2 * (1 + 2 + 3 + 4), None)
    assert 0.05 < not_none(seen.judge_cost) < 1
    judge.name = "test/unheard-of"
    seen = estimate(order(), tmp_path / "run", judge)
    assert (seen.questions, seen.judge_cost) == (20, None)


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
    assert (done.remaining_seconds, done.coverage) == (0, 1)
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
