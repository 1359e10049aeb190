"""Several runs side by side: curves, tables, wins and losses item by item, and the items where they differ."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from itertools import repeat
from typing import NamedTuple

from markupsafe import Markup
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from formalimg.report import Comparison, Section, compare, curve, more_table, table
from formalimg.runs import StoredRun
from formalimg.stats import Observation, Paired, paired
from formalimg.web.asking import address, number
from formalimg.web.gallery import SIGNS, outcome_sort, thumbnail_address
from formalimg.web.pages import drawn, page
from formalimg.web.site import Site

_PER_PAGE = 24
_MOST_RUNS = 12


class _Pair(NamedTuple):
    """A run against the first of its suite."""

    first: str
    second: str
    found: Paired


class _Suite(NamedTuple):
    title: str
    curve: Markup
    table: Markup
    tables: tuple[Markup, ...]
    pairs: tuple[_Pair, ...]


class _Seen(NamedTuple):
    """An item in one run."""

    outcome: str
    sign: str
    address: str
    thumbnail: str


class _Difference(NamedTuple):
    """An item that some runs pass and others fail."""

    item: str
    prompt: str
    seen: tuple[_Seen, ...]


def compare_page(site: Site, request: Request) -> Response:
    """The page of several runs."""
    names = list(dict.fromkeys(request.query_params.getlist("run")))
    if not names:
        raise HTTPException(400, "choose the runs to compare on the first page")
    if len(names) > _MOST_RUNS:
        raise HTTPException(400, f"choose at most {_MOST_RUNS} runs to compare")
    wanted_page = max(number(request.query_params, "page") or 1, 1)
    with ExitStack() as stack:
        runs = {name: stack.enter_context(site.opened(name)) for name in names}
        compared = compare(list(runs.values()))
        outcomes = {name: list(_observed(run)) for name, run in runs.items()}
        suites = [_suite(section, compared, runs, outcomes) for section in compared.sections]
        one_suite = len(suites) == 1 and len(names) > 1
        differing = _differing(outcomes) if one_suite else []
        start = (wanted_page - 1) * _PER_PAGE
        shown = [_difference(item, runs) for item in differing[start : start + _PER_PAGE]]
    pages = max(-(-len(differing) // _PER_PAGE), 1)
    return page(
        "compare.html",
        names=names,
        suites=suites,
        differences=shown,
        total=len(differing),
        one_suite=one_suite,
        number=wanted_page,
        pages=pages,
        before=_address(names, wanted_page - 1) if 1 < wanted_page <= pages else "",
        after=_address(names, wanted_page + 1) if wanted_page < pages else "",
    )


def _address(names: Sequence[str], wanted_page: int) -> str:
    runs = "&".join(address("", run=name).removeprefix("?") for name in names)
    return f"/compare?{runs}&page={wanted_page}"


def _observed(run: StoredRun) -> Iterator[Observation]:
    return (Observation(outcome.item, outcome.level, outcome.passed) for outcome in run.outcomes())


def _suite(
    section: Section,
    compared: Comparison,
    runs: Mapping[str, StoredRun],
    outcomes: Mapping[str, Sequence[Observation]],
) -> _Suite:
    of_suite = [name for name, run in runs.items() if run.card.suite == section.suite.name]
    titles = [row.name for row in section.rows]
    pairs = [
        _Pair(titles[0], title, paired(outcomes[of_suite[0]], outcomes[name]))
        for name, title in zip(of_suite[1:], titles[1:], strict=True)
    ]
    return _Suite(
        section.suite.title,
        drawn(curve(section)),
        drawn(table(section, compared)),
        tuple(map(drawn, map(more_table, section.tables, repeat(section)))),
        tuple(pairs) if section.suite.kind != "counterfactual" else (),
    )


def _differing(outcomes: Mapping[str, Sequence[Observation]]) -> list[str]:
    """Items that all runs have verdicts for and that do not come out alike, in the order of the suite."""
    shares = [_shares(seen) for seen in outcomes.values()]
    return [item for item in shares[0] if len({one.get(item) for one in shares}) > 1 and all(item in s for s in shares)]


def _shares(seen: Iterable[Observation]) -> dict[str, float]:
    counts: dict[str, list[bool]] = {}
    for one in seen:
        if one.passed is not None:
            counts.setdefault(one.item, []).append(one.passed)
    return {item: sum(passed) / len(passed) for item, passed in counts.items()}


def _difference(item: str, runs: Mapping[str, StoredRun]) -> _Difference:
    first = next(iter(runs.values())).item(item)
    return _Difference(item, first.prompt if first else "", tuple(_seen(item, name, run) for name, run in runs.items()))


def _seen(item: str, name: str, run: StoredRun) -> _Seen:
    judged = next(run.judged([(item, 0)]))
    sort = outcome_sort(judged.outcome.passed)
    found = run.picture_file(item, 0)
    small = "" if found is None else thumbnail_address(name, item, 0, found.sha256)
    return _Seen(sort, SIGNS[sort], address("/item", run=name, item=item, sample=0), small)
