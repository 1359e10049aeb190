"""The real command on the cluster: killed and given again it loses nothing; Ctrl-C stops it cleanly."""

from __future__ import annotations

import contextlib
import os
import signal
import sqlite3
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.support.run_contents import rows, until

ITEMS = 20


@pytest.fixture
def start(cluster: Any, root: Path) -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Starts the command; whatever a test leaves behind is ended."""
    with contextlib.ExitStack() as started:

        def begin(*given: Any) -> subprocess.Popen[str]:
            process = _begin(cluster, *given)
            started.callback(process.kill)
            return process

        yield begin


def _begin(cluster: Any, folder: Path, log: Path, *more: str) -> subprocess.Popen[str]:
    model = ("-m", "python/tests_ray/models.py:paint", "-M", f"log={log}")
    asked = ("--levels", "1-10", "--per-level", "2", "--size", "64", "--style", "none", "--out", str(folder))
    ray = more or ("--engine", "ray", "--address", cluster.address, "--workers", "2")
    return subprocess.Popen(
        [sys.executable, "-m", "formalimg", "run", "knolling", *model, *asked, *ray],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,  # as from a terminal: signals go to the command and all that it started
    )


def kept(folder: Path) -> set[int]:
    if not (folder / "results.sqlite").exists():  # looking would make an empty one
        return set()
    with contextlib.suppress(sqlite3.OperationalError):  # it has only just begun
        return {seed for (seed,) in rows(folder, "SELECT seed FROM pictures WHERE status = 'made'")}
    return set()


def made(log: Path) -> Counter[int]:
    return Counter(map(int, log.read_text().split())) if log.exists() else Counter()


def pictures(folder: Path) -> list[tuple[Any, ...]]:
    """All but the keys and the judge's words, which hold the name of the log."""
    return rows(folder, "SELECT item, sample, seed, status, sha256 FROM pictures ORDER BY item, sample")


def test_killed_and_stopped_and_given_again_it_ends_like_one_left_alone(
    start: Callable[..., subprocess.Popen[str]], tmp_path: Path
) -> None:
    folder, log = tmp_path / "run", tmp_path / "log"
    killed = start(folder, log)
    until(lambda: len(kept(folder)) >= 4, 60)
    killed.send_signal(signal.SIGKILL)
    killed.wait()
    first = kept(folder)
    assert 4 <= len(first) < ITEMS

    stopped = start(folder, log)
    until(lambda: len(kept(folder)) >= len(first) + 4, 60)
    os.killpg(stopped.pid, signal.SIGINT)
    _, told = stopped.communicate(timeout=60)
    assert stopped.returncode == 130, told
    assert "all that is done is kept" in told
    second = kept(folder)
    assert first < second
    assert len(second) < ITEMS
    assert set(made(log)) == second, "a clean stop keeps all that was asked for"

    last = start(folder, log)
    assert last.wait(timeout=120) == 0
    counted = made(log)
    assert len(counted) == ITEMS
    twice = {seed for seed, times in counted.items() if times > 1}
    assert twice.isdisjoint(first), "what was kept is not made again"
    assert len(twice) <= 4, "only what two workers had in hand, two calls each, when the command was killed"

    alone = start(tmp_path / "alone", tmp_path / "other log", "--engine", "local")
    assert alone.wait(timeout=120) == 0
    assert pictures(folder) == pictures(tmp_path / "alone")
