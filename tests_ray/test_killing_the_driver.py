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
def start(cluster: Any, root: Path) -> Iterator[Callable[..., subprocess.Popen[bytes]]]:
    """Starts the command; whatever a test leaves behind is ended."""
    with contextlib.ExitStack() as started:

        def begin(*given: Any) -> subprocess.Popen[bytes]:
            process = _begin(cluster, *given)
            started.callback(process.kill)
            return process

        yield begin


def _begin(cluster: Any, folder: Path, log: Path, *more: str) -> subprocess.Popen[bytes]:
    model = ("-m", "python/tests_ray/models.py:paint", "-M", f"log={log}", "-M", f"allowed={log}.allowed")
    asked = ("--levels", "1-10", "--per-level", "2", "--size", "64", "--style", "none", "--out", str(folder))
    ray = more or ("--engine", "ray", "--address", cluster.address, "--workers", "2")
    with Path(f"{log}.told").open("wb") as told:
        return subprocess.Popen(
            [sys.executable, "-m", "formalimg", "run", "knolling", *model, *asked, "-j", "builtin/icons", *ray],
            stdout=subprocess.DEVNULL,
            stderr=told,
            env={**os.environ, "PYTHONPATH": str(Path.cwd())},  # the model's file imports what tests have in common
            start_new_session=True,  # as from a terminal: signals go to the command and all that it started
        )


def allow(log: Path, images: int) -> None:
    """So many images may be painted in all; one more, if two are begun at the same moment."""
    with Path(f"{log}.allowed").open("a", encoding="utf-8") as file:
        file.write(f"{images}\n")


def told(log: Path) -> str:
    """What the last command has said."""
    return Path(f"{log}.told").read_text(encoding="utf-8")


def nobody_paints(log: Path) -> bool:
    return not any(Path(f"/proc/{process}").exists() for process in Path(f"{log}.processes").read_text().split())


def kept(folder: Path) -> set[int]:
    if not (folder / "results.sqlite").exists():  # looking would make an empty one
        return set()
    with contextlib.suppress(sqlite3.OperationalError):  # it has only just begun
        return {seed for (seed,) in rows(folder, "SELECT seed FROM pictures WHERE status = 'made'")}
    return set()


def made(log: Path) -> Counter[int]:
    return Counter(map(int, log.read_text().split())) if log.exists() else Counter()


def images(folder: Path) -> list[tuple[Any, ...]]:
    """All but the keys and the judge's words, which hold the name of the log."""
    return rows(folder, "SELECT item, sample, seed, status, sha256 FROM pictures ORDER BY item, sample")


def test_killed_and_stopped_and_given_again_it_ends_like_one_left_alone(
    start: Callable[..., subprocess.Popen[bytes]], tmp_path: Path
) -> None:
    folder, log = tmp_path / "run", tmp_path / "log"
    allow(log, 6)
    killed = start(folder, log)
    until(lambda: len(kept(folder)) >= 4, 120)
    killed.send_signal(signal.SIGKILL)
    killed.wait()
    until(lambda: nobody_paints(log), 60)
    first = kept(folder)
    assert 4 <= len(first) <= 7

    before = made(log)
    allow(log, before.total() + 6)
    stopped = start(folder, log)
    until(lambda: len(kept(folder)) >= len(first) + 4, 120)
    os.killpg(stopped.pid, signal.SIGINT)
    until(lambda: "stopping:" in told(log), 60)
    allow(log, 1000)
    assert stopped.wait(timeout=60) == 130, told(log)
    assert "completed work is kept" in told(log)
    second = kept(folder)
    assert first < second
    assert len(second) < ITEMS, "seven, seven more, and the four that were with the workers"
    assert set(made(log) - before) == second - first, "a clean stop keeps all that was asked for"

    last = start(folder, log)
    assert last.wait(timeout=120) == 1, told(log)  # all is made, and none of it can be scored
    assert "nothing was scored" in told(log)
    counted = made(log)
    assert len(counted) == ITEMS
    twice = {seed for seed, times in counted.items() if times > 1}
    assert twice.isdisjoint(first), "what was kept is not made again"
    assert len(twice) <= 4, "only what two workers had in hand, two calls each, when the command was killed"

    other = tmp_path / "other log"
    allow(other, 1000)
    alone = start(tmp_path / "alone", other, "--engine", "local")
    assert alone.wait(timeout=120) == 1, told(other)
    assert images(folder) == images(tmp_path / "alone")
