"""Published tables beside runs: the one that belongs to the task and condition, with its figures as printed."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace
from typing import Any

import pytest

from formalimg.reports.comparison import compare
from formalimg.reports.comparison_model import Comparison, Tally
from formalimg.reports.figures.runs import comparison_figures
from formalimg.reports.report import render
from formalimg.reports.tables.format import cell_text
from formalimg.reports.tables.model import Number, number_in
from formalimg.runs.manifest import Identity
from formalimg.runs.reader import Judged
from formalimg.types import Part, Verdict
from tests.reports.drawn_runs import DrawnRun, Fates, outcome_of, plain_run
from tests.stats.test_published_tables import TABLE_1, TABLE_3
from tests.support.values import not_none

HALF: Fates = {level: [True, False] for level in range(1, 11)}

TABLE_3_CONDITIONS = {
    "text-layout": "text and words",
    "text-layout-without-words": "text alone",
    "image-layout": "image and words",
    "image-layout-without-words": "image alone",
}


def _of(run: DrawnRun, **manifest: Any) -> DrawnRun:
    return replace(run, manifest=replace(run.manifest, **manifest))


def _printed(comparison: Comparison) -> dict[str, list[str]]:
    """The cells of published rows as CSV readers and terminal readers see them, by the name of the row."""
    lines = render(comparison, "md").splitlines()
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if "| published" in line]
    return {row[0]: row[1:] for row in cells}


@pytest.mark.parametrize("suite", ["natural", "knolling"])
def test_table_1_is_shown_to_the_last_digit_as_printed(suite: str) -> None:
    shown = _printed(compare([plain_run("a", HALF, suite=suite)], references=True))
    rows = [row for row in TABLE_1 if row.suite == suite]
    assert len(rows) == 12
    for row in rows:
        means = [f"{row.printed[name]:.1f}" for name in ("Easy", "Medium", "Hard", "Overall")]
        assert shown[row.model][10:15] == [*means, str(row.printed["G"])], row.model
    if suite == "knolling":
        assert shown["Gemini-3-Pro-Image"][13] == "67.1"
        assert len(shown) == 12


def test_nothing_of_table_1_is_computed_unless_epsilon_is_another() -> None:
    run = plain_run("a", HALF)
    (section,) = compare([run], references=True).sections
    assert section.notes[-1].endswith("by their judge: FormalImg, Table 1.")
    (section,) = compare([run], references=True, epsilon=0.9).sections
    assert section.notes[-1].endswith("FormalImg, Table 1. Only G0.9 is computed from them here.")
    assert section.published[0].generalizability == 2  # 93.0, 90.0, 80.0


def test_a_run_of_the_layout_task_has_table_2_beside_it() -> None:
    comparison = compare([_of(plain_run("a", HALF), task="layout")], references=True)
    shown = _printed(comparison)
    assert list(shown) == [row.name for row in comparison.sections[0].published]
    assert len(shown) == 7
    assert shown["Deepseek-V3.2-Thinking, layout task"][10:15] == ["99.7", "97.5", "96.0", "97.6", "10"]
    assert shown["Qwen3-30B-A3B, layout task"][10:15] == ["92.5", "64.8", "47.6", "66.3", "4"]
    assert shown["Qwen3-30B-A3B, layout task"][:10] == ["–"] * 10
    # Means without rates: of another epsilon nothing can be said, and no curve is drawn.
    other = compare([_of(plain_run("a", HALF), task="layout")], references=True, epsilon=0.9).sections[0]
    assert {row.generalizability for row in other.published} == {None}
    assert "computed" not in other.notes[-1]
    assert "Qwen3-30B" in render(comparison, "html")


@pytest.mark.parametrize("condition", TABLE_3_CONDITIONS)
def test_a_run_with_a_layout_has_its_part_of_table_3_beside_it(condition: str) -> None:
    comparison = compare([_of(plain_run("a", HALF), condition=condition)], references=True)
    shown = _printed(comparison)
    expected = {name: row for name, row in TABLE_3.items() if name.startswith(f"{TABLE_3_CONDITIONS[condition]}, ")}
    assert len(shown) == len(expected) == 3
    for name, (rates, overall, held) in expected.items():
        cells = shown[f"{name.partition(', ')[2]}, {condition}"]
        assert cells[:10] == [f"{rate:.1f}" for rate in rates]
        assert cells[13:15] == [f"{overall:.1f}", str(held)]
    assert (
        comparison.sections[0]
        .notes[-1]
        .endswith("FormalImg, Table 3. Only Easy, Medium and Hard are computed from them here.")
    )


def test_runs_of_several_conditions_have_each_of_their_tables_once() -> None:
    run = plain_run("a", HALF)
    runs = [run, _of(run, condition="text-layout"), _of(plain_run("b", HALF), condition="text-layout")]
    (section,) = compare(runs, references=True).sections
    assert [row.source[-1] for row in section.published] == ["1"] * 12 + ["3"] * 3
    assert section.notes[-1].endswith(
        "FormalImg, Table 1; FormalImg, Table 3. "
        "Only Easy, Medium and Hard of FormalImg, Table 3 are computed from them here."
    )


def test_natural_runs_have_table_5_with_its_two_decimals_and_its_judge() -> None:
    comparison = compare([plain_run("a", HALF, suite="natural")], references=True)
    by_gpt = {name: cells[13] for name, cells in _printed(comparison).items() if name.endswith(", by GPT-5.5")}
    assert by_gpt == {
        "Gemini-3-Pro-Image, by GPT-5.5": "81.40",
        "GPT-Image-1.5, by GPT-5.5": "78.60",
        "Wan-2.6-T2I, by GPT-5.5": "61.35",
        "Qwen-Image, by GPT-5.5": "47.95",
    }
    published = json.loads(render(comparison, "json"))["sections"][0]["published"]
    assert published[-2]["bands"]["Overall"] == pytest.approx(0.6135)


# --- Table 3: what a layout changes


def test_changes_by_a_layout_are_signed_differences_to_the_plain_run_of_the_same_model() -> None:
    plain = plain_run("a", {**HALF, 1: [True, True, True, False]})
    better = _of(plain_run("a", {**HALF, 1: [True, True, False, False], 3: [True, True]}), condition="text-layout")
    other = _of(plain_run("b", HALF), condition="text-layout")  # without a plain run
    (section,) = compare([plain, other, better], epsilon=0.5).sections
    (table,) = [table for table in section.tables if table.name == "changes by layout"]
    (row,) = table.rows
    texts = [cell_text(cell, column) for cell, column in zip(row.cells, table.columns, strict=True)]
    assert texts[:4] == ["a, text-layout", "−25.0", "0.0", "+50.0"]
    assert texts[11:13] == ["+2.5", "0"]  # the mean over ten levels; both hold 0.5 everywhere
    paired = number_in(table, row, 13)
    assert not_none(paired).value == pytest.approx((1 - 1) / 22)
    assert not_none(paired).interval is not None


def test_published_changes_are_those_printed_in_table_3() -> None:
    plain, layout = plain_run("a", HALF), _of(plain_run("a", HALF), condition="text-layout")
    (section,) = compare([plain, layout], references=True).sections
    (table,) = [table for table in section.tables if table.name == "changes by layout"]
    rows, columns = {row.run: row for row in table.rows if row.is_published}, table.columns
    texts = [cell_text(*pair) for pair in zip(rows["Gemini-3-Pro-Image, text-layout"].cells, columns, strict=True)]
    assert texts[1:11] == ["−2.0", "−0.5", "+3.5", "+6.5", "+5.0", "+6.5", "+11.5", "+13.5", "+6.5", "+4.0"]
    assert texts[11:13] == ["+5.4", "+3"]
    texts = [cell_text(*pair) for pair in zip(rows["Seedream-4.5, text-layout"].cells, columns, strict=True)]
    assert texts[1:13] == [
        *("−7.5", "+5.0", "+2.5", "+4.0", "−0.5", "−4.0", "−4.5", "−6.0", "−2.5", "−8.5"),
        *("−2.2", "+1"),
    ]


def test_without_a_plain_run_there_is_no_table_of_changes() -> None:
    layout = _of(plain_run("a", HALF), condition="text-layout")
    assert compare([layout], references=True).sections[0].tables == ()


# --- Table 4: long prompts of low K


def test_items_of_low_k_with_ten_objects_stand_beside_the_longest() -> None:
    ten = "".join(f"(exists ?x{n} (Is ?x{n} 'cup')) " for n in range(10))
    run = plain_run("a", {1: [True, False], 2: [True], 10: [True, False, False, False]})
    items = {
        name: item._replace(formula=f"(and {ten})") if name != "1-1" and item.level < 10 else item
        for name, item in run.items.items()
    }
    (section,) = compare([replace(run, items=items)], references=True).sections
    (table,) = section.tables
    assert table.name == "prompt length control"
    texts = [
        [cell_text(cell, column) for cell, column in zip(row.cells, table.columns, strict=True)] for row in table.rows
    ]
    assert texts[0][1].startswith("100.0 (")
    assert texts[0][2].startswith("25.0 (")
    assert texts[1:] == [["Gemini-3-Pro-Image", "76.5", "47.0"], ["GPT-Image-1.5", "65.5", "20.0"]]


def test_two_runs_of_one_model_make_one_row_of_table_4() -> None:
    ten = "".join(f"(exists ?x{n} (Is ?x{n} 'cup')) " for n in range(10))
    short = plain_run("short", {1: [True, False], 2: [True, True]})
    items = {name: item._replace(formula=f"(and {ten})") for name, item in short.items.items()}
    short = replace(short, items=items)
    longest, foreign = plain_run("whole", {10: [True, False, False, False]}), plain_run("b", {10: [True]})
    same = {"model": Identity("m", {"steps": 4}), "judge": Identity("j", {})}
    others = {"model": Identity("m", {"steps": 8}), "judge": Identity("j", {})}
    runs = [_of(foreign, **others), _of(short, **same), _of(longest, **same)]
    (table,) = (one for one in compare(runs).sections[0].tables if one.name == "prompt length control")
    (row,) = table.rows
    assert [cell.value for cell in row.cells[1:] if isinstance(cell, Number)] == [0.75, 0.25]
    (table,) = (one for one in compare(runs[:2]).sections[0].tables if one.name == "prompt length control")
    assert [cell.value for cell in table.rows[0].cells[1:] if isinstance(cell, Number)] == [0.75, None]


# --- clauses


def test_failures_by_kind_are_drawn_as_shares_of_all_failures() -> None:
    run = _with_parts(
        Part("(Is ?a 'cup')", "object", 0.0, about=("Is",)),
        Part("(Is ?b 'cup')", "object", 1.0, about=("Is",)),
        Part("(On ?a ?b)", "relation", 0.0, about=("On",)),
        Part("(On ?b ?a)", "relation", 0.0, about=("On",)),
        Part("(On ?b ?c)", "relation", 0.0, about=("On",)),
        Part("(Has ?b 'red')", "attribute", 1.0, about=("Has",)),
    )
    figures = {figure.name: figure for figure in comparison_figures(compare([run]))}
    suite = run.manifest.suite
    assert f"{suite}-failures-by-kind" in figures
    shares = str(figures[f"{suite}-failure-shares"].inside)
    assert all(kind in shares for kind in ("object", "relation", "attribute"))
    everything = _with_parts(Part("(Is ?a 'cup')", "object", 1.0, about=("Is",)))
    assert f"{suite}-failure-shares" not in {figure.name for figure in comparison_figures(compare([everything]))}


def _with_parts(*parts: Part) -> DrawnRun:
    run = plain_run("a", {1: [True]})
    verdict = Verdict(False, parts)
    return replace(run, images=(Judged(outcome_of("1-0", 1, verdict), 0, None, {}, verdict),))


def test_failures_count_for_the_claim_and_not_for_the_condition_it_hangs_on() -> None:
    about = ("HasColor", "Is")
    run = _with_parts(
        Part("(Is ?a 'cup')", "object", 1.0, about=("Is",)),
        Part("(or (not (Is ?x 'cup')) (HasColor ?x 'red'))", "condition", 0.0, about=about),
        Part("(or (not (Is ?x 'cup')) (not (HasColor ?x 'red')))", "condition", 0.0, about=about),
        Part("(or (Is ?x 'cup') (HasColor ?x 'red'))", "condition", 0.0, about=about),
        Part("as the judge put it", "condition", 1.0, about=("NextTo",)),
    )
    (section,) = compare([run]).sections
    assert section.rows[0].predicates == {"HasColor": Tally(3, 3), "Is": Tally(1, 2), "NextTo": Tally(0, 1)}
    assert section.rows[0].kinds["condition"] == Tally(3, 4)


def test_csv_reports_have_the_clauses_by_kind_and_by_predicate() -> None:
    run = _with_parts(
        Part("(Is ?a 'cup')", "object", 1.0, about=("Is",)),
        Part("(or (not (Is ?x 'cup')) (Has ?x 'red'))", "condition", 0.0, about=("Has", "Is")),
    )
    lines = list(csv.DictReader(io.StringIO(render(compare([run]), "csv"))))
    found = {
        (line["figure"], line["name"]): (line["passed"], line["scored"], line["value"])
        for line in lines
        if line["figure"] in ("clause kind", "predicate")
    }
    assert found == {
        ("clause kind", "condition"): ("0", "1", "0.0"),
        ("clause kind", "object"): ("1", "1", "1.0"),
        ("predicate", "Has"): ("0", "1", "0.0"),
        ("predicate", "Is"): ("1", "1", "1.0"),
    }
