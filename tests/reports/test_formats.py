"""Each format says the same numbers."""

from __future__ import annotations

import csv
import io
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import pytest
import typer
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image
from typer.testing import CliRunner

from formalimg.cli.report import report_command
from formalimg.errors import FormalimgError
from formalimg.human_eval.agreement.rating_files import Vote
from formalimg.human_eval.agreement.vote_study import study_votes
from formalimg.judges.base import LoadedImage
from formalimg.models.python_function import CallableModel
from formalimg.reports.comparison import compare
from formalimg.reports.comparison_model import Comparison
from formalimg.reports.formats import Format
from formalimg.reports.report import render, terminal_text
from formalimg.reports.tables.markup import latex_escape as escaped
from formalimg.reports.tables.markup import latex_row as table_row
from formalimg.runs.config import RunConfig
from formalimg.runs.execution import execute
from formalimg.runs.reader import open_run
from formalimg.types import Item, Setting, Unscored, Verdict
from tests.reports.concept_runs import concept_item, concept_run
from tests.reports.counterfactual_runs import groups_of, judge_by, scored_run
from tests.reports.drawn_runs import Fates, plain_run, some_items

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


HOSTILE = [
    r"a_b%c&d#e$f{g}h~i^j\k",
    r"[red] \end{tabular} \input{x}",
    "*starred* --flag ``x'' ?`",
    r"\input{secret} \immediate\write18{touch pwned} ^^5cwrite18{touch pwned} \openout3=pwned \catcode`\%=0",
    "± – † ε √ − é ß „x“ ﬁ ħ 模型 😀 e\u0301 \u202e \u0000",
]

_COMMANDS = re.compile(
    r"\\(text(backslash|ascii\w+|less|greater|bar|quotedbl|dagger)\{\}|[{}$&#%_])|\$(\\[a-z]+|-)\$|\{\}"
)


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The tables of all kinds of suites, with marks, published figures, and people of strange names."""
    folder = tmp_path_factory.mktemp("runs")
    formulas = [plain_run(name, {1: [True, "refused"], 2: [False], 10: [True]}) for name in HOSTILE]
    items = [
        concept_item("one", ("object", "a_cat & co"), ("color", "[red]")),
        concept_item("two", ("object", "*x%"), ("style", "{")),
    ]
    concepts = [concept_run(folder / "c", HOSTILE[1], items, {"one": [True, False], "two": [True, True]})]
    people = study_votes(
        [Vote("c", item, 0, None, who, who != HOSTILE[0], 0) for item in ("one", "two") for who in HOSTILE],
        concepts,
    )
    groups = groups_of(2)
    scored = scored_run(folder / "s", groups, judge_by({item.id: [1, 0.5, 0] for item in groups}), model=HOSTILE[0])
    compared = [
        compare(formulas, references=True),
        compare(concepts, references=True),
        compare([open_run(scored)], references=True),
    ]
    return "".join(render(each, "latex", studied=[people] if each is compared[1] else []) for each in compared)


def test_rows_braces_and_environments_fit_together(tables: str) -> None:
    open_: list[str] = []
    columns, rows = 0, 0
    for line in filter(None, tables.splitlines()):
        assert not line.startswith("    [")  # an option of the end of the row before
        for what, name, shape in re.findall(r"\\(begin|end)\{(table\*|tabular)\}(?:\{([lr]+)\})?", line):
            assert what == "begin" or open_.pop() == name
            open_ += [name] if what == "begin" else []
            columns = len(shape) or columns
        assert line.replace(r"\{", "").count("{") == line.replace(r"\}", "").count("}")
        if line.endswith(r"\\") and r"\multicolumn" not in line:
            rows += 1
            assert len(re.split(r"(?<!\\)&", line)) == columns
    assert not open_
    assert rows > 40


@given(st.one_of(st.sampled_from(HOSTILE), st.text(max_size=40)))
def test_names_hold_no_special_sign_and_no_sign_without_a_letter(words: str) -> None:
    left = _COMMANDS.sub("", escaped(words))
    assert not re.search(r"[\\{}$&#%_~^]", left)
    assert not re.search(r"[^\x20-\x7e\u00a1-\u017f\u2013-\u2122]", left)


def test_signs_without_a_letter_are_told_by_their_number() -> None:
    assert escaped("模 é e\u0301 ħ") == "U+6A21 é é U+0127"


@pytest.mark.parametrize("first", ["[red]", "*x"])
def test_no_row_begins_with_an_option(first: str) -> None:
    assert table_row([first, "1"]).strip().startswith("{}")


def test_the_tables_compile(tables: str, tmp_path: Path) -> None:
    latex = shutil.which("pdflatex")
    if latex is None:
        pytest.skip("pdflatex is not installed")
    packages = r"\usepackage[T1]{fontenc}\usepackage{booktabs}"
    before = rf"\documentclass[twocolumn]{{article}}{packages}\begin{{document}}"
    page = "\n".join([before, tables, r"\end{document}"])
    (tmp_path / "page.tex").write_text(page, encoding="utf-8")
    (tmp_path / "secret.tex").write_text(r"\errmessage{it was read}", encoding="utf-8")
    # With the door to the shell open, so that nothing but the escaping keeps names from going through it.
    asked = [latex, "-draftmode", "-interaction=batchmode", "-shell-escape", "page.tex"]
    done = subprocess.run(asked, cwd=tmp_path, capture_output=True, timeout=60, check=False)
    log = (tmp_path / "page.log").read_text(encoding="utf-8", errors="replace")
    if "booktabs.sty' not found" in log:
        pytest.skip("the LaTeX that is installed has no booktabs")
    assert [line for line in log.splitlines() if line.startswith("!")] == []
    assert done.returncode == 0
    assert "it was read" not in log
    assert not list(tmp_path.glob("pwned*"))


app = typer.Typer()
app.command()(report_command)


class Lenient:
    """A judge that lets items of even levels pass and cannot tell about level 9."""

    name = "test/lenient"
    concurrency = 1
    settings: Mapping[str, Setting] = {}

    async def judge(self, item: Item[object], image: LoadedImage) -> Verdict | Unscored:
        if item.level == 9:
            return Unscored("not understood", "nine is too much")
        return Verdict(item.level % 2 == 0)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs") / "plain"
    model = CallableModel(lambda prompt: Image.radial_gradient("L"), name="lab/plain")
    execute(RunConfig(some_items(2), model, size=64, made_with="formalimg"), folder, Lenient())
    return folder


def report(*arguments: object) -> str:
    done = CliRunner().invoke(app, list(map(str, arguments)), env={"COLUMNS": "100"}, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.output


def test_numbers_of_a_run_folder(run: Path) -> None:
    data = json.loads(report(run, "--format", "json"))
    (found,) = data["sections"][0]["runs"]
    assert [rate["value"] for rate in found["levels"].values()] == [0, 1, 0, 1, 0, 1, 0, 1, None, 1]
    assert found["unscored"] == {"not understood": 2}
    assert found["judge"]["name"] == "test/lenient"


def test_the_terminal_is_the_default(run: Path) -> None:
    out = report(run)
    assert "lab/plain" in out
    assert "2 not understood" in " ".join(out.split())


def test_a_baseline_is_one_of_the_runs(run: Path, tmp_path: Path) -> None:
    other = shutil.copytree(run, tmp_path / "other")
    words = " ".join(report(run, other, "--baseline", other, "--details").split())
    assert "lab/plain, plain minus lab/plain, other: 0.0 points (" in words
    page = tmp_path / "page.html"
    report(run, other, "--baseline", run, "--images", "none", "--out", page)
    table = page.read_text(encoding="utf-8").split('<table aria-label="Paired differences">')[1]
    assert table.index("lab/plain, other") < table.index("lab/plain, plain")
    with pytest.raises(FormalimgError, match="is not among the runs: name it with them"):
        report(run, "--baseline", other)


def test_the_page_lies_in_the_run_folder_unless_told_otherwise(run: Path, tmp_path: Path) -> None:
    assert report(run, "--format", "html").split() == [str(run / "report.html")]
    assert "lab/plain" in (run / "report.html").read_text(encoding="utf-8")
    assert report(run, "--format", "html", "--out", tmp_path / "x.html", "--gallery", 0).split() == [
        str(tmp_path / "x.html")
    ]
    assert "<img" not in (tmp_path / "x.html").read_text(encoding="utf-8")


def test_tables_go_to_a_file_if_asked(run: Path, tmp_path: Path) -> None:
    report(run, "--format", "md", "--out", tmp_path / "x.md", "--missing", "fail")
    assert "count as failures (missing: fail)" in (tmp_path / "x.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("ending", "beginning"),
    [("html", "<!DOCTYPE"), ("md", "## "), ("tex", "%"), ("csv", "suite,"), ("JSON", "{"), ("txt", "FormalImg")],
)
def test_the_ending_of_the_file_decides_the_format(run: Path, tmp_path: Path, ending: str, beginning: str) -> None:
    report(run, "--out", tmp_path / f"x.{ending}")
    assert (tmp_path / f"x.{ending}").read_text(encoding="utf-8").startswith(beginning)


def test_an_ending_of_no_format_is_refused_unless_a_format_is_named(run: Path, tmp_path: Path) -> None:
    with pytest.raises(FormalimgError, match=r"format from the name x\.pdf: end it in \.html, .*, or give --format"):
        report(run, "--out", tmp_path / "x.pdf")
    report(run, "--format", "md", "--out", tmp_path / "x.pdf")
    assert (tmp_path / "x.pdf").read_text(encoding="utf-8").startswith("## ")


def test_files_among_the_runs_are_named(run: Path, tmp_path: Path) -> None:
    with pytest.raises(FormalimgError, match=f"is a file, not a run folder: give the folder {run}$"):
        report(run / "run.toml")
    (tmp_path / "notes.txt").write_text("hello")
    with pytest.raises(FormalimgError, match=r"notes\.txt is a file, not a run folder: leave it out"):
        report(tmp_path / "notes.txt")


def test_what_is_no_run_is_skipped_with_a_warning(run: Path, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("hello")
    (tmp_path / "empty").mkdir()
    first, second, *table = report(tmp_path / "empty", run, tmp_path / "notes.txt", "--format", "md").splitlines()
    assert first == f"skipped: {tmp_path / 'empty'} is not a run: it has no run.toml"
    assert second == f"skipped: {tmp_path / 'notes.txt'} is a file, not a run folder: leave it out"
    assert any(line.startswith("| lab/plain") for line in table)
    with pytest.raises(FormalimgError, match=r"is not a run: it has no run\.toml"):
        report(tmp_path / "empty", tmp_path / "notes.txt")
    with pytest.raises(FormalimgError, match="nowhere is not a run"):  # which is a slip, and not somebody else's file
        report(run, tmp_path / "nowhere")


def test_the_command_line_starts_without_numpy() -> None:
    program = "import sys, formalimg.cli; sys.exit(any(name in sys.modules for name in ('numpy', 'PIL', 'ortools')))"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


def test_missing_verdicts_can_be_refused(run: Path) -> None:
    with pytest.raises(FormalimgError, match="2 not understood"):
        report(run, "--missing", "error")


def test_a_folder_that_is_not_there_is_the_users_mistake(run: Path, tmp_path: Path) -> None:
    with pytest.raises(FormalimgError):
        report(tmp_path / "nothing")
    with pytest.raises(FormalimgError, match="cannot write"):
        report(run, "--format", "md", "--out", tmp_path / "no" / "x.md")
