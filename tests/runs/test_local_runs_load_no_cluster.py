"""A run on this machine loads few modules, nothing of Ray, object stores or planners, and is easy to follow."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

_PROGRAM = """
import json, sys
from formalimg.cli import main
sys.argv = ["formalimg", "run", "knolling", "--model", "builtin/reader", "--levels", "1", "--per-level", "1",
            "--size", "256", "--runs", sys.argv[1]]
try:
    main()
except SystemExit as ended:
    assert not ended.code, ended.code
loaded = [name for name in sys.modules if name.split(".")[0] in ("formalimg", "fsspec", "ray")]
print("LOADED", json.dumps(sorted(loaded)))
"""


_MAX_MODULES = 123
"""As many as are loaded, five of them for the failures in words with which a run ends. Where more are needed, import
what few runs need inside functions, before you raise this."""

_MAX_FILES = 25  # The files on the main line of a run, see `tools/trace_run.py`


@pytest.fixture(scope="module")
def loaded(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    runs = tmp_path_factory.mktemp("runs")
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM, str(runs)], capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stderr
    names: list[str] = json.loads(done.stdout.rpartition("LOADED ")[2])
    return names


def test_local_runs_load_no_cluster(loaded: list[str]) -> None:
    assert "formalimg.runs.engine" in loaded
    unwanted = ("formalimg.runs.ray", "formalimg.rewards", "fsspec", "ray")
    assert [name for name in loaded if name.startswith(unwanted)] == []


def test_local_runs_load_few_modules(loaded: list[str]) -> None:
    """Every module loaded without need makes each run start later, and is one more to read to follow a run."""
    ours = [name for name in loaded if name.split(".")[0] == "formalimg"]
    assert len(ours) <= _MAX_MODULES, f"{len(ours)} modules: {' '.join(ours)}"


def test_the_main_line_of_a_run_goes_through_few_files() -> None:
    """From the command to each milestone: what rewriting prompts needs read to follow a run."""
    done = subprocess.run(
        [sys.executable, "-m", "tools.trace_run"], capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stderr
    _, _, listed = done.stdout.partition(" files on the main line")
    files = [line.split()[-1] for line in listed.splitlines()[1:]]
    assert "not seen" not in listed
    assert files[0] == "cli/__init__.py"
    assert {"runs/prepared_run.py", "runs/engine.py", "runs/store.py"} <= set(files)
    assert len(files) <= _MAX_FILES, files
