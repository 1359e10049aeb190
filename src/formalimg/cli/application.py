"""Run the application: Ctrl-C, streams that cannot be used, and errors become one line and an exit code."""

from __future__ import annotations

import errno
import os
import sys
from typing import NoReturn

from formalimg._util.text import visible
from formalimg.cli.interrupts import handle_interrupts, report_interrupt
from formalimg.cli.streams import prepare_streams
from formalimg.errors import FormalimgError


def run_application() -> None:
    """Run the command line: user errors print one clear message and exit with 2, bugs keep their traceback."""
    with handle_interrupts():
        prepare_streams()
        # Our arrays are small: several threads for each would only be in each other's way. Before numpy loads.
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
        try:
            _run_command()
        except FormalimgError as error:
            _print_error(error_text(error))
            sys.exit(2)
        except KeyboardInterrupt:
            report_interrupt()
            sys.exit(130)
        except (BrokenPipeError, SystemExit) as ending:
            # The reader has seen enough, as in `formalimg … | head`: typer would call that 1, which has a meaning here.
            if BrokenPipeError in (type(ending), type(ending.__context__)):
                _end_without_output(141)
            if isinstance(getattr(ending.__context__, "__cause__", None), KeyboardInterrupt):
                report_interrupt()  # typer knows the exit code, but prints nothing
            raise
        except RuntimeError as error:
            if not str(error).startswith("Symlink loop"):  # as Path.resolve says up to Python 3.12
                raise
            _print_error(f"cannot use a path that is a loop of links ({error}): name the file itself")
            sys.exit(2)
        except OSError as error:
            if error.errno not in _REFUSALS:
                raise
            if error.filename:
                _print_error(f"cannot use {error.filename}: {error.strerror}")
                sys.exit(2)
            _print_error(f"cannot write: {error.strerror}")
            _end_without_output(2)


def error_text(error: FormalimgError) -> str:
    """Return the message of an error: one line, unless it lists problems or findings below each other."""
    from formalimg.models import redact  # here, so that commands start faster

    lists_several = hasattr(error, "problems") or hasattr(error, "findings")
    return visible(redact(str(error)), one_line=not lists_several)


def _run_command() -> None:
    from formalimg.cli import app  # here, so that Ctrl-C during its import is handled too

    try:
        app()
    finally:
        if sys.stdout:
            sys.stdout.flush()  # here, where a failure can still be reported


def _print_error(message: str) -> None:
    """Print an error, where that is possible: standard error may be a full disk, too."""
    try:
        print(f"error: {message}", file=sys.stderr, flush=True)
    except OSError:
        _discard(sys.stderr.fileno())


_REFUSALS = {errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOSPC, errno.EDQUOT, errno.ENAMETOOLONG, errno.ELOOP}
"""Errors of the machine (permissions, full disk, links in a circle), which are not bugs."""


def _end_without_output(code: int) -> NoReturn:
    """Exit without letting the interpreter flush what could not be written."""
    if sys.stdout:
        _discard(sys.stdout.fileno())
    sys.exit(code)


def _discard(descriptor: int) -> None:
    """Let everything that is still written to a stream vanish."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), descriptor)
