"""Groups that have no score at some level, by name."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from formalimg.reporting.counterfactual.graded import GATE_UNKNOWN, NO_FACTUAL
from formalimg.reporting.reading import GradedPicture, SeenRun
from formalimg.reporting.run_columns import run_cell, run_head
from formalimg.reporting.tables import Table, TableRow
from formalimg.reporting.words import level_name
from formalimg.suites import Suite

_PENDING = ("no image", "not judged", NO_FACTUAL)
"""What will be there when the run goes on."""


def groups_without_scores(suite: Suite, runs: Sequence[SeenRun]) -> Table:
    """Which groups lack a score and why; those that only wait for the run to go on are not there."""
    return Table(
        "groups without scores",
        "Groups that cannot be scored",
        "Groups of which some picture has no score that counts, and why. Pictures that the run has not come to yet, or "
        "whose level 1 is not part of it, are not among them.",
        ("group", *run_head(runs), "why"),
        tuple(
            TableRow(run.name, (group, *run_cell(run.name, runs), why))
            for run in runs
            for group, pictures in _by_group(run.graded).items()
            if (why := _why(suite, pictures))
        ),
    )


def _by_group(pictures: Iterable[GradedPicture]) -> dict[str, list[GradedPicture]]:
    groups: dict[str, list[GradedPicture]] = {}
    for one in pictures:
        groups.setdefault(one.group, []).append(one)
    return groups


def _why(suite: Suite, pictures: Sequence[GradedPicture]) -> str:
    """Each reason with the levels it holds for: `L1: refused; L2, L3: gate unknown`."""
    waits = any(one.level == 1 and one.reason in _PENDING for one in pictures)
    reasons: dict[str, list[str]] = {}
    for one in pictures:
        if one.reason and one.reason not in _PENDING and not (waits and one.reason == GATE_UNKNOWN):
            levels = reasons.setdefault(one.reason, [])
            if level_name(suite, one.level) not in levels:
                levels.append(level_name(suite, one.level))
    return "; ".join(f"{', '.join(levels)}: {reason}" for reason, levels in reasons.items())
