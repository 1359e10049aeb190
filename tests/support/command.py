"""Running the command line as a user does: in a process of its own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import NamedTuple


class Result(NamedTuple):
    """What a command printed, and its exit code."""

    code: int
    out: str
    err: str


def formalimg(*arguments: str, stdin: bytes = b"", cwd: Path | None = None) -> Result:
    """Run `formalimg` with these arguments."""
    done = subprocess.run(
        [sys.executable, "-m", "formalimg", *arguments], input=stdin, capture_output=True, timeout=60, cwd=cwd
    )
    return Result(done.returncode, done.stdout.decode(), done.stderr.decode())
