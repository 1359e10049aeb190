"""`formalimg report` over real run folders."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Mapping
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
from formalimg.types import Item, Setting, Unscored, Verdict
from tests.reports.drawn_runs import some_items

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
