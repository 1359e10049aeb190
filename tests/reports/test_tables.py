"""One table in every format: what a column says about its cells holds everywhere."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from formalimg._util.text import csv_cell, read_csv_cell, visible
from formalimg.human_eval.agreement.rating_files import read_votes
from formalimg.reports.tables.format import (
    BOUNDS_NOTE,
    cell_text,
    csv_rows,
    csv_text,
    format_interval,
    format_value,
    json_table,
    notes_of,
)
from formalimg.reports.tables.markup import render_html, render_latex, render_markdown
from formalimg.reports.tables.model import Cell, Column, ColumnType, Number, TableRow
from formalimg.reports.tables.terminal import render_terminal, terminal_plain_text
from formalimg.stats.observations import Interval, Rate
from formalimg.types import Table

TABLE = Table(
    "rates",
    "Rates by kind",
    (Column("run"), Column("kind"), Column("rate", "percent"), Column("n", "count")),
    (
        TableRow(("a_b", "cat", Number(0.5, Interval(0.25, 0.75), passed=1, scored=2, expected=3), 1234), "a_b"),
        TableRow(("paper", "cat", 0.9, None), "paper", "paper", "judge"),
    ),
    ("How they were made.", "A remark."),
)

FORMATS: dict[str, Callable[[Table], str]] = {
    "terminal": lambda table: terminal_plain_text(render_terminal([table]), 200),
    "narrow": lambda table: terminal_plain_text(render_terminal([table]), 24),
    "md": render_markdown,
    "latex": lambda table: "\n".join(render_latex(table)),
    "html": render_html,
    "csv": lambda table: csv_text(
        ["name", "value", "low", "high", "worst", "best"],
        (
            {key: row[key] for key in ("name", "value", "low", "high", "worst", "best")}
            for one in table.rows
            for row in csv_rows(table, one)
        ),
    ),
    "json": lambda table: json.dumps(json_table(table)),
}


@pytest.mark.parametrize("form", FORMATS)
def test_a_new_column_is_in_every_format(form: str) -> None:
    cells: tuple[Cell, ...] = (Number(0.123, Interval(0.01, 0.29)), 0.456)
    more = replace(
        TABLE,
        columns=(*TABLE.columns, Column("kappa", "number")),
        rows=tuple(row._replace(cells=(*row.cells, cell)) for row, cell in zip(TABLE.rows, cells, strict=True)),
    )
    before, after = FORMATS[form](TABLE), FORMATS[form](more)
    assert "kappa" not in before
    assert "kappa" in after
    shown = ("0.123", "0.456", "0.29") if form in ("csv", "json") else ("0.12", "0.46", "0.29")
    assert all(number in after for number in shown)


@pytest.mark.parametrize(
    ("type_", "value", "interval", "text"),
    [
        ("percent", 0.5, (0.25, 0.75), "50.0 (25.0–75.0)"),
        ("score", 0.5, (0.25, 0.75), "0.50 (0.25–0.75)"),
        ("number", -0.5, (-0.75, -0.25), "-0.50 (-0.75 to -0.25)"),
        ("difference", -0.5, (-0.75, 0.001), "−0.50 (−0.75 to 0.00)"),
        ("share", 0.5, (0.45, 0.6), ".50 ± .10"),
        ("decimal", 1234.56, None, "1,234.6"),
        ("dollars", 0.0038, None, "$0.0038"),
        ("count", 1234, None, "1,234"),
        ("level", 4, (3, 5), "4 (3–5)"),
        ("percent", None, None, "–"),
    ],
)
def test_numbers_are_written_by_the_type_of_their_column(
    type_: ColumnType, value: float | None, interval: tuple[float, float] | None, text: str
) -> None:
    assert cell_text(Number(value, Interval(*interval) if interval else None), Column("", type_)) == text


def test_statistics_become_numbers_with_their_counts() -> None:
    number = Number.of(Rate(1, 2, 4, 0.5, None))
    assert (number.passed, number.scored, number.expected, number.is_incomplete) == (1, 2, 4, True)
    assert cell_text(number, Column("", "percent")) == "50.0† ↓25.0 ↑75.0"
    assert cell_text(number, Column("", "percent"), mark_first=True) == "†50.0 ↓25.0 ↑75.0"
    assert cell_text(number, Column("", "percent", interval="compact")) == "50.0† ↓25 ↑75"
    assert cell_text(number, Column("", "scored")) == "2/4"


def test_bounds_for_missing_verdicts_are_given_or_follow_from_counts() -> None:
    counted = Number(0.5, passed=1, scored=2, expected=4)
    assert counted.missing_bounds(Column("", "percent")) == (0.25, 0.75)
    assert counted._replace(scored=4).missing_bounds(Column("", "percent")) is None, "nothing is missing"
    assert counted._replace(value=None).missing_bounds(Column("", "percent")) is None
    assert counted.missing_bounds(Column("", "score")) is None, "passes say nothing of a mean score"
    given = Number(4, coverage=0.9, bounds=Interval(3, 6))
    assert cell_text(given._replace(interval=Interval(2, 7)), Column("G", "level")) == "4† (2–7) ↓3 ↑6"
    assert cell_text(Number(0.5, None, 0.1, 1, 2, 4), Column("", "share")) == ".50 ± .10† ↓.25 ↑.75"


@pytest.mark.parametrize("form", sorted(FORMATS.keys() - {"narrow"}))
def test_bounds_are_in_every_format(form: str) -> None:
    text = FORMATS[form](TABLE)
    assert ("0.333" in text and "0.666" in text) if form in ("csv", "json") else ("33.3" in text and "66.7" in text)


def test_ranks_and_p_values() -> None:
    assert cell_text(Number(1, Interval(1, 3)), Column("", "rank")) == "1–3"
    assert cell_text(Number(2, Interval(2, 2)), Column("", "rank")) == "2"
    assert [cell_text(p, Column("", "p")) for p in (0.0312, 0.0004, 1.0, None)] == ["0.031", "< 0.001", "1.000", "–"]


def test_compact_intervals_are_rounded_outwards() -> None:
    assert format_interval(Interval(0.29, 0.57), "percent", compact=True) == "29–57", "whatever floats make of them"
    assert format_interval(Interval(0.111, 0.889), "percent", compact=True) == "11–89"
    compact = replace(TABLE, columns=tuple(column._replace(interval="compact") for column in TABLE.columns))
    assert "<small>25–75</small>" in render_html(compact)
    assert "25.0–75.0; 1 passed, 2 of 3 scored" in render_html(compact)
    assert "50.0† (25–75) ↓33 ↑67" in render_markdown(compact)
    assert "25.0–75.0" not in render_markdown(compact)
    lines = "".join(render_latex(compact)).splitlines()
    row = next(n for n, line in enumerate(lines) if r"50.0\textdagger{}" in line)
    assert r"{\scriptsize 25--75}" in lines[row + 1], "below the number, as there is no room beside it"
    assert r"{\scriptsize $\downarrow$33 $\uparrow$67}" in lines[row + 2]
    assert {line.count("&") for line in lines[row : row + 3]} == {len(TABLE.columns) - 1}
    long = replace(
        compact, rows=tuple(row._replace(cells=("a rather long name", *row.cells[1:])) for row in compact.rows)
    )
    assert "25.0–75.0" in terminal_plain_text(render_terminal([long]), 32)  # row by row, there is room for them


def test_captions_explain_only_what_is_shown() -> None:
    noted = replace(TABLE, interval_note="Intervals: 95 %.")
    assert notes_of(noted)[0] == "How they were made. Intervals: 95 %. " + BOUNDS_NOTE
    unknown = replace(
        noted, rows=tuple(row._replace(cells=(*row.cells[:2], Number(0.5, coverage=0.5), 1)) for row in TABLE.rows)
    )
    assert notes_of(unknown)[0] == "How they were made. † not all images were scored."
    plain = replace(noted, rows=TABLE.rows[1:])
    assert notes_of(plain) == TABLE.notes


def test_published_rows_are_apart_from_runs() -> None:
    assert FORMATS["latex"](TABLE).count(r"\midrule") == 2
    assert FORMATS["html"](TABLE).count("<tbody") == 2
    assert [row["published"] for row in json.loads(FORMATS["json"](TABLE))["rows"]] == [False, True]


def test_details_are_collapsed_and_results_never_are() -> None:
    long = replace(TABLE, rows=TABLE.rows[:1] * 50)
    for table, is_collapsed in (
        (TABLE, False),
        (long, True),
        (replace(long, placement="result"), False),
        (replace(TABLE, placement="detail"), True),
    ):
        assert ("<details>" in render_html(table)) == is_collapsed


@pytest.mark.parametrize("type_", ["percent", "score", "difference", "share", "decimal"])
@given(st.floats(0, 1))
def test_no_number_is_written_as_minus_zero(type_: ColumnType, value: float) -> None:
    assert not re.fullmatch(r"[−-]0?\.?0+", format_value(value, type_))


@given(st.text(max_size=40))
def test_foreign_text_stays_text(text: str) -> None:
    odd = replace(TABLE, title=text, rows=(TABLE.rows[0]._replace(cells=(text, *TABLE.rows[0].cells[1:])),))
    page = render_html(odd)
    assert page.count("<table") == 1
    assert page.count("<t") == render_html(replace(TABLE, rows=TABLE.rows[:1])).count("<t")
    for form in FORMATS.values():
        assert form(odd)


ESCAPES = {
    "\x1b[2J\x1b[31mred": "\\x1b[2J\\x1b[31mred",
    "\x1b]0;title\x07": "\\x1b]0;title\\x07",
    "gone\rback": "gone\\rback",
    "a\x08b\x00": "a\\x08b\\x00",
    "\x7f\x9b31m\x9d": "\\u007f\\u009b31m\\u009d",
    "safe\u202egnp.exe": "safe\\u202egnp.exe",
    "e\u200bv\u2060i\ufeffl\ud800": "e\\u200bv\\u2060i\\ufeffl\\ud800",
    "tag \U000e0041": "tag \\udb40\\udc41",
    "\u2066x\u2069\u200f\u061c": "\\u2066x\\u2069\\u200f\\u061c",
}


@pytest.mark.parametrize("text", ESCAPES)
def test_control_characters_are_written_out(text: str) -> None:
    assert visible(text) == ESCAPES[text]
    assert visible(visible(text)) == ESCAPES[text]


def test_ordinary_text_stays_as_it_is() -> None:
    for text in ("", "a red cup", "两个杯子 🍵👩‍🚀", "naïve – „quoted“", "two\nlines\tand a tab", "[bold]x[/bold]"):
        assert visible(text) == text
    assert visible("two\nlines\t", one_line=True) == "two\\nlines\\t"


def test_json_stays_the_same_data() -> None:
    data = {"prompt": "".join(map(chr, range(0x20, 0x3000)))}
    written = json.dumps(data, ensure_ascii=False, indent=2)
    assert json.loads(visible(written)) == data


@pytest.mark.parametrize("width", [20, 200])
def test_cells_titles_and_notes_of_terminal_tables(width: int) -> None:
    evil = "\x1b[31m[bold]evil[/bold]\n\u202e"
    columns = (Column(f"model{evil}"), Column(f"rate{evil}", "percent", interval="compact"))
    table = Table("name", f"title {evil}", columns, (TableRow((evil, 0.5)),), (f"note {evil}",))
    text = terminal_plain_text(render_terminal([table]), width)
    joined = text.replace("\n", "").replace(" ", "")
    assert not set(text) & {"\x1b", "\u202e"}
    assert joined.count("\\x1b[31m[bold]evil[/bold]\\n\\u202e") >= 3


EXECUTED = ["=1+1", "=cmd|' /C calc'!A0", "+1+1", "-2+3", "-x", "@SUM(A1)", "\t=1", "\n=1", "＝1", "-", "'=1", "''@x"]
NUMBERS = ["-1", "+0.07", "-.5", "-1e-9", "1", "0.5"]
PLAIN = ["cup", "", "a=b", "x-y", "'quoted'", "–", "'", " =1"]


@pytest.mark.parametrize("text", EXECUTED)
def test_cells_that_would_be_executed_are_quoted_and_read_back(text: str) -> None:
    assert csv_cell(text) == f"'{text}"
    assert read_csv_cell(f"'{text}") == text


@pytest.mark.parametrize("text", [*NUMBERS, *PLAIN])
def test_other_cells_stay_as_they_are(text: str) -> None:
    assert csv_cell(text) == text
    assert read_csv_cell(text) == text


def test_control_characters_in_cells_are_written_out_except_for_newlines() -> None:
    assert csv_cell("\x1b[2J\r=1\u202e\x00") == "\\x1b[2J\\r=1\\u202e\\x00"
    assert csv_cell("one\r\ntwo\n\tthree") == "one\ntwo\n\tthree"


def test_numbers_are_not_text() -> None:
    assert [csv_cell(value) for value in (-1, -0.5, None, True)] == [-1, -0.5, None, True]


def test_tables_as_csv() -> None:
    rows: list[dict[str, object]] = [{"run": '=HYPERLINK("http://x")', "value": -0.5}, {"run": "-0.25", "value": None}]
    found = list(csv.reader(io.StringIO(csv_text(["run", "value"], rows))))
    assert found == [["run", "value"], ['\'=HYPERLINK("http://x")', "-0.5"], ["-0.25", ""]]


def test_votes_are_read_back_as_they_were_written(tmp_path: Path) -> None:
    columns = ["model", "item", "sample", "question", "rater", "vote"]
    row = dict(zip(columns, ["=model", "@item", 0, 1, "-rater", 1], strict=True))
    path = tmp_path / "votes.csv"
    path.write_text(csv_text(columns, [row]), encoding="utf-8")
    assert "'=model,'@item,0,1,'-rater,1" in path.read_text()
    vote = read_votes(path)[0]
    assert (vote.model, vote.item, vote.rater) == ("=model", "@item", "-rater")
