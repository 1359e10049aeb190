"""`formalimg config`: show the defaults in force and their sources, and trust projects."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated

import typer

from formalimg.cli.commands import GroupedCommand, option
from formalimg.cli.streams import echo, print_json
from formalimg.errors import FormalimgError

config_app = typer.Typer(
    add_completion=False,
    rich_markup_mode=None,
    invoke_without_command=True,
    help="""Print the defaults in force, and where they come from.

    They are those of the nearest formalimg.toml of the project, then of your own, below FORMALIMG_JUDGE and the
    command line. Keys are never printed.
    """,
)


@config_app.callback()
def config_command(
    context: typer.Context,
    as_json: Annotated[bool, option("--json", "Print the defaults as JSON.")] = False,
) -> None:
    """Print the defaults, unless a subcommand is called."""
    if context.invoked_subcommand is None:
        _print_defaults(as_json)


@config_app.command("allow", cls=GroupedCommand, short_help="Let this project's formalimg.toml decide more.")
def allow_command() -> None:
    """Let the formalimg.toml of this project name servers, weights, code and folders, as long as it is not changed.

    It is remembered by path and digest, beside your own formalimg.toml. What lies in folders that it names may change
    without asking again.
    """
    from formalimg.runs.defaults.config_file import allow_file, read_wishes

    path = _require_project_file()
    content, wishes = read_wishes(path)
    allow_file(path, content)
    echo(f"allowed, as long as it is not changed: {path}")
    for wish in wishes:
        echo(f"  {wish}")


@config_app.command("revoke", cls=GroupedCommand, short_help="Take that back.")
def revoke_command() -> None:
    """Let the formalimg.toml of this project set harmless defaults only, as before `config allow`."""
    from formalimg.runs.defaults.config_file import revoke_file

    path = _require_project_file()
    echo(f"no longer allowed: {path}" if revoke_file(path) else f"{path} was not allowed")


def _require_project_file() -> Path:
    from formalimg.runs.defaults.settings import project_file

    path = project_file()
    if path is None:
        raise FormalimgError("there is no formalimg.toml in this folder or its project: go to the project's folder")
    return path


def _print_defaults(as_json: bool) -> None:
    from formalimg.benchmarks.registry import suite, suite_names
    from formalimg.runs.defaults.settings import (
        DRAWN,
        ICONS,
        load_defaults,
        user_file,
    )  # here, so that other commands start faster

    defaults = load_defaults()
    general, budget, runs = defaults.judge(), defaults.budget, defaults.runs
    by_suite = {name: defaults.judge(name) for name in suite_names()}
    special = {name: judge for name, judge in by_suite.items() if judge is not None and judge != general}
    limit = None if budget.value is None or math.isinf(budget.value) else budget.value
    grounder = defaults.grounder
    if as_json:
        values = {
            "judge": None if general is None else vars(general),
            "suites": {name: vars(judge) for name, judge in special.items()},
            "grounder": None if grounder is None else vars(grounder),
            "budget": {"value": limit, "source": budget.source},
            "runs": {"value": str(runs.value), "source": runs.source},
            "files": [file.path for file in defaults.files],
        }
        print_json(values)
        return
    echo(f"files    {', '.join(file.path for file in defaults.files) or f'none; your own would be {user_file()}'}")
    for label, judge, world in (("judge   ", ICONS, "icons"), ("        ", DRAWN, "drawn")):
        *names, last = (name for name in suite_names() if suite(name).world == world)
        echo(f"{label} {judge} for builtin models on {', '.join(names)} and {last}")
    echo(f"         {_without_label(general) if general else 'none'} for all others")
    for name, configured in special.items():
        echo(f"         {_without_label(configured)} for {name}")
    if grounder is not None:
        options = ", ".join(f"{name}={value}" for name, value in grounder.options.items())
        echo(f"grounder {grounder.name}{f' ({options})' if options else ''}{_origin(grounder.source)} for rewards")
    echo(f"budget   {'none' if limit is None else f'{limit:g} dollars'}{_origin(budget.source)}")
    echo(f"runs     {runs.value}{_origin(runs.source)}")


def _without_label(judge: object) -> str:
    return str(judge).removeprefix("judge ")


def _origin(source: str) -> str:
    return f" from {source}" if source else ""
