"""A pool of worker processes with timeouts, as a thread cannot be stopped.

A process reads jobs and writes results as lines of JSON. It is reused if it has answered in time, and kills itself
otherwise.
"""

from __future__ import annotations

import contextlib
import faulthandler
import json
import os
import signal
import sys
import time
import weakref
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from subprocess import PIPE, Popen
from threading import BoundedSemaphore
from typing import Any, TypeAlias

from formalimg.errors import FormalimgError

Job: TypeAlias = Callable[[Mapping[str, Any]], dict[str, object]]
WORKER = f"from {__name__} import serve; serve()"
_RETURN_MEMORY = {"MALLOC_ARENA_MAX": "1", "MALLOC_MMAP_THRESHOLD_": "1000000"}
"""Lets glibc give large blocks back to the system: an idle worker would keep those of the largest image it has read."""

_TIMEOUT_TOLERANCE = 0.2  # a process that ends this many seconds before its timeout has timed out
_MAX_WAITING = 8  # jobs that wait for a worker: each occupies a thread that pages need too
_MAX_RESULT = 8 * 1024 * 1024  # bytes; a drawing has some hundred thousand
_MAX_MEMORY = 4 * 1024**3  # address space of a process in bytes; the solver reserves about a quarter of it


class WorkersBusyError(FormalimgError):
    """All workers are busy."""


class JobTimeoutError(FormalimgError):
    """The job took too long and was stopped."""


class InputTooLargeError(FormalimgError):
    """The input exceeds the limits of the playground."""


class JobPool:
    """A limited number of worker processes, which start on demand."""

    def __init__(self, workers: int = 3, queue_timeout: float = 2.0) -> None:
        self._free, self._waiting = BoundedSemaphore(workers), BoundedSemaphore(workers + _MAX_WAITING)
        self._large = BoundedSemaphore(1)
        self._queue_timeout = queue_timeout
        self._idle: deque[Popen[bytes]] = deque()
        weakref.finalize(self, _end_all, self._idle)

    def run(self, job: str, seconds: float, is_large: bool = False, /, **arguments: object) -> dict[str, object]:
        """Run one of the `JOBS` and return its result; only one large job runs at a time."""
        large = _acquire(self._large, self._queue_timeout) if is_large else contextlib.nullcontext()
        with _acquire(self._waiting, 0), large, _acquire(self._free, self._queue_timeout):
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
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), **_RETURN_MEMORY}
        return Popen([sys.executable, "-P", "-c", WORKER], stdin=PIPE, stdout=PIPE, env=environment)


@contextlib.contextmanager
def _acquire(semaphore: BoundedSemaphore, timeout: float) -> Iterator[None]:
    if not semaphore.acquire(timeout=timeout):
        raise WorkersBusyError("all workers are busy: try again in a few seconds")
    try:
        yield
    finally:
        semaphore.release()


def _exchange(process: Popen[bytes], request: dict[str, object], seconds: float) -> dict[str, object]:
    assert process.stdin is not None
    assert process.stdout is not None
    begun = time.monotonic()
    line = b""
    with contextlib.suppress(BrokenPipeError):
        process.stdin.write(json.dumps(request).encode("ascii") + b"\n")
        process.stdin.flush()
        line = process.stdout.readline()
    if line:
        answer: dict[str, object] = json.loads(line)
        return answer
    _end(process)
    if time.monotonic() - begun >= seconds - _TIMEOUT_TOLERANCE:
        raise JobTimeoutError(f"this took longer than {seconds:g} seconds and was stopped")
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


# --- in the worker process


def serve() -> None:
    """Execute jobs line by line until the input ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent is interrupted, and closes our input
    results, sys.stdout = sys.stdout.buffer, sys.stderr  # so that nothing else is read as a result
    limit_memory()
    import formalimg.scenes.solver.search  # noqa: F401  # before the time of a job begins
    from formalimg.web.playground.jobs import JOBS

    with Path(os.devnull).open("wb") as null:
        for line in sys.stdin.buffer:
            request = json.loads(line)
            # Ends the process whatever it is doing, without a watchdog outside.
            faulthandler.dump_traceback_later(request["seconds"], exit=True, file=null)
            result = json.dumps(execute(JOBS[request["job"]], request["arguments"])).encode("ascii")
            if len(result) > _MAX_RESULT:
                message = f"the result has {len(result):,} bytes, too many to be shown: make the formula smaller"
                result = json.dumps({"too large": message}).encode("ascii")
            faulthandler.cancel_dump_traceback_later()
            results.write(result + b"\n")
            results.flush()


def limit_memory() -> None:
    """Limit the memory of this process where the system supports it."""
    with contextlib.suppress(ImportError, OSError, ValueError):  # no such limits, or a lower one
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (_MAX_MEMORY, resource.getrlimit(resource.RLIMIT_AS)[1]))


def execute(job: Job, arguments: Mapping[str, object]) -> dict[str, object]:
    """Run a job, and return its result or its error as plain data."""
    try:
        return job(arguments)
    except FormalimgError as error:
        kind = "too large" if isinstance(error, InputTooLargeError) else "error"
        return {kind: str(error).encode("utf-8", "replace").decode()}  # without lone surrogates
    except MemoryError:
        return {"too large": "this takes too much memory here: make the formula or the scene smaller"}
