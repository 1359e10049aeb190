"""Long work is done at a pool: few pieces at once, in processes that end themselves when it takes too long.

Some formulas take endlessly long to solve, to decide or to put in words, and a thread cannot be stopped. A process that
has answered in time is kept for the next piece, so that only the first has to wait until it has started.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import time
import weakref
from collections import deque
from subprocess import PIPE, Popen
from threading import BoundedSemaphore

from formalimg.errors import FormalimgError

WORKER_MODULE = "formalimg.web.playground.worker"
"""The module that the processes run."""

_TIMEOUT_TOLERANCE = 0.2
"""A process that ends so many seconds before its time ran out of it."""


class WorkersBusyError(FormalimgError):
    """All workers are taken."""


class JobTimeoutError(FormalimgError):
    """The work took too long, and was stopped."""


class InputTooLargeError(FormalimgError):
    """What was sent is larger than anyone should read."""


class WorkerPool:
    """Places for long work."""

    def __init__(self, workers: int = 3, queue_timeout: float = 2.0) -> None:
        """Make a pool.

        Args:
            workers: how much is worked on at once.
            queue_timeout: how long others wait for a place, in seconds.
        """
        self._free = BoundedSemaphore(workers)
        self._queue_timeout = queue_timeout
        self._idle: deque[Popen[bytes]] = deque()
        weakref.finalize(self, _end_all, self._idle)

    def run(self, job: str, seconds: float, **arguments: object) -> dict[str, object]:
        """Have something done.

        Args:
            job: what, by the name of one of the `JOBS`.
            seconds: how long it may take.
            arguments: what it needs, as plain data.

        Raises:
            WorkersBusyError: if no place becomes free.
            JobTimeoutError: if it takes too long.
            InputTooLargeError: if it would not be begun, for its size.
            FormalimgError: if it cannot be done with what was arguments.
        """
        if not self._free.acquire(timeout=self._queue_timeout):
            raise WorkersBusyError("others are being served: try again in some seconds")
        try:
            process = self._idle_or_new_process()
            answer = _exchange(process, {"job": job, "seconds": seconds, "arguments": arguments}, seconds)
            self._idle.append(process)
        finally:
            self._free.release()
        match answer:
            case {"too large": str(words)}:
                raise InputTooLargeError(words)
            case {"error": str(words)}:
                raise FormalimgError(words)
        return answer

    def _idle_or_new_process(self) -> Popen[bytes]:
        with contextlib.suppress(IndexError):
            while True:
                process = self._idle.pop()
                if process.poll() is None:
                    return process
                _end(process)
        # Where this process found its modules, that one finds them too, and nowhere else.
        paths = os.pathsep.join(filter(None, sys.path))
        return Popen(
            [sys.executable, "-P", "-m", WORKER_MODULE],
            stdin=PIPE,
            stdout=PIPE,
            env={**os.environ, "PYTHONPATH": paths},
        )


def _exchange(process: Popen[bytes], asked: dict[str, object], seconds: float) -> dict[str, object]:
    assert process.stdin is not None
    assert process.stdout is not None
    began = time.monotonic()
    line = b""
    with contextlib.suppress(BrokenPipeError):
        process.stdin.write(json.dumps(asked).encode("ascii") + b"\n")
        process.stdin.flush()
        line = process.stdout.readline()
    if line:
        answer = json.loads(line)
        assert isinstance(answer, dict)
        return answer
    _end(process)
    if time.monotonic() - began >= seconds - _TIMEOUT_TOLERANCE:
        raise JobTimeoutError(f"this took longer than {seconds:g} seconds, and was stopped")
    raise RuntimeError(f"the process for long work ended with code {process.returncode}; it has analysis why above")


def _end(process: Popen[bytes]) -> None:
    process.kill()
    process.wait()
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            with contextlib.suppress(OSError):
                pipe.close()


def _end_all(processes: deque[Popen[bytes]]) -> None:
    while processes:
        _end(processes.pop())
