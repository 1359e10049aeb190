"""`formalimg judge`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from formalimg.cli import options
from formalimg.cli.progress import run_progress
from formalimg.cli.running import show_numbers, stop_if_stopped


def judge_command(
    folder: Annotated[Path, typer.Argument(metavar="RUN", help="The run folder.", show_default=False)],
    judge: options.JudgeName = None,
) -> None:
    """Judge the pictures of a run that have no verdict of this judge yet, and print the numbers."""
    from formalimg.judges import open_judge  # here, so that other commands start faster
    from formalimg.runs import judge_run, open_run

    run = open_run(folder)
    referee = open_judge(run.card.suite, judge)
    with run_progress(f"judging {run.card.suite}, {run.card.model.name}") as told:
        done = judge_run(folder, referee, told=told)
    stop_if_stopped(done.stopped, folder)
    show_numbers([folder])
