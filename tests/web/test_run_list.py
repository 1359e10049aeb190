"""The list of runs that a URL asks for: filters, search, order, groups, pages, and links that keep the rest."""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest
from starlette.exceptions import HTTPException

from formalimg.runs.database import RunCost
from formalimg.runs.image_counts import ImageCounts, RunActivity
from formalimg.runs.tags import RunTags
from formalimg.stats.observations import Band
from formalimg.web.viewer.index import BaselineDifference, IndexedRun
from formalimg.web.viewer.run_list import PER_PAGE, filter_choices, parse_runs_query, run_status, select_runs
from formalimg.web.viewer.summaries import RunSummary, sparkline


def _run(name: str, *, overall: float | None = 0.5, tags: RunTags | None = None, **changes: Any) -> IndexedRun:
    values: dict[str, Any] = {
        "model": "test/painter",
        "condition": "",
        "suite": "knolling",
        "items_label": "",
        "created": "2026-03-01T10:00:00Z",
        "digest": "d",
        "judges": ("test/eye",),
        "fields": (),
        "curve": sparkline({}, ()),
        "overall": Band((1,), overall, None, 1.0),
        "is_of_levels": True,
        "scored": 9,
        "expected": 10,
        "left": 0,
        "spent": RunCost(0.0, 0),
        "means": {},
    }
    return IndexedRun(name, RunSummary(**{**values, **changes}), tags or RunTags())


RUNS = [
    _run(
        "a", overall=0.2, model="step-900", created="2026-01-31T23:59:00Z", tags=RunTags(("ablation",), "Best so far")
    ),
    _run("b", overall=None, model="step-1000", suite="natural", judges=()),
    _run("c", overall=0.9, model="Other", judges=("test/eye", "test/second"), spent=RunCost(2.5, 0), left=4),
    _run("d", overall=0.4, model="other", scored=10, spent=RunCost(0.0, 3)),
]


def _names(address: str, difference: dict[str, float] | None = None) -> str:
    known = {name: BaselineDifference(value, None, True) for name, value in (difference or {}).items()}
    query = parse_runs_query(dict(parse_qsl(address)))
    return "".join(one.run.name for one in select_runs(RUNS, query, lambda run: known.get(run.name)).runs)


@pytest.mark.parametrize(
    ("address", "names"),
    [
        ("", "bcda"),
        ("sort=begun&order=asc", "abcd"),
        ("sort=overall", "cdab"),
        ("sort=overall&order=asc", "adcb"),  # without a figure: last
        ("sort=model", "cdab"),  # 900 before 1000
        ("sort=model&order=desc", "badc"),
        ("sort=scored", "dbca"),
        ("sort=cost", "cdba"),
        ("sort=judge", "dacb"),
        ("sort=suite&order=desc", "bcda"),
        ("group=suite&sort=overall", "cdab"),
        ("suite=natural", "b"),
        ("model=other", "d"),
        ("judge=test/second", "c"),
        ("tag=ablation", "a"),
        ("status=unfinished", "c"),
        ("since=2026-02-01", "bcd"),
        ("until=2026-01-31", "a"),
        ("text=best STEP", "a"),
        ("text=test/eye+knolling", "cda"),
        ("text=nowhere", ""),
    ],
)
def test_runs_are_filtered_and_sorted_as_the_address_says(address: str, names: str) -> None:
    assert _names(address) == names


def test_by_the_difference_those_without_one_are_last() -> None:
    assert _names("sort=difference&baseline=b", {"a": -0.1, "c": 0.1, "d": 0.0}) == "cdab"
    assert _names("sort=difference&baseline=b&order=asc", {"a": -0.1, "c": 0.1, "d": 0.0}) == "adcb"


def test_only_the_runs_of_a_page_are_compared_unless_all_are_sorted_by_it() -> None:
    many = [_run(f"{number:04}") for number in range(2 * PER_PAGE + 1)]
    compared: list[str] = []

    def compare(run: IndexedRun) -> None:
        compared.append(run.name)

    found = select_runs(many, parse_runs_query({"page": "3"}), compare)
    assert (len(found.runs), found.total, found.pages, len(compared)) == (1, len(many), 3, 1)
    select_runs(many, parse_runs_query({"page": "3", "sort": "difference"}), compare)
    assert len(compared) == 1 + len(many)
    assert select_runs(many, parse_runs_query({"page": "9"}), lambda run: None).runs == []


def test_links_change_one_thing_and_keep_the_rest() -> None:
    query = parse_runs_query(
        {"text": "x y", "tag": "a&b", "sort": "overall", "order": "asc", "baseline": "c", "page": "2"}
    )

    def asked(url: str) -> dict[str, str]:
        return dict(parse_qsl(urlsplit(url).query))

    kept = {"text": "x y", "tag": "a&b", "baseline": "c"}
    assert asked(query.url(page=3)) == {**kept, "sort": "overall", "order": "asc", "page": "3"}
    assert asked(query.url(sort="cost", order="desc")) == {**kept, "sort": "cost"}
    assert asked(query.url(sort="begun", order="desc", baseline="")) == {"text": "x y", "tag": "a&b"}
    assert parse_runs_query(asked(query.url(page=2))) == query


@pytest.mark.parametrize("name", ["sort", "order", "status", "group", "since", "until", "page"])
def test_what_cannot_be_asked_for_is_an_error_that_says_what_can(name: str) -> None:
    with pytest.raises(HTTPException) as refused:
        parse_runs_query({name: "<b>"})
    assert refused.value.status_code == 400


def test_filters_offer_what_runs_have_and_how_many() -> None:
    found = filter_choices(RUNS)
    assert found["suite"] == {"knolling": 3, "natural": 1}
    assert list(found["model"]) == ["Other", "other", "step-900", "step-1000"]
    assert found["judge"] == {"test/eye": 3, "test/second": 1}
    assert found["tag"] == {"ablation": 1}


def test_a_run_is_in_progress_only_while_a_process_writes_to_it() -> None:
    activity = RunActivity(ImageCounts(10, 4, 0), None, None, RunCost(0.0, 0))
    assert run_status(RUNS[2]) == "unfinished"
    assert run_status(RUNS[2]._replace(activity=activity)) == "in progress"
    assert run_status(RUNS[0]) == "finished"
