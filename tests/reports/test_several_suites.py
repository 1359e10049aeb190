"""Runs of ConceptMix and of CF-World in one report: each format has a section for each, in its own words."""

from __future__ import annotations

import csv
import io
import json
import re
from contextlib import closing
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from formalimg.cli.report import report_command
from formalimg.reports.comparison import compare
from formalimg.reports.comparison_model import Comparison
from formalimg.reports.formats import Format
from formalimg.reports.report import render
from formalimg.reports.tables.model import Number
from formalimg.runs.execution import judge_run
from formalimg.runs.reader import open_run
from formalimg.stats.observations import Band, Rate
from tests.reports.concept_runs import PlannedJudge, concept_item, concept_run
from tests.reports.counterfactual_runs import groups_of, judge_by, scored_run

CONCEPTS = [concept_item(f"c{n}", ("object", "cat"), ("color", "red")) for n in range(6)]
GROUPS = groups_of(6)


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    home = tmp_path_factory.mktemp("runs")
    answers = {item.id: [True, item.id != "c1"] for item in CONCEPTS}
    concept_run(home / "concepts", "lab/one", CONCEPTS, {**answers, "c5": "judge failed"})
    second = PlannedJudge({**answers, "c5": "judge failed"}, {})
    second.name = "test/second"
    judge_run(home / "concepts", second)
    scores = {item.id: [0.5, 1.0, 0.5] for item in GROUPS}
    scored_run(home / "worlds", GROUPS, judge_by(scores), model="lab/one", refused=["g0-l1"])
    return [home / "concepts", home / "worlds"]


@pytest.fixture(scope="module")
def comparison(folders: list[Path]) -> Comparison:
    with closing(open_run(folders[0])) as one, closing(open_run(folders[1])) as other:
        return compare([one, other], references=True)


def test_landmarks_of_a_page_are_unique_and_ids_too(comparison: Comparison) -> None:
    page = render(comparison, "html")
    assert page.count("<main") == 1
    assert 'role="region"' not in page
    ids = re.findall(r' id="([^"]+)"', page)
    assert len(ids) > 2 * len(comparison.sections)
    assert len(ids) == len({*ids})


def test_the_judge_is_named_where_the_figures_are(comparison: Comparison) -> None:
    for form in ("terminal", "md", "latex", "json", "html"):
        said = " ".join(render(comparison, form, details=True).split())
        assert said.count("Judged by test/second.") == said.count("Judged by test/scores.") == 1


def test_judges_whose_verdicts_are_not_shown_are_named_with_the_way_to_see_them(folders: list[Path]) -> None:
    app = typer.Typer()
    app.command()(report_command)

    def said(*arguments: str) -> str:
        done = CliRunner().invoke(app, [*map(str, folders), *arguments], env={"COLUMNS": "200"}, catch_exceptions=False)
        return " ".join(done.output.split())

    hidden = (
        "Verdicts of other judges are there, and not shown: test/planned for lab/one. "
        "See all with formalimg report --judges all."
    )
    assert said("--details").count(hidden) == 1
    assert "-{}-judges all" in said("--format", "latex")
    everyone = said("--judges", "all")
    assert "not shown" not in everyone
    assert "lab/one, by test/planned" in everyone


def test_what_was_worked_out_is_not_called_published(comparison: Comparison) -> None:
    concepts, worlds = comparison.sections
    assert concepts.notes[-1].endswith(
        "ConceptMix, Table 4; ConceptMix, Table 10. Only Overall is computed from them here."
    )
    assert worlds.notes[-1].endswith("and by their judge: CF-World, Table 2.")  # PRR and RRR are printed there


@pytest.mark.parametrize(
    ("form", "heading"),
    [
        ("terminal", "\nCF-World\n"),
        ("md", "## CF-World"),
        ("latex", r"\caption{CF-World"),
        ("html", '<h2 class="suite">CF-World'),
    ],
)
def test_each_suite_has_its_own_figures_and_words(comparison: Comparison, form: Format, heading: str) -> None:
    """4 of the 5 images with a verdict show both concepts; 3 · 0.5 + 8 · 1 + 15 · 0.5 of 26 are 0.65."""
    whole = render(comparison, form, details=True)
    concepts, worlds = whole[whole.find('<article class="suite"') + 1 :].split(heading)
    for text, own, figure, foreign in (
        (concepts, "Full-mark score by k", "80.0", "RRR"),
        (worlds, "Scores by dimension", "0.65", "ull-mark"),
    ):
        assert own in text
        assert figure in text
        assert foreign not in text


def test_files_for_programs_tell_the_suites_apart(comparison: Comparison) -> None:
    rows = list(csv.DictReader(io.StringIO(render(comparison, "csv"))))
    levels = {(row["suite"], row["name"]): row for row in rows if (row["run"], row["figure"]) == ("lab/one", "level")}
    assert list(levels) == [("conceptmix", "1"), ("cf-world", "1"), ("cf-world", "2"), ("cf-world", "3")]
    assert [row["threshold"] for row in levels.values()] == ["", "0.5", "0.5", "0.5"]
    assert float(levels["conceptmix", "1"]["value"]) == 0.8
    sections = json.loads(render(comparison, "json"))["sections"]
    assert [(section["suite"], len(section["runs"])) for section in sections] == [("conceptmix", 1), ("cf-world", 1)]
    assert sections[1]["runs"][0]["unscored"] == {"gate unknown": 2, "refused": 1}


def test_disciplines_have_the_figures_of_the_main_table(comparison: Comparison) -> None:
    """All groups are of one discipline here, so its row must not differ in anything, not even in its intervals."""
    section = comparison.sections[1]
    tables = {table.name: table for table in section.tables}
    table = tables["disciplines"]
    found = zip(table.columns, table.rows[0].cells, strict=True)
    figures = [cell for column, cell in found if isinstance(cell, Number) and column.type == "score"]
    summary = section.rows[0].summary
    whole: list[Rate | Band] = [*summary.levels.values(), *summary.bands.values()]
    assert [(it.value, it.interval, it.is_incomplete) for it in figures] == [
        (it.value, it.interval, it.coverage < 1) for it in whole
    ]
    gated = [row.cells[3] for row in tables["raw and gated"].rows]
    assert [it.interval for it in gated if isinstance(it, Number)] == [it.interval for it in summary.levels.values()]
