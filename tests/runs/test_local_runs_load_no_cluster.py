"""A run on this machine loads nothing of the Ray engine, of object stores, or of the planners."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

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


def test_local_runs_load_no_cluster(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM, str(tmp_path)], capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stderr
    loaded = json.loads(done.stdout.rpartition("LOADED ")[2])
    assert "formalimg.runs.engine" in loaded
    unwanted = ("formalimg.cluster", "formalimg.rewards", "formalimg.runs.remote_image_store", "fsspec", "ray")
    assert [name for name in loaded if name.startswith(unwanted)] == []
