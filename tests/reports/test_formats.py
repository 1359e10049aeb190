"""Each format says the same numbers."""

from __future__ import annotations

import csv
import io
import json
import re
from dataclasses import replace
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from formalimg.errors import FormalimgError
from formalimg.reports.comparison import compare
from formalimg.reports.comparison_model import Comparison
from formalimg.reports.formats import Format
from formalimg.reports.report import render, terminal_text
from formalimg.reports.tables.markup import latex_escape as escaped
from tests.reports.drawn_runs import Fates, plain_run

FATES: Fates = {
    **{level: [True, False] for level in range(1, 11)},
    1: [True, True, "refused"],
    2: [True, False, False, False],
    10: ["no image", "judge failed"],
}


@pytest.fixture(scope="module")
def comparison() -> Comparison:
    return compare([plain_run("lab/one_a", FATES), plain_run("lab/two", {1: [False]}, digest="other")], references=True)


def test_markdown(comparison: Comparison) -> None:
    lines = render(comparison, "md").splitlines()
    assert lines[2].startswith("| run | K 1 | K 2 |")
    assert lines[2].endswith("| Easy | Medium | Hard | Overall | G0.7 | rank | scored |")
    cells = [cell.strip() for cell in lines[4].strip("|").split("|")]
    assert cells[:3] == [r"lab/one\_a", r"100.0† (15–100) ↓66 ↑100", "25.0 (0–81)"]
    assert cells[10:12] == ["–", r"58.3† (16–93) ↓47 ↑59"]  # level 10, easy
    assert cells[13:16] == ["–", "–", r"1† (0–10) ↓0 ↑1"]  # hard, Overall, G: the first level may be lost
    assert cells[-2:] == ["1–2", "20/23"]
    assert (
        len({line.count("|") for line in lines[2 : lines.index("### Paired differences")] if line.startswith("|")}) == 1
    )


def test_csv_reads_back_to_the_same_counts(comparison: Comparison) -> None:
    rows = list(csv.DictReader(io.StringIO(render(comparison, "csv"))))
    section = comparison.sections[0]
    for row in section.rows:
        levels = [line for line in rows if line["run"] == row.name and line["figure"] == "level"]
        assert [int(line["name"]) for line in levels] == list(row.summary.levels)
        for line in levels:
            rate = row.summary.levels[int(line["name"])]
            assert (int(line["passed"]), int(line["scored"]), int(line["expected"])) == rate[:3]
            assert (float(line["value"]) if line["value"] else None) == rate.value
            assert (line["low"] == "") == (rate.interval is None)
            assert rate.interval is None or float(line["high"]) == rate.interval.high
    bands = {line["name"]: line for line in rows if line["run"] == "lab/one_a" and line["figure"] == "band"}
    assert int(bands["Easy"]["scored"]) == 8
    assert bands["Hard"]["value"] == ""
    assert {line["model"] for line in rows} >= {row.name for row in section.published}


def test_json_holds_everything(comparison: Comparison) -> None:
    data = json.loads(render(comparison, "json"))
    assert data["missing"] == "exclude"
    run = data["sections"][0]["runs"][0]
    assert run["levels"]["2"]["value"] == 0.25
    assert run["levels"]["10"] == {"passed": 0, "scored": 0, "expected": 2, "value": None, "interval": None} | {
        "missing_bounds": [0, 1]
    }
    assert run["levels"]["1"]["missing_bounds"] == [2 / 3, 1]
    assert run["levels"]["2"]["missing_bounds"] is None
    assert run["bands"]["Easy"]["missing_bounds"] == pytest.approx(
        [(2 / 3 + 1 / 4 + 1 / 2) / 3, (1 + 1 / 4 + 1 / 2) / 3]
    )
    assert run["generalizability"]["missing_bounds"] == [0, 1]
    assert run["overall"]["missing_bounds"] == pytest.approx([10 / 23, 13 / 23])
    assert run["rank"]["all items"]["interval"] == [1, 2]
    assert run["unscored"] == {"judge failed": 1, "no image": 1, "refused": 1}
    assert run["clauses_by_kind"] == {"object": {"failed": 10, "asked": 20}}
    assert run["generalizability"]["value"] == 1
    assert run["model"] == {"name": "lab/one_a", "settings": {"steps": 20}}
    assert run["seed"] == 7
    assert run["unscored_details"]["refused"] == {"text": "what happened", "times": 1}


@pytest.mark.parametrize("form", ["csv", "json"])
def test_how_the_model_was_asked_is_told(form: Format) -> None:
    run = plain_run("a", FATES)
    asked: dict[str, Any] = {
        "task": "layout",
        "condition": "c",
        "style": "long",
        "prompts": "p (1)",
        "layouts": "solver",
        "size": 640,
    }
    text = render(compare([replace(run, manifest=replace(run.manifest, **asked))]), form)
    if form == "json":
        found = json.loads(text)["sections"][0]["runs"][0]
        assert {key: found[key] for key in asked} == asked
    else:
        line = next(csv.DictReader(io.StringIO(text)))
        assert (line["task"], line["condition"], line["size"], line["judge"]) == ("layout", "c", "640", "icons")


def test_latex_has_one_cell_for_each_column(comparison: Comparison) -> None:
    text = render(comparison, "latex")
    columns = len(re.findall(r"begin\{tabular\}\{(l+r+)\}", text)[0])
    body = text[text.index(r"\midrule") : text.index(r"\bottomrule")]
    lines = [line for line in body.splitlines() if line.endswith(r"\\")]
    assert lines
    assert {len(re.split(r"(?<!\\)&", line)) for line in lines} == {columns}
    assert r"lab/one\_a & 100.0\textdagger{} & 25.0" in text
    assert r" & {\scriptsize 15--100} & {\scriptsize 0--81} & " in text
    assert r" & {\scriptsize $\downarrow$66 $\uparrow$100} &  & " in text
    assert r"Intervals: 95 \%; they cover which items" in text
    assert text.count("{") == text.count("}")


@given(st.text(max_size=60))
def test_latex_escapes_every_special_character(words: str) -> None:
    text = escaped(words)
    for command in re.findall(r"\\textquotedbl\{\}|\\text[a-z]+\{\}|\\[{}$&#%_]|\$\\varepsilon\$|\$\\pm\$", text):
        text = text.replace(command, "", 1)
    assert not re.search(r"[\\{}$&#%_~^]", text)


def test_terminal_is_one_table_where_there_is_room(comparison: Comparison) -> None:
    text = terminal_text(comparison, 180)
    (line,) = [line for line in text.splitlines() if line.startswith(" lab/one_a")]
    assert line.split()[1:5] == ["†100.0", "25.0", "50.0", "50.0"]
    assert line.split()[-1] == "20/23"
    assert "lab/one_a minus lab/two: " in " ".join(terminal_text(comparison, 180, details=True).split())


LONG = "my-own-organisation/a-very-long-checkpoint-name-step-"
EIGHT = ["lab/a", "lab/model-b", "c", f"{LONG}100", f"{LONG}200", "lab/f", "builtin/oracle", "builtin/scatter"]


@pytest.mark.parametrize("count", [1, 4, 8])
@pytest.mark.parametrize("width", [80, 120, 160])
def test_up_to_eight_runs_share_one_table(count: int, width: int) -> None:
    """Levels are left out first, names are shortened in the middle, and two lines of caveats follow."""
    fates: Fates = {level: [n % 7 > level // 4 for n in range(14)] for level in range(1, 11)}
    runs = [plain_run(name, fates) for name in EIGHT[:count]]
    lines = terminal_text(compare(runs), width).splitlines()
    assert max(map(len, lines)) <= width
    (start,) = [n for n, line in enumerate(lines) if line.startswith(" run ")]
    heads = lines[start].split()
    assert heads[0] == "run"
    assert {"Overall", "G0.7"} <= {*heads}
    assert ("10" in heads) == (width >= 120)
    assert "Easy" in heads or width == 120
    rows = [line for line in lines[start + 2 :] if re.match(r" \S+ +[†\d]", line)]
    assert len(rows) == count
    assert all(len(re.findall(r"\(\d+–\d+\)", row)) == 2 for row in rows), "intervals of Overall and G alone"
    if count == 8:
        assert [row.split()[0] for row in rows[-2:]] == ["builtin/oracle", "builtin/scatter"]
        short = [row.split()[0] for row in rows if "…" in row]
        assert len(short) == len({*short})
        assert all(f"{name} = {LONG}" in "\n".join(lines) for name in short)
        assert short or width == 160
    after = [line for line in lines[lines.index(rows[-1]) + 1 :] if line and not re.match(r"\S+…\S+ = ", line)]
    assert len(after) == 2, "caveats"


@pytest.mark.parametrize("width", [180, 100, 80, 60, 40])
def test_terminal_fits_the_width_and_breaks_no_figure(comparison: Comparison, width: int) -> None:
    for details in (False, True):
        text = terminal_text(comparison, width, details=details)
        assert max(map(len, text.splitlines())) <= width
    assert "†100.0" in text
    assert "missing: exclude" in " ".join(text.split())


def test_only_the_caption_of_a_table_with_intervals_speaks_of_them(comparison: Comparison) -> None:
    without = compare([plain_run("a", FATES)], epsilon=None)
    plain = replace(without, sections=(replace(without.sections[0], epsilon=None),))
    for compared in (comparison, plain):
        assert "Intervals: 95 %" in " ".join(terminal_text(compared, 100, details=True).split())
    assert "Intervals: 95 %" in render(plain, "html")


def test_markup_of_rich_in_names_is_shown_as_it_is() -> None:
    text = terminal_text(compare([plain_run("[red]odd[/red] :smile:", FATES)]), 200)
    assert "[red]odd[/red] :smile:" in text


def test_names_that_are_markup_stay_names_in_markdown() -> None:
    text = render(compare([plain_run("a|b<script>*c*", FATES)]), "md")
    assert r"a\|b&lt;script>\*c\*" in text


@pytest.mark.parametrize("format_", get_args(Format))
def test_the_same_runs_give_the_same_bytes(format_: Format) -> None:
    runs = [plain_run("a", FATES), plain_run("b", FATES)]
    assert render(compare(runs), format_) == render(compare(runs), format_)


@pytest.mark.parametrize("format_", get_args(Format))
def test_runs_in_which_nothing_is_scored_are_rendered(format_: Format) -> None:
    text = render(compare([plain_run("a", {1: ["no image"], 2: ["no image"]})]), format_)
    assert "no image" in text or format_ == "csv"


def test_unknown_formats_are_the_users_mistake(comparison: Comparison) -> None:
    with pytest.raises(FormalimgError, match="latex"):
        render(comparison, "pdf")  # type: ignore[arg-type]
