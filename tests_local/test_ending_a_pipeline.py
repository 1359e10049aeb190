"""A real diffusers pipeline ends soon after SIGTERM, however many steps an image has, and loses nothing stored."""

from __future__ import annotations

import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests_local.tiny.pipelines import save_tiny_sd

pytest.importorskip("diffusers", reason="needs the libraries of local models: pip install 'formalimg[local]'")


def test_sigterm_ends_a_pipeline_at_its_next_step(tmp_path: Path) -> None:
    weights, run = save_tiny_sd(tmp_path / "sd"), tmp_path / "run"
    command = [sys.executable, "-m", "formalimg", "run", "knolling", "--model", f"diffusers/{weights}"]
    options = ["-M", "steps=900", "--levels", "1", "--per-level", "20", "--size", "64", "--judge", "builtin/icons"]
    with (tmp_path / "log").open("wb") as log:
        process = subprocess.Popen([*command, *options, "--out", str(run)], stdout=log, stderr=log)
        try:
            while _images(run) < 1:
                assert process.poll() is None, (tmp_path / "log").read_text()
                time.sleep(0.1)
            process.send_signal(signal.SIGTERM)
            began = time.monotonic()
            process.wait(timeout=60)
        finally:
            process.kill()
    assert time.monotonic() - began < 10, "an image takes longer than that"
    assert process.returncode in (130, 143), (tmp_path / "log").read_text()
    assert 1 <= _images(run) < 20


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=["SIGTERM", "Ctrl-C"])
def test_nobody_waits_for_weights_that_load_or_a_step_that_computes(number: signal.Signals, tmp_path: Path) -> None:
    weights, run = save_tiny_sd(tmp_path / "sd"), tmp_path / "run"
    command = [sys.executable, "-m", "formalimg", "run", "knolling", "--model", f"diffusers/{weights}"]
    options = ["-M", "steps=900", "--levels", "1", "--per-level", "2", "--size", "640", "--judge", "builtin/icons"]
    with (tmp_path / "log").open("wb") as log:
        process = subprocess.Popen([*command, *options, "--out", str(run)], stdout=log, stderr=log)
        try:
            while not _handles_sigterm(process.pid):
                assert process.poll() is None, (tmp_path / "log").read_text()
                time.sleep(0.02)
            process.send_signal(number)
            began = time.monotonic()
            process.wait(timeout=60)
        finally:
            process.kill()
    assert time.monotonic() - began < 3
    assert process.returncode == 130, (tmp_path / "log").read_text()
    assert "Rerun the same command" in (tmp_path / "log").read_text()


def _handles_sigterm(process: int) -> bool:
    """Whether the run has begun: from then on, and not from the first line of the command, it ends at the next step."""
    [caught] = [line for line in Path(f"/proc/{process}/status").read_text().splitlines() if line.startswith("SigCgt:")]
    return bool(int(caught.split()[1], 16) >> (signal.SIGTERM - 1) & 1)


def _images(run: Path) -> int:
    if not (run / "results.sqlite").exists():
        return 0
    with sqlite3.connect(f"file:{run / 'results.sqlite'}?mode=ro", uri=True) as database:
        try:
            return int(database.execute("SELECT count(*) FROM pictures WHERE status = 'made'").fetchone()[0])
        except sqlite3.OperationalError:
            return 0
