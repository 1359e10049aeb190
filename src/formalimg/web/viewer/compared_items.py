"""Items of several runs: their outcomes side by side, and how to filter and sort them."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from statistics import fmean, pvariance
from typing import NamedTuple
from urllib.parse import urlencode

from starlette.exceptions import HTTPException
from starlette.requests import Request

from formalimg.reports.run_numbers import same_items
from formalimg.reports.tables.format import level_name
from formalimg.runs.queries import ImageOutcome
from formalimg.types import Benchmark, RunRecord
from formalimg.web.viewer.gallery import Facet, FacetChoice
from formalimg.web.viewer.urls import parse_number

ALL_PAIRS = "*"  # in place of a baseline: every run is compared with every other
_GROUPS = {"won": "won", "lost": "lost", "fail": "both fail", "pass": "both pass", "mixed": "same share"}
_ANY, _ALL = "differ", "all"
_SORTS = ("item", "disagreement")


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
