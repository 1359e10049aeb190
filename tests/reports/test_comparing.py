"""Runs side by side: counts, bands, what is missing, and what a reader must know before comparing."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from formalimg.errors import FormalimgError
from formalimg.judges.base import UnscoredReason
from formalimg.judges.grounders.icons import ground_icons
from formalimg.reports.comparison import compare
from formalimg.reports.comparison_model import Tally
from formalimg.reports.notes import main_caption, main_remarks
from formalimg.reports.report import render
from formalimg.runs.manifest import Identity
from formalimg.types import Unscored, Verdict
from tests.reports.drawn_runs import Fates, plain_run

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
    assert summary.generalizability is not None
    assert summary.generalizability.value == 1


def test_epsilon_is_the_suites_unless_another_is_asked_for() -> None:
    run = plain_run("a", HALF)
    assert compare([run]).sections[0].epsilon == 0.7
    held = compare([run], epsilon=0.5).sections[0].rows[0].summary.generalizability
    assert held is not None
    assert (held.epsilon, held.value) == (0.5, 10)


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
