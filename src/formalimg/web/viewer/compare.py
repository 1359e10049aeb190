"""Compare several runs: curves, tables, paired differences, and the items where they differ."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import NamedTuple

from markupsafe import Markup
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from formalimg.reporting import Comparison, Section, compare, curve_svg, main_table_html, same_items, table_html
from formalimg.runs import StoredRun
from formalimg.stats import Observation
from formalimg.web.rendering import page, trusted_markup
from formalimg.web.viewer.gallery import MAX_PROMPT_LENGTH, SIGNS, common_opening, outcome_name, thumbnail_url
from formalimg.web.viewer.item import failure_text
from formalimg.web.viewer.site import Site
from formalimg.web.viewer.urls import build_url, parse_number

_PER_PAGE = 24
_MAX_RUNS = 12


class _Suite(NamedTuple):
    title: str
    curve: Markup
    table: Markup
    more: str
    pairs: tuple[Markup, ...]
    tables: tuple[Markup, ...]
    has_scores: bool


class _ComparedRuns(NamedTuple):
    """The expensive part: figures per suite, and the ids of items with different outcomes."""

    suites: tuple[_Suite, ...]
    differing: list[str]


class _ItemInRun(NamedTuple):
    """An item in one run: its outcome, what failed if it has one image, its page, and its first image."""

    outcome: str
    sign: str
    words: str
    why: str
    url: str
    thumbnail: str


class _DifferingItem(NamedTuple):
    """An item that some runs pass and others fail."""

    item: str
    prompt: str
    seen: tuple[_ItemInRun, ...]


def compare_page(site: Site, request: Request) -> Response:
    """Return the page that compares several runs."""
    names = list(dict.fromkeys(request.query_params.getlist("run")))
    if not names:
        raise HTTPException(400, "choose the runs to compare on the first page")
    if len(names) > _MAX_RUNS:
        raise HTTPException(400, f"choose at most {_MAX_RUNS} runs to compare")
    page_number = max(parse_number(request.query_params, "page") or 1, 1)
    found = site.cached(names, lambda: _compare_runs(site, names))
    start = (page_number - 1) * _PER_PAGE
    with _opened(site, names) as runs:
        shown = _differences(found.differing[start : start + _PER_PAGE], runs)
    pages = max(-(-len(found.differing) // _PER_PAGE), 1)
    return page(
        "compare.html",
        names=names,
        suites=found.suites,
        has_tables=any(suite.tables for suite in found.suites),
        differences=shown,
        total=len(found.differing),
        one_suite=len(found.suites) == 1 and len(names) > 1,
        number=page_number,
        pages=pages,
        before=_page_url(names, page_number - 1) if 1 < page_number <= pages else "",
        after=_page_url(names, page_number + 1) if page_number < pages else "",
    )


def _page_url(names: Sequence[str], page_number: int) -> str:
    runs = "&".join(build_url("", run=name).removeprefix("?") for name in names)
    return f"/compare?{runs}&page={page_number}#differences"


@contextmanager
def _opened(site: Site, names: Sequence[str]) -> Iterator[dict[str, StoredRun]]:
    with ExitStack() as stack:
        yield {name: stack.enter_context(site.open(name)) for name in names}


def _compare_runs(site: Site, names: Sequence[str]) -> _ComparedRuns:
    with _opened(site, names) as runs:
        compared = compare(list(runs.values()))
        outcomes = {name: list(_observed(run)) for name, run in runs.items()}
        suites = tuple(_suite(section, compared) for section in compared.sections)
        differing = _differing(outcomes, same_items(list(runs.values()))) if len(suites) == 1 else []
    return _ComparedRuns(suites, differing)


def _observed(run: StoredRun) -> Iterator[Observation]:
    return (Observation(outcome.item, outcome.level, outcome.passed) for outcome in run.outcomes())


def _suite(section: Section, compared: Comparison) -> _Suite:
    """Return the figures and tables of a suite: those of a report, with the same numbers."""
    shown = section.shown_tables
    results = [table_html(one, section) for one in shown if one.placement == "result"]
    others = [table_html(one, section) for one in shown if one.placement != "result"]
    return _Suite(
        section.suite.title,
        trusted_markup(curve_svg(section)),
        trusted_markup(main_table_html(section, compared)),
        section.suite.traits.tables_heading,
        tuple(map(trusted_markup, results)),
        tuple(map(trusted_markup, others)),
        section.suite.traits.has_scores,
    )


def _differing(outcomes: Mapping[str, Sequence[Observation]], same: set[str]) -> list[str]:
    """Return items that all runs have verdicts for and whose outcomes differ, in the order of the suite."""
    shares = [_shares(seen) for seen in outcomes.values()]
    there = [item for item in shares[0] if item in same and all(item in share for share in shares)]
    return [item for item in there if len({share[item] for share in shares}) > 1]


def _shares(seen: Iterable[Observation]) -> dict[str, float]:
    counts: dict[str, list[bool]] = {}
    for one in seen:
        if one.passed is not None:
            counts.setdefault(one.item, []).append(one.passed)
    return {item: sum(passed) / len(passed) for item, passed in counts.items()}


def _prompt(item: str, runs: Mapping[str, StoredRun]) -> str:
    first = next(iter(runs.values())).item(item)
    return first.prompt if first else ""


def _differences(items: Sequence[str], runs: Mapping[str, StoredRun]) -> list[_DifferingItem]:
    opening = common_opening([_prompt(item, runs) for item in items])
    return [_difference(item, runs, opening) for item in items]


def _difference(item: str, runs: Mapping[str, StoredRun], opening: str) -> _DifferingItem:
    prompt = _prompt(item, runs).removeprefix(opening)
    if len(prompt) > MAX_PROMPT_LENGTH:
        prompt = f"{prompt[: MAX_PROMPT_LENGTH - 1].rstrip()}…"
    return _DifferingItem(item, prompt, tuple(_item_in_run(item, name, run) for name, run in runs.items()))


def _item_in_run(item: str, name: str, run: StoredRun) -> _ItemInRun:
    """Summarize an item of a run. Of several images some may pass; the first is shown."""
    samples = list(run.judged([(item, one) for one in range(run.manifest.samples)]))
    passed = [judged.outcome.passed for judged in samples if judged.outcome.passed is not None]
    outcome = outcome_name(passed[0]) if len(set(passed)) == 1 else "mixed"
    text = outcome if len(samples) == 1 else f"{sum(passed)} of {len(passed)} pass"
    failed = failure_text(samples[0].verdict) if len(samples) == 1 else ""
    found = run.image_file(item, 0)
    small = "" if found is None else thumbnail_url(name, item, 0, found.sha256)
    return _ItemInRun(
        outcome, SIGNS.get(outcome, "±"), text, failed, build_url("/item", run=name, item=item, sample=0), small
    )
