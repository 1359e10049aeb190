"""Tables of paired differences between runs: the headline number of every pair, then bands and levels."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from formalimg.reports.comparison_model import HowCounted, SeenRun
from formalimg.reports.paired_runs import PUBLIC_GAPS, PairedRuns, RunPair
from formalimg.reports.tables.format import count_noun
from formalimg.reports.tables.model import Cell, Column, ColumnType, Number, Placement, TableRow
from formalimg.types import Benchmark, Table

PAIRED = "paired differences"
DETAILS = f"{PAIRED} in detail"  # The name of the table by band and level
_MAX_RUNS_IN_DETAIL = 6  # With more runs than this, bands and levels are in CSV and JSON files only


def build_paired_tables(
    suite: Benchmark, runs: Sequence[SeenRun], paired: PairedRuns, rules: HowCounted
) -> tuple[Table, ...]:
    """Return the tables of paired differences, without rows if no pair of runs has items in common."""
    breakdown = "level" if suite.has_scores else "band and level"
    is_long = len(runs) > _MAX_RUNS_IN_DETAIL
    caption = _build_caption(suite, paired.headline, rules)
    if is_long and paired.details:
        caption += " Bands and levels are in CSV and JSON reports."
    detail_caption = f"By {breakdown}, and otherwise as above. {_test_family(paired.headline, ' of the same number')}."
    return (
        _build_table(PAIRED, suite, paired.headline, caption, "more"),
        _build_table(DETAILS, suite, paired.details, detail_caption, "data" if is_long else "detail"),
    )


def _build_table(name: str, suite: Benchmark, pairs: Sequence[RunPair], note: str, placement: Placement) -> Table:
    is_known = any(pair.found.estimate is not None for pair in pairs)
    columns = [
        (column, cell) for column, cell, is_needed in _build_columns(suite) if any(map(is_needed, pairs)) or not pairs
    ]
    rows = [TableRow(tuple(cell(pair) for _, cell in columns), pair.first) for pair in pairs] if is_known else []
    return Table(name, name.capitalize(), tuple(column for column, _ in columns), tuple(rows), (note,), placement)


def _build_columns(suite: Benchmark) -> tuple[tuple[Column, Callable[[RunPair], Cell], Callable[[RunPair], bool]], ...]:
    """Return the columns, each with its function for cells and its condition for being shown."""
    scale: ColumnType = "difference" if suite.has_scores else "points"

    def always(pair: RunPair) -> bool:
        return True

    def by_people(pair: RunPair) -> bool:
        return pair.is_by_people

    def judge_alone(pair: RunPair) -> Number:
        judge = pair.judge or pair.found
        return Number(judge.estimate, judge.interval)

    return (
        (Column("run"), lambda pair: pair.first, always),
        (Column("against"), lambda pair: pair.second, always),
        (Column("number"), lambda pair: pair.number, always),
        (Column("difference", scale), lambda pair: Number(pair.found.estimate, pair.found.interval), always),
        (Column("by"), lambda pair: pair.by, by_people),
        (Column("judge alone", scale), judge_alone, by_people),
        (Column("p", "p", starts=True), lambda pair: pair.found.p, always),
        (Column("adjusted p", "p"), lambda pair: pair.found.adjusted_p, always),
        (Column("better", "count", starts=True), lambda pair: pair.found.wins, always),
        (Column("worse", "count"), lambda pair: pair.found.losses, always),
        (Column(f"{_unit_of(suite)}s", "count"), lambda pair: pair.found.items, always),
        (Column("left out", "count"), lambda pair: len(pair.found.left_out), always),
        (Column("lowest", scale, starts=True), lambda pair: pair.found.bounds and pair.found.bounds.low, _has_bounds),
        (Column("highest", scale), lambda pair: pair.found.bounds and pair.found.bounds.high, _has_bounds),
        (
            Column("false-pass gap", scale, starts=True),
            lambda pair: pair.tipping and pair.tipping.false_pass,
            _has_tipping_point,
        ),
        (Column("false-fail gap", scale), lambda pair: pair.tipping and pair.tipping.false_fail, _has_tipping_point),
    )


def _has_bounds(pair: RunPair) -> bool:
    return pair.found.bounds is not None


def _has_tipping_point(pair: RunPair) -> bool:
    return pair.tipping is not None


def _build_caption(suite: Benchmark, pairs: Sequence[RunPair], rules: HowCounted) -> str:
    unit, has_scores = _unit_of(suite), suite.has_scores
    measure = "mean score" if has_scores else "share of images that pass"
    scale = "" if has_scores else " in percentage points,"
    verdict = "score" if has_scores else "verdict"
    levels = " over the levels that both have" if has_scores else ""
    sentences = [
        f"The first run minus the second,{scale} with its interval, over the {unit}s that both have a {verdict} for; "
        f"each {unit} counts once, by its {measure}{levels}. p: sign-flip permutation test over {unit}s, two-sided. "
        f"{_test_family(pairs)}; intervals: {100 * rules.confidence:g} % for all of them together. better, worse: "
        f"{unit}s on which the first run is. left out: {unit}s that are not the same in both runs, or have no "
        f"{verdict} in one."
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
    if any(map(_has_tipping_point, pairs)):
        sentences.append(
            "false-pass gap, false-fail gap: how many points more often the judge would have to pass wrong images of "
            "the leading model, or fail right images of the other, to explain the whole difference, if other errors "
            f"are none, or by its certificate; false passes of both models need a smaller gap. {PUBLIC_GAPS}"
        )
    return " ".join(sentences)


def _test_family(pairs: Sequence[RunPair], of_what: str = "") -> str:
    """Return the family of tests that p-values are adjusted for, as text."""
    tests = sum(pair.found.p is not None for pair in pairs)
    return f"adjusted p: by Holm's method, for {count_noun(tests, 'comparison')}{of_what}"


def _unit_of(suite: Benchmark) -> str:
    return suite.group if suite.has_scores else "item"
