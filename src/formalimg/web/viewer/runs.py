"""The runs page: all runs of a folder, filtered, sorted and compared with a baseline, with editable tags."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import groupby
from typing import NamedTuple, get_args

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from formalimg.benchmarks.registry import suite
from formalimg.reports.tables.format import NOTHING, format_interval, format_value
from formalimg.runs.image_counts import RunActivity
from formalimg.runs.tags import TagsChangedError
from formalimg.web.json_body import Body, require_text
from formalimg.web.rendering import page, percent, rate_text
from formalimg.web.viewer.index import BaselineDifference, IndexedRun, RunIndex
from formalimg.web.viewer.run_list import (
    ListedRun,
    Order,
    RunsQuery,
    RunStatus,
    SortColumn,
    default_order,
    filter_choices,
    parse_runs_query,
    run_status,
    select_runs,
)
from formalimg.web.viewer.summaries import RunSummary

_COLUMNS: Mapping[SortColumn | None, str] = {
    "model": "model",
    "suite": "suite",
    None: "by level",
    "overall": "overall",
    "difference": "to baseline",
    "scored": "scored",
    "judge": "judge",
    "cost": "cost",
    "begun": "begun",
}


class _Row(NamedTuple):
    """A row of the table, formatted as text."""

    run: IndexedRun
    summary: RunSummary
    mean: str
    overall: str
    overall_interval: str
    overall_of: str
    difference: str
    difference_interval: str
    difference_sign: str
    coverage: str
    status: RunStatus
    progress: ProgressText | None
    is_baseline: bool
    pin_url: str


class _Header(NamedTuple):
    """The header of a column, with a link for sorting by it."""

    label: str
    url: str
    sorted: str


class _RunGroup(NamedTuple):
    title: str
    size: int
    rows: list[_Row]


class ProgressText(NamedTuple):
    """The progress of a run as text, for pages and events alike."""

    share: float
    done: str
    rate: str
    left: str
    cost: str


def overview_page(index: RunIndex, request: Request) -> Response:
    """Return the list of runs, including unreadable runs with the reason."""
    query = parse_runs_query(request.query_params)
    state = index.state_digest()  # before the runs are read: what changes meanwhile is news to the page
    found = index.listing()
    baseline = next((run for run in found.runs if run.name == query.baseline), None)
    shown = select_runs(found.runs, query, lambda run: index.difference(run, baseline) if baseline else None)
    rows = [_row(one, query) for one in shown.runs]
    has_curves = any(row.summary.curve.line for row in rows)
    return page(
        "overview.html",
        folder=str(index.site.folder),
        state=state,
        count=len(found.runs),
        query=query,
        kept=query.kept,
        choices=filter_choices(found.runs),
        statuses=get_args(RunStatus),
        suite_title=lambda name: suite(name).title,
        headers=[
            _header(column, label, query)
            for column, label in _COLUMNS.items()
            if _is_shown(column, baseline, has_curves)
        ],
        has_curves=has_curves,
        baseline=baseline,
        baseline_missing=query.baseline if query.baseline and baseline is None else "",
        groups=_groups(rows, query, shown.group_sizes),
        total=shown.total,
        pages=shown.pages,
        before=query.url(page=query.page - 1) if 1 < query.page <= shown.pages else "",
        after=query.url(page=query.page + 1) if query.page < shown.pages else "",
        some_missing=any("†" in row.overall for row in rows),
        unreadable=found.unreadable,
        pending=found.pending,
    )


def save_tags(index: RunIndex, body: Body) -> Response:
    """Save the tags and the note of a run."""
    if index.read_only:
        raise HTTPException(403, "this viewer is read-only: start it without --read-only to edit tags")
    name = require_text(body, "run", max_length=2_000)
    tags = [tag for tag in require_text(body, "tags").split(",") if tag.strip()]
    note, version = require_text(body, "note"), require_text(body, "version", max_length=64)
    try:
        found, status, error = index.save_tags(name, tags, note, version), 200, ""
    except TagsChangedError as changed:
        found, status, error = changed.current, 409, str(changed)
    return JSONResponse({"error": error, "tags": found.tags, "note": found.note, "version": found.version}, status)


def progress_text(activity: RunActivity) -> ProgressText:
    """Return the progress of a run as text."""
    counts = activity.counts
    spent = activity.spent
    cost = f"${spent.dollars:,.2f}" if spent.dollars or spent.unpriced else ""
    return ProgressText(
        counts.done / counts.images if counts.images else 0.0,
        f"{counts.done:,} of {counts.images:,} images",
        "" if activity.rate is None else f"{activity.rate:,.{1 if activity.rate < 10 else 0}f} images/min",
        "" if activity.seconds_left is None else f"{duration_text(activity.seconds_left)} left",
        f"{cost} + {spent.unpriced:,} unpriced" if spent.unpriced else cost,
    )


def duration_text(seconds: float) -> str:
    """Format a duration with its two largest units: 45 s, 12 min, 3 h 20 min, 2 d 4 h."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    minutes = round(whole / 60)
    if minutes < 60:
        return f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    if hours < 24:
        return f"{hours} h {minutes} min"
    return f"{hours // 24} d {hours % 24} h"


def _is_shown(column: SortColumn | None, baseline: IndexedRun | None, has_curves: bool) -> bool:
    return has_curves if column is None else column != "difference" or baseline is not None


def _header(column: SortColumn | None, label: str, query: RunsQuery) -> _Header:
    if column is None:
        return _Header(label, "", "")
    if column != query.sort:
        return _Header(label, query.url(sort=column, order=default_order(column)), "")
    turned: Order = "asc" if query.order == "desc" else "desc"
    return _Header(label, query.url(sort=column, order=turned), f"{query.order}ending")


def _groups(rows: list[_Row], query: RunsQuery, sizes: Mapping[str, int]) -> list[_RunGroup]:
    if not query.group:
        return [_RunGroup("", len(rows), rows)]
    return [
        _RunGroup(suite(name).title, sizes[name], list(those))
        for name, those in groupby(rows, key=lambda row: row.summary.suite)
    ]


def _row(listed: ListedRun, query: RunsQuery) -> _Row:
    run, difference = listed.run, listed.difference
    summary = run.summary
    about, overall = summary.about, summary.overall
    is_baseline = run.name == query.baseline
    has_figure = overall.value is not None
    return _Row(
        run,
        summary,
        format_value(summary.given.mean, "score") if summary.given and summary.given.mean is not None else NOTHING,
        rate_text(overall, about),
        format_interval(overall.interval, "score" if about.has_scores else "percent") if has_figure else "",
        "" if summary.is_of_levels or not has_figure else "of all its images",
        *_difference_texts(difference, has_scores=about.has_scores),
        percent(summary.coverage),
        run_status(run),
        progress_text(run.activity) if run.activity else None,
        is_baseline,
        query.url(baseline="" if is_baseline else run.name, page=query.page),
    )


def _difference_texts(found: BaselineDifference | None, *, has_scores: bool) -> tuple[str, str, str]:
    """Return the difference, its interval, and whether it is significantly better or worse."""
    if found is None:
        return "", "", ""
    unit = "difference" if has_scores else "points"
    sign = ""
    if found.interval is not None and not found.interval.low <= 0 <= found.interval.high:
        sign = "better" if found.value > 0 else "worse"
    interval = format_interval(found.interval, unit) if found.is_paired else "other items, not paired"  # type: ignore[arg-type]
    return format_value(found.value, unit), interval, sign  # type: ignore[arg-type]
