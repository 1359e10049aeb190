"""`formalimg judge`: judge the images of a run, or a folder of grounding files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from formalimg import __version__
from formalimg.cli import options
from formalimg.cli.engine_options import EngineOptions
from formalimg.cli.price_options import GivenPrices, Prices, require_prices
from formalimg.cli.run_execution import (
    FinishedRuns,
    default_budget,
    default_runs,
    exit_if_stopped,
    judge_images,
    open_judges,
    print_rates,
    print_rates_by_judge,
)
from formalimg.cli.safeguard_options import MaxFailures, MinCoverage, NoPreflight, safeguards
from formalimg.cli.streams import echo
from formalimg.errors import FormalimgError

if TYPE_CHECKING:
    from formalimg.judges import GroundingFolder, Judge
    from formalimg.suites import Item

_SHOWN = 3


def judge_command(
    folder: Annotated[
        Path | None, typer.Argument(metavar="[RUN]", help="The run folder; none with --groundings.", show_default=False)
    ] = None,
    judge: options.JudgeNames = None,
    judge_option: options.JudgeOptions = None,
    protocol: options.ProtocolName = "default",
    prompts: options.Prompts = None,
    price: Prices = None,
    budget: options.Budget = None,
    no_preflight: NoPreflight = False,
    max_failures: MaxFailures = None,
    min_coverage: MinCoverage = None,
    groundings: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Judge grounding files instead of a run: DIR/0.json, or DIR/MODEL/grounding/json/0.json for each "
            "model. Makes a run folder for each model.",
            show_default=False,
        ),
    ] = None,
    items: Annotated[
        Path | None,
        typer.Option(
            metavar="PATH", help="With --groundings: load the items from here. Default: the suite of formalimg."
        ),
    ] = None,
    task: Annotated[
        Literal["image", "layout"],
        typer.Option(help="With --groundings: what the files are about; layout: plans of a chat model."),
    ] = "image",
    name: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="With --groundings: name of the model. Default: the name of its folder."),
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
        given = {
            "RUN": folder,
            "--judge": judge,
            "--judge-option": judge_option,
            "--price": price,
            "--prompts": prompts,
        }
        _refuse({**given, "--protocol": None if protocol == "default" else protocol}, "--groundings")
        place = default_runs(runs, needed=out is None)
        print_rates_by_judge(_judge_groundings(groundings, items, task, name, place, out), min_coverage)
        return
    _refuse({"--items": items, "--name": name, "--out": out}, "a run")
    if folder is None:
        raise FormalimgError("there is nothing to judge: name a run folder, or give --groundings DIR")
    from formalimg.runs import open_run  # here, so that other commands start faster

    with closing(open_run(folder)) as run:
        manifest = run.manifest
    judges = open_judges(
        manifest.suite,
        manifest.model.name,
        judge,
        judge_option,
        prompts,
        manifest.task,
        protocol,
        GivenPrices(price, {"judge": judge or []}),
        making=False,
    )
    budget = default_budget(budget)
    require_prices(budget, [one.instance for one in judges])
    engine_options = EngineOptions(engine, address, workers, gpus_per_worker, cpus_per_worker)
    for number, one in enumerate(judges):
        guards = safeguards(no_preflight, max_failures, judges[1:] if number == 0 else ())
        title = f"judging {manifest.suite}, {manifest.model.name}, by {one.instance.name}"
        judge_images(folder, one, title, budget, engine_options, guards)
    print_rates(FinishedRuns([folder], [(folder, one.instance) for one in judges]), min_coverage)


def _judge_groundings(
    groundings: Path,
    items: Path | None,
    task: Literal["image", "layout"],
    name: str | None,
    runs: Path,
    out: Path | None,
) -> list[tuple[Path, Judge]]:
    """Make a run of the grounding files of each model."""
    from formalimg.judges import GroundedImages, GroundingFileJudge, find_grounding_folders
    from formalimg.runs import RunConfig, execute, run_name, run_progress
    from formalimg.suites import load, suite, suite_names

    grounded = next(one for one in suite_names() if suite(one).judge == "scene")
    folders = find_grounding_folders(groundings)
    if len(folders) > 1 and (out or name):
        raise FormalimgError(
            f"{groundings} holds {len(folders)} models: leave --out and --name out, or give one of them"
        )
    loaded = load(grounded, items)
    for one in folders:
        _report_unknown(one, loaded)
    made: list[tuple[Path, Judge]] = []
    for one in folders:
        model = GroundedImages(one, name or one.model)
        judge = GroundingFileJudge(one, fails_unreadable=task == "layout")
        folder = out or runs / run_name(grounded, model.name, "layout" if task == "layout" else "")
        config = RunConfig(
            loaded,
            model,
            samples=one.samples([item.id for item in loaded]),
            made_with=f"formalimg {__version__}",
            task=task,
        )
        with run_progress(f"{grounded}, {model.name}, by its grounding files") as on_progress:
            exit_if_stopped(execute(config, folder, judge, on_progress=on_progress).stopped, folder)
        made.append((folder, judge))
    return made


def _report_unknown(folder: GroundingFolder, items: Sequence[Item[object]]) -> None:
    """Say which files belong to no item; refuse a folder where none does."""
    ids = [item.id for item in items]
    unknown = folder.unknown_files(ids, folder.samples(ids))
    listed = ", ".join(unknown[:_SHOWN]) + (" …" if len(unknown) > _SHOWN else "")
    if len(unknown) == len(folder.files):
        raise FormalimgError(
            f"none of the {len(unknown):,} files in {folder.path} ({listed}) is named after an item: give the items "
            "that they belong to with --items"
        )
    if unknown:
        echo(f"{len(unknown):,} of {len(folder.files):,} files in {folder.path} belong to no item: {listed}", err=True)


def _refuse(given: Mapping[str, object], other: str) -> None:
    for option, value in given.items():
        if value:
            raise FormalimgError(f"{option} does not go with {other}: leave one of them out")
