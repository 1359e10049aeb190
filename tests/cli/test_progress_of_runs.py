"""How far a run is, as people see it in a terminal of 80 columns, and as log files have it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

import formalimg
from formalimg.errors import FormalimgError
from formalimg.runs.progress import Progress, run_progress, script_progress
from tests.support.command import read_terminal
from tests.support.models import Speckles, small_items

pty = pytest.importorskip("pty", reason="there are no terminals to be had here")

_TITLE = "knolling, diffusers//models/sdxl"
_WORKERS = "3 workers: 1.25/s, 1.31/s, 0.98/s; 1 starting"
_SHOWING = f"""
import os, time
from formalimg.runs.progress import run_progress
from formalimg.runs.progress import Progress

with run_progress({_TITLE!r}, lambda: {_WORKERS!r}) as update:
    progress = Progress(1000, 1000, made=120, passed=60, not_passed=40, started=time.monotonic() - 10)
    update(progress)
    os.write(1, b"shown\\n")
    os.read(0, 1)
    progress.stopped, progress.under_way = True, 12
    update(progress)
"""
_STOPPING = "stopping: waiting for 12 calls under way; Ctrl-C again ends now and loses them"


def _environment() -> dict[str, str]:
    return {**os.environ, "COLUMNS": "80", "TERM": "xterm", "NO_COLOR": "1"}


def _figures(line: str) -> bool:
    return bool(re.fullmatch(r"120/1,000 made, 100 judged, \d+\.\d/s, \d+:\d\d left, 100% scored", line))


def test_a_narrow_terminal_has_room_for_all_of_it() -> None:
    ours, theirs = pty.openpty()
    streams = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": theirs}
    process = subprocess.Popen([sys.executable, "-c", _SHOWING], env=_environment(), **streams)
    os.close(theirs)
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stdout.readline() == b"shown\n"
    process.stdin.write(b"\n")
    process.stdin.close()
    shown = read_terminal(ours)
    assert process.wait(20) == 0
    lines = [line.strip() for line in re.split(r"[\r\n]+", re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", shown))]
    bar, figures, *below = [line for line in lines if line][-4:]
    assert re.fullmatch(f"{_TITLE} ━+", bar)
    assert _figures(figures)
    assert below == [_WORKERS, _STOPPING]


def test_log_files_are_told_at_once_that_a_run_stops() -> None:
    done = subprocess.run(
        [sys.executable, "-c", _SHOWING], input=b"\n", capture_output=True, env=_environment(), timeout=60, check=True
    )
    (line,) = done.stderr.decode().splitlines()
    title, _, rest = line.partition(": ")
    figures, _, below = rest.partition("; ")
    assert title == _TITLE
    assert _figures(figures)
    assert below == f"{_WORKERS}; {_STOPPING}"


def test_a_run_that_cannot_go_on_says_that_it_still_waits(capsys: pytest.CaptureFixture[str]) -> None:
    with run_progress(_TITLE) as update:
        update(Progress(9, 0, stopped=True, ended_by=FormalimgError("there is no credit left"), under_way=2))
    assert capsys.readouterr().err.endswith("; cannot continue: work in progress is still saved; Ctrl-C discards it\n")


def test_a_run_that_waits_for_nothing_does_not_say_so(capsys: pytest.CaptureFixture[str]) -> None:
    with run_progress(_TITLE) as update:
        update(Progress(9, 0, stopped=True, ended_by=FormalimgError("there is no credit left")))
    assert capsys.readouterr().err == ""


_SCRIPT = """
import formalimg
from tests.support.models import Speckles, small_items

formalimg.run(items=small_items(3), model=Speckles(), judge=lambda image, item: True, folder={folder!r}, **{options!r})
"""


def _shown_in_a_terminal(code: str) -> str:
    ours, theirs = pty.openpty()
    process = subprocess.Popen([sys.executable, "-c", code], stderr=theirs, env=_environment())
    os.close(theirs)
    shown = read_terminal(ours)
    assert process.wait(60) == 0
    return shown


def test_a_script_shows_a_bar_in_a_terminal_unless_told_not_to(tmp_path: Path) -> None:
    shown = _shown_in_a_terminal(_SCRIPT.format(folder=str(tmp_path / "run"), options={}))
    assert "knolling, test/speckles, long style text" in shown
    assert "3/3 made" in shown
    silent = _shown_in_a_terminal(_SCRIPT.format(folder=str(tmp_path / "other"), options={"progress": False}))
    assert silent == ""


def test_a_script_in_a_log_file_says_ever_less(capsys: pytest.CaptureFixture[str]) -> None:
    with script_progress(_TITLE) as update:
        update(Progress(9, 0))
        assert capsys.readouterr().err == ""
        for ago in (20, 20, 31, 31, 61):
            update._last = time.monotonic() - ago  # type: ignore[attr-defined]
            update(Progress(9, 0))
    assert len(capsys.readouterr().err.splitlines()) == 3


def test_progress_is_given_to_the_caller_too(tmp_path: Path) -> None:
    seen: list[int] = []
    formalimg.run(
        items=small_items(3),
        model=Speckles(),
        judge=lambda image, item: True,
        folder=tmp_path / "run",
        on_progress=lambda progress: seen.append(progress.judged),
    )
    assert seen[-1] == 3
