"""Ctrl-C at any moment of a command: one line and exit code 130, also while modules are being imported."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import TYPE_CHECKING

from formalimg.cli import STOPPED

if TYPE_CHECKING:
    from sys import UnraisableHookArgs

_IMPORTLIB = "<frozen importlib"


@contextmanager
def handle_interrupts() -> Iterator[None]:
    """Handle Ctrl-C, where Python would: a process that was started to ignore it, or has a handler, keeps that."""
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
    """Print that the command was stopped, on a line of its own."""
    with suppress(OSError, ValueError):  # nobody may be there to read it
        print(STOPPED, file=sys.stderr, flush=True)


def _on_interrupt(number: int, frame: FrameType | None) -> None:
    """Raise KeyboardInterrupt, or end at once where modules are being imported.

    Libraries turn exceptions during their import into other ones, or go on without what they could not import. A run
    can be killed at any time, so nothing is lost.
    """
    while frame is not None:
        if frame.f_code.co_filename.startswith(_IMPORTLIB):
            _end_at_once()
        frame = frame.f_back
    signal.default_int_handler(number, None)


def _on_unraisable(unraisable: UnraisableHookArgs) -> None:
    """End where KeyboardInterrupt was raised in a finalizer, which cannot raise anything."""
    if issubclass(unraisable.exc_type, KeyboardInterrupt):
        _end_at_once()
    sys.__unraisablehook__(unraisable)


def _end_at_once() -> None:
    report_interrupt()
    os._exit(130)
