"""One table in every format: what a column says about its cells holds everywhere."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from formalimg.stats import Interval, Rate
from formalimg.tables import (
    Cell,
    Column,
    ColumnType,
    Number,
    Table,
    TableRow,
    cell_text,
    csv_rows,
    csv_text,
    format_interval,
    format_value,
    json_table,
    notes_of,
    render_html,
    render_latex,
    render_markdown,
    render_terminal,
    terminal_plain_text,
)

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
        ["name", "value", "low", "high"],
        (
            {key: row[key] for key in ("name", "value", "low", "high")}
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
    assert cell_text(number, Column("", "percent")) == "50.0†"
    assert cell_text(number, Column("", "percent"), mark_first=True) == "†50.0"
    assert cell_text(number, Column("", "scored")) == "2/4"


def test_compact_intervals_are_rounded_outwards_and_in_html_alone() -> None:
    assert format_interval(Interval(0.111, 0.889), "percent", compact=True) == "11–89"
    compact = replace(TABLE, columns=tuple(column._replace(interval="compact") for column in TABLE.columns))
    assert "<small>25–75</small>" in render_html(compact)
    assert "25.0–75.0; 1 passed, 2 of 3 scored" in render_html(compact)
    assert "25.0–75.0" not in render_markdown(compact)
    long = compact.with_rows(row._replace(cells=("a rather long name", *row.cells[1:])) for row in compact.rows)
    assert "25.0–75.0" in terminal_plain_text(render_terminal([long]), 32)  # row by row, there is room for them


def test_captions_explain_only_what_is_shown() -> None:
    noted = replace(TABLE, interval_note="Intervals: 95 %.")
    assert notes_of(noted)[0] == "How they were made. Intervals: 95 %. † not all images were scored."
    plain = noted.with_rows(TABLE.rows[1:])
    assert notes_of(plain) == TABLE.notes


def test_published_rows_are_apart_from_runs() -> None:
    assert FORMATS["latex"](TABLE).count(r"\midrule") == 2
    assert FORMATS["html"](TABLE).count("<tbody") == 2
    assert [row["published"] for row in json.loads(FORMATS["json"](TABLE))["rows"]] == [False, True]


def test_details_are_collapsed_and_results_never_are() -> None:
    long = TABLE.with_rows(TABLE.rows[:1] * 50)
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
    assert page.count("<t") == render_html(TABLE.with_rows(TABLE.rows[:1])).count("<t")
    for form in FORMATS.values():
        assert form(odd)
