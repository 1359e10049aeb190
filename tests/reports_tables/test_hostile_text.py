"""Texts that somebody else wrote: terminals do not obey them, spreadsheets do not execute them."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

from formalimg._util.text import csv_cell, read_csv_cell, visible
from formalimg.human_eval.agreement.rating_files import read_votes
from formalimg.reports.tables.format import csv_text
from formalimg.reports.tables.model import Column, TableRow
from formalimg.reports.tables.terminal import render_terminal, terminal_plain_text
from formalimg.types import Table

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
