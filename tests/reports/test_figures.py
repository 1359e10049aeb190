"""Figures for papers show the numbers of the comparison, and nothing else gets into them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from typing import Any
from xml.etree import ElementTree

import pytest
import typer
from PIL import Image, ImageChops
from typer.testing import CliRunner

from formalimg._util.installing import install_line
from formalimg.benchmarks.cfworld.score_studies import compare_scores
from formalimg.benchmarks.loader import load
from formalimg.cli.captions import captions_command
from formalimg.cli.report import report_command
from formalimg.cli.synth import census_command
from formalimg.errors import FormalimgError
from formalimg.judges.base import LoadedImage
from formalimg.reports.comparison import compare
from formalimg.reports.comparison_model import Comparison
from formalimg.reports.figures.charts import item_figures
from formalimg.reports.figures.runs import comparison_figures
from formalimg.reports.figures.studies import study_figures
from formalimg.reports.figures.svg import WIDTH, Figure, fit_text, parse_figure_formats, text_width, write_figures
from formalimg.runs.execution import judge_run
from formalimg.runs.reader import open_run
from formalimg.types import Item, RunRecord, Unscored, Verdict
from tests.human_eval.concept_runs import PlannedJudge
from tests.human_eval.concept_runs import concept_item as rated_item
from tests.human_eval.concept_runs import concept_run as rated_run
from tests.reports import concept_runs as answered
from tests.reports.concept_runs import concept_item, concept_run
from tests.reports.counterfactual_runs import groups_of, judge_by, scored_run
from tests.reports.drawn_runs import DrawnRun, Fates, plain_run
from tests.reports.figures_read import SVG, TAGS, figures, parsed, words

HOSTILE = '<script>alert(1)</script> & "x" \x00 ]]> 模型'


def drawn(comparison: Comparison) -> dict[str, Figure]:
    return {drawing.name: drawing for drawing in comparison_figures(comparison)}


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
        assert {one.tag for one in parsed(drawing).iter()} <= TAGS
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


def drawn_runs(*runs: RunRecord) -> dict[str, Figure]:
    return {each.name: each for each in comparison_figures(compare(list(runs)))}


def layouts(model: str, fates: Fates) -> DrawnRun:
    run = plain_run(model, fates)
    return replace(run, manifest=replace(run.manifest, task="layout"))


def test_layouts_and_images_of_a_model_share_a_panel() -> None:
    half: Fates = {1: [True, False], 2: [False, False]}
    found = drawn_runs(
        plain_run("lab/a", half), layouts("lab/a", {1: [True, True], 2: [True, False]}), plain_run("lab/b", half)
    )
    drawing = found["knolling-rates-by-setting"]
    assert figures(drawing) == {
        "lab/a, K 1, image": "0.500",
        "lab/a, K 2, image": "0.000",
        "lab/a, K 1, layout task": "1.000",
        "lab/a, K 2, layout task": "0.500",
    }
    assert "lab/b" not in words(drawing)


def test_language_models_on_the_layout_task_have_their_curves() -> None:
    found = drawn_runs(layouts("chat/a", {1: [True], 2: [False]}), layouts("chat/b", {1: [True], 2: [True]}))
    assert {"chat/a, layout task", "chat/b, layout task"} <= set(words(found["knolling-rates"]))
    assert "knolling-rates-by-setting" not in found


def test_each_judge_has_a_panel_with_all_runs(tmp_path: Path) -> None:
    items = [rated_item("a", ["object", "color"]), rated_item("b", ["object", "color"])]
    judges = [
        PlannedJudge("kind/judge", lambda item: [True, True]),
        PlannedJudge("strict/judge", lambda item: [True, item.id == "a"]),
    ]
    runs = []
    for name in ("one", "two"):
        folder = rated_run(tmp_path / name, items, judges, model=f"lab/{name}")
        with closing(open_run(folder)) as run:
            runs += [open_run(folder, judge) for judge in run.judges()]
    assert figures(drawn_runs(*runs)["conceptmix-rates-by-judge"]) == {
        f"{judge}, k 1, lab/{name}": rate
        for name in ("one", "two")
        for judge, rate in (("kind/judge", "1.000"), ("strict/judge", "0.500"))
    }
    assert "conceptmix-rates-by-judge" not in drawn_runs(runs[0], runs[2])


def test_runs_over_easy_and_hard_concepts_are_shaded_around_the_others(tmp_path: Path) -> None:
    def run(name: str, values: tuple[str, str], shown: tuple[bool, bool]) -> RunRecord:
        items = [answered.concept_item(f"{name}-{value}", ("object", "cat"), ("color", value)) for value in values]
        answers = {item.id: [True, yes] for item, yes in zip(items, shown, strict=True)}
        return answered.concept_run(tmp_path / name, "lab/a", items, answers)

    easy, hard = run("easy", ("red", "green"), (True, True)), run("hard", ("brown", "black"), (False, False))
    mixed = run("mixed", ("red", "brown"), (True, False))
    drawing = drawn_runs(easy, hard, mixed)["conceptmix-rates-by-difficulty"]
    assert figures(drawing) == {
        "lab/a, k 1, easy": "1.000",
        "lab/a, k 1, hard": "0.000",
        "lab/a, k 1, all concepts": "0.500",
    }
    assert "from easy to hard" in words(drawing)
    assert "conceptmix-rates-by-difficulty" not in drawn_runs(easy, mixed)


class _JudgeWithItsOwnWords(answered.PlannedJudge):
    """Calls every part a concept, whatever its category is."""

    async def judge(self, item: Item[object], image: LoadedImage) -> Verdict | Unscored:
        found = await super().judge(item, image)
        assert isinstance(found, Verdict)
        return replace(found, parts=tuple(replace(part, kind="concept") for part in found.parts))


def test_categories_that_are_none_of_ours_are_drawn_as_they_are_called(tmp_path: Path) -> None:
    items = [answered.concept_item("a", ("object", "cat"), ("color", "red"))]
    judge = _JudgeWithItsOwnWords({"a": [True, False]}, {})
    judge.name = "own/words"
    folder = answered.concept_run(tmp_path / "run", "lab/a", items, {"a": [True, False]}).folder
    judge_run(folder, judge)
    assert figures(drawn_runs(open_run(folder))["conceptmix-failures-by-category"]) == {"lab/a, concept": "0.500"}


def test_two_judges_of_scores_by_level_and_dimension(tmp_path: Path) -> None:
    groups = groups_of(2)
    kind = judge_by({item.id: [1, 0.75, 1] for item in groups}, "kind/judge")
    strict = judge_by({item.id: [0.5, 0.25, 1] for item in groups}, "strict/judge")
    study = compare_scores(scored_run(tmp_path / "run", groups, kind, strict))
    found = {each.name: each for each in study_figures(study)}
    assert set(found) == {"cf-world-judges-run-levels", "cf-world-judges-run-dimensions"}
    assert figures(found["cf-world-judges-run-levels"]) == {
        f"{who}, L{level}": f"{score:.3f}"
        for level, apart in study.scores_by_level.items()
        for who, score in (("kind/judge", apart.first), ("strict/judge", apart.second))
    }
    assert study.scores_by_level[2].first != study.scores_by_level[2].second


@cache
def some(suite: str) -> Sequence[Item[Any]]:
    """Every fifth item of a default suite."""
    return load(suite)[::5]


def drawn_items(*suites: str) -> dict[str, Figure]:
    return {each.name: each for each in item_figures([item for suite in suites for item in some(suite)])}


def test_predicates_of_two_suites_stand_side_by_side() -> None:
    found = drawn_items("knolling", "natural")
    labels = figures(found["knolling-natural-predicates"])
    for suite, title in (("knolling", "FormalImg Knolling"), ("natural", "FormalImg Natural")):
        used = Counter(name for item in some(suite) for name in re.findall(r"\(([A-Z]\w+)", str(item.spec.formula)))
        del used["Is"], used["IsStyle"]
        shares = {what: figure for what, figure in labels.items() if what.startswith(title)}
        assert shares == {f"{title}, {name}": f"{count / used.total():.3f}" for name, count in used.items()}


def test_predicates_by_level_and_classes() -> None:
    found = drawn_items("knolling")
    assert set(found) == {"knolling-predicates", "knolling-predicates-by-level", "knolling-classes"}
    items = some("knolling")
    by_level = figures(found["knolling-predicates-by-level"])
    at_four = [item for item in items if item.level == 4]
    using = sum("(LeftOf " in str(item.spec.formula) for item in at_four)
    assert by_level["LeftOf, 4"] == f"{100 * using / len(at_four):.0f}"
    assert by_level["Is, 1"] == "100"
    named = Counter(name for item in items for name in re.findall(r"\(Is \?\w+ '(.+?)'\)", str(item.spec.formula)))
    labels = figures(found["knolling-classes"])
    assert {name: figure for name, figure in labels.items() if named[name]} == {
        name: f"{100 * count / named.total():.2f} %" for name, count in named.items()
    }


def test_prompts_of_conceptmix_by_length() -> None:
    labels = figures(drawn_items("conceptmix")["conceptmix-prompt-length"])
    assert set(labels) == {f"k {level}" for level in range(1, 8)}
    for level in (1, 7):
        lengths = [len(item.prompt.split()) for item in some("conceptmix") if item.level == level]
        numbers = [float(part) for part in labels[f"k {level}"].split(", ")]
        assert (numbers[0], numbers[2], numbers[4]) == (min(lengths), median(lengths), max(lengths))


def test_fields_of_cf_world_count_groups_and_not_images() -> None:
    labels = figures(drawn_items("cf-world")["cf-world-fields"])
    groups = {item.spec.group: ", ".join(item.tags) for item in some("cf-world")}
    counts = Counter(groups.values())
    assert labels == {f"{name}: {count}": f"{count / len(groups):.3f}" for name, count in counts.items()}


def test_no_items_have_no_figures() -> None:
    assert item_figures([]) == ()


def test_commands_write_figures_besides_what_they_print(tmp_path: Path) -> None:
    app = typer.Typer()
    app.command("census")(census_command)
    app.command("captions")(captions_command)
    (tmp_path / "captions.txt").write_text("a red car\n")
    (tmp_path / "nothing.txt").write_text("Sale!\n")

    def output(*wanted: str) -> str:
        return CliRunner().invoke(app, [*wanted], catch_exceptions=False).stdout

    census = output("census", "cf-world")
    assert output("census", "cf-world", "--figures", str(tmp_path / "c"), "--figures-as", "svg") == census
    assert sorted(path.name for path in (tmp_path / "c").iterdir()) == ["cf-world-fields.svg", "cf-world-questions.svg"]
    for path in (tmp_path / "c").iterdir():
        ElementTree.fromstring(path.read_bytes())
    assert "captions" in output("captions", str(tmp_path / "captions.txt"), "--figures", str(tmp_path / "d"))
    assert len(list((tmp_path / "d").iterdir())) == 4
    with pytest.raises(FormalimgError, match="nothing to draw: no caption names an object"):
        output("captions", str(tmp_path / "nothing.txt"), "--figures", str(tmp_path / "e"))
    with pytest.raises(FormalimgError, match="svg, png, pdf"):
        output("census", "cf-world", "--figures", str(tmp_path / "e"), "--figures-as", "gif")
    assert not (tmp_path / "e").exists()
