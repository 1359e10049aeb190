"""`formalimg report --ratings`: what people say stands beside the runs, in every format."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path

import pytest
import typer
from PIL import Image
from typer.testing import CliRunner

from formalimg.cli.report import report_command
from formalimg.errors import FormalimgError
from formalimg.judges.base import LoadedImage
from formalimg.models.python_function import CallableModel
from formalimg.runs.config import RunConfig
from formalimg.runs.execution import execute
from formalimg.types import Item, Setting, Verdict
from tests.reports.concept_runs import concept_item, concept_run
from tests.reports.drawn_runs import some_items

app = typer.Typer()
app.command()(report_command)

HARM = "<script>pwned=1</script>\\write18|`"
"""What one of the raters is called."""


class Lenient:
    """A judge that lets items of even levels pass."""

    name = "test/lenient"
    concurrency = 1
    settings: Mapping[str, Setting] = {}

    async def judge(self, item: Item[object], image: LoadedImage) -> Verdict:
        return Verdict(item.level % 2 == 0)


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A run of 20 images, and what three people say: what the judge says, but for one image."""
    folder = tmp_path_factory.mktemp("runs") / "plain"
    items = some_items(2)
    model = CallableModel(lambda prompt: Image.radial_gradient("L"), name="lab/plain")
    execute(RunConfig(items, model, size=64), folder, Lenient())
    ratings = folder.parent / "ratings.csv"
    with ratings.open("w", encoding="utf-8", newline="") as file:
        table = csv.writer(file)
        table.writerow(["model", "item", "sample", "rater", "rating"])
        for number, item in enumerate(items):
            passed = (item.level % 2 == 0) != (number == 0)
            table.writerows(["lab/plain", item.id, 0, rater, 5 if passed else 1] for rater in ("ann", "bob", HARM))
    return folder, ratings


def report(study: tuple[Path, Path], *options: object) -> str:
    arguments = [study[0], "--ratings", study[1], *options]
    done = CliRunner().invoke(app, list(map(str, arguments)), env={"COLUMNS": "100"}, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.output


def test_tables_are_in_terminal_and_markdown(study: tuple[Path, Path]) -> None:
    assert re.search(r"accuracy\s+95\.0", report(study, "--details"))
    assert "accuracy" not in report(study)
    text = report(study, "--format", "md")
    assert text.index("## FormalImg") < text.index("## Compared with people") < text.index("| accuracy | 95.0")
    assert "<script>" not in text
    assert len(re.findall(r"^## ", text, re.MULTILINE)) == 2


def test_figures_are_lines_of_the_same_table(study: tuple[Path, Path]) -> None:
    lines = list(csv.DictReader(io.StringIO(report(study, "--format", "csv"))))
    assert None not in lines[-1]  # as many cells as heads
    (accuracy,) = [line for line in lines if line["figure"] == "people" and line["name"].startswith("accuracy")]
    assert (float(accuracy["value"]), accuracy["scored"], accuracy["expected"]) == (0.95, "20", "20")
    assert float(accuracy["low"]) < 0.95 < float(accuracy["high"])


def test_everything_is_in_the_data(study: tuple[Path, Path]) -> None:
    data = json.loads(report(study, "--format", "json"))
    assert data["sections"][0]["runs"][0]["model"]["name"] == "lab/plain"
    (found,) = data["compared_with_people"]["people"]
    assert found["whole"]["classified"]["accuracy"]["value"] == 0.95


def test_tables_for_papers_are_there_and_escaped(study: tuple[Path, Path]) -> None:
    text = report(study, "--format", "latex")
    (line,) = [line for line in text.splitlines() if line.strip().startswith("accuracy")]
    assert "95.0" in line
    assert r"\write18" not in text
    assert r"\textbackslash{}write18" in text


def test_the_page_has_tables_and_figures(study: tuple[Path, Path], tmp_path: Path) -> None:
    report(study, "--out", tmp_path / "report.html", "--gallery", 0)
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    section = page[page.index('id="people-0"') :]
    assert re.search(r"accuracy</th><td[^>]*>95\.0<small>", section)
    assert section.count('src="data:image/svg+xml;base64,') >= 2
    assert "<script>pwned" not in page


def test_results_are_never_folded_and_stand_above_the_figures(study: tuple[Path, Path], tmp_path: Path) -> None:
    report(study, "--out", tmp_path / "report.html", "--gallery", 0)
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    section = page[page.index('id="people-0"') :]
    judge, reliability = (
        section.index("Judge accuracy against the majority"),
        section.index("<h3>Inter-rater reliability"),
    )
    assert judge < reliability < section.index('class="drawing"') < section.index("<h3>Agreement of raters and judge")
    assert "<details" not in section[: section.index('class="drawing"')]
    assert "<details" in section[section.index("<h3>Likert ratings: means") :][:200]


def test_ratings_of_one_suite_stand_in_a_report_of_several(study: tuple[Path, Path], tmp_path: Path) -> None:
    items = [concept_item(name, ("object", "cat"), ("color", "red")) for name in ("one", "two")]
    with closing(concept_run(tmp_path / "concepts", "lab/plain", items, {item.id: [True, False] for item in items})):
        pass
    table = study[1].read_text(encoding="utf-8").replace("lab/plain", study[0].name)
    (tmp_path / "ratings.csv").write_text(table, encoding="utf-8")
    data = json.loads(report((study[0], tmp_path / "ratings.csv"), tmp_path / "concepts", "--format", "json"))
    assert [section["suite"] for section in data["sections"]] == ["knolling", "conceptmix"]
    (found,) = data["compared_with_people"]["people"]
    assert (found["suite"], found["whole"]["classified"]["accuracy"]["value"]) == ("knolling", 0.95)


def test_figures_for_papers_are_written_too(study: tuple[Path, Path], tmp_path: Path) -> None:
    report(study, "--figures", tmp_path, "--figures-as", "svg")
    written = {file.name for file in tmp_path.iterdir()}
    assert "knolling-rates.svg" in written
    assert [name for name in written if "people" in name]


def test_attention_is_only_asked_of_studies(study: tuple[Path, Path]) -> None:
    with pytest.raises(FormalimgError, match="give it with --human"):
        CliRunner().invoke(app, [str(study[0]), "--exclude-inattentive", "0.2"], catch_exceptions=False)
