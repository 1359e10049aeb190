"""The engine: cancellation, timing, decoding, logging and estimates."""

from __future__ import annotations

import asyncio
import logging
import sqlite3
import subprocess
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from formalimg.benchmarks.conditions import Condition
from formalimg.benchmarks.items_file import decode_item
from formalimg.errors import FormalimgError
from formalimg.judges.base import LoadedImage
from formalimg.models.base import Failed, ImageRequest, ImageResult
from formalimg.runs.config import MAX_SIZE, MIN_SIZE, RunConfig, RunOptions
from formalimg.runs.execution import execute, judge_run
from formalimg.runs.prepared_run import estimate
from formalimg.runs.reader import open_run
from formalimg.types import Item, Setting, Unscored, Verdict
from tests.support.models import NumberJudge, Speckles, small_items, speckled_for, verdict_of
from tests.support.run_contents import order, outcomes


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
    asked = order(Speckles(), small_items(8))
    folder = tmp_path / "run"
    before = estimate(asked, folder, NumberJudge())
    assert (before.images, before.verdicts, before.questions) == (8, 8, 0)
    assert before.first == asked.items[0].prompt
    assert not folder.exists()
    execute(asked, folder, NumberJudge())
    after = estimate(asked, folder, NumberJudge())
    assert (after.images, after.verdicts) == (0, 0)


def test_a_judge_that_asks_nobody_costs_nothing(tmp_path: Path) -> None:
    assert estimate(order(), tmp_path / "run", NumberJudge()).judge_cost == 0
    assert estimate(order(), tmp_path / "run", None).judge_cost == 0


def test_images_without_a_verdict_are_only_judged(tmp_path: Path) -> None:
    asked = order(Speckles(), small_items(8))
    execute(asked, tmp_path / "run")
    seen = estimate(asked, tmp_path / "run", NumberJudge())
    assert (seen.images, seen.verdicts) == (0, 8)


def test_questions_are_counted_and_priced(tmp_path: Path) -> None:
    seen = estimate(order(Speckles(), small_items(8)), tmp_path / "run", Asking())
    assert seen.questions == 2 * (1 + 2 + 3 + 4)
    assert seen.image_cost is None
    assert seen.judge_cost is not None
    assert 0.05 < seen.judge_cost < 1


def test_a_judge_whose_price_nobody_knows_has_no_cost(tmp_path: Path) -> None:
    judge = Asking()
    judge.name = "test/unheard-of"
    seen = estimate(order(), tmp_path / "run", judge)
    assert (seen.questions, seen.judge_cost) == (20, None)
