"""Compare several runs: curves, tables, paired differences from a baseline, and items side by side."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
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
from formalimg.web.rendering import page, trusted_markup
from formalimg.web.viewer.compared_items import (
    ALL_PAIRS,
    ComparedItem,
    CompareState,
    compared_items,
    item_facets,
    parse_compare_state,
    selected_items,
)
from formalimg.web.viewer.item import boxed_image
from formalimg.web.viewer.site import Site
from formalimg.web.viewer.tiles import MAX_PROMPT_LENGTH, SIGNS, common_opening, outcome_name
from formalimg.web.viewer.urls import build_url, history_url

_PER_PAGE = 24
_MAX_RUNS = 12
_IMAGE_SIDE = 260  # Boxes and labels are drawn as if the image had this size


class _Suite(NamedTuple):
    title: str
    headline: str
    reasons: tuple[str, ...]
    heading: str
    curve: Markup
    table: Markup
    more: str
    pairs: tuple[Markup, ...]
    differences: Markup
    tables: tuple[Markup, ...]
    has_scores: bool


class _ComparedRuns(NamedTuple):
    """The expensive part of a comparison: figures per suite, and the outcomes of the items in all runs."""

    suites: tuple[_Suite, ...]
    items: tuple[ComparedItem, ...]


class _ItemInRun(NamedTuple):
    """An item in one run: its outcome, page and first image with boxes, and what failed if it has one image."""

    outcome: str
    sign: str
    words: str
    failed: list[str]
    parts: list[str]
    url: str
    image: Markup


class _ShownItem(NamedTuple):
    """An item shown side by side for all runs."""

    item: str
    prompt: str
    history: str
    seen: tuple[_ItemInRun, ...]


def compare_page(site: Site, request: Request) -> Response:
    """Return the page that compares several runs."""
    names = list(dict.fromkeys(request.query_params.getlist("run")))
    if not names:
        raise HTTPException(400, "choose the runs to compare on the first page")
    if len(names) > _MAX_RUNS:
        raise HTTPException(400, f"choose at most {_MAX_RUNS} runs to compare")
    state = parse_compare_state(request, names)
    found = site.cached(names, lambda: _compare_runs(site, state), what=("comparison", state.baseline))
    one_suite = len(found.suites) == 1 and len(names) > 1
    chosen = selected_items(found.items, state)
    start = (state.page - 1) * _PER_PAGE
    with _opened(site, names) as runs:
        shown = _shown_items(site, [one.item for one in chosen[start : start + _PER_PAGE]], runs)
        suite = suite_of(next(iter(runs.values())).manifest.suite)
    pages = max(-(-len(chosen) // _PER_PAGE), 1)
    return page(
        "compare.html",
        names=names,
        state=state,
        baselines=[(name, state.url(baseline=name, compared=None), name == state.baseline) for name in names],
        all_pairs=(state.url(baseline=ALL_PAIRS, compared=None), state.baseline == ALL_PAIRS),
        suites=found.suites,
        has_tables=any(suite.tables for suite in found.suites),
        items=shown,
        part=suite.terms.part,
        total=len(chosen),
        facets=item_facets(found.items, state, suite) if one_suite else [],
        sorts=[(label, state.url(sort=value), value == state.sort) for value, label in _SORTS.items()],
        one_suite=one_suite,
        number=state.page,
        pages=pages,
        before=state.url(page=state.page - 1) if 1 < state.page <= pages else "",
        after=state.url(page=state.page + 1) if state.page < pages else "",
    )


_SORTS = {"item": "as in the suite", "disagreement": "most disagreement first"}


@contextmanager
def _opened(site: Site, names: Sequence[str]) -> Iterator[dict[str, StoredRun]]:
    with ExitStack() as stack:
        yield {name: stack.enter_context(site.open(name)) for name in names}


def _compare_runs(site: Site, state: CompareState) -> _ComparedRuns:
    with _opened(site, state.names) as runs:
        baseline = runs.get(state.baseline)
        folder = None if baseline is None else baseline.folder
        compared = compare(list(runs.values()), baseline=folder, labels=site.labels(list(runs.values())))
        suites = tuple(_suite(section, compared, baseline) for section in compared.sections)
        items = compared_items(list(runs.values())) if len(suites) == 1 else ()
    return _ComparedRuns(suites, items)


def _suite(section: Section, compared: Comparison, baseline: StoredRun | None) -> _Suite:
    """Return the figures and tables of a suite, with the same numbers as in a report."""
    results = [table for table in section.shown_tables if table.placement == "result" or table.name == PAIRED]
    others = [table for table in section.shown_tables if table not in results]
    folder = None if baseline is None else baseline.folder.resolve()
    name = next((row.name for row in section.rows if row.folder.resolve() == folder), "")
    headline, *reasons = list_claims(section, compared)
    return _Suite(
        section.title,
        headline,
        tuple(reasons),
        numbers_heading(section),
        trusted_markup(curves_html(section)),
        trusted_markup(main_table_html(section, compared)),
        section.suite.tables_heading,
        tuple(trusted_markup(table_html(table, section)) for table in results),
        trusted_markup(differences_svg(section, name) if name else ""),
        tuple(trusted_markup(table_html(table, section)) for table in others),
        section.suite.has_scores,
    )


def _shown_items(site: Site, items: Sequence[str], runs: Mapping[str, StoredRun]) -> list[_ShownItem]:
    first_name, first = next(iter(runs.items()))
    suite = suite_of(first.manifest.suite)
    planned = [item for item in map(first.item, items) if item is not None]
    opening = common_opening([item.prompt for item in planned])

    def seen(item: PlannedItem, name: str, run: StoredRun) -> _ItemInRun:
        return site.shared(("compared", name, item.id), lambda: _item_in_run(item, name, run, suite))

    return [
        _ShownItem(
            item.id,
            _shortened(item.prompt.removeprefix(opening)),
            history_url(suite.name, item.id, first_name),
            tuple(seen(item, name, run) for name, run in runs.items()),
        )
        for item in planned
    ]


def _shortened(prompt: str) -> str:
    return prompt if len(prompt) <= MAX_PROMPT_LENGTH else f"{prompt[: MAX_PROMPT_LENGTH - 1].rstrip()}…"


def _item_in_run(item: PlannedItem, name: str, run: StoredRun, suite: Benchmark) -> _ItemInRun:
    """Summarize an item of a run, showing the first of its images."""
    samples = list(run.judged([(item.id, one) for one in range(run.manifest.samples)]))
    passed = [judged.outcome.passed for judged in samples if judged.outcome.passed is not None]
    outcome = "mixed" if len(set(passed)) > 1 else outcome_name(passed[0] if passed else None)
    first, url = samples[0].verdict, build_url("/item", run=name, item=item.id, sample=0)
    has_failed = len(samples) == 1 and outcome != "pass"
    parts = first.parts if has_failed and isinstance(first, Verdict) and suite.terms.is_code else ()
    return _ItemInRun(
        outcome,
        SIGNS.get(outcome, "±"),
        outcome if len(samples) == 1 else f"{sum(passed)} of {len(passed)} pass",
        [one.text for one in failure_sentences(first, suite, item.formula)] if has_failed else [],
        [part.name for part in parts if part.score < 1],
        url,
        boxed_image(run, item, samples[0], name, suite, side=_IMAGE_SIDE, link=url),
    )
