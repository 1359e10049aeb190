"""Workers import nothing from the folder in which a run was started."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any


def test_workers_import_nothing_from_the_current_folder(cluster: Any, tmp_path: Path) -> None:
    clone = tmp_path / "clone"
    clone.mkdir()
    for module in ("sqlite3", "tomllib", "json", "numpy", "PIL", "logging", "uuid"):
        (clone / f"{module}.py").write_text("import os, pathlib; pathlib.Path(os.environ['CANARY']).touch()\n")
    command = [str(Path(sys.executable).with_name("formalimg")), "run", "knolling", "--model", "builtin/oracle"]
    options = ["--levels", "1", "--per-level", "1", "--size", "256", "--engine", "ray", "--address", "local"]
    environment = {**os.environ, "CANARY": str(tmp_path / "canary")}
    done = subprocess.run([*command, *options], cwd=clone, env=environment, capture_output=True, timeout=120)
    assert not (tmp_path / "canary").exists(), "code of the folder ran"
    assert done.returncode == 0, done.stderr.decode()
