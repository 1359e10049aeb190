"""The index of runs: the numbers of the report, read once for each state of a run, also by the next server."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from formalimg.reports.comparison import compare
from formalimg.reports.report import render
from formalimg.runs.reader import open_run
from formalimg.web.viewer import index as indexing
from formalimg.web.viewer.index import RunIndex
from formalimg.web.viewer.site import Site
from formalimg.web.viewer.summaries import RunSummary, summarize_run
from tests.human_eval.counterfactual_runs import scored_item, scored_run
from tests.web.sites import Eye, change, concept_run, visitor


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
