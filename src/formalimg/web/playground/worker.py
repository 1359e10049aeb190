"""The worker process: a job as a line of JSON in, its result as a line of JSON out. It kills itself on timeout."""

from __future__ import annotations

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


def serve(requests: IO[bytes], results: IO[bytes]) -> None:
    """Execute jobs line by line until the input ends."""
    with Path(os.devnull).open("wb") as nowhere:
        for line in requests:
            request = json.loads(line)
            # Ends the process whatever it is doing, without a watchdog outside.
            faulthandler.dump_traceback_later(request["seconds"], exit=True, file=nowhere)
            result = _execute(request["job"], request["arguments"])
            faulthandler.cancel_dump_traceback_later()
            results.write(json.dumps(result).encode("ascii") + b"\n")
            results.flush()


def _execute(job: str, arguments: dict[str, object]) -> dict[str, object]:
    try:
        return JOBS[job](arguments)
    except InputTooLargeError as error:
        return {"too large": _message(error)}
    except FormalimgError as error:
        return {"error": _message(error)}


def _message(error: FormalimgError) -> str:
    """Return the message without lone surrogates that it may quote."""
    return str(error).encode("utf-8", "replace").decode()


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent is interrupted, and closes our input
    results, sys.stdout = sys.stdout.buffer, sys.stderr  # so that nothing else is read as a result
    serve(sys.stdin.buffer, results)
