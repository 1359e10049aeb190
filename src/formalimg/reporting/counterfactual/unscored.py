"""Groups that have no score at some level, by name."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from formalimg.reporting.counterfactual.graded import GATE_UNKNOWN, NO_FACTUAL
from formalimg.reporting.reading import GradedImage, SeenRun
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
        "Groups of which some image has no score that counts, and why. Images that the run has not come to yet, or "
        "whose level 1 is not part of it, are not among them.",
        ("group", *run_head(runs), "why"),
        tuple(
            TableRow(run.name, (group, *run_cell(run.name, runs), why))
            for run in runs
            for group, images in _by_group(run.graded).items()
            if (why := _why(suite, images))
        ),
    )


def _by_group(images: Iterable[GradedImage]) -> dict[str, list[GradedImage]]:
    groups: dict[str, list[GradedImage]] = {}
    for one in images:
        groups.setdefault(one.group, []).append(one)
    return groups


def _why(suite: Suite, images: Sequence[GradedImage]) -> str:
    """Each reason with the levels it holds for: `L1: refused; L2, L3: gate unknown`."""
    waits = any(one.level == 1 and one.reason in _PENDING for one in images)
    reasons: dict[str, list[str]] = {}
    for one in images:
        if one.reason and one.reason not in _PENDING and not (waits and one.reason == GATE_UNKNOWN):
            levels = reasons.setdefault(one.reason, [])
            if level_name(suite, one.level) not in levels:
                levels.append(level_name(suite, one.level))
    return "; ".join(f"{', '.join(levels)}: {reason}" for reason, levels in reasons.items())
