"""Runs side by side: counts, bands, what is missing, and what a reader must know before comparing."""

from __future__ import annotations

import csv
import io
import json
import re
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import typer
from PIL import Image
from typer.testing import CliRunner

from formalimg import load
from formalimg.benchmarks.items_file import write_items
from formalimg.benchmarks.loader import shipped_versions
from formalimg.cli.report import report_command
from formalimg.errors import FormalimgError
from formalimg.judges.base import UnscoredReason
from formalimg.judges.grounders.icons import ground_icons
from formalimg.reports.comparison import compare
from formalimg.reports.comparison_model import Comparison, Tally
from formalimg.reports.formats import Format
from formalimg.reports.notes import main_caption, main_remarks
from formalimg.reports.report import render
from formalimg.reports.tables.model import Number
from formalimg.runs.execution import judge_run
from formalimg.runs.manifest import Identity
from formalimg.runs.reader import open_run
from formalimg.stats.observations import Band, Rate
from formalimg.types import Unscored, Verdict
from tests.reports.concept_runs import PlannedJudge, concept_item, concept_run
from tests.reports.counterfactual_runs import ScoringJudge, groups_of, judge_by, scored_run
from tests.reports.drawn_runs import Fates, plain_run
from tests.support.command import formalimg
from tests.support.values import not_none

HALF: Fates = {level: [True, False] for level in range(1, 11)}


def test_rates_bands_and_coverage_are_those_of_the_outcomes() -> None:
    fates: Fates = {**HALF, 1: [True, True, "refused"], 2: [True, False, False, False]}
    (section,) = compare([plain_run("a", fates)]).sections
    summary = section.rows[0].summary
    assert summary.levels[1][:4] == (2, 2, 3, 1.0)
    assert summary.levels[2][:4] == (1, 4, 4, 0.25)
    assert summary.bands["Easy"].value == pytest.approx((1 + 0.25 + 0.5) / 3)
    assert summary.bands["Easy"].coverage == pytest.approx(8 / 9)
    assert summary.overall[:3] == (11, 22, 23)
    assert not_none(summary.generalizability).value == 1


def test_epsilon_is_the_suites_unless_another_is_asked_for() -> None:
    run = plain_run("a", HALF)
    assert compare([run]).sections[0].epsilon == 0.7
    held = compare([run], epsilon=0.5).sections[0].rows[0].summary.generalizability
    assert (not_none(held).epsilon, not_none(held).value) == (0.5, 10)


def test_missing_may_count_as_failures() -> None:
    run = plain_run("a", {1: [True, "judge failed"]})
    assert compare([run], missing="fail").sections[0].rows[0].summary.levels[1].value == 0.5
    assert compare([run], missing="exclude").sections[0].rows[0].summary.levels[1].value == 1


def test_missing_may_be_refused_and_the_message_says_why_and_what_to_do() -> None:
    run = plain_run("some/model", {1: [True, "judge failed", "refused", "refused"]})
    with pytest.raises(FormalimgError, match=r"some/model has 3 .*\(2 refused, 1 judge failed\).*--missing exclude"):
        compare([run], missing="error")
    with pytest.raises(FormalimgError, match="resume the run"):
        compare([run], missing="error")
    unjudged = replace(run, folder=Path("runs/my run"), manifest=replace(run.manifest, judge=None))
    with pytest.raises(FormalimgError, match="use `formalimg judge 'runs/my run'`, or choose --missing exclude"):
        compare([unjudged], missing="error")
    complete = compare([plain_run("a", HALF)], missing="error")
    assert "Every image has a verdict (missing: error)" in main_caption(complete.sections[0], complete)


def test_the_caption_names_the_rule_the_confidence_and_the_extent() -> None:
    comparison = compare([plain_run("a", {1: [True, "refused"], 2: [False, "no image"]})])
    (section,) = comparison.sections
    under = main_caption(section, comparison)
    assert "left out of the rates (missing: exclude)" in under
    assert "Intervals: 95 %; they cover which items and images were drawn, not errors of the judge" in under
    assert "Intervals" not in main_caption(section, comparison, intervals=False)
    assert "4 items, 1 image of each" in under
    assert "at least 70 % of images pass" in under
    assert "† not all images were scored" in json.loads(render(comparison, "json"))["sections"][0]["caption"]
    assert main_remarks(section) == [
        "a: 2 of 4 images unscored: 1 no image (what happened); 1 refused (what happened)."
    ]
    assert "†" not in main_caption(compare([plain_run("a", HALF)]).sections[0], comparison)


def test_items_with_unequally_many_images_are_counted_as_they_are() -> None:
    run = plain_run("a", {1: [True, False, True]}, samples=2)
    again = replace(run.images[0], outcome=run.images[0].outcome._replace(sample=1))
    comparison = compare([replace(run, images=(*run.images, again))])
    assert "3 items, 1 to 2 images of each, 4 in all" in main_caption(comparison.sections[0], comparison)
    assert "3 items, 1 to 2 images of each, 4 in all" in render(comparison, "html")


def test_the_commonest_detail_of_each_reason_is_told_and_cut_in_the_middle() -> None:
    failed: UnscoredReason = "generation failed"
    run = plain_run("a", {1: [failed, failed, failed, "refused", "refused", "no image"]})
    long = "RuntimeError:\nboom " + "x" * 900 + ": buy more paint"
    details = [long, long, "other", "no", "no", ""]
    images = tuple(
        replace(judged, verdict=replace(judged.verdict, detail=detail))
        for judged, detail in zip(run.images, details, strict=True)
        if isinstance(judged.verdict, Unscored)
    )
    (remark,) = main_remarks(compare([replace(run, images=images)]).sections[0])
    boom = "RuntimeError: boom " + "x" * 221 + "…" + "x" * 144 + ": buy more paint"
    assert remark == (
        f"a: 6 of 6 images unscored: 3 generation failed (most often {boom}); 2 refused (no); 1 no image."
    )


def test_what_to_do_about_an_image_that_was_not_understood_is_told_whole() -> None:
    run = plain_run("a", {1: ["not understood"]})
    photograph = ground_icons(Image.effect_noise((64, 64), 90).convert("RGB"))
    assert isinstance(photograph, Unscored)
    run = replace(run, images=(replace(run.images[0], verdict=photograph),))
    for kind in ("terminal", "md", "html"):
        page = " ".join(render(compare([run]), kind, details=True).split())
        assert "judge other images with a vision-language model" in page, kind


def test_images_that_failed_by_rule_are_counted() -> None:
    run = plain_run("a", {1: [True, False, False]})
    flat = replace(run.images[1], verdict=Verdict(False, (), {"rule": "flat colour"}))
    run = replace(run, images=(run.images[0], flat, run.images[2]))
    (section,) = compare([run]).sections
    assert section.rows[0].by_rule == {"flat colour": 1}
    assert main_remarks(section) == ["a: 1 image failed by rule: 1 flat colour."]


def test_clauses_are_counted_by_kind_and_predicate() -> None:
    (section,) = compare([plain_run("a", {1: [True, False, False, "refused"]})]).sections
    assert section.rows[0].kinds == {"object": Tally(2, 3)}
    assert section.rows[0].predicates == {"Is": Tally(2, 3)}
    assert Tally(2, 3).share == pytest.approx(2 / 3)


def test_a_run_of_nothing_scored_has_no_rates_but_is_there() -> None:
    (section,) = compare([plain_run("a", {1: ["no image"], 2: ["not judged"]})]).sections
    assert [rate.value for rate in section.rows[0].summary.levels.values()] == [None, None]
    assert section.rows[0].unscored == {"no image": 1, "not judged": 1}


def test_each_suite_has_a_section() -> None:
    runs = [plain_run("a", HALF), plain_run("b", HALF, suite="natural"), plain_run("c", HALF)]
    sections = compare(runs).sections
    assert [(s.suite.name, [row.name for row in s.rows]) for s in sections] == [
        ("knolling", ["a", "c"]),
        ("natural", ["b"]),
    ]


def test_runs_over_different_items_say_so() -> None:
    runs = [plain_run("a", {1: [True, True, True]}, digest="x"), plain_run("b", {1: [True, True]}, digest="y")]
    (note,) = compare(runs).sections[0].notes
    assert "different items: 3 for a; 2 for b; 2 are the same in all" in note
    assert compare([runs[0], replace(runs[0], folder=Path("other"))]).sections[0].notes == ()


def test_runs_by_different_judges_say_so() -> None:
    one = plain_run("a", HALF)
    other = replace(plain_run("b", HALF), manifest=replace(one.manifest, model=Identity("b", {}), judge=None))
    notes = compare([one, other]).sections[0].notes
    assert notes == (
        "The runs differ in their judges: icons for a; none for b.",
        "b: the images have not been judged yet.",
    )


def test_what_differs_is_told_once_for_each_value() -> None:
    a, b, c = (plain_run(name, HALF) for name in "abc")
    other = replace(c, manifest=replace(c.manifest, judge=Identity("icons", {"judging_rules": 2})))
    assert compare([a, b, other]).sections[0].notes == (
        "The runs differ in their judges: icons (judging_rules=1) for a and b; icons (judging_rules=2) for c.",
    )


LAYOUTS_FAIL = "A layout that cannot be read or leaves the canvas counts as a failure of the model."


@pytest.mark.parametrize(
    ("change", "name", "note"),
    [
        ({"condition": "text-layout"}, "m, text-layout", "conditions: words alone for m; text-layout for"),
        ({"style": "long"}, "m, long style text", "style texts: none for m, no style text; long for"),
        ({"task": "layout"}, "m, layout task", "tasks: image for m; layout for"),
        ({"layouts": "solver"}, "m, layouts by solver", "layouts: none for m; solver for"),
        ({"layouts": "run x sha256 abc"}, "m, layouts by run x", "layouts: none for m; run x sha256 abc for"),
        ({"seed": 8}, "m, seed 8", "seeds: 7 for m, seed 7; 8 for"),
    ],
)
def test_runs_that_were_asked_otherwise_are_told_apart(change: dict[str, Any], name: str, note: str) -> None:
    run = plain_run("m", HALF)
    (section,) = compare([run, replace(run, manifest=replace(run.manifest, **change))]).sections
    assert section.rows[1].name == name
    assert section.notes[0] == f"The runs differ in their {note} {name}."
    assert section.notes[1:] == (LAYOUTS_FAIL,) * ("task" in change)


def test_runs_of_one_model_are_told_apart_by_what_differs() -> None:
    run = plain_run("m", HALF)
    faster = replace(run, manifest=replace(run.manifest, model=Identity("m", {"steps": 4})))
    reseeded = replace(run, manifest=replace(run.manifest, seed=8))
    names = [row.name for row in compare([run, faster, reseeded, run]).sections[0].rows]
    assert names == ["m, steps=20, seed 7 (1)", "m, steps=4", "m, steps=20, seed 8", "m, steps=20, seed 7 (2)"]


def test_nothing_to_report_is_the_users_mistake() -> None:
    with pytest.raises(FormalimgError, match="at least one run"):
        compare([])


CONCEPTS = [concept_item(f"c{n}", ("object", "cat"), ("color", "red")) for n in range(6)]
GROUPS = groups_of(6)


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    home = tmp_path_factory.mktemp("runs")
    answers = {item.id: [True, item.id != "c1"] for item in CONCEPTS}
    concept_run(home / "concepts", "lab/one", CONCEPTS, {**answers, "c5": "judge failed"})
    second = PlannedJudge({**answers, "c5": "judge failed"}, {})
    second.name = "test/second"
    judge_run(home / "concepts", second)
    scores = {item.id: [0.5, 1.0, 0.5] for item in GROUPS}
    scored_run(home / "worlds", GROUPS, judge_by(scores), model="lab/one", refused=["g0-l1"])
    return [home / "concepts", home / "worlds"]


@pytest.fixture(scope="module")
def comparison(folders: list[Path]) -> Comparison:
    with closing(open_run(folders[0])) as one, closing(open_run(folders[1])) as other:
        return compare([one, other], references=True)


def test_landmarks_of_a_page_are_unique_and_ids_too(comparison: Comparison) -> None:
    page = render(comparison, "html")
    assert page.count("<main") == 1
    assert 'role="region"' not in page
    ids = re.findall(r' id="([^"]+)"', page)
    assert len(ids) > 2 * len(comparison.sections)
    assert len(ids) == len({*ids})


def test_the_judge_is_named_where_the_figures_are(comparison: Comparison) -> None:
    for form in ("terminal", "md", "latex", "json", "html"):
        said = " ".join(render(comparison, form, details=True).split())
        assert said.count("Judged by test/second.") == said.count("Judged by test/scores.") == 1


def test_judges_whose_verdicts_are_not_shown_are_named_with_the_way_to_see_them(folders: list[Path]) -> None:
    app = typer.Typer()
    app.command()(report_command)

    def said(*arguments: str) -> str:
        done = CliRunner().invoke(app, [*map(str, folders), *arguments], env={"COLUMNS": "200"}, catch_exceptions=False)
        return " ".join(done.output.split())

    hidden = (
        "Verdicts of other judges are there, and not shown: test/planned for lab/one. "
        "See all with formalimg report --judges all."
    )
    assert said("--details").count(hidden) == 1
    assert "-{}-judges all" in said("--format", "latex")
    everyone = said("--judges", "all")
    assert "not shown" not in everyone
    assert "lab/one, by test/planned" in everyone


def test_what_was_worked_out_is_not_called_published(comparison: Comparison) -> None:
    concepts, worlds = comparison.sections
    assert concepts.notes[-1].endswith(
        "ConceptMix, Table 4; ConceptMix, Table 10. Only Overall is computed from them here."
    )
    assert worlds.notes[-1].endswith("and by their judge: CF-World, Table 2.")  # PRR and RRR are printed there


@pytest.mark.parametrize(
    ("form", "heading"),
    [
        ("terminal", "\nCF-World\n"),
        ("md", "## CF-World"),
        ("latex", r"\caption{CF-World"),
        ("html", '<h2 class="suite">CF-World'),
    ],
)
def test_each_suite_has_its_own_figures_and_words(comparison: Comparison, form: Format, heading: str) -> None:
    """4 of the 5 images with a verdict show both concepts; 3 · 0.5 + 8 · 1 + 15 · 0.5 of 26 are 0.65."""
    whole = render(comparison, form, details=True)
    concepts, worlds = whole[whole.find('<article class="suite"') + 1 :].split(heading)
    for text, own, figure, foreign in (
        (concepts, "Full-mark score by k", "80.0", "RRR"),
        (worlds, "Scores by dimension", "0.65", "ull-mark"),
    ):
        assert own in text
        assert figure in text
        assert foreign not in text


def test_files_for_programs_tell_the_suites_apart(comparison: Comparison) -> None:
    rows = list(csv.DictReader(io.StringIO(render(comparison, "csv"))))
    levels = {(row["suite"], row["name"]): row for row in rows if (row["run"], row["figure"]) == ("lab/one", "level")}
    assert list(levels) == [("conceptmix", "1"), ("cf-world", "1"), ("cf-world", "2"), ("cf-world", "3")]
    assert [row["threshold"] for row in levels.values()] == ["", "0.5", "0.5", "0.5"]
    assert float(levels["conceptmix", "1"]["value"]) == 0.8
    sections = json.loads(render(comparison, "json"))["sections"]
    assert [(section["suite"], len(section["runs"])) for section in sections] == [("conceptmix", 1), ("cf-world", 1)]
    assert sections[1]["runs"][0]["unscored"] == {"gate unknown": 2, "refused": 1}


def test_disciplines_have_the_figures_of_the_main_table(comparison: Comparison) -> None:
    """All groups are of one discipline here, so its row must not differ in anything, not even in its intervals."""
    section = comparison.sections[1]
    tables = {table.name: table for table in section.tables}
    table = tables["disciplines"]
    found = zip(table.columns, table.rows[0].cells, strict=True)
    figures = [cell for column, cell in found if isinstance(cell, Number) and column.type == "score"]
    summary = section.rows[0].summary
    whole: list[Rate | Band] = [*summary.levels.values(), *summary.bands.values()]
    assert [(it.value, it.interval, it.is_incomplete) for it in figures] == [
        (it.value, it.interval, it.coverage < 1) for it in whole
    ]
    gated = [row.cells[3] for row in tables["raw and gated"].rows]
    assert [it.interval for it in gated if isinstance(it, Number)] == [it.interval for it in summary.levels.values()]


RUN = ("run", "knolling", "-m", "builtin/oracle", "--levels", "1", "--per-level", "1", "--size", "64", "--out", "run")


def report(cwd: Path, *options: str) -> str:
    done = formalimg("report", "run", "--format", "md", *options, cwd=cwd)
    assert done.code == 0, done.err
    return done.out


def test_shipped_items_are_named_with_their_version(tmp_path: Path) -> None:
    assert formalimg(*RUN, cwd=tmp_path).code == 0
    newest = load("knolling")[0].version
    assert f"FormalImg Knolling, formalimg items v{newest}: pass rate" in report(tmp_path)
    assert "on their items, which are others than those of the runs, and by their judge" in report(
        tmp_path, "--reference"
    )
    assert formalimg("report", "run", "--format", "html", cwd=tmp_path).code == 0
    page = (tmp_path / "run" / "report.html").read_text(encoding="utf-8")
    assert f"<h1>FormalImg Knolling, formalimg items v{newest}" in page


def test_items_of_ones_own_are_not_called_ours(tmp_path: Path) -> None:
    done = formalimg("items", "synth", "knolling", "--levels", "1", "--per-level", "1", "--out", "own", cwd=tmp_path)
    assert done.code == 0, done.err
    assert formalimg(*RUN, "--items", "own", cwd=tmp_path).code == 0
    assert "FormalImg Knolling, unversioned items: pass rate" in report(tmp_path)


def test_files_as_published_are_the_authors(tmp_path: Path) -> None:
    done = formalimg(
        *("items", "synth", "knolling", "--levels", "1", "--per-level", "1", "--out", "own", "--published"),
        cwd=tmp_path,
    )
    assert done.code == 0, done.err
    formalimg(*RUN[:3], "builtin/scatter", *RUN[4:], "--items", "own/published", cwd=tmp_path)
    assert "FormalImg Knolling, authors' items: pass rate" in report(tmp_path)
    assert "on their items and by their judge" in report(tmp_path, "--reference")


def test_runs_over_different_items_say_which(tmp_path: Path) -> None:
    write_items([load("knolling")[0]], tmp_path / "mine")
    text = (tmp_path / "mine" / "items.jsonl").read_text(encoding="utf-8")
    version = load("knolling")[0].version
    (tmp_path / "mine" / "items.jsonl").write_text(text.replace(f'"version": "{version}"', '"version": "77"'))
    assert formalimg(*RUN[:-1], "one", cwd=tmp_path).code == 0
    assert formalimg(*RUN[:-1], "two", "--items", "mine", cwd=tmp_path).code == 0
    done = formalimg("report", "one", "two", "--format", "md", cwd=tmp_path)
    assert "FormalImg Knolling: pass rate" in done.out
    assert "The runs differ in their items: " in done.out
    assert f"formalimg items v{version} for" in done.out
    assert "items v77 for" in done.out


@pytest.mark.parametrize("suite", ["knolling", "natural", "conceptmix"])
def test_versions_end_with_the_newest(suite: str) -> None:
    assert shipped_versions(suite)[-1] == load(suite)[0].version
    assert shipped_versions("questions") == ()


ITEMS = groups_of(8)
JUDGES = ("test/kind", "test/harsh")


@pytest.fixture(scope="module")
def judged_folders(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    home = tmp_path_factory.mktemp("ranked")
    scores = {("lab/good", "test/kind"): 0.9, ("lab/good", "test/harsh"): 0.7}
    scores |= {("lab/bad", "test/kind"): 0.8, ("lab/bad", "test/harsh"): 0.55}

    def judge(model: str, name: str) -> ScoringJudge:
        return ScoringJudge(lambda item, image: [scores[model, name]] * 3, name)

    for model in ("lab/good", "lab/bad"):
        scored_run(home / model[4:], ITEMS, *(judge(model, name) for name in JUDGES), model=model)
    return [str(home / "good"), str(home / "bad")]


def test_each_judge_ranks_the_models(judged_folders: list[str]) -> None:
    said = formalimg("report", *judged_folders, "--judges", "all", "--format", "json")
    section = json.loads(said.out)["sections"][0]
    found = {run["name"]: run["rank"]["all levels"] for run in section["runs"]}
    ranks = {name: (rank["value"], rank["interval"]) for name, rank in found.items()}
    assert ranks == {
        f"{model}, by {judge}": (place, [place, place])
        for model, place in (("lab/good", 1), ("lab/bad", 2))
        for judge in JUDGES
    }
    pairs = next(table for table in section["tables"] if table["name"] == "paired differences")["rows"]
    compared = [tuple(row["cells"][:2]) for row in pairs]
    assert compared == [(f"lab/good, by {judge}", f"lab/bad, by {judge}") for judge in JUDGES]


def test_the_headline_names_each_judge_once(judged_folders: list[str]) -> None:
    said = " ".join(
        formalimg("report", *judged_folders, "--judges", "all", "--format", "terminal", "--details").out.split()
    )
    assert "By test/kind, lab/good is ahead of lab/bad: +0.10" in said
    assert "By test/harsh, lab/good is ahead of lab/bad: +0.15" in said
    assert "among the runs with the same judge" in said


def test_one_model_by_two_judges_has_no_rank(judged_folders: list[str]) -> None:
    said = formalimg("report", judged_folders[0], "--judges", "all", "--format", "json")
    section = json.loads(said.out)["sections"][0]
    assert [run.get("rank") for run in section["runs"]] == [None, None]
    assert not [table for table in section["tables"] if table["name"].startswith("paired")]
