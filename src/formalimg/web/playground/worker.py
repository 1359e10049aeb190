"""A process that does long work: a line of JSON in, a line of JSON out; it ends itself where that takes too long."""

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


def serve(arguments: IO[bytes], answers: IO[bytes]) -> None:
    """Do what is asked, line by line, until whoever asks is gone."""
    with Path(os.devnull).open("wb") as nowhere:
        for line in arguments:
            asked = json.loads(line)
            # It ends the process whatever the process is doing, and needs nobody who watches from outside.
            faulthandler.dump_traceback_later(asked["seconds"], exit=True, file=nowhere)
            answer = _answer(asked["job"], asked["arguments"])
            faulthandler.cancel_dump_traceback_later()
            answers.write(json.dumps(answer).encode("ascii") + b"\n")
            answers.flush()


def _answer(job: str, arguments: dict[str, object]) -> dict[str, object]:
    try:
        return JOBS[job](arguments)
    except InputTooLargeError as error:
        return {"too large": _words(error)}
    except FormalimgError as error:
        return {"error": _words(error)}


def _words(error: FormalimgError) -> str:
    """What it says, without the halves of characters that it may quote."""
    return str(error).encode("utf-8", "replace").decode()


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # whoever asks is interrupted, and then gone
    answers, sys.stdout = sys.stdout.buffer, sys.stderr  # so that nothing else is taken for an answer
    serve(sys.stdin.buffer, answers)
