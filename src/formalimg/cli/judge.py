"""`formalimg judge`."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Annotated

import typer

from formalimg.cli import options
from formalimg.cli.progress import run_progress
from formalimg.cli.running import judge_options, show_numbers, stop_if_stopped


def judge_command(
    folder: Annotated[Path, typer.Argument(metavar="RUN", help="The run folder.", show_default=False)],
    judge: options.JudgeName = None,
    judge_option: options.JudgeOptions = None,
    prompts: options.Prompts = None,
    budget: options.Budget = None,
) -> None:
    """Judge the pictures of a run that have no verdict of this judge yet, and print the numbers."""
    from formalimg.judges import open_judge  # here, so that other commands start faster
    from formalimg.runs import judge_run, open_run

    with closing(open_run(folder)) as run:
        card = run.card
    referee = open_judge(card.suite, judge, judge_options(judge, judge_option, prompts), card.task)
    with run_progress(f"judging {card.suite}, {card.model.name}") as told:
        done = judge_run(folder, referee, budget=budget, told=told)
    stop_if_stopped(done.stopped, folder, over_budget=done.over_budget)
    show_numbers([folder])
