"""The worker process: reads jobs and writes results as lines of JSON, and kills itself on timeout."""

from __future__ import annotations

import contextlib
import faulthandler
import json
import os
import signal
import sys
from pathlib import Path
from typing import IO

from formalimg.errors import FormalimgError
from formalimg.web.playground.jobs import JOBS
from formalimg.web.playground.worker_pool import InputTooLargeError

_MAX_RESULT = 8 * 1024 * 1024  # Maximum number of bytes of a result; a drawing has some hundred thousand
_MAX_MEMORY = 4 * 1024**3  # Maximum address space of the process, in bytes; the solver reserves about a quarter of it


def limit_memory() -> None:
    """Limit the memory of this process where the system supports it."""
    with contextlib.suppress(ImportError, OSError, ValueError):  # no such limits, or a lower one
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (_MAX_MEMORY, resource.getrlimit(resource.RLIMIT_AS)[1]))


def serve(requests: IO[bytes], results: IO[bytes]) -> None:
    """Execute jobs line by line until the input ends."""
    with Path(os.devnull).open("wb") as nowhere:
        for line in requests:
            request = json.loads(line)
            # Ends the process whatever it is doing, without a watchdog outside.
            faulthandler.dump_traceback_later(request["seconds"], exit=True, file=nowhere)
            result = json.dumps(_execute(request["job"], request["arguments"])).encode("ascii")
            if len(result) > _MAX_RESULT:
                message = f"the result has {len(result):,} bytes, too many to be shown: make the formula smaller"
                result = json.dumps({"too large": message}).encode("ascii")
            faulthandler.cancel_dump_traceback_later()
            results.write(result + b"\n")
            results.flush()


def _execute(job: str, arguments: dict[str, object]) -> dict[str, object]:
    try:
        return JOBS[job](arguments)
    except InputTooLargeError as error:
        return {"too large": _message(error)}
    except FormalimgError as error:
        return {"error": _message(error)}
    except MemoryError:
        return {"too large": "this takes too much memory here: make the formula or the scene smaller"}


def _message(error: FormalimgError) -> str:
    """Return an error message with lone surrogates replaced."""
    return str(error).encode("utf-8", "replace").decode()


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent is interrupted, and closes our input
    results, sys.stdout = sys.stdout.buffer, sys.stderr  # so that nothing else is read as a result
    limit_memory()
    serve(sys.stdin.buffer, results)
