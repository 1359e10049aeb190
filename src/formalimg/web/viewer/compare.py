"""Compare several runs: curves, tables, paired differences from a baseline, and items side by side."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

from markupsafe import Markup
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from formalimg.benchmarks.registry import suite as suite_of
from formalimg.judges.failures import failure_sentences
from formalimg.reports.comparison import compare
from formalimg.reports.comparison_model import Comparison, Section
from formalimg.reports.figures.curve import curves_html, differences_svg
from formalimg.reports.findings import list_claims
from formalimg.reports.page import main_table_html, numbers_heading, table_html
from formalimg.reports.paired_tables import PAIRED
from formalimg.runs.database import PlannedItem
from formalimg.runs.reader import StoredRun
from formalimg.types import Benchmark, Verdict
from formalimg.web.rendering import page
from formalimg.web.viewer.compared_items import (
    ALL_PAIRS,
    ComparedItem,
    CompareState,
    compare_items,
    item_facets,
    parse_compare_state,
    select_items,
)
from formalimg.web.viewer.item import image_with_boxes
from formalimg.web.viewer.site import Site
from formalimg.web.viewer.tiles import MAX_PROMPT_LENGTH, SIGNS, common_opening, outcome_name
from formalimg.web.viewer.urls import build_url, history_url

_PER_PAGE = 24
_MAX_RUNS = 12
_IMAGE_SIDE = 260  # boxes and labels are drawn as if the image had this size
_SORTS = {"item": "as in the suite", "disagreement": "most disagreement first"}


class _ComparedRuns(NamedTuple):
    """The expensive part of a comparison: figures per suite, and the outcomes of the items in all runs."""

    suites: list[dict[str, object]]
    items: tuple[ComparedItem, ...]


def compare_page(site: Site, request: Request) -> Response:
    """Return the page that compares several runs."""
    names = list(dict.fromkeys(request.query_params.getlist("run")))
    if not names:
        raise HTTPException(400, "choose the runs to compare on the first page")
    if len(names) > _MAX_RUNS:
        raise HTTPException(400, f"choose at most {_MAX_RUNS} runs to compare")
    state = parse_compare_state(request, names)
    compared = site.cached(names, lambda: _compare_runs(site, state), what=("comparison", state.baseline))
    one_suite = len(compared.suites) == 1 and len(names) > 1
    selected = select_items(compared.items, state)
    start = (state.page - 1) * _PER_PAGE
    with _open_all(site, names) as runs:
        suite = suite_of(next(iter(runs.values())).manifest.suite)
        items = _item_values(site, [item.item for item in selected[start : start + _PER_PAGE]], runs, suite)
    pages = max(-(-len(selected) // _PER_PAGE), 1)
    return page(
        "compare.html",
        names=names,
        state=state,
        baselines=[(name, state.url(baseline=name, compared=None), name == state.baseline) for name in names],
        all_pairs=(state.url(baseline=ALL_PAIRS, compared=None), state.baseline == ALL_PAIRS),
        suites=compared.suites,
        has_tables=any(values["tables"] for values in compared.suites),
        items=items,
        part=suite.terms.part,
        total=len(selected),
        facets=item_facets(compared.items, state, suite) if one_suite else [],
        sorts=[(label, state.url(sort=value), value == state.sort) for value, label in _SORTS.items()],
        one_suite=one_suite,
        number=state.page,
        pages=pages,
        before=state.url(page=state.page - 1) if 1 < state.page <= pages else "",
        after=state.url(page=state.page + 1) if state.page < pages else "",
    )


@contextmanager
def _open_all(site: Site, names: Sequence[str]) -> Iterator[dict[str, StoredRun]]:
    with ExitStack() as stack:
        yield {name: stack.enter_context(site.open(name)) for name in names}


def _compare_runs(site: Site, state: CompareState) -> _ComparedRuns:
    with _open_all(site, state.names) as runs:
        baseline = runs[state.baseline].folder if state.baseline in runs else None
        compared = compare(list(runs.values()), baseline=baseline, labels=site.labels(list(runs.values())))
        suites = [_suite_values(section, compared, baseline) for section in compared.sections]
        items = compare_items(list(runs.values())) if len(suites) == 1 else ()
    return _ComparedRuns(suites, items)


def _suite_values(section: Section, compared: Comparison, baseline: Path | None) -> dict[str, object]:
    """Return the figures and tables of a suite, with the same numbers as in a report, which escapes all text."""
    results = [table for table in section.shown_tables if table.placement == "result" or table.name == PAIRED]
    details = [table for table in section.shown_tables if table not in results]
    folder = baseline and baseline.resolve()
    name = next((row.name for row in section.rows if row.folder.resolve() == folder), "")
    headline, *reasons = list_claims(section, compared)
    return {
        "title": section.title,
        "headline": headline,
        "reasons": reasons,
        "heading": numbers_heading(section),
        "curve": Markup(curves_html(section)),
        "table": Markup(main_table_html(section, compared)),
        "more": section.suite.tables_heading,
        "pairs": [Markup(table_html(table, section)) for table in results],
        "differences": Markup(differences_svg(section, name) if name else ""),
        "tables": [Markup(table_html(table, section)) for table in details],
        "has_scores": section.suite.has_scores,
    }


def _item_values(
    site: Site, items: Sequence[str], runs: Mapping[str, StoredRun], suite: Benchmark
) -> list[dict[str, object]]:
    first_name, first = next(iter(runs.items()))
    planned = [item for item in map(first.item, items) if item is not None]
    opening = common_opening([item.prompt for item in planned])

    def values_in(name: str, item: PlannedItem) -> dict[str, object]:
        return site.shared(("compared", name, item.id), lambda: _item_in_run(item, name, runs[name], suite))

    return [
        {
            "item": item.id,
            "prompt": _shorten(item.prompt.removeprefix(opening)),
            "history": history_url(suite.name, item.id, first_name),
            "seen": [values_in(name, item) for name in runs],
        }
        for item in planned
    ]


def _shorten(prompt: str) -> str:
    return prompt if len(prompt) <= MAX_PROMPT_LENGTH else f"{prompt[: MAX_PROMPT_LENGTH - 1].rstrip()}…"


def _item_in_run(item: PlannedItem, name: str, run: StoredRun, suite: Benchmark) -> dict[str, object]:
    """Summarize an item of a run: its outcome, and its first image with what failed if it is the only one."""
    samples = list(run.judged([(item.id, sample) for sample in range(run.manifest.samples)]))
    passed = [judged.outcome.passed for judged in samples if judged.outcome.passed is not None]
    outcome = "mixed" if len(set(passed)) > 1 else outcome_name(passed[0] if passed else None)
    first, url = samples[0].verdict, build_url("/item", run=name, item=item.id, sample=0)
    has_failed = len(samples) == 1 and outcome != "pass"
    parts = first.parts if has_failed and isinstance(first, Verdict) and suite.terms.is_code else ()
    sentences = failure_sentences(first, suite, item.formula) if has_failed else []
    return {
        "outcome": outcome,
        "sign": SIGNS.get(outcome, "±"),
        "words": outcome if len(samples) == 1 else f"{sum(passed)} of {len(passed)} pass",
        "failed": [sentence.text for sentence in sentences],
        "parts": [part.name for part in parts if part.score < 1],
        "url": url,
        "image": image_with_boxes(run, item, samples[0], name, suite, side=_IMAGE_SIDE, link=url),
    }
