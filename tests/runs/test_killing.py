"""Runs that are killed at any moment, stopped, or broken off: nothing is lost, nothing is done twice."""

from __future__ import annotations

import random
import signal
import sqlite3
import time
from collections import Counter
from pathlib import Path

import pytest

from formalimg.runs.execution import execute
from tests.support.models import NumberJudge, Speckles, small_items
from tests.support.run_contents import contents, order, outcomes, rows, until
from tests.support.run_in_process import start
from tests.support.sizes import tries

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
    assert process.stderr is not None
    assert process.stderr.read() == ""
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
