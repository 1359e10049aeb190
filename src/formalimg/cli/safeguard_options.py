"""Safeguards on the command line: pre-flight, failures in a row, and how much of a run must be scored."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from formalimg.cli.help_groups import SECTIONS
from formalimg.cli.streams import echo

if TYPE_CHECKING:
    from formalimg.judges import Judge
    from formalimg.runs import Reopenable, Safeguards, StoredRun

_, _, _JUDGE, _COST, _ = SECTIONS

NoPreflight = Annotated[
    bool,
    typer.Option("--no-preflight", help="Do not try judge and model with one call first.", rich_help_panel=_COST),
]
MaxFailures = Annotated[
    int | None,
    typer.Option(
        "--max-failures",
        metavar="N",
        help="Stop after N failures in a row (20); 0: never.",
        show_default=False,
        rich_help_panel=_COST,
    ),
]
MinCoverage = Annotated[
    float | None,
    typer.Option(
        min=0, max=1, metavar="SHARE", help="Exit code 1 if less is scored.", show_default=False, rich_help_panel=_JUDGE
    ),
]


def safeguards(no_preflight: bool, max_failures: int | None, judges: Sequence[Reopenable[Judge]] = ()) -> Safeguards:
    """Return the safeguards of a command.

    Args:
        no_preflight: whether the user wants no pre-flight.
        max_failures: failures in a row after which the run stops; None for the default.
        judges: the judges that come after the first, which are tried before it begins.
    """
    from formalimg.runs import MAX_FAILURES, Safeguards, preflight_by_default  # here, so that help comes up faster

    return Safeguards(
        preflight_by_default() and not no_preflight,
        MAX_FAILURES if max_failures is None else max_failures,
        [judge.instance for judge in judges],
        lambda notice: echo(notice, err=True),
    )


def uncovered_runs(runs: Iterable[StoredRun], min_coverage: float | None) -> list[str]:
    """Return a line for each run of which a smaller share than this is scored; none if no share is asked for."""
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
    """Print these lines of `uncovered_runs` and end the command with exit code 1, if there are any."""
    for line in lines:
        echo(line, err=True)
    if lines:
        raise typer.Exit(1)
