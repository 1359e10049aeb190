"""A pool of worker processes with timeouts.

Some formulas take forever to solve, to decide or to phrase in English, and a thread cannot be stopped. A process that
has answered in time is reused, so only the first job waits for a process to start.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import time
import weakref
from collections import deque
from collections.abc import Iterator
from subprocess import PIPE, Popen
from threading import BoundedSemaphore

from formalimg.errors import FormalimgError

WORKER_MODULE = "formalimg.web.playground.worker"  # The module that the processes run
_RETURN_MEMORY = {"MALLOC_ARENA_MAX": "1", "MALLOC_MMAP_THRESHOLD_": "1000000"}
"""Lets glibc give large blocks back to the system: an idle worker would keep those of the largest image it has read."""

_TIMEOUT_TOLERANCE = 0.2  # A process that ends this many seconds before its timeout has timed out


_MAX_WAITING = 8  # Jobs that wait for a worker; others are refused at once, for each holds a thread that pages need too


class WorkersBusyError(FormalimgError):
    """All workers are busy."""


class JobTimeoutError(FormalimgError):
    """The job took too long and was stopped."""


class InputTooLargeError(FormalimgError):
    """The input exceeds the limits of the playground."""


class JobPool:
    """A limited number of worker processes."""

    def __init__(self, workers: int = 3, queue_timeout: float = 2.0) -> None:
        """Create a pool whose processes start on demand."""
        self._free, self._present = BoundedSemaphore(workers), BoundedSemaphore(workers + _MAX_WAITING)
        self._large = BoundedSemaphore(1)
        self._queue_timeout = queue_timeout
        self._idle: deque[Popen[bytes]] = deque()
        weakref.finalize(self, _end_all, self._idle)

    def run(self, job: str, seconds: float, is_large: bool = False, /, **arguments: object) -> dict[str, object]:
        """Run a job and return its result.

        Args:
            job: the name of one of the `JOBS`.
            seconds: the timeout.
            is_large: whether it takes much memory, so that only one of them runs at a time.
            arguments: its arguments, as plain data.

        Raises:
            WorkersBusyError: if no worker becomes free.
            JobTimeoutError: if the job takes too long.
            InputTooLargeError: if the input is too large.
            FormalimgError: if the job fails on its arguments.
        """
        large = _acquired(self._large, self._queue_timeout) if is_large else contextlib.nullcontext()
        with _acquired(self._present, 0), large, _acquired(self._free, self._queue_timeout):
            process = self._idle_or_new_process()
            answer = _exchange(process, {"job": job, "seconds": seconds, "arguments": arguments}, seconds)
            self._idle.append(process)
        match answer:
            case {"too large": str(message)}:
                raise InputTooLargeError(message)
            case {"error": str(message)}:
                raise FormalimgError(message)
        return answer

    def _idle_or_new_process(self) -> Popen[bytes]:
        with contextlib.suppress(IndexError):
            while True:
                process = self._idle.pop()
                if process.poll() is None:
                    return process
                _end(process)
        # The worker finds modules where this process finds them, and nowhere else.
        paths = os.pathsep.join(filter(None, sys.path))
        return Popen(
            [sys.executable, "-P", "-m", WORKER_MODULE],
            stdin=PIPE,
            stdout=PIPE,
            env={**os.environ, "PYTHONPATH": paths, **_RETURN_MEMORY},
        )


@contextlib.contextmanager
def _acquired(semaphore: BoundedSemaphore, timeout: float) -> Iterator[None]:
    """Hold a semaphore for the duration of the block, or raise an error if it is not free within `timeout` seconds."""
    if not semaphore.acquire(timeout=timeout):
        raise WorkersBusyError("all workers are busy: try again in some seconds")
    try:
        yield
    finally:
        semaphore.release()


def _exchange(process: Popen[bytes], request: dict[str, object], seconds: float) -> dict[str, object]:
    assert process.stdin is not None
    assert process.stdout is not None
    began = time.monotonic()
    line = b""
    with contextlib.suppress(BrokenPipeError):
        process.stdin.write(json.dumps(request).encode("ascii") + b"\n")
        process.stdin.flush()
        line = process.stdout.readline()
    if line:
        answer = json.loads(line)
        assert isinstance(answer, dict)
        return answer
    _end(process)
    if time.monotonic() - began >= seconds - _TIMEOUT_TOLERANCE:
        raise JobTimeoutError(f"this took longer than {seconds:g} seconds, and was stopped")
    raise RuntimeError(f"the worker process ended with code {process.returncode}: see its output above")


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
