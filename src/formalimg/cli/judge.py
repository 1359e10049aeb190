"""`formalimg judge`: judge the images of a run."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Annotated

import typer

from formalimg.cli import options
from formalimg.cli.engine_options import EngineOptions
from formalimg.cli.run_execution import FinishedRuns, judge_images, open_judges, print_rates, require_prices


def judge_command(
    folder: Annotated[Path, typer.Argument(metavar="RUN", help="The run folder.", show_default=False)],
    judge: options.JudgeNames = None,
    judge_option: options.JudgeOptions = None,
    prompts: options.Prompts = None,
    budget: options.Budget = None,
    engine: options.EngineName = "local",
    address: options.RayAddress = None,
    workers: options.Workers = None,
    gpus_per_worker: options.GpusPerWorker = None,
    cpus_per_worker: options.CpusPerWorker = None,
) -> None:
    """Judge the images of a run and print the pass rates.

    Images that this judge has already scored are skipped. Exit code 1 if nothing could be scored.
    """
    from formalimg.runs import open_run  # here, so that other commands start faster

    with closing(open_run(folder)) as run:
        manifest = run.manifest
    engine_options = EngineOptions(engine, address, workers, gpus_per_worker, cpus_per_worker)
    judges = open_judges(manifest.suite, judge, judge_option, prompts, manifest.task)
    require_prices(budget, [one.instance.name for one in judges])
    for one in judges:
        title = f"judging {manifest.suite}, {manifest.model.name}, by {one.instance.name}"
        judge_images(folder, one, title, budget, engine_options)
    print_rates(FinishedRuns([folder], [one.instance for one in judges]))
