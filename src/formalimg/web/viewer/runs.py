"""The runs page: all runs of a folder, filtered, sorted and compared with a baseline, with editable tags."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date
from itertools import groupby
from typing import Any, Literal, NamedTuple, TypeAlias, get_args

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
from formalimg.web.viewer.index import BaselineDifference, IndexedRun, RunIndex
from formalimg.web.viewer.urls import build_url, parse_number

PER_PAGE = 100

SortColumn: TypeAlias = Literal["model", "suite", "overall", "difference", "scored", "judge", "cost", "begun"]
Order: TypeAlias = Literal["asc", "desc"]
RunStatus: TypeAlias = Literal["in progress", "unfinished", "finished"]

_ASCENDING = ("model", "suite", "judge")  # columns of text, smallest first; others have the largest first
_DEFAULT_SORT: SortColumn = "begun"
_MAX_TEXT = 200


class RunsQuery(NamedTuple):
    """The state of the runs page in its URL, in which empty fields do not filter."""

    text: str = ""  # words that must all occur in name, model, suite, judge, tags or note
    suite: str = ""
    model: str = ""
    judge: str = ""
    tag: str = ""
    status: str = ""
    since: str = ""  # the first and last day on which it began, as in 2026-01-31
    until: str = ""
    sort: SortColumn = _DEFAULT_SORT
    order: Order = "desc"
    group: str = ""  # "suite" to put the runs of a suite together
    baseline: str = ""  # the name of the run that the others are compared with
    page: int = 1

    @property
    def is_filtered(self) -> bool:
        """Whether any filter is set."""
        return any(self[: RunsQuery._fields.index("sort")])

    @property
    def kept(self) -> dict[str, str]:
        """The query values to retain when the filters change: sort order and baseline unless they are the default."""
        values = {} if self.order == default_order(self.sort) else {"order": str(self.order)}
        if values or self.sort != _DEFAULT_SORT:
            values["sort"] = self.sort
        return {**values, "baseline": self.baseline} if self.baseline else values

    def url(self, **changes: Any) -> str:
        """Return the URL of this list with changed values, on the first page unless `page` is passed."""
        query = self._replace(**{"page": 1, **changes})
        values = {name: value for name, value in query._asdict().items() if name not in ("sort", "order", "baseline")}
        return build_url("/", **{**values, "page": query.page if query.page > 1 else "", **query.kept})


def parse_runs_query(query: Mapping[str, str]) -> RunsQuery:
    """Parse the query of a URL."""
    values: dict[str, Any] = {name: query[name] for name in RunsQuery._fields if query.get(name)}
    values["page"] = max(parse_number(query, "page") or 1, 1)
    values["text"] = query.get("text", "").strip()[:_MAX_TEXT]
    values.setdefault("order", default_order(values.get("sort", _DEFAULT_SORT)))
    choices = {
        "sort": get_args(SortColumn),
        "order": get_args(Order),
        "status": get_args(RunStatus),
        "group": ("suite",),
    }
    for name, allowed in choices.items():
        if name in values and values[name] not in allowed:
            raise HTTPException(400, f"unknown {name} {values[name][:40]!r}: choose {', '.join(allowed)}")
    for name in ("since", "until"):
        try:
            values[name] = date.fromisoformat(values[name]).isoformat() if name in values else ""
        except ValueError as error:
            message = f"{name} is not a date: {values[name][:40]!r}: write it as in 2026-01-31"
            raise HTTPException(400, message) from error
    return RunsQuery(**values)


def default_order(column: SortColumn) -> Order:
    """Return the initial sort order of a column."""
    return "asc" if column in _ASCENDING else "desc"


class ListedRun(NamedTuple):
    """A run in the list, with its difference from the baseline if the two were compared."""

    run: IndexedRun
    difference: BaselineDifference | None = None


class RunPage(NamedTuple):
    """A page of the list of runs."""

    runs: list[ListedRun]  # in order
    total: int  # number of runs on all pages
    pages: int  # number of pages
    group_sizes: Mapping[str, int]  # number of runs on all pages, by suite


def run_status(run: IndexedRun) -> RunStatus:
    """Return whether a run is in progress, was left unfinished, or is finished."""
    return "in progress" if run.activity is not None else "unfinished" if run.summary.left else "finished"


def select_runs(
    runs: Sequence[IndexedRun], query: RunsQuery, compare: Callable[[IndexedRun], BaselineDifference | None]
) -> RunPage:
    """Return the page of runs selected by a query."""
    matching = [ListedRun(run) for run in runs if _matches(run, query)]
    by_difference = query.sort == "difference"
    if by_difference:
        matching = [listed._replace(difference=compare(listed.run)) for listed in matching]
    matching.sort(key=lambda listed: listed.run.name)
    matching.sort(key=lambda listed: listed.run.summary.created, reverse=True)
    keys = [(_sort_key(listed, query.sort), listed) for listed in matching]
    with_key = [pair for pair in keys if pair[0] is not None]
    with_key.sort(key=lambda pair: pair[0], reverse=query.order == "desc")  # type: ignore[arg-type,return-value]
    ordered = [listed for _, listed in [*with_key, *(pair for pair in keys if pair[0] is None)]]
    if query.group:
        ordered.sort(key=lambda listed: listed.run.summary.about.title)
    start = (query.page - 1) * PER_PAGE
    on_page = ordered[start : start + PER_PAGE]
    if not by_difference:
        on_page = [listed._replace(difference=compare(listed.run)) for listed in on_page]
    sizes = Counter(listed.run.summary.suite for listed in ordered)
    return RunPage(on_page, len(ordered), max(-(-len(ordered) // PER_PAGE), 1), sizes)


def _sort_key(listed: ListedRun, column: SortColumn) -> str | float | tuple[float, int] | None:
    """Return the sort value of a run in a column, or None if it has none."""
    summary = listed.run.summary
    match column:
        case "model":
            name = summary.given.title if summary.given else summary.model
            return _natural(f"{name} {listed.run.name}")
        case "suite":
            return summary.about.title.casefold()
        case "overall":
            return summary.overall.value
        case "difference":
            return listed.difference.value if listed.difference else None
        case "scored":
            return summary.coverage
        case "judge":
            return ", ".join(summary.judges).casefold() or None
        case "cost":
            return summary.spent.dollars, summary.spent.unpriced
        case "begun":
            return summary.created


def _natural(text: str) -> str:
    """Return a key for natural sorting, in which step-900 comes before step-1000."""
    return re.sub(r"\d+", lambda digits: digits[0].zfill(12), text.casefold())


def _matches(run: IndexedRun, query: RunsQuery) -> bool:
    summary = run.summary
    day = summary.created[:10]
    return (
        query.suite in ("", summary.suite)
        and query.model in ("", summary.model)
        and query.judge in ("", *summary.judges)
        and query.tag in ("", *run.tags.tags)
        and query.status in ("", run_status(run))
        and (not query.since or day >= query.since)
        and (not query.until or day <= query.until)
        and (not query.text or _contains(run, query.text))
    )


def _contains(run: IndexedRun, text: str) -> bool:
    summary = run.summary
    title = summary.given.title if summary.given else ""
    parts = (run.name, title, summary.model, summary.condition, summary.suite, summary.about.title, *summary.judges)
    searched = "\n".join((*parts, *run.tags.tags, run.tags.note)).casefold()
    return all(word in searched for word in text.casefold().split())


def filter_choices(runs: Iterable[IndexedRun]) -> dict[str, dict[str, int]]:
    """Return the filter values of all runs, sorted by name, with the number of runs."""
    counts: dict[str, Counter[str]] = {name: Counter() for name in ("suite", "model", "judge", "tag")}
    for run in runs:
        counts["suite"][run.summary.suite] += 1
        counts["model"][run.summary.model] += 1
        counts["judge"].update(run.summary.judges)
        counts["tag"].update(run.tags.tags)
    return {name: dict(sorted(counter.items(), key=lambda pair: _natural(pair[0]))) for name, counter in counts.items()}


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
