"""Tables for papers are LaTeX that compiles, whatever models and concepts are called."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from formalimg.human_eval.agreement.rating_files import Vote
from formalimg.human_eval.agreement.vote_study import study_votes
from formalimg.reports.comparison import compare
from formalimg.reports.report import render
from formalimg.reports.tables.markup import latex_escape as escaped
from formalimg.reports.tables.markup import latex_row as table_row
from formalimg.runs.reader import open_run
from tests.reports.concept_runs import concept_item, concept_run
from tests.reports.counterfactual_runs import groups_of, judge_by, scored_run
from tests.reports.drawn_runs import plain_run

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
