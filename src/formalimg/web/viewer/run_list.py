"""The list of runs that a URL asks for: filtered, searched, sorted, grouped and cut into pages."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date
from typing import Any, Literal, NamedTuple, TypeAlias, get_args

from starlette.exceptions import HTTPException

from formalimg.web.viewer.index import BaselineDifference, IndexedRun
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
