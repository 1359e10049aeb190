"""Tables of paired differences between runs: one number for every pair, then bands and levels."""

from __future__ import annotations

from collections.abc import Sequence

from formalimg.reports.comparison_model import HowCounted, SeenRun
from formalimg.reports.paired_runs import PairedRuns, RunPair
from formalimg.reports.tables.format import count_noun
from formalimg.reports.tables.model import Column, Number, Placement, TableRow
from formalimg.types import Benchmark, Table

_NAME, _TITLE = "paired differences", "Paired differences"
DETAILS = f"{_NAME} in detail"
"""The name of the table by band and level."""

_MAX_RUNS_IN_DETAIL = 6
"""With more runs than this, bands and levels are in CSV and JSON files only."""


def paired_tables(suite: Benchmark, runs: Sequence[SeenRun], found: PairedRuns, how: HowCounted) -> tuple[Table, ...]:
    """Return the tables, without rows where no pair of runs has items in common."""
    what = "level" if suite.has_scores else "band and level"
    is_long = len(runs) > _MAX_RUNS_IN_DETAIL
    where = " Bands and levels are in CSV and JSON reports." if is_long and found.details else ""
    return (
        _table(_NAME, _TITLE, suite, found.headline, f"{_caption(suite, found.headline, how)}{where}", "result"),
        _table(
            DETAILS,
            f"{_TITLE} in detail",
            suite,
            found.details,
            f"By {what}, and otherwise as above. {_family(found.headline, ' of the same number')}.",
            "data" if is_long else "detail",
        ),
    )


def _table(name: str, title: str, suite: Benchmark, pairs: Sequence[RunPair], note: str, placement: Placement) -> Table:
    columns = (
        Column("run"),
        Column("against"),
        Column("number"),
        Column("difference", "difference" if suite.has_scores else "points"),
        Column("p", "p", starts=True),
        Column("adjusted p", "p"),
        Column("better", "count", starts=True),
        Column("worse", "count"),
        Column(f"{_unit(suite)}s", "count"),
        Column("left out", "count"),
    )
    is_known = any(pair.found.estimate is not None for pair in pairs)
    return Table(name, title, columns, tuple(map(_row, pairs)) if is_known else (), (note,), placement)


def _row(pair: RunPair) -> TableRow:
    found = pair.found
    counts = (found.wins, found.losses, found.items, len(found.left_out))
    difference = Number(found.estimate, found.interval)
    return TableRow((pair.first, pair.second, pair.number, difference, found.p, found.adjusted_p, *counts), pair.first)


def _caption(suite: Benchmark, pairs: Sequence[RunPair], how: HowCounted) -> str:
    unit, of_scores = _unit(suite), suite.has_scores
    what = "mean score" if of_scores else "share of images that pass"
    scale = "" if of_scores else " in percentage points,"
    verdict = "score" if of_scores else "verdict"
    levels = " over the levels that both have" if of_scores else ""
    return (
        f"The first run minus the second,{scale} with its {100 * how.confidence:g} % interval, over the {unit}s that "
        f"both have a {verdict} for; each {unit} counts once, by its {what}{levels}. p: sign-flip permutation test "
        f"over {unit}s, two-sided. {_family(pairs)}. better, worse: {unit}s on which the first run is. left out: "
        f"{unit}s that are not the same in both runs, or have no {verdict} in one. Interval and p cover which "
        f"{unit}s and images were drawn, not errors of the judge."
    )


def _family(pairs: Sequence[RunPair], of_what: str = "") -> str:
    """Return which tests the p-values are adjusted for."""
    tests = sum(pair.found.p is not None for pair in pairs)
    return f"adjusted p: by Holm's method, for {count_noun(tests, 'comparison')}{of_what}"


def _unit(suite: Benchmark) -> str:
    return suite.group if suite.has_scores else "item"
