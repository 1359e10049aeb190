"""Stopping a run: the first Ctrl-C lets it end cleanly, the second breaks it off; also in a notebook."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import threading
from collections.abc import Iterator, Sequence

from formalimg.runs.engine import Engine
from formalimg.runs.handing import Planned, Waiting
from formalimg.runs.progress import Progress


def run_stoppably(engine: Engine, to_make: Sequence[Planned], to_judge: Sequence[Waiting]) -> Progress:
    """Let the engine work to its end or until it is stopped, also where an event loop is running already."""
    stop = _Stop(engine)

    async def work() -> Progress:
        with stop.taking_signals():
            try:
                return await engine.run(to_make, to_judge)
            except asyncio.CancelledError:
                if not stop.broken_off:
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

    with stop.taking_the_stop_button():
        threading.Thread(target=run, name="formalimg-run").start()
        ended.wait()
    if errors:
        raise errors[0]
    return found[0]


class _Stop:
    """Called once it stops the engine, called again it breaks off; from any thread, or by a signal."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._loop: asyncio.AbstractEventLoop | None = None
        self._task: asyncio.Task[object] | None = None
        self.broken_off = False

    def __call__(self) -> None:
        if self._engine.progress.stopped and self._loop is not None and self._task is not None:
            self.broken_off = True
            self._loop.call_soon_threadsafe(self._task.cancel)
        self._engine.stop()
        if self._loop is not None:
            with contextlib.suppress(RuntimeError):  # it has just ended
                self._loop.call_soon_threadsafe(self._engine.tell)

    @contextlib.contextmanager
    def taking_the_stop_button(self) -> Iterator[None]:
        """Be called when a notebook's stop button is pressed: a KeyboardInterrupt could come between any two lines."""
        if threading.current_thread() is not threading.main_thread():  # whose signals are not ours to take
            yield
            return
        before = signal.signal(signal.SIGINT, lambda number, frame: self())
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, before)

    @contextlib.contextmanager
    def taking_signals(self) -> Iterator[None]:
        """Be called on Ctrl-C and on a polite kill, where this thread can be told of them."""
        self._loop, self._task = asyncio.get_running_loop(), asyncio.current_task()
        handled = []
        if threading.current_thread() is threading.main_thread():
            with contextlib.suppress(NotImplementedError):  # Windows: Ctrl-C breaks off at once there
                for sort in (signal.SIGINT, signal.SIGTERM):
                    self._loop.add_signal_handler(sort, self)
                    handled.append(sort)
        try:
            yield
        finally:
            for sort in handled:
                self._loop.remove_signal_handler(sort)
