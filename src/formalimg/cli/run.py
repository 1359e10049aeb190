"""`formalimg run` and `formalimg generate`: generate and judge the images of a suite."""

from __future__ import annotations

from pathlib import Path

import typer

from formalimg.cli import options
from formalimg.cli.run_execution import RunOptions, execute_all, print_rates


def run_command(
    suite: options.SuiteName,
    model: options.ModelNames,
    judge: options.JudgeNames = None,
    model_option: options.ModelOptions = None,
    judge_option: options.JudgeOptions = None,
    items: options.ItemsPath = None,
    levels: options.Levels = None,
    per_level: options.PerLevel = None,
    samples: options.Samples = 1,
    seed: options.Seed = 1,
    size: options.Size = 1024,
    task: options.Task = "image",
    condition: options.ConditionName = "plain",
    words: options.Words = "with",
    layouts: options.Layouts = "solver",
    style: options.Style = "auto",
    prompts: options.Prompts = None,
    budget: options.Budget = None,
    dry_run: options.DryRun = False,
    engine: options.EngineName = "local",
    address: options.RayAddress = None,
    workers: options.Workers = None,
    gpus_per_worker: options.GpusPerWorker = None,
    cpus_per_worker: options.CpusPerWorker = None,
    images: options.Images = None,
    runs: options.RunsFolder = Path("runs"),
    out: options.RunFolder = None,
) -> None:
    """Generate the images of a suite, judge them and print the pass rates.

    Run the same command again to resume. Ctrl-C stops cleanly.
    """
    asked = RunOptions(**locals())
    done = execute_all(asked, judging=True)
    if not dry_run:
        print_rates(done)


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
    task: options.Task = "image",
    condition: options.ConditionName = "plain",
    words: options.Words = "with",
    layouts: options.Layouts = "solver",
    style: options.Style = "auto",
    prompts: options.Prompts = None,
    budget: options.Budget = None,
    dry_run: options.DryRun = False,
    engine: options.EngineName = "local",
    address: options.RayAddress = None,
    workers: options.Workers = None,
    gpus_per_worker: options.GpusPerWorker = None,
    cpus_per_worker: options.CpusPerWorker = None,
    images: options.Images = None,
    runs: options.RunsFolder = Path("runs"),
    out: options.RunFolder = None,
) -> None:
    """Generate the images of a suite, to be judged later with `judge`."""
    asked = RunOptions(**locals())
    from formalimg.runs import images_url  # here, so that other commands start faster, and no option is called so

    for folder in execute_all(asked, judging=False).folders:
        if not dry_run:
            place = images_url(images, folder) if images else folder / "images"
            typer.echo(f"images in {place}; judge them with: formalimg judge {folder}")
