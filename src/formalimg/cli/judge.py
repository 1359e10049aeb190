"""`formalimg judge`: judge the images of a run, or a folder of grounding files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from formalimg import __version__
from formalimg.cli import options
from formalimg.cli.commands import argument, option
from formalimg.cli.options import PriceOptions, require_prices
from formalimg.cli.run import open_named_judges
from formalimg.cli.run_output import (
    console_output,
    default_budget,
    default_runs,
    exit_if_stopped,
    finish_run,
    print_rates,
)
from formalimg.cli.streams import warn
from formalimg.errors import FormalimgError

if TYPE_CHECKING:
    from formalimg.judges.grounding_files import GroundingFolder
    from formalimg.types import Item, Judge

_SHOWN = 3


def judge_command(
    folder: Annotated[Path | None, argument("RUN", "The run folder; none with --groundings.")] = None,
    judge: options.JudgeNames = None,
    judge_option: options.JudgeOptions = None,
    protocol: options.ProtocolName = "default",
    profile: options.SumProfile = None,
    prompts: options.Prompts = None,
    price: options.Prices = None,
    budget: options.Budget = None,
    no_preflight: options.NoPreflight = False,
    max_failures: options.MaxFailures = None,
    min_coverage: options.MinCoverage = None,
    groundings: Annotated[
        Path | None,
        option(
            "DIR",
            "Judge grounding files instead of a run: DIR/0.json, or DIR/MODEL/grounding/json/0.json for each "
            "model. Makes a run folder for each model.",
        ),
    ] = None,
    items: Annotated[
        Path | None, option("PATH", "With --groundings: load the items from here. Default: the suite of formalimg.")
    ] = None,
    task: Annotated[
        Literal["image", "layout"],
        option("With --groundings: what the files are about; layout: plans of a chat model."),
    ] = "image",
    name: Annotated[
        str | None, option("NAME", "With --groundings: name of the model. Default: the name of its folder.")
    ] = None,
    runs: options.RunsFolder = None,
    out: options.RunFolder = None,
    engine: options.EngineName = "local",
    address: options.RayAddress = None,
    workers: options.Workers = None,
    gpus_per_worker: options.GpusPerWorker = None,
    cpus_per_worker: options.CpusPerWorker = None,
) -> None:
    """Judge the images of a run and print the pass rates; or do so for a folder of grounding files.

    Images that this judge has already scored are skipped. Exit code 1 if nothing could be scored.
    """
    if groundings is not None:
        values = {
            "RUN": folder,
            "--judge": judge,
            "-J": judge_option,
            "--price": price,
            "--prompts": prompts,
        }
        _refuse(values, "--groundings")
        runs_folder = default_runs(runs, needed=out is None)
        is_published = protocol != "default"
        judged_runs = _judge_groundings(groundings, items, task, name, runs_folder, out, is_published)
        print_rates(judged_runs, min_coverage, profile)
        return
    _refuse({"--items": items, "--name": name, "--out": out}, "a run")
    if folder is None:
        raise FormalimgError("nothing to judge: name a run folder, or give --groundings DIR")
    from formalimg.runs.config import RunOptions
    from formalimg.runs.parties import MAX_FAILURES, EngineOptions
    from formalimg.runs.prepared_run import judge_images  # these here, so that other commands start faster
    from formalimg.runs.reader import open_run

    with closing(open_run(folder)) as run:
        manifest = run.manifest
    prices = PriceOptions(price, {"judge": judge or []})
    judges = open_named_judges(
        manifest.suite,
        manifest.model.name,
        judge,
        judge_option,
        partial(prices.option, "judge"),
        task=manifest.task,
        protocol=protocol,
        prompts=prompts,
        making=False,
    )
    budget = default_budget(budget)
    require_prices(budget, [opened.instance for opened in judges])
    engine_options = EngineOptions(engine, address, workers, gpus_per_worker, cpus_per_worker)
    run_options = RunOptions(
        suite=manifest.suite,
        preflight=False if no_preflight else None,
        max_failures=MAX_FAILURES if max_failures is None else max_failures,
    )
    for number, opened in enumerate(judges):
        further = [further_judge.instance for further_judge in judges[1:]] if number == 0 else []
        title = f"judging {manifest.suite}, {manifest.model.name}, by {opened.instance.name}"
        guards = run_options.safeguards(further, warn)
        done = judge_images(
            folder, opened, title, console_output(), budget=budget, engine=engine_options, safeguards=guards
        )
        finish_run(done, folder)
    print_rates([(folder, opened.instance) for opened in judges], min_coverage, profile)


def _judge_groundings(
    groundings: Path,
    items: Path | None,
    task: Literal["image", "layout"],
    name: str | None,
    runs: Path,
    out: Path | None,
    is_published: bool,
) -> list[tuple[Path, Judge]]:
    """Create and judge a run for the grounding files of each model."""
    from formalimg.benchmarks.loader import load
    from formalimg.benchmarks.registry import suite, suite_names
    from formalimg.judges.grounding_files import GroundedImages, GroundingFileJudge, find_grounding_folders
    from formalimg.runs.config import RunConfig, run_name
    from formalimg.runs.execution import execute
    from formalimg.runs.progress import run_progress

    grounded = next(name for name in suite_names() if suite(name).is_grounded)
    folders = find_grounding_folders(groundings)
    if len(folders) > 1 and (out or name):
        raise FormalimgError(
            f"{groundings} holds {len(folders)} models: leave --out and --name out, or give one of them"
        )
    loaded = load(grounded, items)
    for grounding_folder in folders:
        _report_unknown(grounding_folder, loaded)
    made: list[tuple[Path, Judge]] = []
    for grounding_folder in folders:
        model = GroundedImages(grounding_folder, name or grounding_folder.model)
        judge = GroundingFileJudge(grounding_folder, fails_unreadable=task == "layout", is_published=is_published)
        folder = out or runs / run_name(grounded, model.name, "layout" if task == "layout" else "")
        config = RunConfig(
            loaded,
            model,
            samples=grounding_folder.samples([item.id for item in loaded]),
            made_with=f"formalimg {__version__}",
            task=task,
        )
        with run_progress(f"{grounded}, {model.name}, by its grounding files") as on_progress:
            exit_if_stopped(execute(config, folder, judge, on_progress=on_progress).stopped, folder)
        made.append((folder, judge))
    return made


def _report_unknown(folder: GroundingFolder, items: Sequence[Item[object]]) -> None:
    """Warn about files that match no item. Raise an error if none of them match."""
    ids = [item.id for item in items]
    unknown = folder.unknown_files(ids, folder.samples(ids))
    listed = ", ".join(unknown[:_SHOWN]) + (" …" if len(unknown) > _SHOWN else "")
    if len(unknown) == len(folder.files):
        raise FormalimgError(
            f"none of the {len(unknown):,} files in {folder.path} ({listed}) is named after an item: give the items "
            "that they belong to with --items"
        )
    if unknown:
        warn(f"{len(unknown):,} of {len(folder.files):,} files in {folder.path} belong to no item: {listed}")


def _refuse(values: Mapping[str, object], alternative: str) -> None:
    for name, value in values.items():
        if value:
            raise FormalimgError(f"{name} cannot be combined with {alternative}: leave one of them out")
