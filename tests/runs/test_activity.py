"""Runs in progress, seen from outside: while a process writes, after it was killed, and how fast it is."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from formalimg._util.locks import FolderLock, LockedError
from formalimg.runs.image_counts import is_in_progress
from formalimg.runs.reader import open_run
from tests.web.sites import change, concept_run

_BEGIN = (
    "import sys; from pathlib import Path; from formalimg._util.locks import FolderLock; "
    "from formalimg.runs.image_counts import is_in_progress; "
)
_HOLD = f"{_BEGIN}lock = FolderLock(Path(sys.argv[1])); print('held', flush=True); sys.stdin.read()"
_ASK = f"{_BEGIN}print(flush=True)\nwhile True: is_in_progress(Path(sys.argv[1]))"


def test_a_run_is_in_progress_until_its_process_ends_even_if_it_is_killed(tmp_path: Path) -> None:
    assert not is_in_progress(tmp_path)
    command = [sys.executable, "-c", _HOLD, str(tmp_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        assert is_in_progress(tmp_path)
        with pytest.raises(LockedError):
            FolderLock(tmp_path)
        process.kill()
    assert (tmp_path / "lock").exists()
    assert not is_in_progress(tmp_path)


def test_asking_whether_a_run_is_in_progress_keeps_no_run_from_starting(tmp_path: Path) -> None:
    FolderLock(tmp_path).release()
    with subprocess.Popen([sys.executable, "-c", _ASK, str(tmp_path)], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        for _ in range(200):
            FolderLock(tmp_path).release()
        process.kill()


def test_rate_and_time_left_are_those_of_the_last_two_minutes_of_the_process(tmp_path: Path) -> None:
    concept_run(tmp_path, 12)
    now = datetime.now(UTC)
    change(tmp_path, "DELETE FROM verdicts WHERE item IN ('item-0', 'item-1', 'item-2')")
    change(tmp_path, "UPDATE pictures SET status = 'planned' WHERE item = 'item-0'")
    change(tmp_path, "UPDATE verdicts SET at = ?", f"{now - timedelta(seconds=10):%Y-%m-%dT%H:%M:%SZ}")
    change(tmp_path, "UPDATE verdicts SET at = '2020-01-01T00:00:00Z' WHERE item > 'item-4'")
    begun = (now - timedelta(seconds=60)).timestamp()
    os.utime(tmp_path / "lock", (begun, begun))
    with closing(open_run(tmp_path)) as run:
        found = run.activity()
    assert found.counts == (12, 1, 2)
    assert found.counts.done == 9
    recent = 4  # item-10, item-11, item-3, item-4
    assert found.rate == pytest.approx(recent, rel=0.1)
    assert found.seconds_left == pytest.approx(3 * 60 / recent, rel=0.1)


def test_without_a_judge_images_are_done_when_they_are_made(tmp_path: Path) -> None:
    concept_run(tmp_path, 3)
    change(tmp_path, "DELETE FROM verdicts")
    with closing(open_run(tmp_path)) as run:
        assert run.counts() == (3, 0, 3)
    manifest = tmp_path / "run.toml"
    manifest.write_text(manifest.read_text(encoding="utf-8").split("[judge]")[0], encoding="utf-8")
    with closing(open_run(tmp_path)) as run:
        assert run.counts() == (3, 0, 0)
