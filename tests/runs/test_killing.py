"""Killed processes lose nothing, and a second writer is refused."""

from __future__ import annotations

import gzip
import json
import os
import random
import re
import signal
import socket
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from importlib.resources import files
from pathlib import Path

import pytest

from formalimg._util.locks import FolderLock, LockedError
from formalimg.errors import FormalimgError
from formalimg.runs.execution import execute, judge_run
from formalimg.runs.reader import open_run
from tests.support.models import NumberJudge, Speckles, small_items
from tests.support.run_contents import contents, order, outcomes, rows, until
from tests.support.run_in_process import start
from tests.support.sizes import only_in_full, tries
from tests.support.values import not_none

_KILLS = tries(5, 20)
_IMAGES = 160


@pytest.fixture(scope="module")
def unbroken(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("unbroken") / "run"
    execute(order(Speckles(), small_items(_IMAGES)), folder, NumberJudge())
    return folder


def _recorded(folder: Path) -> set[tuple[str, int]]:
    try:
        return set(rows(folder, "SELECT item, sample FROM pictures WHERE status = 'made'"))
    except sqlite3.OperationalError:  # killed before there was a table
        return set()


def _asked(log: Path) -> Counter[tuple[str, int]]:
    lines = log.read_text(encoding="utf-8").splitlines() if log.exists() else []
    return Counter((item, int(sample)) for item, sample in map(str.split, lines))


def test_a_run_that_is_killed_again_and_again_ends_like_one_that_is_not(tmp_path: Path, unbroken: Path) -> None:
    random_moments = random.Random(20)
    folder, log = tmp_path / "run", tmp_path / "log"
    stages = []
    for kill in range(_KILLS):
        process = start(folder, _IMAGES, 0.02, log)
        before, known = _asked(log), _recorded(folder)
        # Twice before anything is there, else after some more requests, so that the moments spread over the run however
        # quick the machine is.
        if kill >= 2:
            enough = before.total() + random_moments.randint(1, 14)
            until(lambda enough=enough, process=process: _asked(log).total() >= enough or process.poll() is not None)  # type: ignore[misc]
        time.sleep(random_moments.uniform(0, 0.4 if kill < 2 else 0.03))
        process.kill()
        process.wait()
        new = _asked(log) - before
        assert not known & set(new), "what was recorded before is not asked for again"
        assert max(new.values(), default=1) == 1
        stages.append(len(_recorded(folder)))
    assert 0 < stages[len(stages) // 2] < _IMAGES, f"the moments do not spread over the run: {stages}"
    process = start(folder, _IMAGES, 0.02, log)
    assert process.wait(timeout=60) == 0, process.stderr and process.stderr.read()
    assert contents(folder) == contents(unbroken)
    assert max(_asked(log).values()) <= _KILLS + 1


@pytest.mark.parametrize("sort", [signal.SIGINT, signal.SIGTERM][: tries(1, 2)])
def test_a_run_that_is_stopped_keeps_what_was_being_made(tmp_path: Path, unbroken: Path, sort: signal.Signals) -> None:
    folder, log = tmp_path / "run", tmp_path / "log"
    process = start(folder, _IMAGES, 0.1, log)
    until(lambda: len(_asked(log)) > 8)
    process.send_signal(sort)
    assert process.wait(timeout=20) == 130
    assert not_none(process.stderr).read() == ""
    assert _recorded(folder) == set(_asked(log)), "all that was asked for is kept"
    assert len(_recorded(folder)) < _IMAGES
    assert not list(folder.rglob("*.part"))
    named = (folder / "images" / "metadata.jsonl").read_text(encoding="utf-8").count("\n")
    assert named == len(list((folder / "images").glob("*.png"))) == len(_recorded(folder))
    assert start(folder, _IMAGES, 0, log).wait(timeout=30) == 0
    assert contents(folder) == contents(unbroken)
    assert set(_asked(log).values()) == {1}


def test_the_second_interrupt_breaks_off_at_once(tmp_path: Path, unbroken: Path) -> None:
    folder, log = tmp_path / "run", tmp_path / "log"
    process = start(folder, _IMAGES, 60, log)
    until(lambda: len(_asked(log)) >= 4)
    process.send_signal(signal.SIGINT)
    time.sleep(0.3)
    assert process.poll() is None, "the first one waits for what is being made"
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=20) == 130  # each image would take a minute
    assert {outcome.reason for outcome in outcomes(folder)} == {"no image"}
    assert start(folder, _IMAGES, 0, log).wait(timeout=30) == 0
    assert contents(folder) == contents(unbroken)


_COMMAND_KILLS = tries(1, 2)


@pytest.fixture(scope="module")
def items(tmp_path_factory: pytest.TempPathFactory) -> Path:
    shipped = files("formalimg.benchmarks") / "default_items" / "knolling.jsonl.gz"
    lines = gzip.decompress(shipped.read_bytes()).decode().splitlines()
    path = tmp_path_factory.mktemp("items") / "items.jsonl"
    chosen: list[str] = []
    for level in (1, 2, 3):
        chosen += [line for line in lines if json.loads(line)["level"] == level][:2]
    path.write_text("".join(f"{line}\n" for line in chosen), encoding="utf-8")
    return path


def _command(items: Path, folder: Path) -> list[str]:
    arguments = ["run", "knolling", "-m", "builtin/scatter", "--size", "512"]
    return [sys.executable, "-m", "formalimg", *arguments, "--items", str(items), "--out", str(folder)]


def _images(folder: Path) -> int:
    return len(list((folder / "images").glob("*.png")))


def test_a_killed_command_ends_like_one_that_was_left_alone(tmp_path: Path, items: Path) -> None:
    folder = tmp_path / "run"
    for _ in range(_COMMAND_KILLS):
        before = _images(folder)
        process = subprocess.Popen(_command(items, folder), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        until(lambda before=before, process=process: _images(folder) > before or process.poll() is not None)  # type: ignore[misc]
        process.send_signal(signal.SIGKILL)
        process.wait()
    assert subprocess.run(_command(items, folder), capture_output=True, timeout=60).returncode == 0
    done = subprocess.run(_command(items, tmp_path / "alone"), capture_output=True, timeout=60)
    assert done.returncode == 0
    assert contents(folder) == contents(tmp_path / "alone")
    assert len(outcomes(folder)) == 6
    assert all(outcome.passed is not None for outcome in outcomes(folder))


_IN_A_NOTEBOOK = """
import asyncio, signal, sys, threading, time
from pathlib import Path
from formalimg.runs import execute
from tests.support.models import NumberJudge, Speckles, small_items
from tests.support.run_contents import order

def tell(progress, asked):
    while len(model.asked) == asked:
        time.sleep(0.01)
    Path(sys.argv[1] + ".making").touch()
    while not progress.stopped:
        time.sleep(0.01)
    Path(sys.argv[1] + ".stopping").touch()

def told(progress):
    if not model.seconds:  # what is asked for from now on takes its time
        model.seconds = float(sys.argv[2])
        threading.Thread(target=tell, args=(progress, len(model.asked)), daemon=True).start()

async def cell():
    return execute(order(model, small_items(1500)), Path(sys.argv[1]), NumberJudge(), on_progress=told)

# As a notebook does: a loop runs in the main thread, and its stop button raises KeyboardInterrupt there.
signal.signal(signal.SIGINT, signal.default_int_handler)
model = Speckles(log=Path(sys.argv[1] + ".log"))
print(asyncio.new_event_loop().run_until_complete(cell()).stopped)
"""


@pytest.mark.parametrize(("seconds", "presses"), [(0.1, 1), (60, 2)][: tries(1, 2)])
def test_the_stop_button_of_a_notebook_stops_the_run(tmp_path: Path, seconds: float, presses: int) -> None:
    folder = tmp_path / "run"
    process = subprocess.Popen(
        [sys.executable, "-c", _IN_A_NOTEBOOK, str(folder), str(seconds)],
        cwd=Path(__file__).parents[2],
        stdout=subprocess.PIPE,
        text=True,
    )
    until((tmp_path / "run.making").exists)
    process.send_signal(signal.SIGINT)
    if presses == 2:
        until((tmp_path / "run.stopping").exists)
        assert process.poll() is None, "the first press waits for what is being made"
        process.send_signal(signal.SIGINT)
    assert process.wait(timeout=20) == 0
    assert not_none(process.stdout).read() == "True\n"
    made = sum(outcome.reason != "no image" for outcome in outcomes(folder))
    asked = len((tmp_path / "run.log").read_text().splitlines())
    assert asked < 1500
    assert made == asked if presses == 1 else 0 < made < asked


_PRESSED_AT_ONCE = """
import threading, signal

def start_and_press(thread, start=threading.Thread.start):
    start(thread)
    if thread.name == "formalimg-run":
        signal.raise_signal(signal.SIGINT)

threading.Thread.start = start_and_press
"""


@only_in_full
def test_the_stop_button_may_be_pressed_while_the_run_begins(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _PRESSED_AT_ONCE + _IN_A_NOTEBOOK, str(tmp_path / "run"), "60"],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "True\n", "")


def test_a_second_process_is_refused_and_a_reader_is_not(tmp_path: Path) -> None:
    folder, log = tmp_path / "run", tmp_path / "log"
    first = start(folder, 8, 60, log)
    try:
        until(log.exists)
        second = start(folder, 8, 0, tmp_path / "other log")
        assert second.wait(timeout=20) == 2
        told = not_none(second.stderr).read()
        assert re.fullmatch(rf"error: {folder} is being written by process {first.pid} on \S+: [^\n]*\n", told)
        with pytest.raises(LockedError, match=f"process {first.pid}"):
            judge_run(folder, NumberJudge())
        assert not (tmp_path / "other log").exists()
        run = open_run(folder)
        assert {outcome.reason for outcome in run.outcomes()} == {"no image"}
        run.close()
    finally:
        first.kill()
        first.wait()
    assert start(folder, 8, 0, log).wait(timeout=20) == 0, "the lock of a dead process is no lock"
    assert all(outcome.passed is not None for outcome in outcomes(folder))


def test_the_lock_names_whoever_holds_it_and_nobody_before(tmp_path: Path) -> None:
    (tmp_path / "lock").write_text("process 4711 on a machine that is long gone\n", encoding="utf-8")
    lock = FolderLock(tmp_path)
    assert (tmp_path / "lock").read_text(encoding="utf-8") == f"process {os.getpid()} on {socket.gethostname()}\n"
    lock.release()


def test_a_reader_sees_a_run_grow(tmp_path: Path) -> None:
    folder, log = tmp_path / "run", tmp_path / "log"
    process = start(folder, 40, 0.02, log)
    try:
        until((folder / "run.toml").exists)
        until(log.exists)
        run = open_run(folder)
        seen = []
        while process.poll() is None:
            seen.append(sum(outcome.passed is not None for outcome in run.outcomes()))
        assert process.wait(timeout=20) == 0
        assert len(set(seen)) > 2
        assert seen == sorted(seen)
        assert sum(outcome.passed is not None for outcome in run.outcomes()) == 40
        run.close()
    finally:
        process.kill()
        process.wait()


def test_the_lock_is_given_back_when_a_run_fails(tmp_path: Path) -> None:
    execute(order(), tmp_path / "run")
    for _ in range(2):
        with pytest.raises(
            FormalimgError,
            match=r"other settings .*name another folder with --out .*, or give `run` the option --restart",
        ):
            execute(order(seed=2), tmp_path / "run")
    assert execute(order(), tmp_path / "run").images == 0
