"""What `make test` tries in part, to be quick, is tried in full here."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.support.sizes import WITH_ALL

ROOT = Path(__file__).parents[1]
IN_PART = [
    str(path.relative_to(ROOT))
    for path in sorted((ROOT / "tests").rglob("test_*.py"))
    if "from tests.support.sizes import" in path.read_text(encoding="utf-8")
]


def test_everything_is_tried() -> None:
    assert len(IN_PART) > 10
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-n", "auto", "--dist", "loadfile", *IN_PART],
        cwd=ROOT,
        env={**os.environ, **WITH_ALL},
        capture_output=True,
        text=True,
        timeout=900,
    )
    assert done.returncode == 0, done.stdout[-8000:]
