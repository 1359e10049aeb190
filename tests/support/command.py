"""Running the command line: through its front door in this process, or as a user does, in a process of its own."""

from __future__ import annotations

import contextlib
import io
import os
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

import typer

from formalimg import cli
from tests.support.options_in_messages import all_options, missing_options


class Result(NamedTuple):
    """What a command printed, and its exit code."""

    code: int
    out: str
    err: str


def formalimg(*arguments: str, stdin: bytes = b"", cwd: Path | None = None) -> Result:
    """Run `formalimg` with these arguments, in this process: another one would take a second to begin.

    It goes through the function that the installed command calls, with arguments, streams and a folder of its own. A
    traceback that a user would see is raised here.
    """
    given, out, err = (io.TextIOWrapper(io.BytesIO(data), "utf-8", newline="\n") for data in (stdin, b"", b""))
    code: object = None
    with (
        patch.object(cli, "app", _commands()),
        patch.multiple(sys, argv=["formalimg", *arguments], stdin=given, stdout=out, stderr=err),
        patch.dict(os.environ),
        contextlib.chdir(cwd or Path.cwd()),
    ):
        try:
            cli.main()
        except SystemExit as ending:
            code = ending.code
    assert code is None or isinstance(code, int), code
    result = Result(code or 0, _written(out), _written(err))
    _require_remedies(arguments, result.err)
    return result


def _require_remedies(arguments: tuple[str, ...], said: str) -> None:
    """Fail if a message names an option that the command does not have: no user could do what it says."""
    options = all_options(_commands())
    command = next((name for count in (3, 2, 1) if (name := " ".join(arguments[:count])) in options), "")
    given = {argument.partition("=")[0] for argument in arguments}
    missing = [option for option in missing_options(said, command, options) if option not in given]
    assert not missing, f"formalimg {command} has no {', '.join(missing)}: {said}"


@cache
def _commands() -> Any:
    """All commands as typer makes them of ours, which takes it longer than most of them take."""
    return typer.main.get_command(cli.app)


def _written(stream: io.TextIOWrapper) -> str:
    stream.seek(0)
    return stream.read()


def formalimg_process(*arguments: str, stdin: bytes = b"", cwd: Path | None = None) -> Result:
    """Run `formalimg` with these arguments in a process of its own, as a user does."""
    done = subprocess.run(
        [sys.executable, "-m", "formalimg", *arguments], input=stdin, capture_output=True, timeout=60, cwd=cwd
    )
    return Result(done.returncode, done.stdout.decode(), done.stderr.decode())


def read_terminal(ours: int) -> str:
    """All that is written to a terminal until nobody is left who writes."""
    shown = b""
    with contextlib.suppress(OSError):  # how a terminal ends
        while more := os.read(ours, 65536):
            shown += more
    os.close(ours)
    return shown.decode()
