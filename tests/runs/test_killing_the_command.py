"""The real command with a real model and judge, killed and given again; and a notebook's stop button."""

from __future__ import annotations

import gzip
import json
import signal
import subprocess
import sys
import time
from importlib.resources import files
from pathlib import Path

import pytest

from tests.support.run_contents import contents, outcomes, until

_KILLS = 2


@pytest.fixture(scope="module")
def items(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two items of each of the lower levels, as they ship."""
    shipped = files("formalimg.suites") / "default_items" / "knolling.jsonl.gz"
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


def _pictures(folder: Path) -> int:
    return len(list((folder / "images").glob("*.png")))


def test_a_killed_command_ends_like_one_that_was_left_alone(tmp_path: Path, items: Path) -> None:
    folder = tmp_path / "run"
    for _ in range(_KILLS):
        before = _pictures(folder)
        process = subprocess.Popen(_command(items, folder), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        until(lambda before=before, process=process: _pictures(folder) > before or process.poll() is not None)  # type: ignore[misc]
        process.send_signal(signal.SIGKILL)
        process.wait()
    assert subprocess.run(_command(items, folder), capture_output=True, timeout=60).returncode == 0
    done = subprocess.run(_command(items, tmp_path / "alone"), capture_output=True, timeout=60)
    assert done.returncode == 0
    assert contents(folder) == contents(tmp_path / "alone")
    assert len(outcomes(folder)) == 6
    assert all(outcome.passed is not None for outcome in outcomes(folder))


_IN_A_NOTEBOOK = """
import asyncio, signal, sys, threading
from pathlib import Path
from formalimg.runs import carry_out
from tests.support.models import NumberJudge, Speckles, small_items
from tests.support.run_contents import order

async def cell():
    model = Speckles(seconds=float(sys.argv[2]), log=Path(sys.argv[1] + ".log"))
    return carry_out(order(model, small_items(40)), Path(sys.argv[1]), NumberJudge())

# As a notebook does: a loop runs in the main thread, and its stop button raises KeyboardInterrupt there.
signal.signal(signal.SIGINT, signal.default_int_handler)
loop = asyncio.new_event_loop()
print(loop.run_until_complete(cell()).stopped)
"""


@pytest.mark.parametrize(("seconds", "presses"), [(0.1, 1), (60, 2)])
def test_the_stop_button_of_a_notebook_stops_the_run(tmp_path: Path, seconds: float, presses: int) -> None:
    folder, log = tmp_path / "run", tmp_path / "run.log"
    process = subprocess.Popen(
        [sys.executable, "-c", _IN_A_NOTEBOOK, str(folder), str(seconds)],
        cwd=Path(__file__).parents[2],
        stdout=subprocess.PIPE,
        text=True,
    )
    until(log.exists)
    process.send_signal(signal.SIGINT)
    if presses == 2:
        time.sleep(0.3)
        assert process.poll() is None, "the first press waits for what is being made"
        process.send_signal(signal.SIGINT)
    assert process.wait(timeout=20) == 0
    assert process.stdout is not None
    assert process.stdout.read() == "True\n"
    made = sum(outcome.reason != "no image" for outcome in outcomes(folder))
    assert made == (len(log.read_text().splitlines()) if presses == 1 else 0)
