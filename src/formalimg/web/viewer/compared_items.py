"""Items of several runs: their outcomes side by side, and how to filter and sort them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from statistics import fmean, pvariance
from typing import NamedTuple
from urllib.parse import urlencode

from starlette.exceptions import HTTPException
from starlette.requests import Request

from formalimg.reports.run_numbers import same_items
from formalimg.reports.tables.format import level_name
from formalimg.runs.queries import ImageOutcome
from formalimg.types import Benchmark, RunRecord
from formalimg.web.viewer.facets import Facet, FacetChoice
from formalimg.web.viewer.urls import parse_number

ALL_PAIRS = "*"  # In place of a baseline: each run is compared with each
_GROUPS = {"won": "won", "lost": "lost", "fail": "both fail", "pass": "both pass", "mixed": "same share"}
_ANY, _ALL = "differ", "all"
_SORTS = ("item", "disagreement")


class CompareState(NamedTuple):
    """The comparison that a URL selects."""

    names: tuple[str, ...]  # the runs
    baseline: str  # the run that the others are compared with, or `ALL_PAIRS`
    compared: str = ""  # the run whose outcomes are chosen by `group`; empty if all runs count
    # which items: those that differ, all, or of two runs those that were won, lost, pass or fail in both
    group: str = _ANY
    level: int | None = None  # only items of this level; None for all
    sort: str = "item"  # `item`, or `disagreement`
    page: int = 1  # the page of items

    @property
    def reference(self) -> str:
        """The run that outcomes are compared with, even without a baseline."""
        return self.names[-1] if self.baseline == ALL_PAIRS else self.baseline

    def url(self, **changes: object) -> str:
        """Return the URL of the comparison, with keyword arguments overriding its state and None removing a value."""
        first = {} if "page" in changes else {"page": None}
        chosen: dict[str, object] = {**self._asdict(), **first, **changes}
        if not chosen["compared"] and chosen["group"] not in (_ANY, _ALL):
            chosen["group"] = None
        defaults = {"baseline": _default_baseline(self.names), "group": _ANY, "sort": "item", "page": 1}
        fields = [(name, chosen[name]) for name in ("baseline", "compared", "group", "level", "sort", "page")]
        query = [("run", name) for name in self.names]
        query += [(name, str(value)) for name, value in fields if value not in (None, "", defaults.get(name))]
        moved = "" if {*changes} == {"baseline", "compared"} else "#items"
        return f"/compare?{urlencode(query, errors='replace')}{moved}"


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
        raise HTTPException(400, "the URL selects items in a way that is not known: choose one on the page")
    number = max(parse_number(query, "page") or 1, 1)
    return CompareState(tuple(names), baseline, compared, group, parse_number(query, "level"), sort, number)


class ComparedItem(NamedTuple):
    """An item with verdicts in two or more runs: its pass share and mean score in each run.

    Where a run has no verdict on it, both are None.
    """

    item: str
    level: int
    shares: tuple[float | None, ...]
    scores: tuple[float | None, ...]

    @property
    def differs(self) -> bool:
        """Whether the pass shares of the runs differ."""
        return len({*_known(self.shares)}) > 1

    @property
    def disagreement(self) -> tuple[float, float]:
        """The disagreement between runs: the variance of their shares, with ties broken by the range of scores."""
        scores = _known(self.scores)
        return pvariance(_known(self.shares)), max(scores) - min(scores)

    def group(self, reference: int, other: int) -> str:
        """Return the outcome of `other` compared with `reference`, or an empty string if either has no verdict."""
        before, after = self.shares[reference], self.shares[other]
        if before is None or after is None:
            return ""
        if before != after:
            return "won" if after > before else "lost"
        return "pass" if after == 1 else "fail" if after == 0 else "mixed"


def _known(numbers: Sequence[float | None]) -> list[float]:
    return [number for number in numbers if number is not None]


def compared_items(runs: Sequence[RunRecord]) -> tuple[ComparedItem, ...]:
    """Return the items shared by all runs that have verdicts in two or more of them, in suite order."""
    same, outcomes = same_items(runs), [_by_item(run.outcomes()) for run in runs]
    found = []
    for item, planned in runs[0].items.items():
        scored = [of_run.get(item, []) for of_run in outcomes]
        if item in same and sum(map(bool, scored)) > 1:
            shares = tuple(fmean(bool(one.passed) for one in images) if images else None for images in scored)
            scores = tuple(fmean(one.score or 0.0 for one in images) if images else None for images in scored)
            found.append(ComparedItem(item, planned.level, shares, scores))
    return tuple(found)


def _by_item(outcomes: Sequence[ImageOutcome]) -> dict[str, list[ImageOutcome]]:
    found: dict[str, list[ImageOutcome]] = {}
    for one in outcomes:
        if one.passed is not None:
            found.setdefault(one.item, []).append(one)
    return found


def selected_items(items: Sequence[ComparedItem], state: CompareState) -> list[ComparedItem]:
    """Return the selected items in display order."""
    chosen = [one for one in items if _is_in_group(one, state) and state.level in (None, one.level)]
    if state.sort == "disagreement":
        chosen.sort(key=lambda one: one.disagreement, reverse=True)
    return chosen


def _is_in_group(one: ComparedItem, state: CompareState) -> bool:
    if not state.compared:
        return state.group == _ALL or one.differs
    places = state.names.index(state.reference), state.names.index(state.compared)
    return one.group(*places) == state.group


def item_facets(items: Sequence[ComparedItem], state: CompareState, suite: Benchmark) -> list[Facet]:
    """Return the facets for filtering items: outcomes compared with the baseline, and levels."""
    here = [one for one in items if state.level in (None, one.level)]
    counts = {_ANY: sum(one.differs for one in here), _ALL: len(here)}
    labels = {_ANY: "the runs differ", _ALL: "all"}
    whole = [
        FacetChoice(label, f"{counts[name]:,}", state.url(group=name, compared=None), is_now, can_undo=False)
        for name, label in labels.items()
        for is_now in [_is_now(state, "", name)]
    ]
    found = [Facet("items", whole)]
    reference = state.names.index(state.reference)
    for place, name in enumerate(state.names):
        if place == reference:
            continue
        groups = Counter(one.group(reference, place) for one in here)
        title = f"{name} against {state.reference}"
        found.append(Facet(title, _group_choices(groups, name, state)))
    of_group = Counter(one.level for one in items if _is_in_group(one, state))
    levels = [
        FacetChoice(
            level_name(suite, level),
            f"{of_group[level]:,}",
            state.url(level=None if level == state.level else level),
            level == state.level,
        )
        for level in sorted({*of_group, *([] if state.level is None else [state.level])})
    ]
    return [*found, Facet(suite.level or "level", levels)] if len(levels) > 1 else found


def _group_choices(groups: Mapping[str, int], name: str, state: CompareState) -> list[FacetChoice]:
    choices = []
    for group, label in _GROUPS.items():
        is_now = _is_now(state, name, group)
        if groups.get(group) or is_now or group != "mixed":
            url = state.url(compared=None, group=None) if is_now else state.url(compared=name, group=group)
            choices.append(FacetChoice(label, f"{groups.get(group, 0):,}", url, is_now))
    return choices


def _is_now(state: CompareState, compared: str, group: str) -> bool:
    return (state.compared, state.group) == (compared, group)
