"""The comparison of runs: any baseline, items chosen by how the others fared, and the claims of a report."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from html import unescape
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from typer.testing import CliRunner

from formalimg import load
from formalimg.cli.commands import app
from formalimg.human_eval.study import open_study
from formalimg.human_eval.study_builder import create_study
from formalimg.judges.factory import open_judge
from formalimg.models.python_function import CallableModel
from formalimg.models.registry import open_image_model
from formalimg.reports.comparison import compare
from formalimg.runs.config import RunConfig
from formalimg.runs.execution import execute
from formalimg.runs.plan import Selection
from formalimg.runs.reader import open_run
from formalimg.web.viewer.app import create_viewer_app
from formalimg.web.viewer.site import RunFolder, Site
from tests.human_eval.compared_runs import compared_run, rate_truly
from tests.human_eval.rated_runs import opened
from tests.support.browser import PATIENCE, needs_browser, served_at
from tests.web.sites import Eye, concept_items, image, visitor

if TYPE_CHECKING:
    from playwright.sync_api import Browser

NAMES = ("oracle", "reader", "scatter")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same items by three built-in models."""
    folder = tmp_path_factory.mktemp("compared")
    for name in NAMES:
        order = RunConfig(load("knolling"), open_image_model(f"builtin/{name}"), Selection(None, 2), size=256)
        execute(order, folder / name, open_judge("knolling"))
    return folder


def _page(folder: Path, names: Sequence[str] = NAMES, **chosen: str) -> str:
    answer = visitor(folder).get("/compare", params={"run": list(names), **chosen})
    assert answer.status_code == 200
    return unescape(answer.text)


def _passed(folder: Path) -> dict[str, dict[str, bool | None]]:
    found = {}
    for name in NAMES:
        with closing(open_run(folder / name)) as run:
            found[name] = {one.item: one.passed for one in run.outcomes()}
    return found


def _shown(page: str) -> list[str]:
    return re.findall(r'<article class="compared" aria-label="Item ([^"]+)">', page)


@pytest.mark.parametrize("baseline", NAMES)
def test_the_paired_numbers_are_those_of_a_report_with_this_baseline(folder: Path, baseline: str) -> None:
    page = _page(folder, baseline=baseline)
    runs = [open_run(folder / name) for name in NAMES]
    (section,) = compare(runs, baseline=folder / baseline).sections
    for run in runs:
        run.close()
    table = next(one for one in section.tables if one.name == "paired differences")
    shown = re.findall(r'(?s)<table aria-label="Paired differences">(.*?)</table>', page)[0]
    assert shown.count(f"builtin/{baseline}</td>") == len(table.rows) == 2
    assert "by Holm's method, for 2 comparisons" in page
    chart = re.search(r"(?s)<svg[^>]*differences-chart.*?</svg>", page)
    assert chart
    assert f"difference to builtin/{baseline} in percentage points" in chart[0]
    (details,) = [one for one in section.tables if one.name == "paired differences in detail"]
    levels = [
        row for row in details.rows if str(row.cells[2]).startswith("K ") and "value=None" not in str(row.cells[3])
    ]
    assert chart[0].count('class="point"') == len(levels) > 10


def test_without_a_baseline_each_is_compared_with_each(folder: Path) -> None:
    page = _page(folder, baseline="*")
    assert "by Holm's method, for 3 comparisons" in page
    assert "differences-chart" not in page


def test_items_are_chosen_by_how_a_run_fared_against_the_baseline(folder: Path) -> None:
    passed = _passed(folder)
    known = [item for item in passed["reader"] if None not in (passed["reader"][item], passed["oracle"][item])]
    before, after = ({item: passed[name][item] for item in known} for name in ("reader", "oracle"))
    expected = {
        "won": [item for item in after if after[item] and not before[item]],
        "lost": [item for item in after if before[item] and not after[item]],
        "pass": [item for item in after if before[item] and after[item]],
        "fail": [item for item in after if not before[item] and not after[item]],
    }
    assert expected["won"]
    for group, items in expected.items():
        page = _page(folder, baseline="reader", compared="oracle", group=group)
        assert _shown(page) == items[:24], group
        assert f">{len(items)} item" in page
        (facet,) = re.findall(r'(?s)aria-label="oracle against reader">.*?</section>', page)
        assert [int(number) for number in re.findall(r"<small>(\d+)</small>", facet)] == [
            len(expected[name]) for name in ("won", "lost", "fail", "pass")
        ]


def test_items_come_by_disagreement_if_wanted(folder: Path) -> None:
    passed = _passed(folder)
    shown = _shown(_page(folder, sort="disagreement", group="all"))
    spread = [len({passed[name][item] for name in NAMES} - {None}) for item in shown]
    assert spread == sorted(spread, reverse=True)
    assert {*spread} == {1, 2}


def test_levels_are_a_choice_too_and_all_choices_stay_in_the_address(folder: Path) -> None:
    page = _page(folder, baseline="oracle", level="2", sort="disagreement", group="all")
    links = re.findall(r'href="(/compare[^"]+)"', page)
    kept = [link for link in links if "compared=scatter" in link and "group=lost" in link]
    assert kept
    assert all("level=2" in link and "sort=disagreement" in link and "baseline=oracle" in link for link in kept)
    assert len(_shown(page)) == 2


@pytest.mark.parametrize(
    "chosen",
    [{"baseline": "nobody"}, {"compared": "nobody", "group": "won"}, {"group": "won"}, {"sort": "x"}, {"level": "x"}],
)
def test_what_cannot_be_chosen_is_said(folder: Path, chosen: dict[str, str]) -> None:
    assert visitor(folder).get("/compare", params={"run": list(NAMES), **chosen}).status_code == 400


def test_images_stand_side_by_side_with_the_boxes_of_what_failed(folder: Path) -> None:
    page = _page(folder, compared="reader", group="won", baseline="scatter")
    (_, reader, scatter) = page.split('<article class="compared"')[1].split('<p class="compared-run">')[1:]
    assert "✓</span> pass" in reader
    assert 'class="detected"' in reader
    assert "detected fault" not in reader
    assert "detected fault" in scatter
    assert re.search(r"<li>the [^<]+ not [^<]+</li>", scatter)


@pytest.mark.parametrize("model", NAMES)
def test_the_page_of_a_run_draws_its_own_line_in_full(folder: Path, model: str) -> None:
    page = visitor(folder).get(f"/run?run={model}").text
    assert re.search(rf'class="label tone-0"><path[^>]*></path><text[^>]*>builtin/{model}', page)
    others = {"oracle", "scatter"} - {model}
    assert page.count('class="run bound"') == 2 * len(others)  # for wide and for narrow screens


@needs_browser
def test_a_baseline_is_chosen_and_items_follow(folder: Path, browser: Browser) -> None:
    with served_at(create_viewer_app(Site(folder), token=None)) as address:
        context = browser.new_context(base_url=address, viewport={"width": 1100, "height": 800})
        context.set_default_timeout(PATIENCE)
        page = context.new_page()
        errors: list[str] = []
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.goto("/compare?run=oracle&run=reader&run=scatter")
        page.get_by_label("Baseline").get_by_role("link", name="reader").click()
        page.wait_for_url("**baseline=reader")
        won = page.get_by_label("oracle against reader").get_by_role("link", name="won")
        number = won.locator("small").inner_text()
        won.click()
        page.wait_for_url("**group=won#items")
        assert page.get_by_role("status").inner_text().startswith(f"{number} item")
        page.get_by_role("link", name="most disagreement first").click()
        page.wait_for_url("**sort=disagreement#items")
        hidden = page.locator("#items .detected:not(.fault)").first
        page.mouse.move(1, 1)
        assert hidden.evaluate("(box) => getComputedStyle(box).opacity") == "0"
        page.get_by_label("all boxes").check()
        assert hidden.evaluate("(box) => getComputedStyle(box).opacity") == "1"
        page.locator("article .said-more summary").first.click()
        assert page.locator("article .said-more code").first.is_visible()
        page.get_by_role("article").first.locator("h3 a").click()
        page.wait_for_url("**/items/knolling/**")
        assert page.locator(".history > li").count() == 3
        for width in (360, 1100):
            page.set_viewport_size({"width": width, "height": 800})
            assert page.evaluate("document.documentElement.scrollWidth") <= width
        context.close()
    assert not errors


@pytest.fixture(scope="module")
def dated(folder: Path) -> Iterator[Path]:
    """The runs in another order than that of their names, and one whose items are others."""
    created = {"reader": "2021", "scatter": "2022", "oracle": "2023"}
    before = {}
    for name, year in created.items():
        manifest = folder / name / "run.toml"
        before[manifest] = manifest.read_text(encoding="utf-8")
        manifest.write_text(re.sub(r'created = "\d+', f'created = "{year}', before[manifest]), encoding="utf-8")
    yield folder
    for manifest, text in before.items():
        manifest.write_text(text, encoding="utf-8")


def test_an_item_is_followed_over_all_runs_by_date(dated: Path) -> None:
    guest, passed = visitor(dated), _passed(dated)
    item = next(item for item in passed["reader"] if passed["oracle"][item] and not passed["scatter"][item])
    (link,) = re.findall(r'href="(/items/[^"]+)"', guest.get(f"/item?run=reader&item={item}").text)
    page = unescape(guest.get(unescape(link)).text)
    runs = page.split('<ol class="history">')[1].split("<header>")[1:]
    assert [re.search(r"<b>builtin/(\w+)</b>", run)[1] for run in runs] == ["reader", "scatter", "oracle"]  # type: ignore[index]
    assert [re.search(r"datetime=\"(\d+)", run)[1] for run in runs] == ["2021", "2022", "2023"]  # type: ignore[index]
    assert re.search(r"<li>the [^<]+ not [^<]+</li>", runs[1])
    assert "✓</span> pass" in runs[2]
    assert 'class="said"' not in runs[2]
    held = sum(bool(passed[name][item]) for name in NAMES)
    assert f"passes in {held} of 3 runs" in page
    assert guest.get(f"/items/knolling/{item}").status_code == 200
    assert guest.get("/items/knolling/nothing").status_code == 404
    assert guest.get(f"/items/knolling/{item}?run=nobody").status_code == 404
    assert guest.get("/items/nonsense/1").status_code == 422


def _report(*words: object) -> str:
    done = CliRunner().invoke(app, ["report", *map(str, words)], env={"COLUMNS": "400"}, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.output.partition("\n")[0]


def _claim(page: str) -> str:
    (claim,) = re.findall(r'<p class="claim">([^<]*)</p>', page)
    return str(claim)


def test_a_judge_that_favours_a_model_is_overruled_by_people(tmp_path: Path) -> None:
    """Three of four images of ada are right, and the judge passes 60 % of the wrong images of bea."""
    runs = [compared_run(tmp_path / "runs" / name, 160) for name in ("ada", "bea")]
    before = _report(*runs)
    assert before == "By test/partial, secret/ada and secret/bea cannot be told apart."
    assert _claim(_page(tmp_path / "runs", ("ada", "bea"))) == before
    with opened(*runs) as opened_runs:
        made = create_study(tmp_path / "studies" / "s", opened_runs, "likert", raters=1, per_image=1, labels=100)
    with open_study(made.folder) as answering:
        assert rate_truly(answering, "rater-1") == 200
    after = _report(*runs, "--human", made.folder)
    assert after.startswith("By people, secret/ada is ahead of secret/bea: +")
    page = _page(tmp_path / "runs", ("ada", "bea"))
    assert _claim(page) == after
    assert "by test/partial</h3>" in page, "the rates below the claim are those of the judge"
    assert "rank by people" in page


@pytest.fixture(scope="module")
def items_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run; one with three images of each item; and one whose items but for the first two ask something else."""
    items_folder = tmp_path_factory.mktemp("same")
    items = concept_items(6)
    others = [*items[:2], *(replace(item, prompt="Something else.", level=7) for item in items[2:])]
    for name, asked, samples in (("one", items, 1), ("three", items, 3), ("foreign", others, 1)):
        model = CallableModel(image, name=f"test/{name}")
        execute(RunConfig(asked, model, samples=samples, size=64), items_folder / name, Eye(turned=name != "one"))
    return items_folder


def _beside(items_folder: Path, item: str) -> list[str]:
    page = visitor(items_folder).get("/item", params={"run": "one", "item": item}).text
    return re.findall(r'class="beside-name">([^<]+)<', page)


def test_all_images_of_the_same_item_stand_beside_and_no_other_item(items_folder: Path) -> None:
    three = [f"test/three (three), image {number}" for number in range(3)]
    assert _beside(items_folder, "item-1") == ["test/foreign (foreign)", *three]
    assert _beside(items_folder, "item-2") == three


def test_only_the_same_items_are_page(items_folder: Path) -> None:
    page = visitor(items_folder).get("/compare", params={"run": ["one", "foreign"]})
    assert page.status_code == 200
    *_, compared, left_out = re.findall(r">(\d+)</td>", page.text.split("Item by item")[1])[:4]
    assert (compared, left_out) == ("2", "4")


def test_of_several_images_it_is_told_how_many_pass(items_folder: Path) -> None:
    page = unescape(visitor(items_folder).get("/compare", params={"run": ["one", "three"]}).text)
    differing = page.split("Side by side")[1]
    assert "✗</span> fail" in differing
    assert "✓</span> 3 of 3 pass" in differing


def test_items_that_fare_alike_do_not_differ_however_many_images_they_have(tmp_path: Path) -> None:
    for name, samples in (("one", 1), ("three", 3)):
        model = CallableModel(image, name=f"test/{name}")
        execute(RunConfig(concept_items(6), model, samples=samples, size=64), tmp_path / name, Eye())
    page = visitor(tmp_path).get("/compare", params={"run": ["one", "three"]}).text
    assert ">0 items with verdicts" in page
    assert "page=0" not in page


@pytest.mark.parametrize("path", ["/items/conceptmix/item-1", "/item?run=one&item=item-1", "/run?run=one"])
def test_the_folder_is_not_scanned_for_each_of_its_runs(
    items_folder: Path, tmp_path: Path, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    scans: list[Site] = []
    scan = Site.runs

    def counted(site: Site) -> list[RunFolder]:
        scans.append(site)
        return scan(site)

    def count(runs: Path) -> int:
        site = visitor(runs)
        site.get(path)  # what is computed once
        scans.clear()
        with monkeypatch.context() as patch:
            patch.setattr(Site, "runs", counted)
            assert site.get(path).status_code == 200
        return len(scans)

    shutil.copytree(items_folder, tmp_path / "more")
    for number in range(5):
        shutil.copytree(items_folder / "one", tmp_path / "more" / f"one-{number}")
    assert count(tmp_path / "more") == count(items_folder)
