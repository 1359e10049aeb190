"""Tables of paired differences between runs: one number for every pair, then bands and levels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from formalimg.reports.comparison_model import HowCounted, SeenRun
from formalimg.reports.paired_runs import PUBLIC_GAPS, PairedRuns, RunPair
from formalimg.reports.tables.format import count_noun
from formalimg.reports.tables.model import Cell, Column, ColumnType, Number, Placement, TableRow
from formalimg.types import Benchmark, Table

PAIRED, _TITLE = "paired differences", "Paired differences"
DETAILS = f"{PAIRED} in detail"
"""The name of the table by band and level."""

_MAX_RUNS_IN_DETAIL = 6
"""With more runs than this, bands and levels are in CSV and JSON files only."""


def paired_tables(suite: Benchmark, runs: Sequence[SeenRun], found: PairedRuns, how: HowCounted) -> tuple[Table, ...]:
    """Return the tables, without rows where no pair of runs has items in common."""
    what = "level" if suite.has_scores else "band and level"
    is_long = len(runs) > _MAX_RUNS_IN_DETAIL
    where = " Bands and levels are in CSV and JSON reports." if is_long and found.details else ""
    return (
        _table(PAIRED, _TITLE, suite, found.headline, f"{_caption(suite, found.headline, how)}{where}", "more"),
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
    is_known = any(pair.found.estimate is not None for pair in pairs)
    columns = [each for each in _columns(suite) if each.is_needed is None or any(map(each.is_needed, pairs))]
    rows = [TableRow(tuple(each.cell(pair) for each in columns), pair.first) for pair in pairs] if is_known else []
    return Table(name, title, tuple(each.column for each in columns), tuple(rows), (note,), placement)


class _PairColumn(NamedTuple):
    """A column, its cell for a pair, and for which pairs it is needed; None if it always is."""

    column: Column
    cell: Callable[[RunPair], Cell]
    is_needed: Callable[[RunPair], bool] | None = None


def _columns(suite: Benchmark) -> tuple[_PairColumn, ...]:
    scale: ColumnType = "difference" if suite.has_scores else "points"
    return (
        _PairColumn(Column("run"), lambda pair: pair.first),
        _PairColumn(Column("against"), lambda pair: pair.second),
        _PairColumn(Column("number"), lambda pair: pair.number),
        _PairColumn(Column("difference", scale), lambda pair: Number(pair.found.estimate, pair.found.interval)),
        _PairColumn(Column("by"), lambda pair: pair.by, lambda pair: pair.is_by_people),
        _PairColumn(Column("judge alone", scale), _judge_alone, lambda pair: pair.is_by_people),
        _PairColumn(Column("p", "p", starts=True), lambda pair: pair.found.p),
        _PairColumn(Column("adjusted p", "p"), lambda pair: pair.found.adjusted_p),
        _PairColumn(Column("better", "count", starts=True), lambda pair: pair.found.wins),
        _PairColumn(Column("worse", "count"), lambda pair: pair.found.losses),
        _PairColumn(Column(f"{_unit(suite)}s", "count"), lambda pair: pair.found.items),
        _PairColumn(Column("left out", "count"), lambda pair: len(pair.found.left_out)),
        _PairColumn(Column("lowest", scale, starts=True), lambda pair: pair.bounds and pair.bounds.low, _has_bounds),
        _PairColumn(Column("highest", scale), lambda pair: pair.bounds and pair.bounds.high, _has_bounds),
        _PairColumn(
            Column("false-pass gap", scale, starts=True), lambda pair: pair.tipping and pair.tipping.false_pass, _tips
        ),
        _PairColumn(Column("false-fail gap", scale), lambda pair: pair.tipping and pair.tipping.false_fail, _tips),
    )


def _judge_alone(pair: RunPair) -> Number:
    judge = pair.judge or pair.found
    return Number(judge.estimate, judge.interval)


def _has_bounds(pair: RunPair) -> bool:
    return pair.bounds is not None


def _tips(pair: RunPair) -> bool:
    return pair.tipping is not None


def _caption(suite: Benchmark, pairs: Sequence[RunPair], how: HowCounted) -> str:
    unit, of_scores = _unit(suite), suite.has_scores
    what = "mean score" if of_scores else "share of images that pass"
    scale = "" if of_scores else " in percentage points,"
    verdict = "score" if of_scores else "verdict"
    levels = " over the levels that both have" if of_scores else ""
    sentences = [
        f"The first run minus the second,{scale} with its interval, over the {unit}s that both have a {verdict} for; "
        f"each {unit} counts once, by its {what}{levels}. p: sign-flip permutation test over {unit}s, two-sided. "
        f"{_family(pairs)}; intervals: {100 * how.confidence:g} % for all of them together. better, worse: {unit}s on "
        f"which the first run is. left out: {unit}s that are not the same in both runs, or have no {verdict} in one."
    ]
    if any(pair.is_by_people for pair in pairs):
        sentences.append(
            f"By people: the judge's differences corrected by labels of {unit}s that people saw in both runs (PPI++; "
            "p of Student's t), which covers errors of the judge; better, worse and the number of "
            f"{unit}s are those of labels."
        )
    if not all(pair.is_by_people for pair in pairs):
        sentences.append(
            f"By a judge, interval and p cover which {unit}s and images were drawn, not errors of the judge."
        )
    if any(map(_has_bounds, pairs)):
        sentences.append(
            "lowest, highest: the difference if the missing verdicts were the worst and the best for the first run; p "
            "is the largest of all three."
        )
    if any(map(_tips, pairs)):
        sentences.append(
            "false-pass gap, false-fail gap: how many points more often the judge would have to pass wrong images of "
            "the leading model, or fail right images of the other, to explain the whole difference, if other errors "
            f"are none, or by its certificate; false passes of both models need a smaller gap. {PUBLIC_GAPS}"
        )
    return " ".join(sentences)


def _family(pairs: Sequence[RunPair], of_what: str = "") -> str:
    """Return which tests the p-values are adjusted for."""
    tests = sum(pair.found.p is not None for pair in pairs)
    return f"adjusted p: by Holm's method, for {count_noun(tests, 'comparison')}{of_what}"


def _unit(suite: Benchmark) -> str:
    return suite.group if suite.has_scores else "item"
