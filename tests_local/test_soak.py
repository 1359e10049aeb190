"""A soak: commands that are killed, servers that fail, and run folders that are corrupted or hostile, from a seed.

A minute by default; `make soak` takes ten. FORMALIMG_SOAK_SECONDS and FORMALIMG_SOAK_SEED choose time and seed.
"""

from __future__ import annotations

import contextlib
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.remote.knowing_server import KnowingServer, knolling
from tests.support.command import formalimg
from tests.support.hostile_folders import EDITS, snapshot
from tests.support.loopback import Fault, Faults, at_random
from tests.support.remote_models import stand_alone
from tests.support.run_contents import outcomes, rows

from formalimg.benchmarks.items_file import write_items

SECONDS = float(os.environ.get("FORMALIMG_SOAK_SECONDS", "60"))
SEED = os.environ.get("FORMALIMG_SOAK_SEED", "1")
FAULTS: tuple[str | Fault, ...] = (
    Fault("429", retry_after="0.01"),
    "500",
    "503",
    "reset",
    "empty",
    "truncated",
    "html",
)
CONNECTIONS = 4
ITEMS = 24
SIGNALS = (signal.SIGKILL, signal.SIGINT, signal.SIGTERM)
LONGEST = 60
"""Seconds after which a command counts as hanging."""


@pytest.fixture(autouse=True)
def _alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    stand_alone(monkeypatch, tmp_path)


def test_nothing_is_lost_leaks_or_ends_in_a_traceback(tmp_path: Path) -> None:
    counts = Counter[str]()
    items = write_items(knolling(ITEMS, levels=range(1, 4)), tmp_path / "items")
    finished = tmp_path / "finished"
    made = ["run", "knolling", "-m", "builtin/reader", "--items", str(items), "--size", "128", "--out", str(finished)]
    assert formalimg(*made).code == 0
    end = time.monotonic() + SECONDS
    trial = 0
    while time.monotonic() < end or trial < 20:
        trial += 1
        place = tmp_path / f"trial {trial}"
        place.mkdir()
        if trial % 10 == 1:
            _kill_and_resume(random.Random(f"{SEED} {trial}"), items, place, counts)
        else:
            _open_hostile_folder(random.Random(f"{SEED} {trial}"), finished, items, place, counts)
        shutil.rmtree(place)
    print(f"\nsoak of {SECONDS:g} s, seed {SEED}: " + ", ".join(f"{name} {n:,}" for name, n in sorted(counts.items())))


def _kill_and_resume(rng: random.Random, items: Path, place: Path, counts: Counter[str]) -> None:
    """Kill a run several times while a part of all calls fails; resumed without faults, it is complete."""
    folder = place / "run"
    served = knolling(ITEMS, levels=range(1, 4))
    failing: list[Faults] = [at_random(rng.choice([0.0, 0.1, 0.3]), FAULTS, seed=rng.randrange(10**6))]
    kills = rng.randint(1, 4)
    with KnowingServer(served, faults=lambda number: _count_fault(failing, number, counts), latency=0.02) as server:
        command = _run_command(f"{server.url}/v1", items, folder)
        for _ in range(kills):
            process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(timeout=rng.uniform(0.2, 2.5))
            ended = process.poll() is not None
            sent = rng.choice(SIGNALS)
            if not ended:
                process.send_signal(sent)
                counts[f"kills by {sent.name}"] += 1
            _, said = process.communicate(timeout=LONGEST)
            assert "Traceback" not in said, said
        failing.clear()
        for _ in range(2):  # once for what failed, and once to see that nothing is left to do
            before = len(server.requests)
            done = subprocess.run(command, capture_output=True, text=True, timeout=LONGEST)
            assert done.returncode == 0, done.stderr
        assert len(server.requests) == before, "a finished run asks for nothing"
        good = sum("generations" in request.path for request in server.requests)
    found = outcomes(folder)
    assert len(found) == ITEMS
    assert all(outcome.passed for outcome in found), [outcome.reason for outcome in found]
    assert rows(folder, "PRAGMA integrity_check") == [("ok",)]
    assert not list(folder.rglob("*.part"))
    counts["runs resumed"] += 1
    counts["image requests"] += good
    counts["images in killed runs"] += len(found)


def _count_fault(failing: list[Faults], number: int, counts: Counter[str]) -> Fault | None:
    fault = failing[0](number) if failing else None
    counts["faults"] += fault is not None
    return fault


def _run_command(url: str, items: Path, folder: Path) -> list[str]:
    options = [f"base_url={url}", "first_wait=0.01", f"concurrency={CONNECTIONS}", "timeout=10"]
    command = [sys.executable, "-m", "formalimg", "run", "knolling", "--items", str(items), "--size", "64"]
    command += ["-m", "openai/painter", "--judge", "openai/looker", "--out", str(folder)]
    command += ["--no-preflight", "--max-failures", "0"]  # its servers fail at any moment, also at the first
    for option in options:
        command += ["-M", option, "-J", option]
    return [*command, "-J", "requests=all-at-once", "-J", "cache=off"]


def _open_hostile_folder(rng: random.Random, finished: Path, items: Path, place: Path, counts: Counter[str]) -> None:
    """Open, report, judge and resume a copy of a run that somebody has edited: errors, but no harm elsewhere."""
    folder, outside = place / "run", place / "outside"
    shutil.copytree(finished, folder)
    outside.mkdir()
    for name in ("authorized_keys", "photo.png", "0_0.png"):
        (outside / name).write_bytes(rng.randbytes(64))
    before = snapshot(outside)
    edits = rng.choices(EDITS, k=rng.choice([0, 1, 1, 1, 1, 2]))
    for edit in edits:
        # An earlier edit may be in the way.
        with contextlib.suppress(sqlite3.DatabaseError, OSError, ValueError, IndexError):
            edit(folder, outside, rng)
        counts[edit.__name__.replace("_", " ")] += 1
    run = ["run", "knolling", "-m", "builtin/reader", "--items", str(items), "--size", "128", "--out", str(folder)]
    commands = [
        ["report", str(folder)],
        ["report", str(folder), "--format", "html", "--out", str(place / "report.html")],
        ["report", str(folder), "--format", "csv"],
        ["report", str(folder), "--format", "json"],
        ["judge", str(folder)],
        run,
    ]
    for command in rng.sample(commands, 4):
        with _time_limit(" ".join(command)):
            done = formalimg(*command)
        assert done.code in ((0, 1, 2) if edits else (0,)), (command, done)
        assert done.code != 2 or "error:" in done.err, (command, done)
        counts[f"commands on {'hostile' if edits else 'sound'} folders with exit code {done.code}"] += 1
    assert snapshot(outside) == before, "something outside of the run folder was changed"


@contextlib.contextmanager
def _time_limit(what: str) -> Iterator[None]:
    def late(number: int, frame: object) -> None:
        raise TimeoutError(f"{what} took longer than {LONGEST} s")

    signal.signal(signal.SIGALRM, late)
    signal.alarm(LONGEST)
    try:
        yield
    finally:
        signal.alarm(0)
