"""`formalimg config`: the defaults in force, and where they come from."""

from __future__ import annotations

import json
import math
from typing import Annotated

import typer

from formalimg.cli.streams import echo, print_data


def config_command(
    as_json: Annotated[bool, typer.Option("--json", help="Print the defaults as JSON.")] = False,
) -> None:
    """Print the defaults in force, and where they come from.

    They are those of the nearest formalimg.toml of the project, then of your own, below FORMALIMG_JUDGE and the
    command line. Keys are never printed.
    """
    from formalimg.config import DRAWN, ICONS, load_defaults, user_file  # here, so that other commands start faster
    from formalimg.suites import suite, suite_names

    defaults = load_defaults()
    general, budget, runs = defaults.judge(), defaults.budget, defaults.runs
    by_suite = {name: defaults.judge(name) for name in suite_names()}
    special = {name: judge for name, judge in by_suite.items() if judge is not None and judge != general}
    limit = None if budget.value is None or math.isinf(budget.value) else budget.value
    if as_json:
        found = {
            "judge": None if general is None else vars(general),
            "suites": {name: vars(judge) for name, judge in special.items()},
            "budget": {"value": limit, "source": budget.source},
            "runs": {"value": str(runs.value), "source": runs.source},
            "files": [file.path for file in defaults.files],
        }
        print_data(f"{json.dumps(found, indent=2, ensure_ascii=False, default=dict)}\n")
        return
    echo(f"files    {', '.join(file.path for file in defaults.files) or f'none; your own would be {user_file()}'}")
    for label, judge, world in (("judge   ", ICONS, "icons"), ("        ", DRAWN, "drawn")):
        *others, last = (name for name in suite_names() if suite(name).world == world)
        echo(f"{label} {judge} for builtin models on {', '.join(others)} and {last}")
    echo(f"         {_without_label(general) if general else 'none'} for all others")
    for name, configured in special.items():
        echo(f"         {_without_label(configured)} for {name}")
    echo(f"budget   {'none' if limit is None else f'{limit:g} dollars'}{_origin(budget.source)}")
    echo(f"runs     {runs.value}{_origin(runs.source)}")


def _without_label(judge: object) -> str:
    return str(judge).removeprefix("judge ")


def _origin(source: str) -> str:
    return f" from {source}" if source else ""
