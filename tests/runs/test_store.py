"""The store: full disks and lost results."""

from __future__ import annotations

import contextlib
import re
import sqlite3
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from formalimg._util.locks import FolderLock, LockedError
from formalimg.errors import FormalimgError
from formalimg.runs.execution import execute, judge_run
from formalimg.runs.folder import set_aside
from formalimg.runs.image_store import write_run_file
from formalimg.runs.reader import open_run
from formalimg.types import Verdict
from tests.support.command import formalimg
from tests.support.models import NumberJudge, Speckles, small_items
from tests.support.run_contents import contents, order, rows
from tests.support.run_in_process import start
from tests.support.values import not_none


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
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
    told = not_none(process.stderr).read()
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


def _emptied(path: Path) -> None:
    path.write_bytes(b"")


def _without_tables(path: Path) -> None:
    path.unlink()
    with contextlib.closing(sqlite3.connect(path)) as database:
        database.execute("PRAGMA journal_mode = WAL")
    assert path.stat().st_size > 0


@pytest.mark.parametrize("lose", [Path.unlink, _emptied, _without_tables])
def test_results_that_are_lost_are_not_made_again(tmp_path: Path, lose: Callable[[Path], None]) -> None:
    folder, model = tmp_path / "run", Speckles()
    execute(order(), folder, NumberJudge())
    lose(folder / "results.sqlite")
    before = {path.name for path in (folder / "images").iterdir()}
    told = r"^[^\n]*run has lost its results: results\.sqlite is (missing|empty); restore it, or [^\n]*--restart[^\n]*$"
    for _ in range(2):
        with pytest.raises(FormalimgError, match=told):
            execute(order(model), folder, NumberJudge())
    with pytest.raises(FormalimgError, match=told):
        judge_run(folder, NumberJudge())
    assert model.asked == []
    assert {path.name for path in (folder / "images").iterdir()} == before


def test_an_empty_database_beside_images_and_no_manifest_is_no_run(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    execute(order(), folder)
    (folder / "run.toml").unlink()
    (folder / "results.sqlite").write_bytes(b"")
    with pytest.raises(FormalimgError, match="is not a run, and its images holds files"):
        execute(order(), folder)


def test_a_run_that_was_killed_before_its_plan_goes_on(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    execute(order(), folder)
    for path in (folder / "images").iterdir():
        path.unlink()
    with contextlib.closing(sqlite3.connect(folder / "results.sqlite")) as database, database:
        database.execute("DELETE FROM pictures")
        database.execute("DELETE FROM items")
    assert execute(order(), folder).made == 8


@pytest.mark.parametrize("left", [b"", b"\0" * 512, b"\n \n"])
def test_an_empty_manifest_gets_advice_that_helps(tmp_path: Path, left: bytes) -> None:
    folder = tmp_path / "run"
    execute(order(), folder)
    (folder / "run.toml").write_bytes(left)
    for use in (lambda: execute(order(), folder), lambda: open_run(folder), lambda: judge_run(folder, NumberJudge())):
        with pytest.raises(
            FormalimgError, match=r"run\.toml is empty, as a loss of power[^\n]*restore it[^\n]*--restart"
        ):
            use()


def test_the_content_of_a_run_is_set_aside_and_kept(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    execute(order(), folder, NumberJudge())
    before = contents(folder)
    (tmp_path / "link").symlink_to(folder)
    moved = not_none(set_aside(tmp_path / "link"))
    assert re.fullmatch(r"run\.old-[0-9]{8}T[0-9]{6}Z", moved.name)
    assert moved.parent == tmp_path
    assert contents(moved) == before
    assert list(folder.iterdir()) == []
    assert (tmp_path / "link").is_symlink()
    assert set_aside(folder) is None
    assert set_aside(tmp_path / "nowhere") is None


def test_what_is_no_run_or_is_being_written_is_not_set_aside(tmp_path: Path) -> None:
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos" / "cat.png").write_bytes(b"mine")
    with pytest.raises(FormalimgError, match=r"photos is not a run, so it is not set aside: leave --restart out"):
        set_aside(tmp_path / "photos")
    execute(order(), tmp_path / "run")
    held = FolderLock(tmp_path / "run")
    with pytest.raises(LockedError, match="is being written by process"):
        set_aside(tmp_path / "run")
    held.release()
    (tmp_path / "file").write_text("mine")
    with pytest.raises(FormalimgError, match=r"cannot set .*file aside: Not a directory"):
        set_aside(tmp_path / "file")
    assert {path.name for path in tmp_path.iterdir()} == {"photos", "run", "file"}


@pytest.mark.parametrize("judging", [[], ["--no-judge"]])
def test_the_command_begins_anew_when_told_to(tmp_path: Path, judging: list[str]) -> None:
    given = ["run", *judging, "knolling", "-m", "builtin/scatter", "--levels", "1", "--per-level", "2", "--size", "256"]
    given += ["--out", str(tmp_path / "run")]
    assert formalimg(*given).code == 0
    (tmp_path / "run" / "results.sqlite").unlink()
    refused = formalimg(*given)
    assert (refused.code, refused.err.count("\n")) == (2, 1)
    assert "--restart" in refused.err
    assert formalimg(*given, "--restart", "--dry-run").code == 2
    done = formalimg(*given, "--restart")
    assert done.code == 0, done
    (old,) = tmp_path.glob("run.old-*")
    assert f"the earlier run is in {old}" in done.err
    assert len(list((old / "images").glob("*.png"))) == 2
    assert len(contents(tmp_path / "run")["files"]) == 2 + 1
    assert formalimg(*given, "--restart", "--seed", "2").code == 0, "also with other settings"
