"""What trackers are told about runs, and TensorBoard's files, read back record by record."""

from __future__ import annotations

import shutil
import struct
import sys
from collections.abc import Iterator
from contextlib import closing
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

import formalimg
from formalimg.reports.comparison import compare
from formalimg.reports.sharing.trackers import read_tracked_run
from formalimg.runs.reader import open_run
from tests.support.command import formalimg as command
from tests.support.values import not_none

pytestmark = pytest.mark.skipif(find_spec("tensorboardX") is None, reason="the extra tensorboard is not installed")


def events(folder: Path) -> Iterator[Any]:
    """The values in TensorBoard's files: records are a length, a checksum of it, the event, and its checksum."""
    from tensorboardX.proto.event_pb2 import Event

    for path in sorted(folder.rglob("events.out.tfevents.*")):
        data = path.read_bytes()
        while data:
            (length,) = struct.unpack("<Q", data[:8])
            event = Event()
            event.ParseFromString(data[12 : 12 + length])
            data = data[16 + length :]
            for value in event.summary.value:
                yield event.step, value


def scalars(folder: Path) -> dict[tuple[str, int], float]:
    return {(value.tag, step): value.simple_value for step, value in events(folder) if value.HasField("simple_value")}


def test_a_tracked_run_has_the_numbers_of_the_report(reader_run: Path) -> None:
    tracked = read_tracked_run(reader_run)
    with closing(open_run(reader_run)) as run:
        row = compare([run]).sections[0].rows[0]
    overall = row.summary.overall
    assert tracked.numbers["pass_rate"] == overall.value
    assert (tracked.numbers["pass_rate_low"], tracked.numbers["pass_rate_high"]) == tuple(not_none(overall.interval))
    assert tracked.numbers["coverage"] == overall.coverage < 1
    assert {level: numbers["pass_rate"] for level, numbers in tracked.levels.items()} == {
        level: rate.value for level, rate in row.summary.levels.items()
    }
    assert tracked.settings["model"] == "builtin/reader"
    assert tracked.failures
    assert tracked.key == read_tracked_run(reader_run).key


def test_what_has_no_verdict_is_no_zero(reader_run: Path, tmp_path: Path) -> None:
    copy = tmp_path / "run"
    shutil.copytree(reader_run, copy)
    unsure = formalimg.judge(copy, lambda image, item: None if item.level == 1 else False, progress=False)
    tracked = read_tracked_run(copy, unsure.judge)
    assert "pass_rate" not in tracked.levels[1]
    assert tracked.levels[1]["coverage"] == 0
    assert tracked.levels[4]["pass_rate"] == 0
    assert tracked.name.startswith("run, ")


def test_tensorboard_has_rates_by_level_and_failures_with_images(reader_run: Path, tmp_path: Path) -> None:
    said = command("share", "log", str(reader_run), "--to", "tensorboard:logs", cwd=tmp_path)
    assert said.code == 0, said.err
    tracked, found = read_tracked_run(reader_run), scalars(tmp_path / "logs")
    for level, numbers in tracked.levels.items():
        assert found["by_K/pass_rate", level] == pytest.approx(numbers["pass_rate"], rel=1e-6)
    assert found["overall/pass_rate", 0] == pytest.approx(tracked.numbers["pass_rate"], rel=1e-6)
    assert found["overall/cost_dollars", 0] == 0
    images = [value.image for _, value in events(tmp_path / "logs") if value.HasField("image")]
    assert len(images) == len(tracked.failures)
    assert all(image.encoded_image_string.startswith(b"\x89PNG") and image.width == 256 for image in images)
    texts = {
        value.tag.partition("/")[0]: value.tensor.string_val[0].decode()
        for _, value in events(tmp_path / "logs")
        if value.HasField("tensor")
    }
    assert tracked.failures[0].item in texts["failures"]
    assert "builtin/reader" in texts["settings"]


def test_logging_again_replaces(reader_run: Path, tmp_path: Path) -> None:
    for _ in range(2):
        assert (
            command("share", "log", str(reader_run), "--to", "tensorboard", "--failures", "0", cwd=tmp_path).code == 0
        )
    assert len(list((tmp_path / "tensorboard").rglob("events.*"))) == 1
    assert not [value for _, value in events(tmp_path / "tensorboard") if value.HasField("image")]


def test_a_run_logs_when_it_is_done(tmp_path: Path) -> None:
    run = ["run", "knolling", "--model", "builtin/scatter", "--levels", "1-2", "--per-level", "1", "--size", "512"]
    said = command(*run, "--out", "here", "--log-to", "tensorboard:logs", cwd=tmp_path)
    assert said.code == 0, said.err
    assert {step for tag, step in scalars(tmp_path / "logs") if tag == "by_K/coverage"} == {1, 2}
    dry = command(*run, "--out", "there", "--log-to", "tensorboard:other", "--dry-run", cwd=tmp_path)
    assert dry.code == 0
    assert not (tmp_path / "other").exists()


def test_trackers_are_checked_before_anything_is_spent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = ["run", "knolling", "--model", "builtin/scatter", "--per-level", "1", "--out", "here", "--log-to"]
    unknown = command(*run, "comet", cwd=tmp_path)
    assert unknown.code == 2
    assert "wandb, mlflow, tensorboard" in unknown.err
    monkeypatch.setattr("formalimg.reports.sharing.trackers.find_spec", lambda name: None)
    missing = command(*run, "tensorboard", cwd=tmp_path)
    assert missing.code == 2
    assert "[tensorboard]" in missing.err
    assert not (tmp_path / "here").exists()


def test_a_tracker_that_fails_is_one_line(reader_run: Path, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    said = command("share", "log", str(reader_run), "--to", "tensorboard:file/logs", cwd=tmp_path)
    assert said.code == 2
    assert said.err.startswith("error: cannot log to tensorboard: ")
    assert "tensorflow" not in sys.modules
