"""Cancellation of runs: the first Ctrl-C ends a run cleanly, the second aborts it; also in a notebook."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import threading
from collections.abc import Awaitable, Callable, Iterator
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from formalimg.runs.progress import Progress

if TYPE_CHECKING:
    from formalimg.runs.engine import Engine

_log = logging.getLogger(__name__)

_GRACE_SECONDS = 25.0
"""How long calls under way may take after SIGTERM, before the process ends: systems kill it after 30 seconds."""

_WAKE_UP_SECONDS = 0.2
"""How late a notebook's stop button may be."""


@runtime_checkable
class WatchesProgress(Protocol):
    """A model or judge that may have to wait before it begins, and does not begin if the run is stopped meanwhile."""

    def watch_progress(self, progress: Progress) -> None:
        """Raise `NotStartedError` instead of beginning anything once `progress.stopped` is set."""
        ...


@runtime_checkable
class Interruptible(Protocol):
    """A model whose work under way can be given up, since nobody is paid for it."""

    def interrupt(self) -> None:
        """Let all calls under way end soon, with `NotStartedError`. May be called from any thread."""
        ...


def share_progress(progress: Progress, *parties: object) -> None:
    """Hand the progress to those models and judges that watch it."""
    for party in parties:
        if isinstance(party, WatchesProgress):
            party.watch_progress(progress)


def interrupt_work(*parties: object) -> None:
    """Let those models and judges give up what they compute that can."""
    for party in parties:
        if isinstance(party, Interruptible):
            party.interrupt()


def run_until_stopped(engine: Engine, run_engine: Callable[[], Awaitable[Progress]]) -> Progress:
    """Let the engine work to its end or until it is stopped, also where an event loop is already running."""
    stop = _StopHandler(engine)

    async def work() -> Progress:
        with stop.on_signals():
            try:
                return await run_engine()
            except asyncio.CancelledError:
                if not stop.aborted:
                    raise
                return engine.progress

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work())
    found: list[Progress] = []
    errors: list[BaseException] = []
    ended = threading.Event()

    def run() -> None:
        try:
            found.append(asyncio.run(work()))
        except BaseException as error:
            errors.append(error)
        finally:
            ended.set()

    with stop.on_interrupt():
        threading.Thread(target=run, name="formalimg-run").start()
        # With a timeout: a signal that arrives just before a thread blocks is handled only once it wakes up again.
        while not ended.wait(_WAKE_UP_SECONDS):
            pass
    if errors:
        raise errors[0]
    return found[0]


class _StopHandler:
    """Stops the engine when called once, aborts it when called again; from any thread, or as a signal handler."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._loop: asyncio.AbstractEventLoop | None = None
        self._task: asyncio.Task[object] | None = None
        self._deadline: threading.Timer | None = None
        self.aborted = False

    def terminate(self) -> None:
        """Stop soon, as the system wants it: what is computed here is given up, other calls have a while to end."""
        self()
        self._engine.interrupt()
        if self._deadline is None:
            self._deadline = threading.Timer(_GRACE_SECONDS, _end_process)
            self._deadline.daemon = True
            self._deadline.start()

    def __call__(self) -> None:
        if self._engine.progress.stopped and self._loop is not None and self._task is not None:
            self.aborted = True
            self._loop.call_soon_threadsafe(self._task.cancel)
        _log.info("run %s by the user", "aborted" if self.aborted else "stopped")
        self._engine.stop()
        if self._loop is not None:
            with contextlib.suppress(RuntimeError):  # the loop has just ended
                self._loop.call_soon_threadsafe(self._engine.report)

    @contextlib.contextmanager
    def on_interrupt(self) -> Iterator[None]:
        """Handle a notebook's stop button: a KeyboardInterrupt could be raised between any two lines."""
        if threading.current_thread() is not threading.main_thread():  # signals of other threads are not ours
            yield
            return
        before = signal.signal(signal.SIGINT, lambda number, frame: self())
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, before)

    @contextlib.contextmanager
    def on_signals(self) -> Iterator[None]:
        """Handle SIGINT and SIGTERM in the event loop, where this thread can receive them."""
        self._loop, self._task = asyncio.get_running_loop(), asyncio.current_task()
        handled = []
        if threading.current_thread() is threading.main_thread():
            with contextlib.suppress(NotImplementedError):  # on Windows, Ctrl-C aborts at once
                for number, handler in ((signal.SIGINT, self), (signal.SIGTERM, self.terminate)):
                    self._loop.add_signal_handler(number, handler)
                    handled.append(number)
        try:
            yield
        finally:
            for number in handled:
                self._loop.remove_signal_handler(number)
            if self._deadline is not None:
                self._deadline.cancel()


def _end_process() -> None:
    """End at once: what is stored stays, as after a kill."""
    _log.warning("the calls under way took too long after SIGTERM: they are given up")
    os._exit(128 + signal.SIGTERM)
