"""Console output for runs: defaults in force, warnings, estimates, tables and final status."""

from __future__ import annotations

import math
import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import typer

from formalimg.cli.streams import echo, print_next, print_table, warn
from formalimg.errors import FormalimgError

if TYPE_CHECKING:
    from formalimg.reports.comparison_model import RunRow
    from formalimg.runs.prepared_run import Output, PreparedRun, RunEstimate
    from formalimg.runs.progress import Progress
    from formalimg.runs.reader import StoredRun
    from formalimg.stats.observations import Profile
    from formalimg.types import Item, Judge

_MAX_CLASSES = 5


def console_output() -> Output:
    """Return the console output of a run, with a progress bar and messages on standard error."""
    from formalimg.runs.prepared_run import Output  # these here, so that help screens come up faster
    from formalimg.runs.progress import run_progress

    return Output(run_progress, warn, warn)


# --- before a run


def default_runs(folder: Path | None, *, needed: bool = True) -> Path:
    """Return the given folder of runs, the configured one, or `runs`."""
    if folder is not None:
        return folder
    from formalimg.runs.defaults.settings import load_defaults  # here, so that other commands start faster

    runs = load_defaults().runs
    if runs.source and needed:
        warn(f"runs in {runs.value} from {runs.source}")
    return runs.value


def default_budget(limit: float | None) -> float | None:
    """Return the given or configured budget, or None if it is unlimited."""
    if limit is not None:
        return None if math.isinf(limit) else limit
    from formalimg.runs.defaults.settings import load_defaults

    budget = load_defaults().budget
    if budget.value is None or math.isinf(budget.value):
        return None
    warn(f"budget of {budget.value:g} dollars from {budget.source} (--budget inf lifts it)")
    return budget.value


def check_classes(judges: Sequence[Judge], items: Sequence[Item[Any]]) -> Iterator[str]:
    """Yield a warning for each judge that cannot detect the classes of some items."""
    for judge in judges:
        unknown = getattr(judge, "unknown_classes", None)
        unknown_classes = [classes for item in items if (classes := unknown(item))] if unknown else []
        if not unknown_classes:
            continue
        counts = Counter(name for classes in unknown_classes for name in classes).most_common()
        named = ", ".join(f"{name} ({count:,})" for name, count in counts[:_MAX_CLASSES])
        named += f" and {len(counts) - _MAX_CLASSES:,} more" if len(counts) > _MAX_CLASSES else ""
        if len(unknown_classes) == len(items):
            raise FormalimgError(
                f"{judge.name} can score none of these items, because it cannot look for {named}: "
                "name a chat model that can see, as in --judge gemini/gemini-3-pro-preview"
            )
        yield (
            f"{judge.name} cannot score {len(unknown_classes):,} of {len(items):,} items, because it cannot look for "
            f"{named}: their images will be unscored"
        )


def check_drawable(models: Sequence[str], suite: str, items: Sequence[Item[Any]]) -> Iterator[str]:
    """Yield a warning if a built-in model cannot draw some items of a suite with drawn worlds."""
    from formalimg.benchmarks.registry import suite as suite_of
    from formalimg.runs.defaults.settings import is_built_in

    if suite_of(suite).world != "drawn" or not any(map(is_built_in, models)):
        return
    from formalimg.benchmarks.formal.spec import undrawable_because

    count = sum(undrawable_because(item.spec) is None for item in items)
    if count < len(items):
        yield (
            f"{count:,} of {len(items):,} items ({100 * count / len(items):.1f} %) can be drawn: builtin/oracle "
            "declines the others, each with the reason, and they stay unscored"
        )


def print_estimates(run: PreparedRun) -> None:
    """Print the estimated images, questions and costs of a run."""
    if run.plan is not None:
        warn("adaptive: at most this much; the run stops at the first conclusive interim analysis")
    estimates = run.estimates()
    first, rewriter = estimates[0], run.config.rewriter
    echo(f"{run.config.model.name}, in {run.folder}:")
    if rewriter is not None:
        echo(f"  prompts to rewrite {first.rewrites:>5,}  {_dollars(first, 'rewriter')}")
    echo(f"  images to make   {first.images:>7,}  {_dollars(first, 'model')}")
    for estimate in estimates:
        echo(f"  images to judge  {estimate.verdicts:>7,}")
        echo(f"  questions to ask   {estimate.questions:>7,}  {_dollars(estimate, 'judge')}")
    _print_wording(run)
    echo("  the first image would be asked for with:" if rewriter is None else "  the rewriter would be sent:")
    for line in first.first.splitlines():
        echo(f"    {line}")


def _print_wording(run: PreparedRun) -> None:
    """Print which wording published protocols use, and how to download the authors' texts if they are missing."""
    from formalimg.benchmarks.download.texts import has_texts
    from formalimg.benchmarks.registry import suite
    from formalimg.runs.manifest import AUTHORS_WORDING, published_wording

    source = suite(run.options.suite).source
    parties = (("model", run.config.model), *(("judge", judge.instance) for judge in run.judges))
    for role, party in parties:
        if wording := published_wording(party.settings):
            is_missing = wording != AUTHORS_WORDING and has_texts(source)
            advice = f"; for the authors' texts: formalimg pull {source} --texts" if is_missing else ""
            echo(f"  {role} {party.name}: {wording}{advice}")


def dollars(cost: float | None) -> str:
    """Format a cost in dollars, rounded to cents. None means that the price is unknown."""
    return "at an unknown price; give it with --price" if cost is None else f"about ${cost:,.2f}"


def _dollars(estimate: RunEstimate, role: Literal["model", "judge", "rewriter"]) -> str:
    costs = {"model": estimate.image_cost, "judge": estimate.judge_cost, "rewriter": estimate.rewrite_cost}
    cost, note = costs[role], estimate.price_notes.get(role)
    return dollars(cost) + (f" ({note})" if note and cost is not None else "")


# --- after a run


def finish_run(done: Progress, folder: Path) -> None:
    """Print a summary of finished work, and exit if the run was stopped or gave up."""
    print_estimated_calls(done.estimated)
    exit_if_stopped(done.stopped, folder, over_budget=done.over_budget, gave_up=done.gave_up)


def print_estimated_calls(count: int) -> None:
    """Print how many calls have an estimated cost because their usage was not reported."""
    if count:
        calls = "1 call" if count == 1 else f"{count:,} calls"
        warn(f"{calls} did not report their usage: the cost is estimated from what was sent and received")


def exit_if_stopped(stopped: bool, folder: Path, *, over_budget: bool = False, gave_up: str = "") -> None:
    """Exit with an error code if the run was interrupted or gave up on a failing model or judge."""
    if gave_up:
        warn(f"{gave_up}. Fix the cause and rerun the same command to resume; completed work is kept in {folder}.")
        raise typer.Exit(1)
    if stopped:
        change, reason = (" with a larger budget", "the budget is used up, ") if over_budget else ("", "")
        warn(f"stopped; {reason}completed work is kept in {folder}. Rerun the same command{change} to resume.")
        raise typer.Exit(130)


def exit_if_nothing_made(folders: Sequence[Path]) -> None:
    """Exit with code 1 if any of the runs has no images."""
    from formalimg.runs.reader import open_run

    empty = []
    for folder in folders:
        with closing(open_run(folder)) as run:
            if not run.made():
                empty.append(folder)
    for folder in empty:
        warn(f"nothing was made in {folder}: `formalimg view {folder}` shows why, image by image")
    if empty:
        raise typer.Exit(1)


def print_adaptive(folders: Iterable[Path]) -> None:
    """Print the results of adaptive runs and the number of images saved."""
    from formalimg.reports.adaptive_tables import adaptive_text  # here, because few runs are adaptive
    from formalimg.runs.looks import read_looks
    from formalimg.runs.reader import open_run

    for folder in folders:
        looks = read_looks(folder)
        if looks is not None:
            with closing(open_run(folder)) as run:
                judge = run.manifest.judge.name if run.manifest.judge else "the judge"
            echo(f"{folder}: {adaptive_text(looks, judge)}")


def print_rates(
    judged: Sequence[tuple[Path, Judge]], min_coverage: float | None = None, profile: Profile | None = None
) -> None:
    """Print the table of pass rates and the folders of the judged runs.

    Exit with code 1 if nothing is scored or the coverage is below `min_coverage`.
    """
    from formalimg.reports.comparison import compare
    from formalimg.reports.judge_quality import WORRYING_SHARE
    from formalimg.reports.terminal_report import FailureExamples, terminal_table
    from formalimg.runs.manifest import Identity
    from formalimg.runs.reader import open_run

    with ExitStack() as opened:
        runs = [
            opened.enter_context(closing(open_run(folder, Identity(judge.name, judge.settings))))
            for folder, judge in judged
        ]
        comparison = compare(runs, profile=profile)
        print_table(terminal_table(comparison))
        if len(runs) == 1:
            print_table(FailureExamples(runs[0]))
        unscored = {run.folder: _remedy(run) for run in runs if all(outcome.reason for outcome in run.outcomes())}
        uncovered = find_uncovered_runs(runs, min_coverage)
    for folder in dict.fromkeys(folder for folder, _ in judged):
        echo(f"run in {folder}")
    for section in comparison.sections:
        for row in section.rows:
            if row.quality.dropped_share > WORRYING_SHARE:
                warn(_warn_of_dropped(row))
    for folder, remedy in unscored.items():
        warn(f"nothing was scored in {folder}: {remedy}`formalimg view {folder}` shows why, image by image")
    exit_if_uncovered(uncovered)
    if unscored:
        raise typer.Exit(1)
    folders = list(dict.fromkeys(folder for folder, _ in judged))
    if len(folders) == 1:
        print_next("view", folders)
    else:
        print_next("report", folders, "--format html")


def _warn_of_dropped(row: RunRow) -> str:
    judge = row.manifest.judge.name if row.manifest.judge else "the judge"
    action = "were dropped" if row.quality.images_dropped else "were left in, as published"
    return (
        f"warning: {100 * row.quality.dropped_share:.1f} % of the boxes by {judge} have labels that were not asked "
        f"for, and {action}: `formalimg view {shlex.quote(str(row.folder))}` shows them, and if they are what was "
        "asked for by another name, use another judge or prompts of your own"
    )


def _remedy(run: StoredRun) -> str:
    """Return advice on how to judge images that the judge could not read, or an empty string."""
    from formalimg.runs.defaults.settings import suggest_judge, unreadable_drawings_warning

    judge = run.manifest.judge
    if judge is None or not run.made() or not unreadable_drawings_warning(judge.name, run.manifest.model.name):
        return ""
    command = f"formalimg judge {shlex.quote(str(run.folder))} {suggest_judge()}"
    return f"{judge.name} cannot read these images, judge them with `{command}`; "


def find_uncovered_runs(runs: Iterable[StoredRun], min_coverage: float | None) -> list[str]:
    """Return a message for each run whose share of scored images is below `min_coverage`."""
    if min_coverage is None:
        return []
    lines = []
    for run in runs:
        outcomes = run.outcomes()
        scored = sum(not outcome.reason for outcome in outcomes)
        if scored < min_coverage * len(outcomes):
            judge = f" by {run.manifest.judge.name}" if run.manifest.judge else ""
            lines.append(
                f"{scored:,} of {len(outcomes):,} images are scored{judge} in {run.folder}, less than --min-coverage "
                f"{min_coverage:g}: `formalimg view {run.folder}` shows why, `formalimg judge {run.folder}` tries again"
            )
    return lines


def exit_if_uncovered(lines: Sequence[str]) -> None:
    """Print the messages from `find_uncovered_runs` and exit with code 1 if there are any."""
    for line in lines:
        warn(line)
    if lines:
        raise typer.Exit(1)
