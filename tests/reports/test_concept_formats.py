"""Each format shows the tables of ConceptMix, in its words."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path
from typing import get_args

import pytest
import typer
from typer.testing import CliRunner

from formalimg.cli.report import report_command
from formalimg.reports.comparison import compare
from formalimg.reports.comparison_model import Comparison
from formalimg.reports.formats import Format
from formalimg.reports.report import render, terminal_text, write_html
from formalimg.runs.reader import StoredRun
from tests.reports.concept_runs import Answers, concept_item, concept_run
from tests.reports.test_page import Page

STYLES = ("abstract", "cartoon", "cubism", "graffiti", "ink", "manga", "oil", "sketch", "surrealism", "watercolor")
ITEMS = [
    *(
        concept_item(f"{style}-{n}", ("object", f"{style} object {n}"), ("style", style))
        for style in STYLES
        for n in range(6)
    ),
    concept_item("two", ("object", "cat"), ("color", "red"), ("spatial", "left")),
]
ANSWERS: dict[str, Answers] = {
    item.id: [True, item.id[-1] in "024"] if item.level == 1 else [True, True, False] for item in ITEMS
}
ANSWERS["ink-5"] = "judge failed"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> StoredRun:
    return concept_run(tmp_path_factory.mktemp("runs") / "one", "lab/one_a", ITEMS, ANSWERS, {"two": 1.5})


@pytest.fixture(scope="module")
def comparison(run: StoredRun) -> Comparison:
    return compare([run], references=True)


def test_markdown_has_a_heading_for_each_table(comparison: Comparison) -> None:
    text = render(comparison, "md")
    titles = [table.title for table in comparison.sections[0].tables]
    assert re.findall(r"^### (.*)$", text, re.MULTILINE) == titles
    assert r"| lab/one\_a | .51 ± .13† ↓.50 ↑.52 | .00 ± .97 | – |" in text  # 30 of 59: .51 - .376 is the larger side
    assert "| style | 60 | 59† | 30 | 50.8† (37.5–64.1) ↓50.0 ↑51.7 |" in text
    assert "(missing: exclude). Rates are the judge's, without human labels: " in text
    assert "corrects them. † not all images" in text


def test_latex_has_a_cell_for_each_column_and_breaks_long_tables(comparison: Comparison) -> None:
    text = render(comparison, "latex")
    pieces = text.split(r"\begin{table*}")[1:]
    assert len(pieces) == 1 + len(comparison.sections[0].tables) + 1
    for piece in pieces:
        columns = re.findall(r"begin\{tabular\}\{(l+r+)\}", piece)[0]
        body = piece[piece.index(r"\midrule") : piece.index(r"\bottomrule")]
        rows = [line for line in body.splitlines() if line.endswith(r"\\")]
        assert {len(re.split(r"(?<!\\)&", line)) for line in rows} == {len(columns)}
        assert 0 < len(rows) <= 50
    assert r"lab/one\_a & .51 $\pm$ .13\textdagger{}" in text


def test_csv_has_a_line_for_each_figure(comparison: Comparison) -> None:
    rows = {
        (row["run"], row["figure"], row["name"]): row for row in csv.DictReader(io.StringIO(render(comparison, "csv")))
    }
    style = rows["lab/one_a", "categories", "style, rate"]
    assert (style["passed"], style["scored"], style["expected"], style["judge"]) == ("30", "59", "60", "test/planned")
    assert float(style["value"]) == pytest.approx(30 / 59)
    assert float(style["low"]) < 30 / 59 < float(style["high"])
    assert rows["lab/one_a", "values", "color, red, easy, shown"]["value"] == "1"
    printed = rows["SD v1.4, by GPT-4o", "concept fraction", "k 1"]
    assert (printed["value"], printed["model"], printed["judge"]) == ("0.74", "SD v1.4", "GPT-4o")
    assert rows["", "prompt length", "words, 1, items"]["value"] == "60"
    assert len(rows) == render(comparison, "csv").count("\n") - 1  # no figure has the name of another


def test_what_others_published_is_never_told_as_a_run_of_the_same_name(tmp_path: Path) -> None:
    name = "SD v1.4, by GPT-4o"
    run = concept_run(tmp_path / "run", name, ITEMS[-1:], ANSWERS)
    rows = csv.DictReader(io.StringIO(render(compare([run], references=True), "csv")))
    found = [row for row in rows if (row["run"], row["figure"], row["name"]) == (name, "concept fraction", "k 2")]
    assert [(row["model"], row["judge"], row["samples"], row["missing"]) for row in found] == [
        (name, "test/planned", "1", "exclude"),
        ("SD v1.4", "GPT-4o", "", ""),
    ]


def test_json_has_all_tables(comparison: Comparison) -> None:
    found = {table["name"]: table for table in json.loads(render(comparison, "json"))["sections"][0]["tables"]}
    assert list(found) == [table.name for table in comparison.sections[0].tables]
    cell = found["full mark"]["rows"][0]["cells"][1]
    assert (cell["form"], cell["passed"], cell["scored"], cell["expected"]) == ("share", 30, 59, 60)
    assert found["cost of grading"]["rows"][0]["cells"][3]["value"] == 1.5


@pytest.mark.parametrize("width", [200, 100, 60, 40])
def test_a_terminal_shows_the_tables_if_asked_and_breaks_no_figure(comparison: Comparison, width: int) -> None:
    text = terminal_text(comparison, width, details=True)
    assert max(map(len, text.splitlines())) <= width
    assert "†.51 ± .13" in text
    assert ("†50.8 (37.5–64.1) ↓50.0 ↑51.7" in text) == (width > 40)
    assert re.search(r"†50\.8 +37\.5–64\.1", text) or width > 40  # row by row, with the bounds below
    assert "…" not in text
    brief = " ".join(terminal_text(comparison, width).split())
    assert "Overall" in brief
    assert ".51" not in brief


@pytest.mark.parametrize("format_", get_args(Format))
def test_nothing_is_told_in_the_words_of_formulas(comparison: Comparison, format_: Format) -> None:
    report = (
        render(comparison, format_, details=True).replace('"clauses_by_kind"', "").replace("clauses_by_predicate", "")
    )
    report = re.sub(r"<(style|script)>.*?</\1>|class=\"[^\"]*\"", "", report, flags=re.DOTALL)
    assert not re.search(r"clause|predicate|formula\b|G0|generalizability\": \d", report)


def test_the_page_speaks_of_concepts(run: StoredRun, tmp_path: Path) -> None:
    write_html([run], tmp_path / "report.html", references=True)
    page = Page((tmp_path / "report.html").read_text(encoding="utf-8"))
    assert "Concepts that failed, by category" in page.words
    assert "Concepts that failed, by value" in page.words
    assert "Only scored images count, without those that failed by rule" in page.words
    assert "1 other concept is shown" in page.words
    assert "2 concepts are shown" in page.words
    assert "style cubism" in page.words
    assert "show all boxes" not in page.words  # there are none
    assert not page.all("code")
    assert "Full-mark score by k: the share of images that show all concepts" in page.words
    assert any(cell.get("title") == "30 passed, 59 of 60 scored" for cell in page.all("td"))
    rate = "37.5–64.1; 30 passed, 59 of 60 scored"
    assert any(cell.get("title") == rate for cell in page.all("td"))
    lines = [(one.get("class") or "").split() for one in page.all("g")]
    assert (
        sum(kinds == ["run", "published"] for kinds in lines) == 2 * 8
    )  # by one judge alone; for wide and for narrow screens


def test_the_command_shows_details_and_takes_a_profile(run: StoredRun) -> None:
    app = typer.Typer()
    app.command()(report_command)
    wanted = [str(run.folder), "--details", "--profile", "official-code", "--missing", "fail"]
    done = CliRunner().invoke(app, wanted, env={"COLUMNS": "100"}, catch_exceptions=False)
    said = " ".join(done.output.split())
    assert "as in the published code" in said
    assert "count as failures (missing: fail)" in said
