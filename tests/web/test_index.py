"""The index of runs: what is computed is kept until a run changes, listed as the URL says, and tagged."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest
from starlette.exceptions import HTTPException
from starlette.testclient import TestClient

from formalimg.reports.comparison import compare
from formalimg.reports.report import render
from formalimg.runs.database import RunCost
from formalimg.runs.image_counts import ImageCounts, RunActivity
from formalimg.runs.reader import open_run
from formalimg.runs.tags import RunTags, read_tags, write_tags
from formalimg.stats.observations import Band
from formalimg.web.viewer import index as indexing
from formalimg.web.viewer import site as remembering
from formalimg.web.viewer.app import create_viewer_app
from formalimg.web.viewer.index import BaselineDifference, IndexedRun, RunIndex
from formalimg.web.viewer.runs import PER_PAGE, filter_choices, parse_runs_query, run_status, select_runs
from formalimg.web.viewer.site import Site, StampedCache
from formalimg.web.viewer.summaries import RunSummary, sparkline, summarize_run
from tests.human_eval.counterfactual_runs import scored_item, scored_run
from tests.web.sites import HARM, Eye, change, concept_run, visitor


@pytest.fixture(autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path_factory.mktemp("index-cache")
    monkeypatch.setenv("FORMALIMG_CACHE", str(folder))
    return folder


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The runs that were read, by name."""
    found: list[str] = []

    def summarize(folder: Path) -> RunSummary:
        found.append(folder.name)
        return summarize_run(folder)

    monkeypatch.setattr(indexing, "summarize_run", summarize)
    return found


def _scores(folder: Path) -> None:
    items = [scored_item(f"law{n}-l{level}", level) for n in range(3) for level in (1, 2)]
    scored_run(folder, items, {item.id: [0.2 + 0.1 * n] for n, item in enumerate(items)})


@pytest.mark.parametrize("make", [lambda folder: concept_run(folder, 20), _scores], ids=["rates", "scores"])
def test_the_figures_are_those_of_the_report(tmp_path: Path, make: Callable[[Path], None]) -> None:
    make(tmp_path)
    with closing(open_run(tmp_path)) as run:
        (row,) = compare([run]).sections[0].rows
    found = summarize_run(tmp_path)
    overall = row.summary.bands.get("Overall")
    expected = overall if overall and overall.value is not None else row.summary.overall
    assert (found.overall.value, found.overall.interval) == (expected.value, expected.interval)
    assert (found.scored, found.expected) == (row.summary.overall.scored, row.summary.overall.expected)
    assert found.spent == row.spent


@pytest.mark.parametrize("make", [lambda folder: concept_run(folder, 20), _scores], ids=["rates", "scores"])
def test_a_summary_is_kept_for_the_next_server_until_the_run_changes(
    tmp_path: Path, read: list[str], make: Callable[[Path], None]
) -> None:
    make(tmp_path / "one")
    first = RunIndex(Site(tmp_path)).listing()[0]
    assert RunIndex(Site(tmp_path)).listing()[0] == first
    assert read == ["one"]
    change(tmp_path / "one", "UPDATE verdicts SET cost = 1")
    (after,) = RunIndex(Site(tmp_path)).listing()[0]
    assert after.summary.spent.dollars > first[0].summary.spent.dollars
    assert read == ["one", "one"]


def test_a_damaged_cache_is_not_believed(tmp_path: Path, read: list[str], own_cache: Path) -> None:
    concept_run(tmp_path / "one", 3)
    first = RunIndex(Site(tmp_path)).listing()[0]
    (kept,) = own_cache.rglob("run-summaries/*.json")
    for text in ("", "[]", kept.read_text(encoding="utf-8").replace('"suite"', '"sweet"')):
        kept.write_text(text, encoding="utf-8")
        assert RunIndex(Site(tmp_path)).listing()[0] == first
    assert read == ["one"] * 4


def test_unreadable_folders_are_listed_beside_the_runs(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    concept_run(tmp_path / "b", 2)
    runs, unreadable = RunIndex(Site(tmp_path)).listing()
    assert [run.name for run in runs] == ["b"]
    assert [run.name for run in unreadable] == ["a"]


def test_missing_verdicts_make_no_difference_to_the_baseline_certain(tmp_path: Path) -> None:
    concept_run(tmp_path / "one", 40)
    shutil.copytree(tmp_path / "one", tmp_path / "two")
    change(tmp_path / "one", "UPDATE verdicts SET passed = 0 WHERE passed IS NOT NULL")
    change(tmp_path / "two", "UPDATE verdicts SET passed = 1 WHERE passed IS NOT NULL")
    shutil.copytree(tmp_path / "two", tmp_path / "three")
    change(tmp_path / "three", "DELETE FROM verdicts WHERE CAST(substr(item, 6) AS INTEGER) % 5 < 3")
    index = RunIndex(Site(tmp_path))
    runs = {run.name: run for run in index.listing()[0]}
    whole, partial = (index.difference(runs[name], runs["one"]) for name in ("two", "three"))
    assert whole is not None
    assert partial is not None
    assert whole.interval is not None
    assert partial.interval is not None
    assert partial.value == whole.value
    assert partial.interval.low <= 0 < whole.interval.low


def test_the_difference_to_the_baseline_is_that_of_the_comparison(tmp_path: Path) -> None:
    concept_run(tmp_path / "one", 9)
    shutil.copytree(tmp_path / "one", tmp_path / "two")
    change(tmp_path / "two", "UPDATE verdicts SET passed = 1 WHERE item IN ('item-1', 'item-2', 'item-4')")
    concept_run(tmp_path / "other", 5, judge=Eye(turned=True))
    index = RunIndex(Site(tmp_path))
    one, other, two = index.listing()[0]
    found = index.difference(two, one)
    assert found is not None
    assert found.is_paired
    assert found.value > 0
    page = visitor(tmp_path).get("/", params={"baseline": "one"}).text
    with closing(open_run(tmp_path / "two")) as second, closing(open_run(tmp_path / "one")) as first:
        report = render(compare([second, first]), "html")
    shown = f"{100 * found.value:+.1f}"
    assert f">{shown}</span>" in page
    assert f">{shown}<small>" in report.split('<table aria-label="Paired differences">')[1].split("</table>")[0]
    assert index.difference(other, one) is not None
    assert not index.difference(other, one).is_paired  # type: ignore[union-attr]
    assert index.difference(one, one) is None
    assert "other items, not paired" in page
    assert "There is no run <b>gone</b> here" in visitor(tmp_path).get("/?baseline=gone").text


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


class _Work:
    def __init__(self, seconds: float = 0.0) -> None:
        self.times, self._seconds = 0, seconds

    def __call__(self) -> int:
        time.sleep(self._seconds)
        self.times += 1
        return self.times


def test_a_value_is_worked_out_again_when_its_source_has_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter(range(100))
    monkeypatch.setattr(remembering, "monotonic", lambda: next(clock))
    kept, work = StampedCache[int](8), _Work()
    assert [kept.get("run", state, work) for state in "aaab"] == [1, 1, 1, 1]  # took 1 s: it stands for 10
    assert [kept.get("run", "b", work) for _ in range(9)] == [1] * 6 + [2] * 3
    assert kept.get("other", "a", work) == 3


def test_many_who_ask_at_once_wait_for_one_answer() -> None:
    kept, work = StampedCache[int](8), _Work(0.05)
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(lambda _: kept.get("run", "a", work), range(8)))
    assert work.times == 1


def test_only_so_many_values_are_kept() -> None:
    kept, work = StampedCache[int](2), _Work()
    for name in "abc":
        kept.get(name, "", work)
    assert kept.get("c", "", work) == 3
    assert kept.get("a", "", work) == 4


def test_what_could_not_be_worked_out_is_tried_again() -> None:
    kept, work = StampedCache[int](2), _Work()
    with pytest.raises(ZeroDivisionError):
        kept.get("run", "a", lambda: 1 // 0)
    assert kept.get("run", "a", work) == 1


def test_several_runs_together_are_worked_out_once_and_one_choice_at_a_time(runs: Path) -> None:
    site, at_once, most = Site(runs), 0, 0

    def work_out() -> int:
        nonlocal at_once, most
        at_once += 1
        most = max(most, at_once)
        time.sleep(0.02)
        at_once -= 1
        return most

    choices = [["first"], ["first", "upright"], ["upright"]] * 3
    with ThreadPoolExecutor(len(choices)) as threads:
        list(threads.map(lambda names: site.cached(names, work_out), choices))
    assert most == 1
    assert site.cached(["upright"], lambda: 2) == 1  # not worked out again
    assert site.cached(["upright", "first"], lambda: 2) == 2


ORIGIN = {"Origin": "http://127.0.0.1:8421"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    concept_run(tmp_path / "one", 2)
    return tmp_path


def _body(tags: str = "good", note: str = "", version: str = "", run: str = "one") -> dict[str, str]:
    return {"run": run, "tags": tags, "note": note, "version": version}


def test_tags_are_saved_beside_the_run_and_change_nothing_in_it(folder: Path) -> None:
    before = {path.name: path.read_bytes() for path in (folder / "one").iterdir() if path.is_file()}
    answer = visitor(folder).post("/tags", json=_body(" good , <b>,", HARM), headers=ORIGIN)
    assert (answer.status_code, answer.json()["tags"]) == (200, ["good", "<b>"])
    assert read_tags(folder / "one").note == HARM
    after = {path.name: path.read_bytes() for path in (folder / "one").iterdir() if path.is_file()}
    assert {name for name in after if after[name] != before.get(name)} == {"tags.json", ".tags.lock"}
    page = visitor(folder).get("/").text
    assert "<script>pwned" not in page
    assert "&lt;b&gt;</a>" in page


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 403),
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({**ORIGIN, "Content-Type": "text/plain"}, 415),
    ],
)
def test_pages_of_other_sites_cannot_save(folder: Path, headers: dict[str, str], status: int) -> None:
    sent = '{"run": "one", "tags": "x", "note": "", "version": ""}'
    answer = visitor(folder).post("/tags", content=sent, headers={"Content-Type": "application/json", **headers})
    assert answer.status_code == status
    assert visitor(folder).get("/tags").status_code == 405
    assert not (folder / "one" / "tags.json").exists()


def test_an_edit_that_was_not_seen_is_returned_and_not_replaced(folder: Path) -> None:
    theirs = write_tags(folder / "one", ["theirs"], "their note", version="")
    answer = visitor(folder).post("/tags", json=_body("mine"), headers=ORIGIN)
    assert answer.status_code == 409
    assert answer.json() | {"error": ""} == {"error": "", **theirs._asdict(), "tags": ["theirs"]}
    assert read_tags(folder / "one") == theirs


@pytest.mark.parametrize("run", ["../one", "one/../one", "/etc", "nowhere", ""])
def test_names_are_never_used_as_paths(folder: Path, run: str) -> None:
    assert visitor(folder / "one").post("/tags", json=_body(run=run), headers=ORIGIN).status_code == 404
    assert visitor(folder).post("/tags", json=_body(run=run), headers=ORIGIN).status_code == 404


def test_a_read_only_viewer_offers_no_editing_and_refuses_it(folder: Path) -> None:
    guest = TestClient(create_viewer_app(Site(folder), token=None, read_only=True), base_url=ORIGIN["Origin"])
    assert "edit-tags" not in guest.get("/").text
    answer = guest.post("/tags", json=_body(), headers=ORIGIN)
    assert (answer.status_code, answer.json()["error"]) == (
        403,
        "this viewer is read-only: start it without --read-only to edit tags",
    )
    assert "edit-tags" in visitor(folder).get("/").text


def test_a_folder_that_is_not_writable_offers_no_editing_and_says_why(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.access", lambda *_: False)  # root may write everywhere
    assert "edit-tags" not in visitor(folder).get("/").text
    answer = visitor(folder).post("/tags", json=_body(), headers=ORIGIN)
    assert answer.status_code == 422
    assert "is not writable, so nothing was saved" in answer.json()["error"]


def test_damaged_tags_hide_no_run(folder: Path) -> None:
    (folder / "one" / "tags.json").write_text("{", encoding="utf-8")
    page = visitor(folder).get("/").text
    assert "/run?run=one" in page
    assert "tags.json is damaged" in page


def _nothing(place: Path) -> None:
    place.mkdir()


def _damaged(place: Path) -> None:
    place.mkdir()
    (place / "results.sqlite").write_bytes(b"no database")
    (place / "run.toml").write_text("suite = 1", encoding="utf-8")


def _link_to_a_run(place: Path) -> None:
    place.symlink_to(place.parent.parent / "elsewhere")


def _run_in_a_linked_folder(place: Path) -> None:
    place.symlink_to(place.parent.parent)


def _linked_manifest(place: Path) -> None:
    concept_run(place, 2)
    (place / "run.toml").rename(place / "kept.toml")
    (place / "run.toml").symlink_to(place / "kept.toml")


@pytest.mark.parametrize(
    ("make", "name"),
    [
        (_nothing, "odd"),
        (_damaged, "odd"),
        (_link_to_a_run, "odd"),
        (_run_in_a_linked_folder, "odd/elsewhere"),
        (_linked_manifest, "odd"),
    ],
)
def test_only_runs_that_are_reached_without_links_get_a_file(
    tmp_path: Path, make: Callable[[Path], None], name: str
) -> None:
    site = tmp_path / "site"
    concept_run(site / "one", 2)
    concept_run(tmp_path / "elsewhere", 2)
    make(site / "odd")
    answer = visitor(site).post("/tags", json=_body(run=name), headers=ORIGIN)
    assert answer.status_code == 422, answer.text
    assert "\n" not in answer.json()["error"]
    assert "nothing was saved" in answer.json()["error"]
    assert not [*tmp_path.rglob("tags.json"), *tmp_path.rglob(".tags.lock")]
    row = visitor(site).get("/").text
    assert row.count("edit-tags") == visitor(site / "one").get("/").text.count("edit-tags"), "only one can be edited"
