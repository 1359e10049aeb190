"""Run the application and convert interrupts, broken streams and errors to a message and an exit code."""

from __future__ import annotations

import errno
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import TYPE_CHECKING, NoReturn

from formalimg._util.text import visible
from formalimg.cli import STOPPED
from formalimg.cli.streams import prepare_streams
from formalimg.errors import FormalimgError

if TYPE_CHECKING:
    from sys import UnraisableHookArgs


def run_application() -> None:
    """Run the command line. User errors print a message and exit with code 2. Bugs show a traceback."""
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
    """Return the message of an error, on one line unless it lists several problems or findings."""
    from formalimg.models.secrets import redact  # here, so that commands start faster

    lists_several = hasattr(error, "problems") or hasattr(error, "findings")
    return visible(redact(str(error)), one_line=not lists_several)


def _run_command() -> None:
    from formalimg.cli.commands import app  # here, so that Ctrl-C during its import is handled too

    try:
        app()
    finally:
        if sys.stdout:
            sys.stdout.flush()  # here, where a failure can still be reported


def _print_error(message: str) -> None:
    """Print an error, ignoring failures to write to standard error."""
    try:
        print(f"error: {message}", file=sys.stderr, flush=True)
    except OSError:
        _discard(sys.stderr.fileno())


_REFUSALS = {errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOSPC, errno.EDQUOT, errno.ENAMETOOLONG, errno.ELOOP}
"""Errors of the machine (permissions, full disk, links in a circle), which are not bugs."""


def _end_without_output(code: int) -> NoReturn:
    """Exit without flushing standard output, which could not be written."""
    if sys.stdout:
        _discard(sys.stdout.fileno())
    sys.exit(code)


def _discard(descriptor: int) -> None:
    """Redirect a file descriptor to the null device."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), descriptor)


_IMPORTLIB = "<frozen importlib"


@contextmanager
def handle_interrupts() -> Iterator[None]:
    """Handle Ctrl-C while the context is active, unless the process ignores it or has a custom handler."""
    if signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return
    hook = sys.unraisablehook
    signal.signal(signal.SIGINT, _on_interrupt)
    sys.unraisablehook = _on_unraisable
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        sys.unraisablehook = hook


def report_interrupt() -> None:
    """Print on standard error that the command was stopped."""
    with suppress(OSError, ValueError):  # nobody may be there to read it
        print(STOPPED, file=sys.stderr, flush=True)


def _on_interrupt(number: int, frame: FrameType | None) -> None:
    """Raise KeyboardInterrupt, or exit immediately during an import.

    During an import, libraries may convert the exception or continue without the module. Runs can be interrupted at any
    time without data loss.
    """
    while frame is not None:
        if frame.f_code.co_filename.startswith(_IMPORTLIB):
            _end_at_once()
        frame = frame.f_back
    signal.default_int_handler(number, None)


def _on_unraisable(unraisable: UnraisableHookArgs) -> None:
    """Exit if KeyboardInterrupt was raised in a finalizer, where it would be ignored."""
    if issubclass(unraisable.exc_type, KeyboardInterrupt):
        _end_at_once()
    sys.__unraisablehook__(unraisable)


def _end_at_once() -> None:
    report_interrupt()
    os._exit(130)
