"""Adaptive runs in reports: numbers that take the looks into account, a sentence, and the decisions level by level.

A level that was stopped early has fewer images than others, and its rate was looked at several times. So its interval
is the one that holds at all looks, means over levels are shown only where all of their images were looked at, and G is
that of the sequential test.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from formalimg.errors import FormalimgError
from formalimg.reports.comparison_model import RunRow, run_cell, run_column
from formalimg.reports.tables.format import NOTHING, count_noun, epsilon_text, format_value, join_names, level_name
from formalimg.reports.tables.model import Column, Number, TableRow
from formalimg.runs.looks import AdaptiveLooks, read_looks
from formalimg.stats.observations import Band, Generalizability, Summary
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
_OUT_OF_IMAGES: dict[LevelDecision, str] = {"going on": "not decided yet", "undecided": "undecided by all images"}


def run_looks(run: RunRecord) -> AdaptiveLooks:
    """Return the looks of an adaptive run."""
    looks = read_looks(run.folder)
    if looks is None or str(looks) != run.manifest.adaptive:
        raise FormalimgError(f"{run.folder} has lost the looks of its adaptive run: restore looks.jsonl")
    return looks


def adaptive_summary(summary: Summary, looks: AdaptiveLooks, run: RunRecord) -> Summary:
    """Return the numbers of an adaptive run as they may be shown."""
    found = looks.test.result() if looks.is_by(run.manifest.judge) else None
    tested = found if isinstance(found, AdaptiveResult) else None
    # What was not scored took no part in the looks, so their intervals are not about failures by --missing fail.
    intervals = tested.intervals if tested and summary.missing != "fail" else {}
    is_whole = looks.total == len(looks.items)
    whole = {level for level, rate in summary.levels.items() if is_whole or rate.expected == looks.images_of(level)}
    held = summary.generalizability
    if held is not None and tested is not None and tested.generalizability.epsilon == held.epsilon:
        held = tested.generalizability
    elif held is not None and not is_whole:
        held = Generalizability(held.epsilon, None, None, None)
    return summary._replace(
        levels={
            level: rate if is_whole and tested is None else rate._replace(interval=intervals.get(level))
            for level, rate in summary.levels.items()
        },
        overall=summary.overall if is_whole else summary.overall._replace(value=None, interval=None),
        bands={name: band if whole.issuperset(band.levels) else _hidden(band) for name, band in summary.bands.items()},
        generalizability=held,
    )


def adaptive_bounds(bounds: MissingBounds, shown: Summary) -> MissingBounds:
    """Return the bounds for missing verdicts of what is shown of an adaptive run.

    Images without a verdict took no part in the looks, so there are no bounds of G.
    """
    return MissingBounds(
        *(
            those._replace(
                overall=None if shown.overall.value is None else those.overall,
                bands={name: value for name, value in those.bands.items() if shown.bands[name].value is not None},
                generalizability=None,
            )
            for those in bounds
        )
    )


def _hidden(band: Band) -> Band:
    return band._replace(value=None, interval=None)


def adaptive_text(looks: AdaptiveLooks, judge: str) -> str:
    """Return what an adaptive run has found, and how many images it has saved, as a sentence without its full stop."""
    return f"{_decision_text(looks, judge)}{_restart_text(looks)}"


def _decision_text(looks: AdaptiveLooks, judge: str) -> str:
    found, used = looks.test.result(), len(looks.items)
    saved = f"{count_noun(used, 'image')} of {looks.total:,}, {looks.total - used:,} saved"
    if isinstance(found, PairedResult):
        decision = f"by {judge}, {_DECISIONS[found.decision]}"
        unscored = sum(len(images.outcomes.get("unscored", ())) for images in looks.seen)
        is_claimed, test = found.decision in ("better", "worse"), looks.test
        if is_claimed and isinstance(test, PairedTest) and not test.is_certain(unscored):
            decision += f" on what has a verdict, but {count_noun(unscored, 'missing verdict')} could overturn this"
        if found.difference is None or found.interval is None:
            return f"adaptive, against {looks.against}: {decision}; {saved}"
        ends = " to ".join(format_value(end, "points") for end in found.interval)
        return (
            f"adaptive, against {looks.against}: {format_value(found.difference, 'points')} points "
            f"({100 * looks.design.confidence:g} %: {ends}), {decision}; {saved}"
        )
    held = found.generalizability
    value = "not decided yet" if held.value is None else str(held.value)
    ends = f"{held.low} to {held.high}"
    open_levels = [str(level) for level, decision in found.decisions.items() if decision == "undecided"]
    undecided = f"; undecided by all images at {join_names(open_levels)}" if open_levels else ""
    confidence = f"{100 * looks.design.confidence:g} %"
    return f"adaptive: G{epsilon_text(held.epsilon)} = {value} ({confidence}: {ends}), by {saved}{undecided}"


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


def _restart_text(looks: AdaptiveLooks) -> str:
    """Return how often the run was begun anew after somebody had looked; empty for most runs."""
    if not looks.restarts:
        return ""
    times = {1: "once", 2: "twice"}.get(len(looks.restarts), f"{len(looks.restarts)} times")
    done = join_names([str(count) for count in looks.restarts])
    plural = "" if looks.restarts == (1,) else "s"
    return f"; restarted {times}, after {done} interim look{plural}: the error guarantee covers one run only"


def adaptive_tables(suite: Benchmark, rows: Sequence[RunRow]) -> tuple[Table, ...]:
    """Return the decisions of the adaptive runs among these, level by level; no table if there are none."""
    shown = []
    for row in rows:
        if row.looks is None or not row.looks.is_by(row.manifest.judge):
            continue
        found = row.looks.test.result()
        if not isinstance(found, AdaptiveResult):
            continue
        for level in row.looks.levels:
            cells = _cells(row, found, level)
            shown.append(TableRow((*run_cell(row.name, rows), level_name(suite, level), *cells), row.name))
    if not shown:
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
    return (Table("adaptive", "Adaptive: decisions", columns, tuple(shown), (note,)),)


def _cells(row: RunRow, found: AdaptiveResult, level: int) -> tuple[str | int | Number, ...]:
    looks = [look for look in row.looks.test.looks if look[0] == level] if row.looks else []
    if not looks:
        return NOTHING, NOTHING, NOTHING, "not run (adaptive)"
    decision = found.decisions[level]
    last = looks[-1]
    rate: str | Number = NOTHING
    with suppress(ZeroDivisionError):
        rate = Number(last[2] / last[1], found.intervals[level], None, last[2], last[1])
    return len(looks), last[1], rate, _OUT_OF_IMAGES.get(decision, decision)
