"""One process writes a run folder; others are refused, and readers are always welcome."""

from __future__ import annotations

import os
import re
import socket
from pathlib import Path

import pytest

from formalimg._util.locks import FolderLock, LockedError
from formalimg.errors import FormalimgError
from formalimg.runs.execution import execute, judge_run
from formalimg.runs.reader import open_run
from tests.support.models import NumberJudge
from tests.support.run_contents import order, outcomes, until
from tests.support.run_in_process import start


def test_a_second_process_is_refused_and_a_reader_is_not(tmp_path: Path) -> None:
    folder, log = tmp_path / "run", tmp_path / "log"
    first = start(folder, 8, 60, log)
    try:
        until(log.exists)
        second = start(folder, 8, 0, tmp_path / "other log")
        assert second.wait(timeout=20) == 2
        assert second.stderr is not None
        told = second.stderr.read()
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
