"""The real command with a real model and judge, killed and given again; and a notebook's stop button."""

from __future__ import annotations

import gzip
import json
import signal
import subprocess
import sys
from importlib.resources import files
from pathlib import Path

import pytest

from tests.support.run_contents import contents, outcomes, until
from tests.support.sizes import only_in_full, tries

_KILLS = tries(1, 2)


@pytest.fixture(scope="module")
def items(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two items of each of the lower levels, as they ship."""
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
    for _ in range(_KILLS):
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
    assert process.stdout is not None
    assert process.stdout.read() == "True\n"
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
