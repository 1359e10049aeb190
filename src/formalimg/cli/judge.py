"""`formalimg judge`."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Annotated

import typer

from formalimg.cli import options
from formalimg.cli.running import Done, judge_pictures, open_judges, show_numbers


def judge_command(
    folder: Annotated[Path, typer.Argument(metavar="RUN", help="The run folder.", show_default=False)],
    judge: options.JudgeNames = None,
    judge_option: options.JudgeOptions = None,
    prompts: options.Prompts = None,
    budget: options.Budget = None,
) -> None:
    """Judge the pictures of a run that have no verdict of this judge yet, and print the numbers."""
    from formalimg.runs import open_run  # here, so that other commands start faster

    with closing(open_run(folder)) as run:
        card = run.card
    judges = open_judges(card.suite, judge, judge_option, prompts, card.task)
    for one in judges:
        judge_pictures(folder, one, f"judging {card.suite}, {card.model.name}, by {one.name}", budget)
    show_numbers(Done([folder], judges))
