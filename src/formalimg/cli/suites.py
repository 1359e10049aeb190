"""`formalimg suites`: list the suites."""

from __future__ import annotations

import json
from typing import Annotated

from formalimg.cli.commands import option
from formalimg.cli.streams import echo, print_data


def suites_command(
    as_json: Annotated[bool, option("--json", "Print the suites as JSON.")] = False,
) -> None:
    """List the suites: their items and levels, what judges their images, and where items come from.

    Any of them can be run, as in `formalimg run knolling`. Nothing is downloaded.
    """
    from formalimg.benchmarks.suite_summaries import summarize_suites  # here, so that other commands start faster

    suites = summarize_suites()
    if as_json:
        print_data(f"{json.dumps([suite.to_json() for suite in suites], indent=2, ensure_ascii=False)}\n")
        return
    for suite in suites:
        first, *rest = suite.lines()
        echo("\n".join([first, *(f"    {line}" for line in rest)]))
