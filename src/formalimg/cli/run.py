"""`formalimg run` and `formalimg generate`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import typer

from formalimg import __version__
from formalimg.cli import options
from formalimg.cli.progress import run_progress
from formalimg.errors import FormalimgError

if TYPE_CHECKING:
    from formalimg.judges import Judge


class Asked(NamedTuple):
    """What the options of both commands ask for."""

    suite: str
    models: list[str]
    model_options: dict[str, str]
    items: Path | None
    levels: tuple[int, ...] | None
    per_level: int | None
    samples: int
    seed: int
    size: int
    runs: Path
    out: Path | None


def run_command(
    suite: options.SuiteName,
    model: options.ModelNames,
    judge: options.JudgeName = None,
    model_option: options.ModelOptions = None,
    items: options.ItemsPath = None,
    levels: options.Levels = None,
    per_level: options.PerLevel = None,
    samples: options.Samples = 1,
    seed: options.Seed = 1,
    size: options.Size = 1024,
    runs: options.RunsFolder = Path("runs"),
    out: options.RunFolder = None,
) -> None:
    """Let image models make the pictures of a suite, judge them, and print the numbers.

    The same command again goes on where the last one ended. Ctrl-C stops cleanly.
    """
    from formalimg.judges import open_judge  # here, so that other commands start faster
    from formalimg.suites import suite as known_suite

    known_suite(suite)
    asked = _asked(suite, model, model_option, items, levels, per_level, samples, seed, size, runs, out)
    show_numbers(_carry_out(asked, open_judge(suite, judge)))


def generate_command(
    suite: options.SuiteName,
    model: options.ModelNames,
    model_option: options.ModelOptions = None,
    items: options.ItemsPath = None,
    levels: options.Levels = None,
    per_level: options.PerLevel = None,
    samples: options.Samples = 1,
    seed: options.Seed = 1,
    size: options.Size = 1024,
    runs: options.RunsFolder = Path("runs"),
    out: options.RunFolder = None,
) -> None:
    """Let image models make the pictures of a suite; `formalimg judge` looks at them later."""
    asked = _asked(suite, model, model_option, items, levels, per_level, samples, seed, size, runs, out)
    for folder in _carry_out(asked, None):
        typer.echo(f"pictures in {folder / 'images'}; judge them with: formalimg judge {folder}")


def show_numbers(folders: list[Path]) -> None:
    """Print the table of these runs, and where they lie."""
    from rich.console import Console

    from formalimg.report import compare, terminal_table
    from formalimg.runs import open_run

    Console().print(terminal_table(compare([open_run(folder) for folder in folders])))
    for folder in folders:
        typer.echo(f"run in {folder}")


def stop_if_stopped(stopped: bool, folder: Path) -> None:
    """End the command if it was interrupted."""
    if stopped:
        typer.echo(f"stopped; all that is done is kept in {folder}. The same command goes on.", err=True)
        raise typer.Exit(130)


def _asked(
    suite: str,
    models: list[str],
    model_options: list[str] | None,
    items: Path | None,
    levels: str | None,
    per_level: int | None,
    samples: int,
    seed: int,
    size: int,
    runs: Path,
    out: Path | None,
) -> Asked:
    if out is not None and len(models) > 1:
        raise FormalimgError("one run folder holds one model: give --runs instead of --out for several models")
    chosen = None if levels is None else options.read_levels(levels)
    found = options.read_options(model_options)
    return Asked(suite, models, found, items, chosen, per_level, samples, seed, size, runs, out)


def _carry_out(asked: Asked, judge: Judge | None) -> list[Path]:
    """Do one run for each model; their folders are given back."""
    from formalimg.models import open_image_model
    from formalimg.runs import Order, Selection, carry_out, run_name
    from formalimg.suites import load

    opened = [open_image_model(name, asked.model_options) for name in asked.models]
    items = load(asked.suite, asked.items)
    selection = Selection(asked.levels, asked.per_level)
    folders = []
    for model in opened:
        folder = asked.out or asked.runs / run_name(asked.suite, model.name)
        order = Order(items, model, selection, asked.samples, asked.seed, asked.size, f"formalimg {__version__}")
        with run_progress(f"{asked.suite}, {model.name}") as told:
            done = carry_out(
                order, folder, judge, told=told, matched=lambda matching: typer.echo(matching.told(), err=True)
            )
        stop_if_stopped(done.stopped, folder)
        folders.append(folder)
    return folders
