"""The list of runs that a URL asks for: filtered, searched, sorted, grouped and cut into pages. Pure functions."""

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

_ASCENDING: frozenset[SortColumn] = frozenset({"model", "suite", "judge"})
"""Columns that are ascending first: texts. Numbers and dates have the largest first."""

_DEFAULT_SORT: SortColumn = "begun"
_MAX_TEXT = 200


class RunsQuery(NamedTuple):
    """The state of the runs page in its URL, in which empty fields do not filter."""

    text: str = ""  # words that all have to occur in name, model, suite, judge, tags or note
    suite: str = ""  # the run has exactly this one
    model: str = ""
    judge: str = ""
    tag: str = ""
    status: str = ""
    since: str = ""  # the first and last day on which it began, as in 2026-01-31
    until: str = ""
    sort: SortColumn = _DEFAULT_SORT  # the column to sort by
    order: Order = "desc"  # whether the smallest or the largest is first
    group: str = ""  # "suite" to put the runs of a suite together
    baseline: str = ""  # the name of the run that the others are compared with
    page: int = 1  # the number of the page, from 1

    @property
    def is_filtered(self) -> bool:
        """Whether any filter is set."""
        return any(self[: RunsQuery._fields.index("sort")])

    @property
    def kept(self) -> dict[str, str]:
        """The query values to retain when the filters change: sort order and baseline unless they are the default."""
        changed = {} if self.order == default_order(self.sort) else {"order": str(self.order)}
        if changed or self.sort != _DEFAULT_SORT:
            changed["sort"] = self.sort
        return {**changed, "baseline": self.baseline} if self.baseline else changed

    def url(self, **changes: Any) -> str:
        """Return the URL of this list with changed values, on the first page unless `page` is passed."""
        changed = self._replace(**{"page": 1, **changes})
        filters = {
            name: value for name, value in changed._asdict().items() if name not in ("sort", "order", "baseline")
        }
        return build_url("/", **{**filters, "page": changed.page if changed.page > 1 else "", **changed.kept})


def parse_runs_query(query: Mapping[str, str]) -> RunsQuery:
    """Parse the query of a URL."""
    column = query.get("sort") or _DEFAULT_SORT
    if column not in get_args(SortColumn):
        raise HTTPException(400, f"runs cannot be sorted by {column[:40]!r}: choose {', '.join(get_args(SortColumn))}")
    order = query.get("order") or default_order(column)  # type: ignore[arg-type]  # checked above
    if order not in get_args(Order):
        raise HTTPException(400, f"there is no order {order[:40]!r}: it is asc or desc")
    status = query.get("status", "")
    if status and status not in get_args(RunStatus):
        raise HTTPException(400, f"there is no status {status[:40]!r}: it is {', '.join(get_args(RunStatus))}")
    group = query.get("group", "")
    if group not in ("", "suite"):
        raise HTTPException(400, f"runs cannot be grouped by {group[:40]!r}: it is suite")
    return RunsQuery(
        query.get("text", "").strip()[:_MAX_TEXT],
        query.get("suite", ""),
        query.get("model", ""),
        query.get("judge", ""),
        query.get("tag", ""),
        status,
        _parse_day(query, "since"),
        _parse_day(query, "until"),
        column,  # type: ignore[arg-type]  # checked above
        order,  # type: ignore[arg-type]  # checked above
        group,
        query.get("baseline", ""),
        max(parse_number(query, "page") or 1, 1),
    )


def _parse_day(query: Mapping[str, str], name: str) -> str:
    text = query.get(name, "")
    try:
        return text and date.fromisoformat(text).isoformat()
    except ValueError as error:
        raise HTTPException(400, f"{name} is not a date: {text[:40]!r}: write it as in 2026-01-31") from error


def default_order(column: SortColumn) -> Order:
    """Return the initial sort order of a column."""
    return "asc" if column in _ASCENDING else "desc"


class ListedRun(NamedTuple):
    """A run in the list, with its difference from the baseline if the two were compared."""

    run: IndexedRun
    difference: BaselineDifference | None = None


class RunPage(NamedTuple):
    """A page of the list of runs."""

    runs: list[ListedRun]  # the runs of the page, in order
    total: int  # number of runs on all pages
    pages: int  # number of pages
    group_sizes: Mapping[str, int]  # number of runs on all pages, by suite


def run_status(run: IndexedRun) -> RunStatus:
    """Return whether a run is in progress, was left unfinished, or is finished."""
    return "in progress" if run.activity is not None else "unfinished" if run.summary.left else "finished"


def select_runs(
    runs: Sequence[IndexedRun], query: RunsQuery, compared: Callable[[IndexedRun], BaselineDifference | None]
) -> RunPage:
    """Return the page of runs selected by a query."""
    kept = [ListedRun(run) for run in runs if _matches(run, query)]
    by_difference = query.sort == "difference"
    if by_difference:
        kept = [one._replace(difference=compared(one.run)) for one in kept]
    kept.sort(key=lambda one: one.run.name)
    kept.sort(key=lambda one: one.run.summary.created, reverse=True)
    known = [one for one in kept if _sort_key(one, query.sort) is not None]
    known.sort(key=lambda one: _sort_key(one, query.sort), reverse=query.order == "desc")  # type: ignore[arg-type,return-value]
    unknown = [one for one in kept if _sort_key(one, query.sort) is None]  # last, whatever the order
    found = [*known, *unknown]
    if query.group:
        found.sort(key=lambda one: one.run.summary.about.title)
    start = (query.page - 1) * PER_PAGE
    shown = found[start : start + PER_PAGE]
    if not by_difference:
        shown = [one._replace(difference=compared(one.run)) for one in shown]
    sizes = Counter(one.run.summary.suite for one in found)
    return RunPage(shown, len(found), max(-(-len(found) // PER_PAGE), 1), sizes)


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
    summary, judge = run.summary, query.judge
    day = summary.created[:10]
    return (
        query.suite in ("", summary.suite)
        and query.model in ("", summary.model)
        and judge in ("", *summary.judges)
        and (not query.tag or query.tag in run.tags.tags)
        and query.status in ("", run_status(run))
        and (not query.since or day >= query.since)
        and (not query.until or day <= query.until)
        and (not query.text or _contains(run, query.text))
    )


def _contains(run: IndexedRun, text: str) -> bool:
    summary = run.summary
    given = summary.given.title if summary.given else ""
    parts = (run.name, given, summary.model, summary.condition, summary.suite, summary.about.title, *summary.judges)
    whole = "\n".join((*parts, *run.tags.tags, run.tags.note)).casefold()
    return all(word in whole for word in text.casefold().split())


class FilterChoices(NamedTuple):
    """The filter values that occur in runs, with the number of runs."""

    suite: Mapping[str, int]
    model: Mapping[str, int]
    judge: Mapping[str, int]
    tag: Mapping[str, int]


def filter_choices(runs: Iterable[IndexedRun]) -> FilterChoices:
    """Return the filter values of all runs, sorted by name."""
    counts = FilterChoices(Counter(), Counter(), Counter(), Counter())
    for run in runs:
        summary = run.summary
        for found, values in zip(
            counts, ([summary.suite], [summary.model], summary.judges, run.tags.tags), strict=True
        ):
            found.update(values)  # type: ignore[attr-defined]  # a Counter, made above
    return FilterChoices(*(dict(sorted(found.items(), key=lambda it: _natural(it[0]))) for found in counts))
