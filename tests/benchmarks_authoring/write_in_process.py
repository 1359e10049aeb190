"""Writes in a process of its own, slowly, so that it can be killed: `python -m … FOLDER SECONDS_PER_ANSWER`."""

from __future__ import annotations

import sys
import time
from typing import Any

from formalimg.benchmarks.authoring.engine import author_suite
from formalimg.benchmarks.authoring.task import AuthoringPlan
from tests.benchmarks_authoring.scripted import Scripted, honest_draft

PLAN = AuthoringPlan("knolling", (1, 2, 3), 5, attempts=4)


def main(folder: str, seconds: float) -> None:
    def write(question: str) -> dict[str, Any]:
        print("asked", flush=True)
        time.sleep(seconds)
        return honest_draft(question)

    author_suite(PLAN, Scripted(write), folder)


if __name__ == "__main__":
    main(sys.argv[1], float(sys.argv[2]))
