"""Whoever does the work: images, verdicts and keys are those of the local engine."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.support.run_contents import contents

MODELS = ("builtin/oracle", "builtin/reader", "builtin/scatter")


def formalimg(*arguments: str | Path, seconds: float = 150) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "formalimg", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=seconds)


def test_the_embedded_models_give_what_they_give_locally(cluster: Any, root: Path, tmp_path: Path) -> None:
    asked = [word for name in MODELS for word in ("-m", name)]
    shared = ("run", "knolling", *asked, "--per-level", "1", "--size", "256")
    ray = ("--engine", "ray", "--address", cluster.address, "--workers", "2")
    away = formalimg(*shared, "--runs", tmp_path / "ray", *ray)
    here = formalimg(*shared, "--runs", tmp_path / "local")
    assert (away.returncode, here.returncode) == (0, 0), away.stderr
    assert away.stdout.replace(str(tmp_path / "ray"), "") == here.stdout.replace(str(tmp_path / "local"), "")
    for name in MODELS:
        folder = f"knolling-{name.replace('/', '-')}"
        found = contents(tmp_path / "ray" / folder)
        assert found == contents(tmp_path / "local" / folder)
        assert len(found["pictures"]) == 10
        assert len(found["verdicts"]) >= 8


def test_layouts_and_judging_alone_go_the_same_way(cluster: Any, root: Path, tmp_path: Path) -> None:
    ray = ("--engine", "ray", "--address", "auto", "--cpus-per-worker", "0.5")
    plan = ("run", "knolling", "--task", "layout", "-m", "builtin/solver", "--levels", "1-3", "--per-level", "1")
    make = (
        "run",
        "--no-judge",
        "knolling",
        "-m",
        "builtin/scatter",
        "--levels",
        "1-3",
        "--per-level",
        "1",
        "--size",
        "256",
    )
    for place, engine in (("ray", ray), ("local", ())):
        assert formalimg(*plan, "--out", tmp_path / place / "plan", *engine).returncode == 0
        assert formalimg(*make, "--out", tmp_path / place / "made").returncode == 0
        judged = formalimg("judge", tmp_path / place / "made", *engine)
        assert judged.returncode == 0, judged.stderr
    for folder in ("plan", "made"):
        found = contents(tmp_path / "ray" / folder)
        assert found == contents(tmp_path / "local" / folder)
        assert len(found["verdicts"]) == 3
