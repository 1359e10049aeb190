"""The runs page: all runs of a folder, filtered, sorted and compared with a baseline, with editable tags."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import groupby
from typing import Any, get_args

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from formalimg.benchmarks.registry import suite
from formalimg.reports.tables.format import NOTHING, format_interval, format_value
from formalimg.reports.tables.model import ColumnType
from formalimg.runs.image_counts import RunActivity
from formalimg.runs.tags import TagsChangedError
from formalimg.web.json_body import Body, require_text
from formalimg.web.rendering import page, percent, rate_text
from formalimg.web.viewer.index import BaselineDifference, RunIndex
from formalimg.web.viewer.run_list import (
    ListedRun,
    RunsQuery,
    RunStatus,
    SortColumn,
    default_order,
    filter_choices,
    parse_runs_query,
    run_status,
    select_runs,
)

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


def overview_page(index: RunIndex, request: Request) -> Response:
    """Return the list of runs, including unreadable runs with the reason."""
    query = parse_runs_query(request.query_params)
    state = index.state_digest()  # first, so that the page learns of later changes
    runs, unreadable = index.listing()
    baseline = next((run for run in runs if run.name == query.baseline), None)
    selected = select_runs(runs, query, lambda run: index.difference(run, baseline) if baseline else None)
    rows = [_row(listed, query) for listed in selected.runs]
    has_curves = any(listed.run.summary.curve.line for listed in selected.runs)
    absent = [column for column, is_shown in ((None, has_curves), ("difference", baseline)) if not is_shown]
    groups = [{"title": "", "size": len(rows), "rows": rows}]
    if query.group:
        groups = [
            {"title": suite(name).title, "size": selected.group_sizes[name], "rows": list(group)}
            for name, group in groupby(rows, key=lambda row: row["summary"].suite)
        ]
    return page(
        "overview.html",
        folder=str(index.site.folder),
        state=state,
        count=len(runs),
        query=query,
        kept=query.kept,
        choices=filter_choices(runs),
        statuses=get_args(RunStatus),
        suite_title=lambda name: suite(name).title,
        headers=[_header(column, label, query) for column, label in _COLUMNS.items() if column not in absent],
        has_curves=has_curves,
        baseline=baseline,
        baseline_missing=query.baseline if query.baseline and baseline is None else "",
        groups=groups,
        total=selected.total,
        pages=selected.pages,
        before=query.url(page=query.page - 1) if 1 < query.page <= selected.pages else "",
        after=query.url(page=query.page + 1) if query.page < selected.pages else "",
        some_missing=any("†" in str(row["overall"]) for row in rows),
        unreadable=unreadable,
    )


def save_tags(index: RunIndex, body: Body) -> Response:
    """Save the tags and the note of a run."""
    if index.read_only:
        raise HTTPException(403, "this viewer is read-only: start it without --read-only to edit tags")
    name = require_text(body, "run", max_length=2_000)
    tags = [tag for tag in require_text(body, "tags").split(",") if tag.strip()]
    note, version = require_text(body, "note"), require_text(body, "version", max_length=64)
    try:
        saved, status, error = index.save_tags(name, tags, note, version), 200, ""
    except TagsChangedError as changed:
        saved, status, error = changed.current, 409, str(changed)
    return JSONResponse({"error": error, "tags": saved.tags, "note": saved.note, "version": saved.version}, status)


def progress_text(activity: RunActivity) -> dict[str, object]:
    """Return the progress of a run as text, for pages and events alike."""
    counts, spent, rate = activity.counts, activity.spent, activity.rate
    cost = f"${spent.dollars:,.2f}" if spent.dollars or spent.unpriced else ""
    return {
        "share": counts.done / counts.images if counts.images else 0.0,
        "done": f"{counts.done:,} of {counts.images:,} images",
        "rate": "" if rate is None else f"{rate:,.{1 if rate < 10 else 0}f} images/min",
        "left": "" if activity.seconds_left is None else f"{duration_text(activity.seconds_left)} left",
        "cost": f"{cost} + {spent.unpriced:,} unpriced" if spent.unpriced else cost,
    }


def duration_text(seconds: float) -> str:
    """Format a duration with its two largest units: 45 s, 12 min, 3 h 20 min, 2 d 4 h."""
    if round(seconds) < 60:
        return f"{round(seconds)} s"
    minutes = round(round(seconds) / 60)
    if minutes < 60:
        return f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours < 24 else f"{hours // 24} d {hours % 24} h"


def _header(column: SortColumn | None, label: str, query: RunsQuery) -> dict[str, str]:
    if column is None:
        return {"label": label, "url": "", "sorted": ""}
    if column != query.sort:
        return {"label": label, "url": query.url(sort=column, order=default_order(column)), "sorted": ""}
    reverse = "asc" if query.order == "desc" else "desc"
    return {"label": label, "url": query.url(sort=column, order=reverse), "sorted": f"{query.order}ending"}


def _row(listed: ListedRun, query: RunsQuery) -> dict[str, Any]:
    run, summary = listed.run, listed.run.summary
    overall, has_scores, supplied = summary.overall, summary.about.has_scores, summary.given
    is_baseline, has_figure = run.name == query.baseline, overall.value is not None
    difference, interval, sign = _difference_texts(listed.difference, has_scores=has_scores)
    return {
        "run": run,
        "summary": summary,
        "mean": format_value(supplied.mean, "score") if supplied and supplied.mean is not None else NOTHING,
        "overall": rate_text(overall, summary.about),
        "overall_interval": format_interval(overall.interval, "score" if has_scores else "percent")
        if has_figure
        else "",
        "overall_of": "of all its images" if has_figure and not summary.is_of_levels else "",
        "difference": difference,
        "difference_interval": interval,
        "difference_sign": sign,
        "coverage": percent(summary.coverage),
        "status": run_status(run),
        "progress": progress_text(run.activity) if run.activity else None,
        "is_baseline": is_baseline,
        "pin_url": query.url(baseline="" if is_baseline else run.name, page=query.page),
    }


def _difference_texts(difference: BaselineDifference | None, *, has_scores: bool) -> tuple[str, str, str]:
    """Return the difference, its interval, and whether it is significantly better or worse."""
    if difference is None:
        return "", "", ""
    value, interval, is_paired = difference
    unit: ColumnType = "difference" if has_scores else "points"
    sign = ""
    if interval is not None and not interval.low <= 0 <= interval.high:
        sign = "better" if value > 0 else "worse"
    return format_value(value, unit), format_interval(interval, unit) if is_paired else "other items, not paired", sign
