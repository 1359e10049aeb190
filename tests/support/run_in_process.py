"""Does a small run in a process of its own: `python -m tests.support.run_in_process FOLDER COUNT SECONDS LOG`.

Like the command line, it ends with 2 and one line on a mistake or a full disk, and with 130 when it was stopped.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from formalimg.errors import FormalimgError
from formalimg.runs.config import RunConfig
from formalimg.runs.execution import execute
from tests.support.models import NumberJudge, Speckles, small_items

_ROOT = Path(__file__).parents[2]


def start(folder: Path, count: int, seconds: float, log: Path, size: int = 64) -> subprocess.Popen[str]:
    """Start the run in another process."""
    arguments = [str(folder), str(count), str(seconds), str(log), str(size)]
    return subprocess.Popen(
        [sys.executable, "-m", "tests.support.run_in_process", *arguments],
        cwd=_ROOT,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def main(folder: str, count: str, seconds: str, log: str, size: str) -> int:
    model = Speckles(seconds=float(seconds), log=Path(log), concurrency=4)
    judge = NumberJudge(seconds=float(seconds), concurrency=4)
    try:
        done = execute(RunConfig(small_items(int(count)), model, size=int(size)), Path(folder), judge)
    except FormalimgError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 130 if done.stopped else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
