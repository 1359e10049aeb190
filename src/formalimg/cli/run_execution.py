"""Execute runs from the command line: the steps that `run`, `generate` and `judge` share."""

from __future__ import annotations

import math
import shlex
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import typer

from formalimg.cli.engine_options import EngineOptions
from formalimg.cli.estimate_output import (
    print_estimates,
    undrawable_warnings,
    unknown_class_warnings,
    unscorable_warnings,
)
from formalimg.cli.options import options_of
from formalimg.cli.output import print_table
from formalimg.cli.price_options import GivenPrices, require_prices
from formalimg.cli.safeguard_options import exit_if_uncovered, safeguards, uncovered_runs
from formalimg.cli.streams import echo

if TYPE_CHECKING:
    from formalimg.cli.run import RunOptions
    from formalimg.judges import Judge
    from formalimg.models import ImageModel
    from formalimg.reporting import RunRow
    from formalimg.runs import AdaptivePlan, EarlierWork, Reopenable, RunConfig, Safeguards, StoredRun


def open_judges(
    suite: str,
    model: str,
    names: list[str] | None,
    options: list[str] | None,
    prompts: Path | None,
    task: str,
    protocol: str = "default",
    prices: GivenPrices | None = None,
    *,
    making: bool = True,
) -> list[Reopenable[Judge]]:
    """Open the judges of these names, each with its options; the default for the images of a model if none is named.

    Raises:
        FormalimgError: if a judge cannot be opened, or none is named and there is no default.
    """
    from formalimg.config import default_judge, unreadable_drawings_warning
    from formalimg.judges import open_judge
    from formalimg.runs import Reopenable

    default = None if names else default_judge(suite, model, task=task, protocol=protocol, making=making)
    if default is not None:
        names = [default.name]
        echo(default, err=True)
    opened = []
    for number, name in enumerate(names or [None], 1):
        own = {**(default.options if default else {}), **options_of(options, number, len(names or [None]))}
        own |= prices.option("judge", name) if prices and name is not None else {}
        # Prompt texts of the user are an option as well, of judges that send any.
        if prompts is not None and name is not None and not name.startswith(("builtin/", "detector/")):
            own.setdefault("prompts", str(prompts))
        opened.append(Reopenable.open(partial(open_judge, suite, name, own, task, protocol)))
    for warning in dict.fromkeys(unreadable_drawings_warning(judge.instance.name, model) for judge in opened):
        if warning:
            echo(warning, err=True)
    return opened


class FinishedRuns(NamedTuple):
    """The folders of some runs, and each with every judge that judged it."""

    folders: list[Path]
    judged: list[tuple[Path, Judge]]


def execute_all(options: RunOptions, *, judging: bool) -> FinishedRuns:
    """Execute one run for each model, or print what it would do."""
    from formalimg.suites import suite

    suite(options.suite)  # a typo in its name is reported before one in a model's
    engine = options.engine_options
    budget, runs = default_budget(options.budget), default_runs(options.runs, needed=options.out is None)
    options = replace(options, budget=budget)
    models = [options.open_model(name) for name in options.model]
    judges = _judges_by_model(options, [model.instance.name for model in models]) if judging else {}
    rewriter = options.open_rewriter()
    require_prices(budget, [model.instance for model in models], per_image=options.task == "image")
    require_prices(budget, [*_each_once(judges), *([rewriter] if rewriter else [])])
    builder = options.builder(rewriter)
    selected = [*builder.selection.of(builder.items).values()]
    for warning in (
        *unscorable_warnings(options.suite, selected, options.items),
        *undrawable_warnings([model.instance.name for model in models], options.suite, selected),
        *unknown_class_warnings(_each_once(judges), selected),
    ):
        echo(warning, err=True)
    if builder.odd:
        echo(f"odd records in the data: {builder.odd}; {_census_command(options)} lists them", err=True)
    folders, judged = [], []
    for model in models:
        own = judges.get(model.instance.name, [])
        folder = options.out or builder.folder(model.instance, runs)
        config = builder.config(model.instance, folder)
        if options.dry_run:
            from formalimg.runs import estimate  # here, so that real runs do not load it

            if options.adaptive:
                config = replace(config, adaptive=str(_plan(config, own[0].instance, options.against).looks))
                echo("adaptive: at most this much; the run stops as soon as the looks decide", err=True)
            estimates = [estimate(config, folder, judge.instance) for judge in own]
            print_estimates(config, folder, estimates or [estimate(config, folder, None)])
        else:
            if options.restart:
                _set_aside(folder)
            guards = safeguards(options.no_preflight, options.max_failures, own[1:])
            plan = _plan(config, own[0].instance, options.against) if options.adaptive else None
            _execute(config, model, folder, own, engine, guards, plan)
        folders.append(folder)
        judged += [(folder, judge.instance) for judge in own]
    return FinishedRuns(folders, judged)


def _plan(config: RunConfig, judge: Judge, against: Path | None) -> AdaptivePlan:
    from formalimg.runs import plan_adaptive  # here, because few runs are adaptive

    return plan_adaptive(config, judge, against=against)


def _each_once(judges: Mapping[str, Sequence[Reopenable[Judge]]]) -> list[Judge]:
    """Return the judges of all models, each once."""
    return list({id(one): one.instance for opened in judges.values() for one in opened}.values())


def default_runs(given: Path | None, *, needed: bool = True) -> Path:
    """Return the folder of runs that was given, else the one that is configured, else `runs`.

    Args:
        given: the option.
        needed: whether the folder is used at all, and so worth a line.
    """
    if given is not None:
        return given
    from formalimg.config import load_defaults  # here, so that other commands start faster

    runs = load_defaults().runs
    if runs.source and needed:
        echo(f"runs in {runs.value} from {runs.source}", err=True)
    return runs.value


def default_budget(given: float | None) -> float | None:
    """Return the budget that was given, else the one that is configured; None for no limit, which `inf` asks for."""
    if given is not None:
        return None if math.isinf(given) else given
    from formalimg.config import load_defaults

    budget = load_defaults().budget
    if budget.value is None or math.isinf(budget.value):
        return None
    echo(f"budget of {budget.value:g} dollars from {budget.source} (--budget inf lifts it)", err=True)
    return budget.value


def _judges_by_model(options: RunOptions, models: Sequence[str]) -> dict[str, list[Reopenable[Judge]]]:
    """Open the judges of each model's images: the same objects for all of them, but for defaults that differ."""
    from formalimg.config import is_built_in

    opened: dict[bool, list[Reopenable[Judge]]] = {}
    for model in sorted(models, key=is_built_in):  # the refusals first
        kind = is_built_in(model)
        if kind not in opened:
            opened[kind] = options.open_judges(model)
    return {model: opened[is_built_in(model)] for model in models}


def _census_command(options: RunOptions) -> str:
    place = f" --items {shlex.quote(str(options.items))}" if options.items else ""
    return f"`formalimg census {options.suite}{place}`"


def _set_aside(folder: Path) -> None:
    """Move an earlier run in this folder aside, and say where it is."""
    from formalimg.runs import set_aside

    moved = set_aside(folder)
    if moved is not None:
        echo(f"the earlier run is in {moved}", err=True)


def print_rates(finished: FinishedRuns, min_coverage: float | None = None) -> None:
    """Print the table of these runs, a row for each judge, and their folders; exit code 1 if too little is scored."""
    print_rates_by_judge(finished.judged, min_coverage)


def print_rates_by_judge(judged: Sequence[tuple[Path, Judge]], min_coverage: float | None = None) -> None:
    """Print the table of these runs, each with the verdicts of its judge, as `print_rates` does."""
    from formalimg.reporting import WORRYING_SHARE, compare, terminal_table
    from formalimg.runs import Identity, open_run

    with ExitStack() as opened:
        runs = [
            opened.enter_context(closing(open_run(folder, Identity(judge.name, judge.settings))))
            for folder, judge in judged
        ]
        comparison = compare(runs)
        print_table(terminal_table(comparison))
        unscored = {run.folder: _remedy(run) for run in runs if all(one.reason for one in run.outcomes())}
        uncovered = uncovered_runs(runs, min_coverage)
    for folder in dict.fromkeys(folder for folder, _ in judged):
        echo(f"run in {folder}")
    for section in comparison.sections:
        for row in section.rows:
            if row.quality.dropped_share > WORRYING_SHARE:
                echo(_dropped_warning(row), err=True)
    for folder, remedy in unscored.items():
        echo(f"nothing was scored in {folder}: {remedy}`formalimg view {folder}` shows why, image by image", err=True)
    exit_if_uncovered(uncovered)
    if unscored:
        raise typer.Exit(1)


def _dropped_warning(row: RunRow) -> str:
    judge = row.manifest.judge.name if row.manifest.judge else "the judge"
    what = "were dropped" if row.quality.images_dropped else "were left in, as published"
    return (
        f"warning: {100 * row.quality.dropped_share:.1f} % of the boxes by {judge} have labels that were not asked "
        f"for, and {what}: `formalimg view {shlex.quote(str(row.folder))}` shows them, and if they are what was asked "
        "for by another name, use another judge or prompts of your own"
    )


def _remedy(run: StoredRun) -> str:
    """Return which command judges the images of a run that its judge could not read at all; empty for other reasons."""
    from formalimg.config import judge_to_suggest, unreadable_drawings_warning

    judge = run.manifest.judge
    if judge is None or not run.made() or not unreadable_drawings_warning(judge.name, run.manifest.model.name):
        return ""
    command = f"formalimg judge {shlex.quote(str(run.folder))} {judge_to_suggest(run.manifest.suite)}"
    return f"{judge.name} cannot read these images, judge them with `{command}`; "


def exit_if_nothing_made(folders: Sequence[Path]) -> None:
    """End the command with exit code 1 if one of these runs has no image."""
    from formalimg.runs import open_run

    empty = []
    for folder in folders:
        with closing(open_run(folder)) as run:
            if not run.made():
                empty.append(folder)
    for folder in empty:
        echo(f"nothing was made in {folder}: `formalimg view {folder}` shows why, image by image", err=True)
    if empty:
        raise typer.Exit(1)


def judge_images(
    folder: Path,
    judge: Reopenable[Judge],
    title: str,
    budget: float | None,
    engine: EngineOptions,
    guards: Safeguards,
) -> None:
    """Judge the images of a run that this judge has not scored yet."""
    from formalimg.runs import judge_run, run_progress

    with engine.open(None, judge) as opened, run_progress(title, opened.rates_text) as on_progress:
        assert opened.judge is not None, "an engine returns the judge it was given"
        result = judge_run(
            folder,
            opened.judge,
            budget=budget,
            on_progress=on_progress,
            on_resume=partial(_print_earlier_work, folder),
            safeguards=guards,
        )
    print_estimated_calls(result.estimated)
    exit_if_stopped(result.stopped, folder, over_budget=result.over_budget, gave_up=result.gave_up)


def _print_earlier_work(folder: Path, earlier: EarlierWork) -> None:
    """Say how much of a run is done already, so that a run that takes no time is no riddle."""
    echo(f"{folder}: {earlier}", err=True)


def print_estimated_calls(count: int) -> None:
    """Say how many calls were counted by an estimate, because what they used was not reported."""
    if count:
        calls = "1 call" if count == 1 else f"{count:,} calls"
        echo(
            f"{calls} did not report what they used: the cost is estimated from what was sent and what came back",
            err=True,
        )


def exit_if_stopped(stopped: bool, folder: Path, *, over_budget: bool = False, gave_up: str = "") -> None:
    """End the command if the run was interrupted, or (with exit code 1) gave up on a model or judge that fails."""
    if gave_up:
        echo(f"{gave_up}: mend that; all that is done is kept in {folder}. The same command goes on.", err=True)
        raise typer.Exit(1)
    if stopped:
        advice = "with a larger budget goes on: this one is used up" if over_budget else "goes on"
        echo(f"stopped; all that is done is kept in {folder}. The same command {advice}.", err=True)
        raise typer.Exit(130)


def _execute(
    config: RunConfig,
    model: Reopenable[ImageModel],
    folder: Path,
    judges: Sequence[Reopenable[Judge]],
    engine: EngineOptions,
    guards: Safeguards,
    plan: AdaptivePlan | None = None,
) -> None:
    """Generate the images while the first judge judges them; then let the other judges judge."""
    from formalimg.runs import execute, run_progress

    title = f"{config.items[0].suite}, {config.model.name}"
    if config.condition.style != "none":
        text = f"the {config.condition.style} style text goes before each prompt"
        echo(f"{title}: {text} (--style none sends the prompt alone)", err=True)
    first = next(iter(judges), None)
    with engine.open(model, first) as opened, run_progress(title, opened.rates_text) as on_progress:
        work = execute
        if plan is not None:
            from formalimg.runs import execute_adaptive  # here, because few runs are adaptive

            work = partial(execute_adaptive, plan=plan)
        result = work(
            replace(config, model=opened.model or config.model),
            folder,
            opened.judge,
            on_progress=on_progress,
            on_match=lambda matching: echo(matching.summary(), err=True),
            safeguards=guards,
            on_resume=partial(_print_earlier_work, folder),
        )
    print_estimated_calls(result.estimated)
    exit_if_stopped(result.stopped, folder, over_budget=result.over_budget, gave_up=result.gave_up)
    for judge in judges[1:]:
        judge_images(
            folder,
            judge,
            f"{title}, judged by {judge.instance.name}",
            config.budget,
            engine,
            replace(guards, judges=()),
        )
