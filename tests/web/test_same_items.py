"""The same item in several runs: all its images, and no other item that is only called alike."""

from __future__ import annotations

import re
import shutil
from dataclasses import replace
from html import unescape
from pathlib import Path

import pytest

from formalimg.models.python_function import CallableModel
from formalimg.runs.config import RunConfig
from formalimg.runs.execution import execute
from formalimg.web.viewer.site import RunFolder, Site
from tests.web.sites import Eye, concept_items, image, visitor


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run; one with three images of each item; and one whose items but for the first two ask something else."""
    folder = tmp_path_factory.mktemp("same")
    items = concept_items(6)
    others = [*items[:2], *(replace(item, prompt="Something else.", level=7) for item in items[2:])]
    for name, asked, samples in (("one", items, 1), ("three", items, 3), ("foreign", others, 1)):
        model = CallableModel(image, name=f"test/{name}")
        execute(RunConfig(asked, model, samples=samples, size=64), folder / name, Eye(turned=name != "one"))
    return folder


def _beside(folder: Path, item: str) -> list[str]:
    page = visitor(folder).get("/item", params={"run": "one", "item": item}).text
    return re.findall(r'class="beside-name">([^<]+)<', page)


def test_all_images_of_the_same_item_stand_beside_and_no_other_item(folder: Path) -> None:
    three = [f"test/three (three), image {number}" for number in range(3)]
    assert _beside(folder, "item-1") == ["test/foreign (foreign)", *three]
    assert _beside(folder, "item-2") == three


def test_only_the_same_items_are_compared(folder: Path) -> None:
    page = visitor(folder).get("/compare", params={"run": ["one", "foreign"]})
    assert page.status_code == 200
    *_, compared, left_out = re.findall(r">(\d+)</td>", page.text.split("Item by item")[1])[:4]
    assert (compared, left_out) == ("2", "4")


def test_of_several_images_it_is_told_how_many_pass(folder: Path) -> None:
    page = unescape(visitor(folder).get("/compare", params={"run": ["one", "three"]}).text)
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
    folder: Path, tmp_path: Path, path: str, monkeypatch: pytest.MonkeyPatch
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

    shutil.copytree(folder, tmp_path / "more")
    for number in range(5):
        shutil.copytree(folder / "one", tmp_path / "more" / f"one-{number}")
    assert count(tmp_path / "more") == count(folder)
