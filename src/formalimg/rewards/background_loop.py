"""An event loop in a thread of its own, for callers without one: clients and connections are kept from call to call."""

from __future__ import annotations

import asyncio
import os
import threading
import weakref
from collections.abc import Coroutine
from typing import Any, TypeVar

Result = TypeVar("Result")


class BackgroundLoop:
    """Runs coroutines for callers in any thread, also where an event loop is running, as in notebooks.

    The thread starts with the first call and ends with this object. A forked process starts its own.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: _LoopThread | None = None

    def run(self, coroutine: Coroutine[Any, Any, Result]) -> Result:
        """Return the result of a coroutine; if the caller is interrupted, the coroutine is cancelled."""
        running = self._loop_thread()
        if threading.current_thread() is running.thread:
            coroutine.close()
            raise RuntimeError("a judge cannot wait for the scorer that is waiting for it: use another scorer")
        future = asyncio.run_coroutine_threadsafe(coroutine, running.loop)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    def _loop_thread(self) -> _LoopThread:
        with self._lock:
            running = self._running
            if running is None or running.process != os.getpid():
                running = self._running = _LoopThread()
                weakref.finalize(self, running.stop)
            return running


class _LoopThread:
    """The loop and its thread, which know nothing of the object that ends them."""

    def __init__(self) -> None:
        self.process = os.getpid()
        self._started = threading.Event()
        self.thread = threading.Thread(target=self._run, name="formalimg-rewards", daemon=True)
        self.thread.start()
        self._started.wait()

    def _run(self) -> None:
        with asyncio.Runner() as runner:  # at its end, clients close their connections
            self.loop = runner.get_loop()
            self._started.set()
            self.loop.run_forever()

    def stop(self) -> None:
        """End the loop; at the end of the program too."""
        if self.process == os.getpid() and not self.loop.is_closed():
            self.loop.call_soon_threadsafe(self.loop.stop)
