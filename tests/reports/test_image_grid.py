"""Example images by level, in green and red frames."""

from __future__ import annotations

import io
import re
from base64 import b64decode
from pathlib import Path

import pytest
from PIL import Image

from formalimg.reports.figures.svg import write_figures
from formalimg.reports.page_images import FAILED, PASSED, image_grids
from formalimg.reports.report import write_html
from tests.reports.drawn_runs import DrawnRun, drawn_run, plain_run


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[DrawnRun]:
    folder = tmp_path_factory.mktemp("runs")
    return [
        drawn_run(folder / name, f"test/{name}", skill=skill, unscored=0.1, chance=number)
        for number, (name, skill) in enumerate([("good", 0.9), ("bad", 0.2)])
    ]


def _cells(svg: str) -> list[tuple[str, str, str]]:
    """Of each image: its title, its data, and the colour of its frame."""
    cell = re.compile(r'<g><title>([^<]*)</title><image href="data:image/jpeg;base64,([^"]*)".*?stroke="([^"]*)"', re.S)
    return cell.findall(svg)


def test_frames_are_green_for_images_that_pass_and_red_for_those_that_fail(runs: list[DrawnRun]) -> None:
    (figure,) = image_grids(runs).values()
    cells = _cells(figure.svg())
    assert {color for _, _, color in cells} == {PASSED, FAILED}
    known = {(run.manifest.model.name, one.outcome.item): one.outcome.passed for run in runs for one in run.images}
    assert len(cells) >= 18  # two runs, ten levels, a few without a verdict
    for title, data, color in cells:
        model, level, item, verdict = re.fullmatch(r"(\S+), K (\d+), item (\d+): (\w+)", title).groups()  # type: ignore[union-attr]
        assert runs[0].items[item].level == int(level)
        assert (color == PASSED) == (verdict == "passes") == known[model, item]
        with Image.open(io.BytesIO(b64decode(data))) as image:
            assert max(image.size) == 160
    assert "Green frame: it satisfies the instruction" in figure.note


def test_a_column_shows_the_same_item_of_all_runs(runs: list[DrawnRun]) -> None:
    (figure,) = image_grids(runs).values()
    items: dict[str, set[str]] = {}
    for title, _, _ in _cells(figure.svg()):
        _, level, item = title.partition(":")[0].split(", ")
        items.setdefault(level, set()).add(item)
    assert all(len(found) == 1 for found in items.values())
    assert len(items) == 10


def test_the_grid_is_a_figure_file_and_a_part_of_the_page(runs: list[DrawnRun], tmp_path: Path) -> None:
    grids = image_grids(runs)
    files = write_figures(list(grids.values()), tmp_path / "figures", ("svg", "png"))
    assert [path.name for path in files] == ["knolling-examples.svg", "knolling-examples.png"]
    with Image.open(files[1]) as image:
        colors = {color for _, color in image.getcolors(1 << 24) or ()}
    for wanted in (PASSED, FAILED):
        assert tuple(bytes.fromhex(wanted[1:])) in colors
    write_html(runs, tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text("utf-8")
    assert "Examples by K" in page
    assert "Green frame" in page
    for given in ({"images": "none"}, {"gallery": 0}):
        write_html(runs, tmp_path / "bare.html", **given)
        assert "Examples by K" not in (tmp_path / "bare.html").read_text("utf-8")


def test_runs_without_verdicts_have_no_grid() -> None:
    assert image_grids([plain_run("a", {1: ["not judged"]})]) == {}
