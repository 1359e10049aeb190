"""Compare several runs: curves, tables, paired differences from a baseline, and items side by side."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import fmean, pvariance
from typing import NamedTuple
from urllib.parse import urlencode

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
from formalimg.reports.run_numbers import same_items
from formalimg.reports.tables.format import level_name
from formalimg.runs.database import PlannedItem
from formalimg.runs.queries import ImageOutcome
from formalimg.runs.reader import StoredRun
from formalimg.types import Benchmark, RunRecord, Verdict
from formalimg.web.rendering import page
from formalimg.web.viewer.gallery import Facet, FacetChoice
from formalimg.web.viewer.item import image_with_boxes
from formalimg.web.viewer.site import Site
from formalimg.web.viewer.tiles import MAX_PROMPT_LENGTH, SIGNS, common_opening, outcome_name
from formalimg.web.viewer.urls import build_url, history_url, parse_number

ALL_PAIRS = "*"  # in place of a baseline: every run is compared with every other
_GROUPS = {"won": "won", "lost": "lost", "fail": "both fail", "pass": "both pass", "mixed": "same share"}
_ANY, _ALL = "differ", "all"
_SORTS = {"item": "as in the suite", "disagreement": "most disagreement first"}


class CompareState(NamedTuple):
    """The comparison that a URL selects."""

    names: tuple[str, ...]  # the runs
    baseline: str  # the run that the others are compared with, or `ALL_PAIRS`
    compared: str = ""  # the run whose outcomes are chosen by `group`; empty if all runs count
    group: str = _ANY  # items that differ, all items, or with `compared` one of `_GROUPS`
    level: int | None = None  # only items of this level; None for all
    sort: str = "item"
    page: int = 1

    @property
    def reference(self) -> str:
        """The run that outcomes are compared with, even without a baseline."""
        return self.names[-1] if self.baseline == ALL_PAIRS else self.baseline

    def url(self, **changes: object) -> str:
        """Return the URL of the comparison, with keyword arguments overriding its state and None removing a value."""
        values: dict[str, object] = {**self._asdict(), "page": None, **changes}
        if not values["compared"] and values["group"] not in (_ANY, _ALL):
            values["group"] = None
        defaults = {"baseline": _default_baseline(self.names), "group": _ANY, "sort": "item", "page": 1}
        names = ("baseline", "compared", "group", "level", "sort", "page")
        query = [("run", name) for name in self.names]
        query += [(name, str(values[name])) for name in names if values[name] not in (None, "", defaults.get(name))]
        fragment = "" if {*changes} == {"baseline", "compared"} else "#items"
        return f"/compare?{urlencode(query, errors='replace')}{fragment}"


def _default_baseline(names: Sequence[str]) -> str:
    """Return the default baseline: the second of two runs, and otherwise none."""
    return names[-1] if len(names) == 2 else ALL_PAIRS


def parse_compare_state(request: Request, names: Sequence[str]) -> CompareState:
    """Parse the comparison state of a request."""
    query = request.query_params
    baseline, compared = query.get("baseline") or _default_baseline(names), query.get("compared", "")
    group, sort = query.get("group") or _ANY, query.get("sort") or "item"
    if baseline not in (*names, ALL_PAIRS):
        raise HTTPException(400, f"the baseline {baseline!r} is not one of the runs: choose one of those on the page")
    if compared and (compared not in names or group not in _GROUPS):
        raise HTTPException(400, "the URL compares a run that is not on the page: choose one of those on the page")
    if (not compared and group not in (_ANY, _ALL)) or sort not in _SORTS:
        raise HTTPException(400, "the URL selects items in an unknown way: choose one on the page")
    number = max(parse_number(query, "page") or 1, 1)
    return CompareState(tuple(names), baseline, compared, group, parse_number(query, "level"), sort, number)


class ComparedItem(NamedTuple):
    """An item with verdicts in two or more runs: its pass share and mean score in each run, None without a verdict."""

    item: str
    level: int
    shares: tuple[float | None, ...]
    scores: tuple[float | None, ...]

    @property
    def differs(self) -> bool:
        """Whether the pass shares of the runs differ."""
        return len({*self.shares} - {None}) > 1

    @property
    def disagreement(self) -> tuple[float, float]:
        """The disagreement between runs: the variance of their shares, with ties broken by the range of scores."""
        scores = [score for score in self.scores if score is not None]
        return pvariance([share for share in self.shares if share is not None]), max(scores) - min(scores)

    def group(self, reference: int, run: int) -> str:
        """Return the outcome of a run compared with the reference, or an empty string if either has no verdict."""
        before, after = self.shares[reference], self.shares[run]
        if before is None or after is None:
            return ""
        if before != after:
            return "won" if after > before else "lost"
        return "pass" if after == 1 else "fail" if after == 0 else "mixed"


def compare_items(runs: Sequence[RunRecord]) -> tuple[ComparedItem, ...]:
    """Return the items shared by all runs that have verdicts in two or more of them, in suite order."""
    shared = same_items(runs)
    outcomes: list[defaultdict[str, list[ImageOutcome]]] = [defaultdict(list) for _ in runs]
    for run, by_item in zip(runs, outcomes, strict=True):
        for outcome in run.outcomes():
            if outcome.passed is not None:
                by_item[outcome.item].append(outcome)
    items = []
    for item, planned in runs[0].items.items():
        scored = [by_item[item] for by_item in outcomes]
        if item in shared and sum(map(bool, scored)) > 1:
            shares = tuple(fmean(bool(image.passed) for image in images) if images else None for images in scored)
            scores = tuple(fmean(image.score or 0.0 for image in images) if images else None for images in scored)
            items.append(ComparedItem(item, planned.level, shares, scores))
    return tuple(items)


def select_items(items: Sequence[ComparedItem], state: CompareState) -> list[ComparedItem]:
    """Return the selected items in display order."""
    selected = [item for item in items if _is_in_group(item, state) and state.level in (None, item.level)]
    if state.sort == "disagreement":
        selected.sort(key=lambda item: item.disagreement, reverse=True)
    return selected


def _is_in_group(item: ComparedItem, state: CompareState) -> bool:
    if not state.compared:
        return state.group == _ALL or item.differs
    indices = state.names.index(state.reference), state.names.index(state.compared)
    return item.group(*indices) == state.group


def item_facets(items: Sequence[ComparedItem], state: CompareState, suite: Benchmark) -> list[Facet]:
    """Return the facets for filtering items: outcomes compared with the baseline, and levels."""
    of_level = [item for item in items if state.level in (None, item.level)]
    counts = {_ANY: sum(item.differs for item in of_level), _ALL: len(of_level)}
    chosen = (state.compared, state.group)
    choices = [
        FacetChoice(label, f"{counts[group]:,}", state.url(group=group, compared=None), chosen == ("", group), False)
        for group, label in ((_ANY, "the runs differ"), (_ALL, "all"))
    ]
    facets = [Facet("items", choices)]
    reference = state.names.index(state.reference)
    for index, name in enumerate(state.names):
        if index != reference:
            groups = Counter(item.group(reference, index) for item in of_level)
            facets.append(Facet(f"{name} against {state.reference}", list(_group_choices(groups, name, state))))
    levels = Counter(item.level for item in items if _is_in_group(item, state))
    level_choices = [
        FacetChoice(
            level_name(suite, level),
            f"{levels[level]:,}",
            state.url(level=None if level == state.level else level),
            level == state.level,
        )
        for level in sorted({*levels, *([] if state.level is None else [state.level])})
    ]
    return [*facets, Facet(suite.level or "level", level_choices)] if len(level_choices) > 1 else facets


def _group_choices(groups: Mapping[str, int], name: str, state: CompareState) -> Iterator[FacetChoice]:
    for group, label in _GROUPS.items():
        is_chosen = (state.compared, state.group) == (name, group)
        if groups.get(group) or is_chosen or group != "mixed":
            url = state.url(compared=None, group=None) if is_chosen else state.url(compared=name, group=group)
            yield FacetChoice(label, f"{groups.get(group, 0):,}", url, is_chosen)


_PER_PAGE = 24
_MAX_RUNS = 12
_IMAGE_SIDE = 260  # boxes and labels are drawn as if the image had this size


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
