"""A full disk stops a run with one line; with more room the same command goes on to the full result."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from formalimg.errors import FormalimgError
from formalimg.runs.execution import execute
from formalimg.runs.image_store import write_run_file
from formalimg.runs.reader import open_run
from formalimg.types import Verdict
from tests.support.models import NumberJudge, Speckles, small_items
from tests.support.run_contents import contents, order, rows
from tests.support.run_in_process import start


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of its own; it is made larger or read-only by mounting it again."""
    place = tmp_path / "disk"
    place.mkdir()
    made = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=300k", "none", place], capture_output=True, text=True)
    if made.returncode != 0:
        pytest.skip(f"mounting is not allowed here: {made.stderr.strip()}")
    yield place
    subprocess.run(["umount", "--lazy", place], check=True)


def _mount_again(place: Path, options: str) -> None:
    subprocess.run(["mount", "-o", f"remount,{options}", place], check=True)


def _fill(place: Path, leave: int) -> Path:
    """Leave only so many bytes."""
    ballast = place / "ballast"
    free = int(subprocess.run(["stat", "-f", "-c", "%a %S", place], capture_output=True, text=True).stdout.split()[0])
    ballast.write_bytes(b"x" * (free * 4096 - leave))
    return ballast


def _unbroken(folder: Path, count: int, size: int) -> dict[str, object]:
    execute(order(Speckles(), small_items(count), size=size), folder, NumberJudge())
    return contents(folder)


def test_images_that_do_not_fit_stop_the_run(tmp_path: Path, small_disk: Path) -> None:
    folder, log = small_disk / "run", tmp_path / "log"
    _mount_again(small_disk, "size=2m")
    process = start(folder, 40, 0, log, 200)
    assert process.wait(timeout=30) == 2
    assert process.stderr is not None
    told = process.stderr.read()
    assert told.startswith("error: cannot ")
    assert told.count("\n") == 1
    assert "free some space" in told
    assert not list(folder.rglob("*.part"))
    known = rows(folder, "SELECT item, sample FROM pictures WHERE status = 'made'")
    assert 0 < len(known) < 40
    again = start(folder, 40, 0, log, 200)
    assert again.wait(timeout=30) == 2, "still full, still clean"
    _mount_again(small_disk, "size=40m")
    assert start(folder, 40, 0, log, 200).wait(timeout=30) == 0
    assert contents(folder) == _unbroken(tmp_path / "unbroken", 40, 200)


def test_a_file_that_does_not_fit_leaves_the_old_one(small_disk: Path) -> None:
    path = small_disk / "3.png"
    write_run_file(path, [b"old"])
    _fill(small_disk, 20_000)
    with pytest.raises(FormalimgError, match=f"cannot write {path}: No space left on device; free some space"):
        write_run_file(path, [b"new"] * 20_000)
    assert path.read_bytes() == b"old"
    assert {entry.name for entry in small_disk.iterdir()} == {"3.png", "ballast"}


@pytest.mark.parametrize("leave", [0, 4096, 20_000, 60_000])
def test_a_database_that_cannot_grow_stops_the_run(tmp_path: Path, small_disk: Path, leave: int) -> None:
    """However little is left: before the plan, in the middle of it, or among the verdicts."""
    _mount_again(small_disk, "size=3m")
    folder = small_disk / "run"
    execute(order(Speckles(), small_items(60)), folder)
    ballast = _fill(small_disk, leave)
    judge = NumberJudge(verdict=lambda item, image: Verdict(True, (), {"explanation": "because " * 1000}))
    with pytest.raises(
        FormalimgError, match=r"cannot use .*results.sqlite.*free some space|cannot write .*run.toml.*make room"
    ):
        execute(order(Speckles(), small_items(60)), folder, judge)
    ballast.unlink()
    _mount_again(small_disk, "size=40m")
    execute(order(Speckles(), small_items(60)), folder, judge)
    execute(order(Speckles(), small_items(60)), tmp_path / "unbroken", judge)
    assert contents(folder) == contents(tmp_path / "unbroken")


def test_a_run_on_a_read_only_disk_can_be_read(small_disk: Path) -> None:
    folder = small_disk / "run"
    _mount_again(small_disk, "size=3m")
    execute(order(), folder, NumberJudge())
    _mount_again(small_disk, "ro")
    run = open_run(folder)
    assert all(outcome.passed is not None for outcome in run.outcomes())
    run.close()
    with pytest.raises(FormalimgError, match="cannot make the run folder"):
        execute(order(), folder, NumberJudge())
