"""Ctrl-C in the first seconds of a command: one line and exit code 130, whatever is being imported at that moment."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.support.sizes import tries

RUN = ("run", "knolling", "-m", "builtin/reader", "--size", "256", "--out", "run")

# What the installed command does, with Ctrl-C at the moment when a module is about to be imported.
_PRESSED_AT = """
import os, signal, sys

module = sys.argv.pop(1)

class Press:
    def find_spec(self, name, path=None, target=None):
        if name == module:
            sys.meta_path.remove(self)
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Press())
from formalimg.cli import main
sys.argv[0] = "formalimg"
sys.exit(main())
"""


def _ended(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *words], cwd=folder, capture_output=True, text=True, timeout=60)


@pytest.mark.parametrize(
    "module",
    [
        "formalimg.cli.application",
        "formalimg.cli.application",
        "formalimg.cli.commands",
        "typer",
        "formalimg.cli.run",
        "formalimg.benchmarks",
        "formalimg.models.builtin",
        "formalimg.runs",
        "formalimg.runs.execution",
    ][:: tries(3, 1)],
)
def test_pressed_while_a_module_is_imported(module: str, tmp_path: Path) -> None:
    done = _ended(tmp_path, "-c", _PRESSED_AT, module, *RUN)
    assert done.returncode == 130, done.stderr
    assert done.stderr.splitlines() == ["stopped; nothing is half-written, and the same command starts again"]
    assert done.stdout == ""


def test_pressed_while_a_library_turns_errors_into_others(tmp_path: Path) -> None:
    """As the C extensions of numpy do, and as libraries do that go on without an optional one."""
    (tmp_path / "converting.py").write_text(
        "import os, signal\n"
        "try:\n    os.kill(os.getpid(), signal.SIGINT)\n    [None for _ in range(1000)]\n"
        "except BaseException:\n    raise ImportError('no such extension') from None\n"
    )
    (tmp_path / "model.py").write_text("import converting\ndef paint(requests): ...\n")
    done = _ended(tmp_path, "-m", "formalimg", "run", "knolling", "-m", "python/model:paint")
    assert (done.returncode, done.stderr.count("\n"), "stopped" in done.stderr) == (130, 1, True), done.stderr


_TELLS_WHEN_IT_IS_UP = "print('up', flush=True); import sys; from formalimg.cli import main; sys.exit(main())"


@pytest.mark.parametrize("delay", [0.05, 0.2, 0.45, 0.8, 1.5])
def test_pressed_some_time_after_the_start(delay: float, tmp_path: Path) -> None:
    """A second process ends later than any of these delays: 200 images of 256 pixels take it longer."""
    process = subprocess.Popen(
        [sys.executable, "-c", _TELLS_WHEN_IT_IS_UP, *RUN],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "up\n"
    time.sleep(delay)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "Traceback" not in err
    assert err.splitlines()[-1].startswith("stopped; ")


def test_pressed_twice_prints_one_line(tmp_path: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "formalimg", "formula", "check", "-"],
        cwd=tmp_path,
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    for _ in range(2):
        time.sleep(1)
        process.send_signal(signal.SIGINT)
    process.wait(timeout=60)
    assert process.stderr is not None
    assert process.stderr.read().count("\n") == 1
    assert process.returncode == 130


def test_a_command_that_was_started_to_ignore_it_goes_on(tmp_path: Path) -> None:
    """As shells start what runs in the background."""
    ignoring = f"import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)\n{_PRESSED_AT}"
    done = _ended(tmp_path, "-c", ignoring, "formalimg.cli.listings", "formula", "vocabulary", "knolling")
    assert done.returncode == 0
