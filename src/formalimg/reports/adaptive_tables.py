"""Reports on adaptive runs: numbers adjusted for interim looks, a summary sentence, and decisions by level.

A level that was stopped early has fewer images than others, and its rate was tested several times. So its interval is
valid at all looks, means over levels are shown only if all of their images were looked at, and G is that of the
sequential test.
"""

from __future__ import annotations

from collections.abc import Sequence

from formalimg.errors import FormalimgError
from formalimg.reports.comparison_model import RunRow, run_cell, run_column
from formalimg.reports.tables.format import NOTHING, count_noun, epsilon_text, format_value, join_names, level_name
from formalimg.reports.tables.model import Column, Number, TableRow
from formalimg.runs.looks import AdaptiveLooks, read_looks
from formalimg.stats.observations import Generalizability, Summary
from formalimg.stats.sequential import AdaptiveResult, LevelDecision
from formalimg.stats.sequential_pairs import PairedDecision, PairedResult, PairedTest
from formalimg.stats.summary import MissingBounds
from formalimg.types import Benchmark, RunRecord, Table

_DECISIONS: dict[PairedDecision, str] = {
    "better": "better",
    "worse": "worse",
    "hopeless": "not to be told apart with the items that are left",
    "undecided": "not told apart by all items",
    "going on": "not decided yet",
}
_LEVEL_DECISIONS: dict[LevelDecision, str] = {"going on": "not decided yet", "undecided": "undecided by all images"}


def run_looks(run: RunRecord) -> AdaptiveLooks:
    """Return the interim looks of an adaptive run."""
    looks = read_looks(run.folder)
    if looks is None or str(looks) != run.manifest.adaptive:
        raise FormalimgError(f"{run.folder} is missing looks.jsonl of its adaptive run: restore it")
    return looks


def adaptive_summary(summary: Summary, looks: AdaptiveLooks, run: RunRecord) -> Summary:
    """Return the summary of an adaptive run, adjusted for its interim looks."""
    result = looks.test.result() if looks.is_by(run.manifest.judge) else None
    levels_result = result if isinstance(result, AdaptiveResult) else None
    # What was not scored took no part in the looks, so their intervals are not about failures by --missing fail.
    intervals = levels_result.intervals if levels_result and summary.missing != "fail" else {}
    is_whole = looks.total == len(looks.items)
    whole = {level for level, rate in summary.levels.items() if is_whole or rate.expected == looks.images_of(level)}
    general = summary.generalizability
    if general is not None and levels_result is not None and levels_result.generalizability.epsilon == general.epsilon:
        general = levels_result.generalizability
    elif general is not None and not is_whole:
        general = Generalizability(general.epsilon, None, None, None)
    return summary._replace(
        levels={
            level: rate if is_whole and levels_result is None else rate._replace(interval=intervals.get(level))
            for level, rate in summary.levels.items()
        },
        overall=summary.overall if is_whole else summary.overall._replace(value=None, interval=None),
        bands={
            name: band if whole.issuperset(band.levels) else band._replace(value=None, interval=None)
            for name, band in summary.bands.items()
        },
        generalizability=general,
    )


def adaptive_bounds(bounds: MissingBounds, summary: Summary) -> MissingBounds:
    """Return the missing-verdict bounds for the numbers that are reported for an adaptive run.

    Images without a verdict took no part in the looks, so there are no bounds of G.
    """
    return MissingBounds(
        *(
            estimates._replace(
                overall=None if summary.overall.value is None else estimates.overall,
                bands={name: value for name, value in estimates.bands.items() if summary.bands[name].value is not None},
                generalizability=None,
            )
            for estimates in bounds
        )
    )


def adaptive_text(looks: AdaptiveLooks, judge: str) -> str:
    """Return a sentence (without final period) on the result of an adaptive run and the images it saved."""
    text = _decision_text(looks, judge)
    if not looks.restarts:
        return text
    times = {1: "once", 2: "twice"}.get(len(looks.restarts), f"{len(looks.restarts)} times")
    counts = join_names([str(count) for count in looks.restarts])
    plural = "" if looks.restarts == (1,) else "s"
    return f"{text}; restarted {times}, after {counts} interim look{plural}: the error guarantee covers one run only"


def _decision_text(looks: AdaptiveLooks, judge: str) -> str:
    result, used = looks.test.result(), len(looks.items)
    saved = f"{count_noun(used, 'image')} of {looks.total:,}, {looks.total - used:,} saved"
    confidence = f"{100 * looks.design.confidence:g} %"
    if isinstance(result, PairedResult):
        decision = f"by {judge}, {_DECISIONS[result.decision]}"
        unscored = sum(len(images.outcomes.get("unscored", ())) for images in looks.seen)
        is_claimed, test = result.decision in ("better", "worse"), looks.test
        if is_claimed and isinstance(test, PairedTest) and not test.is_certain(unscored):
            decision += f" on what has a verdict, but {count_noun(unscored, 'missing verdict')} could overturn this"
        if result.difference is None or result.interval is None:
            return f"adaptive, against {looks.against}: {decision}; {saved}"
        ends = " to ".join(format_value(end, "points") for end in result.interval)
        difference = f"{format_value(result.difference, 'points')} points ({confidence}: {ends})"
        return f"adaptive, against {looks.against}: {difference}, {decision}; {saved}"
    general = result.generalizability
    value = "not decided yet" if general.value is None else str(general.value)
    ends = f"{general.low} to {general.high}"
    open_levels = [str(level) for level, decision in result.decisions.items() if decision == "undecided"]
    undecided = f"; undecided by all images at {join_names(open_levels)}" if open_levels else ""
    return f"adaptive: G{epsilon_text(general.epsilon)} = {value} ({confidence}: {ends}), by {saved}{undecided}"


def adaptive_remark(row: RunRow, looks: AdaptiveLooks, suite: Benchmark) -> str:
    """Return the remark on an adaptive run below the main table."""
    if row.manifest.judge is None or not looks.is_by(row.manifest.judge):
        return f"{row.name}: adaptive, by the verdicts of another judge; so G and intervals are unknown for this one."
    missing = [level for level in looks.levels if level not in row.summary.levels]
    not_run = ""
    if missing:
        last = f" to {missing[-1]}" if len(missing) > 1 else ""
        not_run = f" {level_name(suite, missing[0])}{last}: not run (adaptive)."
    whole = "" if looks.total == len(looks.items) else " Means of levels that were not run in full are not shown."
    return f"{row.name}: {adaptive_text(looks, row.manifest.judge.name)}.{not_run}{whole}"


def adaptive_tables(suite: Benchmark, rows: Sequence[RunRow]) -> tuple[Table, ...]:
    """Return a table of level-by-level decisions for each adaptive run in `rows`."""
    table_rows = []
    for row in rows:
        looks = row.looks
        result = looks.test.result() if looks is not None and looks.is_by(row.manifest.judge) else None
        if looks is None or not isinstance(result, AdaptiveResult):
            continue
        for level in looks.levels:
            cells = _level_cells(looks, result, level)
            table_rows.append(TableRow((*run_cell(row.name, rows), level_name(suite, level), *cells), row.name))
    if not table_rows:
        return ()
    columns = (
        *run_column(rows),
        Column(suite.level),
        Column("looks", "count"),
        Column("images", "count"),
        Column("rate", "percent"),
        Column("decision"),
    )
    note = (
        "A level is held or lost as soon as its images show it; the test ends at the first lost level. "
        "Intervals hold at all looks at once."
    )
    return (Table("adaptive", "Adaptive: decisions", columns, tuple(table_rows), (note,)),)


def _level_cells(looks: AdaptiveLooks, result: AdaptiveResult, level: int) -> tuple[str | int | Number, ...]:
    level_looks = [look for look in looks.test.looks if look[0] == level]
    if not level_looks:
        return NOTHING, NOTHING, NOTHING, "not run (adaptive)"
    decision = result.decisions[level]
    _, scored, passed, *_ = level_looks[-1]
    rate = Number(passed / scored, result.intervals[level], None, passed, scored) if scored else NOTHING
    return len(level_looks), scored, rate, _LEVEL_DECISIONS.get(decision, decision)
