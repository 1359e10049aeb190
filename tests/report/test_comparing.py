"""Runs side by side: counts, bands, what is missing, and what a reader must know before comparing."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from formalimg.errors import FormalimgError
from formalimg.judges import Verdict
from formalimg.report import Tally, compare, reference_rows
from formalimg.report.captions import caption, remarks
from formalimg.runs import Party
from tests.report.drawn_runs import Fates, plain_run

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
    complete = compare([plain_run("a", HALF)], missing="error")
    assert "Every picture has a verdict (missing: error)" in caption(complete.sections[0], complete)


def test_the_caption_names_the_rule_the_confidence_and_the_extent() -> None:
    comparison = compare([plain_run("a", {1: [True, "refused"], 2: [False, "no image"]})])
    (section,) = comparison.sections
    under = caption(section, comparison)
    assert "left out of the rates (missing: exclude)" in under
    assert "95 %" in under
    assert "4 items, 1 picture of each" in under
    assert "at least 70 % of pictures pass" in under
    assert "† not all pictures were scored" in under
    assert remarks(section) == ["a: 2 of 4 pictures unscored: 1 no image, 1 refused."]
    assert "†" not in caption(compare([plain_run("a", HALF)]).sections[0], comparison)


def test_pictures_that_failed_by_rule_are_counted() -> None:
    run = plain_run("a", {1: [True, False, False]})
    flat = replace(run.pictures[1], verdict=Verdict(False, (), {"rule": "flat colour"}))
    run = replace(run, pictures=(run.pictures[0], flat, run.pictures[2]))
    (section,) = compare([run]).sections
    assert section.rows[0].by_rule == {"flat colour": 1}
    assert remarks(section) == ["a: 1 picture failed by rule: 1 flat colour."]


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
    assert "different items: a 3; b 2; 2 are the same in all" in note
    assert compare([runs[0], replace(runs[0], folder=Path("other"))]).sections[0].notes == ()


def test_runs_by_different_judges_say_so() -> None:
    one = plain_run("a", HALF)
    other = replace(plain_run("b", HALF), card=replace(one.card, model=Party("b", {}), judge=None))
    notes = compare([one, other]).sections[0].notes
    assert notes == (
        "The runs differ in their judges: a icons (judging_rules=1); b none.",
        "b: nobody has judged the pictures yet.",
    )


def test_runs_of_one_model_are_told_apart_by_what_differs() -> None:
    run = plain_run("m", HALF)
    faster = replace(run, card=replace(run.card, model=Party("m", {"steps": 4})))
    reseeded = replace(run, card=replace(run.card, seed=8))
    names = [row.name for row in compare([run, faster, reseeded, run]).sections[0].rows]
    assert names == ["m, steps=20, seed 7 (1)", "m, steps=4", "m, steps=20, seed 8", "m, steps=20, seed 7 (2)"]


def test_published_figures_are_summed_up_as_runs_are() -> None:
    (section,) = compare([plain_run("a", HALF)], references=True).sections
    rows = reference_rows("knolling")
    assert [row.name for row in section.published] == [row.model for row in rows]
    assert rows
    for published, row in zip(section.published, rows, strict=True):
        easy = published.bands["Easy"]
        assert easy == pytest.approx((row.rates[1] + row.rates[2] + row.rates[3]) / 3)
        held = [level for level in row.rates if all(row.rates[lower] >= 0.7 for lower in range(1, level + 1))]
        assert published.generalizability == max(held, default=0)
    assert rows[0].source in section.notes[-1]


def test_nothing_to_report_is_the_users_mistake() -> None:
    with pytest.raises(FormalimgError, match="at least one run"):
        compare([])
