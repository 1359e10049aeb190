"""Ctrl-C while calls are under way: it says at once for how many it waits; SIGTERM does not wait for ever."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from formalimg.benchmarks.items_file import write_items
from tests.remote.knowing_server import knolling
from tests.support.loopback.hostile import HostileServer, drip
from tests.support.remote_calls import plant_keys
from tests.support.remote_models import stand_alone
from tests.support.run_contents import rows, until

_COMMAND = """
import sys
from formalimg.runs import execution
execution._GRACE_SECONDS = 1.0
from formalimg.cli import main
main()
"""


@pytest.fixture(autouse=True)
def _alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    stand_alone(monkeypatch, tmp_path)
    plant_keys(monkeypatch)


def _start(server: HostileServer, folder: Path) -> subprocess.Popen[str]:
    items = write_items(knolling(4, levels=[1]), folder / "items")
    options = [f"base_url={server.url}/v1", "timeout=600", "max_attempts=1", "concurrency=2"]
    words = [
        "run",
        "--no-judge",
        "knolling",
        "-m",
        "openai/painter",
        "--items",
        str(items),
        "--size",
        "64",
        "--out",
        "run",
    ]
    words += ["--no-preflight", *(word for option in options for word in ("-M", option))]
    process = subprocess.Popen(
        [sys.executable, "-c", _COMMAND, *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )
    until(lambda: len(server.came) >= 2, seconds=60)
    return process


def test_the_first_ctrl_c_says_for_how_many_calls_it_waits(tmp_path: Path) -> None:
    with HostileServer(drip(0.2)) as server:
        process = _start(server, tmp_path)
        process.send_signal(signal.SIGINT)
        assert process.stdout is not None
        lines = iter(process.stdout.readline, "")
        line = next(line for line in lines if "stopping" in line)
        assert line.endswith("stopping: waiting for 2 calls under way; Ctrl-C again ends now and loses them\n")
        process.send_signal(signal.SIGINT)
        said, _ = process.communicate(timeout=20)
    assert (process.returncode, "Traceback" in said) == (130, False)


def test_sigterm_waits_for_calls_under_way_for_a_while_only(tmp_path: Path) -> None:
    with HostileServer(drip(0.2)) as server:
        process = _start(server, tmp_path)
        began = time.monotonic()
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=20)
        assert 1 <= time.monotonic() - began < 15
    assert process.returncode == 128 + signal.SIGTERM
    assert dict(rows(tmp_path / "run", "SELECT status, count(*) FROM pictures GROUP BY status")) == {"planned": 4}
