"""Figures for papers show the numbers of the comparison, and nothing else gets into them."""

from __future__ import annotations

import re
from importlib.util import find_spec
from pathlib import Path
from xml.etree import ElementTree

import pytest
import typer
from PIL import Image, ImageChops
from typer.testing import CliRunner

from formalimg._util.installing import install_line
from formalimg.cli.report import report_command
from formalimg.errors import FormalimgError
from formalimg.reports.comparison import compare
from formalimg.reports.comparison_model import Comparison
from formalimg.reports.figures.runs import comparison_figures
from formalimg.reports.figures.svg import WIDTH, Figure, fit_text, parse_figure_formats, text_width, write_figures
from formalimg.runs.reader import open_run
from tests.reports.concept_runs import concept_item, concept_run
from tests.reports.counterfactual_runs import groups_of, judge_by, scored_run
from tests.reports.drawn_runs import plain_run

SVG = "{http://www.w3.org/2000/svg}"
HOSTILE = '<script>alert(1)</script> & "x" \x00 ]]> 模型'


def drawn(comparison: Comparison) -> dict[str, Figure]:
    return {drawing.name: drawing for drawing in comparison_figures(comparison)}


def parsed(drawing: Figure) -> ElementTree.Element:
    return ElementTree.fromstring(drawing.svg().encode())


def words(drawing: Figure) -> list[str]:
    return [one.text or "" for one in parsed(drawing).iter(f"{SVG}text")]


def middles(drawing: Figure) -> list[tuple[float, float]]:
    """Where the round points stand whose colour is that of the first run."""
    circles = [one for one in parsed(drawing).iter(f"{SVG}circle") if one.get("stroke") == "#1d5ba6"]
    return [(float(one.attrib["cx"]), float(one.attrib["cy"])) for one in circles]


def test_points_stand_where_the_axis_says() -> None:
    rates = {1: [True] * 4, 2: [True, False], 3: [False, False, False, True], 4: [False]}
    drawing = drawn(compare([plain_run("lab/one", rates)]))["knolling-rates"]
    ticks = {
        one.text: float(one.attrib["y"]) - 2.4
        for one in parsed(drawing).iter(f"{SVG}text")
        if one.get("text-anchor") == "end"
    }
    (_, *points) = middles(drawing)  # the first is in the legend
    shares = [(ticks["0"] - y) / (ticks["0"] - ticks["100"]) for _, y in points]
    assert shares == pytest.approx([1, 0.5, 0.25, 0], abs=0.002)
    assert [x for x, _ in points] == sorted(x for x, _ in points)


def test_points_are_hollow_where_not_all_is_scored_and_the_figure_says_so() -> None:
    some = drawn(compare([plain_run("lab/one", {1: [True, "refused"], 2: [True]})]))["knolling-rates"]
    every = drawn(compare([plain_run("lab/one", {1: [True, True], 2: [True]})]))["knolling-rates"]
    hollow = [
        sum(one.get("fill") == "#ffffff" and one.get("stroke") == "#1d5ba6" for one in parsed(each).iter())
        for each in (some, every)
    ]
    assert hollow == [1, 0]
    assert ["not all scored" in words(each) for each in (some, every)] == [True, False]


def test_levels_without_a_figure_break_the_line() -> None:
    fates = {1: [True], 2: ["refused"], 3: [True]}
    drawing = drawn(compare([plain_run("lab/one", fates)]))["knolling-rates"]  # type: ignore[arg-type]
    lines = [one.attrib["d"] for one in parsed(drawing).iter(f"{SVG}path") if one.get("stroke-linejoin")]
    assert [re.sub(r"[^ML]", "", line) for line in lines] == ["MM"]


def test_what_was_not_asked_is_no_bar_of_no_length(tmp_path: Path) -> None:
    items = [
        concept_item("one", ("object", "cat"), ("color", "red")),
        concept_item("s", ("object", "x"), ("size", "big")),
    ]
    one = concept_run(tmp_path / "one", "lab/one", items[:1], {"one": [True, False]})
    two = concept_run(tmp_path / "two", "lab/two", items, {"one": [True, True], "s": [True, True]})
    found = drawn(compare([one, two]))
    assert {"conceptmix-rates", "conceptmix-categories", "conceptmix-values-color"} <= set(found)
    categories = found["conceptmix-categories"]
    assert words(categories).count("–") == 2  # the size by the first, and so its average
    bars = [float(bar.attrib["width"]) for bar in parsed(categories).iter(f"{SVG}rect") if bar.get("stroke-width")]
    assert sorted(bars)[0] < 1 < sorted(bars)[1]  # 0 % of red by the first is seen; all else is 100 %
    assert len(bars) == 4  # with the average of the second


def test_cf_world_shows_levels_ratios_and_dimensions(tmp_path: Path) -> None:
    groups = groups_of(3)
    run = scored_run(tmp_path / "run", groups, judge_by({item.id: [1, 1 / item.level, 0.5] for item in groups}))
    found = drawn(compare([open_run(run)], references=True))
    assert set(found) == {"cf-world-scores", "cf-world-ratios", "cf-world-failures-by-dimension"}
    assert [word for word in words(found["cf-world-scores"]) if word in ("L1", "L2", "L3")] == ["L1", "L2", "L3"]
    assert "published" in words(found["cf-world-scores"])


def test_runs_of_which_nothing_is_scored_have_no_figures() -> None:
    assert comparison_figures(compare([plain_run("a", {1: ["no image"]})], references=True)) == ()


def test_hostile_names_stay_words_and_stay_inside() -> None:
    rates = {1: [True], 2: [False]}
    for drawing in comparison_figures(compare([plain_run(HOSTILE * 3, rates), plain_run("b", rates)])):
        assert {one.tag for one in parsed(drawing).iter()} <= {
            f"{SVG}{tag}" for tag in ("svg", "title", "desc", "rect", "text", "path", "circle", "g")
        }
        assert "://" not in drawing.svg().replace("http://www.w3.org/2000/svg", "", 1)
        name = next(word for word in words(drawing) if word.startswith("<script>"))
        assert name.endswith("…")
        assert text_width(name) < WIDTH


def test_words_are_cut_only_where_they_do_not_fit() -> None:
    assert fit_text("as it is", text_width("as it is")) == "as it is"
    assert fit_text("as it is", text_width("as it is") - 1) == "as it…"


def test_more_runs_than_colours_can_be_told_apart() -> None:
    drawing = drawn(compare([plain_run(f"lab/{n}", {1: [True]}, digest=str(n)) for n in range(12)]))["knolling-rates"]
    outlines = [
        (one.get("stroke"), one.tag, re.sub(r"[\d.-]+ ", "", one.get("d", "")).count("L"), one.get("d", "")[-30:])
        for group in parsed(drawing).iter(f"{SVG}g")
        if group.get("transform")  # in the legend
        for one in group
        if one.get("stroke-width") == "0.8"
    ]
    assert len(outlines) == len(set(outlines)) == 12


def test_files(tmp_path: Path) -> None:
    drawings = comparison_figures(compare([plain_run("lab/é", {1: [True, False], 2: [False]})]))
    files = write_figures(drawings, tmp_path / "new" / "folder")
    assert sorted(path.name for path in files) == sorted(path.name for path in (tmp_path / "new" / "folder").iterdir())
    assert {path.suffix for path in files} == {".svg", ".png"}
    with Image.open(next(path for path in files if path.suffix == ".png")) as image:
        assert image.info["dpi"] == pytest.approx((300, 300), abs=0.1)
        assert image.width / 300 == pytest.approx(WIDTH / 72, abs=0.01)
        names = image.convert("L").crop((60, 0, 260, 48))  # the name of the run, in letters that come along
        assert ImageChops.invert(names).getbbox() is not None
        assert image.convert("L").crop((0, image.height - 1, image.width, image.height)).getextrema() == (
            255,
            255,
        )


def test_pdf_where_its_library_is_installed(tmp_path: Path) -> None:
    drawings = comparison_figures(compare([plain_run("lab/one", {1: [True, False]})]))
    if find_spec("vl_convert") is None:
        with pytest.raises(FormalimgError, match=re.escape(install_line("figures"))):
            write_figures(drawings, tmp_path / "none", ["svg", "pdf"])
        assert not (tmp_path / "none").exists()
        return
    page = write_figures(drawings, tmp_path, ["pdf"])[0].read_bytes()
    assert page.startswith(b"%PDF")
    assert re.search(rb"/MediaBox \[0 0 238 ", page)


@pytest.mark.parametrize("listed", ["gif", "", ",", "svg,gif"])
def test_unknown_formats_are_the_users_mistake(listed: str) -> None:
    with pytest.raises(FormalimgError, match="svg, png, pdf"):
        parse_figure_formats(listed)


def test_the_command_writes_figures_beside_any_report(tmp_path: Path) -> None:
    groups = groups_of(2)
    run = scored_run(tmp_path / "run", groups, judge_by({item.id: [1, 0.5, 0] for item in groups}))
    app = typer.Typer()
    app.command()(report_command)

    def report(*more: str) -> str:
        wanted = [str(run), "--figures", str(tmp_path / "figures"), *more]
        return CliRunner().invoke(app, wanted, catch_exceptions=False).stdout

    assert report("--format", "csv", "--figures-as", "svg").startswith("suite,")
    assert {path.suffix for path in (tmp_path / "figures").iterdir()} == {".svg"}
    assert report("--format", "html", "--gallery", "0").split() == [str(run / "report.html")]
    assert {path.suffix for path in (tmp_path / "figures").iterdir()} == {".svg", ".png"}
    with pytest.raises(FormalimgError, match="name a folder"):
        CliRunner().invoke(app, [str(run), "--figures", str(run / "run.toml")], catch_exceptions=False)
