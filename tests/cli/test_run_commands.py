"""`run`, `run --no-judge`, `judge`, `report` and `doctor`, as a user types them."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from formalimg.benchmarks.loader import load
from formalimg.runs.reader import open_run
from tests.support.command import formalimg, formalimg_process
from tests.support.sizes import only_in_full

LAYOUT = ("run", "knolling", "--task", "layout", "-m")
PAINTER = ("run", "knolling", "-m", "builtin/painter")
UNJUDGED = ("run", "--no-judge", "knolling", "-m", "builtin/reader")
OWLV2 = ("run", "knolling", "-m", "builtin/reader", "-j", "detector/owlv2")
ORACLE = ("knolling", "--model", "builtin/oracle", "--size", "512", "--levels", "1-2", "--per-level", "2")


@pytest.fixture(scope="module")
def workplace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with one finished run in it."""
    place = tmp_path_factory.mktemp("workplace")
    code, out, err = formalimg("run", *ORACLE, cwd=place)
    assert code == 0, err
    assert "builtin/oracle" in out
    assert "100.0" in out
    return place


def test_the_run_folder_holds_everything(workplace: Path) -> None:
    folder = workplace / "runs" / "knolling-builtin-oracle"
    assert {"run.toml", "results.sqlite", "images"} <= {path.name for path in folder.iterdir()}
    run = open_run(folder)
    assert [(outcome.item, outcome.passed) for outcome in run.outcomes()] == [
        (item, True) for item in ("0", "1", "200", "201")
    ]
    metadata = [json.loads(line) for line in (folder / "images" / "metadata.jsonl").read_text().splitlines()]
    assert [row["file_name"] for row in metadata] == ["0.png", "1.png", "200.png", "201.png"]


def test_the_same_command_again_makes_nothing_again(workplace: Path) -> None:
    folder = workplace / "runs" / "knolling-builtin-oracle"
    before = {path: path.stat().st_mtime_ns for path in (folder / "images").glob("*.png")}
    code, out, _ = formalimg("run", *ORACLE, cwd=workplace)
    assert code == 0
    assert "100.0" in out
    assert {path: path.stat().st_mtime_ns for path in (folder / "images").glob("*.png")} == before


def test_images_of_a_run_can_be_judged_as_a_folder(workplace: Path, tmp_path: Path) -> None:
    images = workplace / "runs" / "knolling-builtin-oracle" / "images"
    few = ("--levels", "1-2", "--per-level", "3")
    code, out, err = formalimg("run", "knolling", "-m", f"folder/{images}", "-j", "builtin/icons", *few, cwd=tmp_path)
    assert code == 0, err
    assert "found" in err
    assert "4  of 6 wanted" in err
    assert "2 no image" in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["run", "knoling", "-m", "builtin/oracle"], "did you mean knolling"),
        (["run", "knolling", "-m", "oracle"], "`formalimg models` lists the providers"),
        (["run", "knoling"], "unknown suite 'knoling': did you mean knolling?"),
        (["run", "knolling", "-m", "buildin/oracle"], "did you mean builtin/oracle"),
        (["run", "knolling", "-m", "builtin/orakel"], "there is no builtin/orakel"),
        (["run", "knolling", "-m", "folder/nowhere"], "there is no folder"),
        (["run", "knolling", "-m", "builtin/oracle", "--levels", "11"], "the suite has no level 11"),
        (["run", "knolling", "-m", "builtin/oracle", "--judge", "builtin/eyes"], "there is no grounder builtin/eyes"),
        (["run", "knolling", "-m", "builtin/oracle", "-M", "memory"], "write key=value"),
        (["run", "knolling", "-m", "builtin/oracle", "-M", "memory=3"], "no option 'memory'"),
        (["run", "knolling", "-m", "builtin/oracle", "-m", "builtin/reader", "--out", "x"], "--runs instead of --out"),
        ([*LAYOUT, "builtin/reader"], "plans no layouts"),
        ([*LAYOUT, "builtin/solver", "--judge", "builtin/icons"], "leave the judge out"),
        ([*LAYOUT, "builtin/solver", "--condition", "text-layout"], "no layout can be given"),
        (["run", "knolling", "-m", "builtin/reader", "--condition", "image-layout"], "takes no reference image"),
        (["run", "knolling", "-m", "builtin/reader", "--words", "without"], "asks for nothing"),
        ([*PAINTER, "--condition", "text-layout", "--layouts", "nowhere"], "is not a run"),
        ([*UNJUDGED, "--protocol", "published"], "--no-judge only generates: give --protocol to"),
        ([*OWLV2, "--protocol", "published"], "asks a chat model: name a chat model"),
        (["judge", "nowhere"], "is not a run"),
        (["report", "nowhere"], "is not a run"),
    ],
)
def test_what_cannot_be_done_is_said_in_one_line(arguments: list[str], message: str, tmp_path: Path) -> None:
    code, out, err = formalimg(*arguments, cwd=tmp_path)
    assert (code, out) == (2, "")
    assert message in err
    assert len(err.splitlines()) == 1


@only_in_full
def test_the_doctor_finds_nothing_wrong() -> None:
    code, out, _ = formalimg_process("doctor")
    assert code == 0, out
    assert "✓ known answers      12 of 12 images" in out
    assert "✗" not in out


def test_layouts_are_planned_and_then_painted(tmp_path: Path) -> None:
    few = ("--levels", "1-3", "--per-level", "1", "--size", "512")
    code, out, err = formalimg("run", "knolling", "--task", "layout", "-m", "builtin/solver", *few, cwd=tmp_path)
    assert code == 0, err
    assert "100.0" in out
    layouts = "runs/knolling-builtin-solver-layout"
    condition = ("--condition", "image-layout", "--words", "without", "--layouts", layouts)
    code, out, err = formalimg("run", "knolling", "-m", "builtin/painter", *condition, *few, cwd=tmp_path)
    assert code == 0, err
    run = open_run(tmp_path / "runs" / "knolling-builtin-painter-image-layout-without-words")
    assert [outcome.passed for outcome in run.outcomes()] == [True, True, True]


def test_a_dry_run_does_nothing(tmp_path: Path) -> None:
    code, out, err = formalimg("run", *ORACLE, "--dry-run", cwd=tmp_path)
    assert code == 0, err
    assert "images to make         4" in out
    assert load("knolling")[0].prompt in " ".join(out.split())
    assert list(tmp_path.iterdir()) == []


def test_somebody_elses_images_are_never_written_over(tmp_path: Path) -> None:
    images = tmp_path / "mine" / "images"
    images.mkdir(parents=True)
    (images / "0.png").write_text("precious")
    code, _, err = formalimg("run", *ORACLE, "--out", "mine", cwd=tmp_path)
    assert code == 2
    assert "choose another folder" in err
    assert (images / "0.png").read_text() == "precious"


def test_a_run_that_has_lost_its_card_is_not_taken_over(workplace: Path, tmp_path: Path) -> None:
    shutil.copytree(workplace / "runs" / "knolling-builtin-oracle", tmp_path / "run")
    (tmp_path / "run" / "run.toml").unlink()
    code, _, err = formalimg("run", "knolling", "-m", "builtin/scatter", "--levels", "1", "--out", "run", cwd=tmp_path)
    assert code == 2
    assert "has lost its run.toml" in err


def test_layouts_are_judged_again_as_layouts(tmp_path: Path) -> None:
    few = ("--task", "layout", "--levels", "1", "--per-level", "1")
    made = formalimg("run", "--no-judge", "knolling", "-m", "builtin/solver", *few, cwd=tmp_path)
    assert made.code == 0
    assert "formalimg judge" in made.out
    code, out, err = formalimg("judge", "runs/knolling-builtin-solver-layout", cwd=tmp_path)
    assert code == 0, err
    assert "100.0" in out


def test_a_budget_needs_prices(tmp_path: Path) -> None:
    model = ("-m", "openai/nobody-knows", "-M", "base_url=http://nowhere.invalid/v1")
    code, _, err = formalimg("run", "knolling", *model, "-j", "builtin/icons", "--budget", "5", cwd=tmp_path)
    assert code == 2
    assert "prices.toml" in err
    assert "--price openai/nobody-knows=0.04" in err, "which can be typed as it stands"


def test_a_budget_for_judging_needs_prices_too(workplace: Path) -> None:
    folder = workplace / "runs" / "knolling-builtin-oracle"
    stranger = ("-j", "openai/nobody-knows", "-J", "2:base_url=http://nowhere.invalid/v1")
    code, _, err = formalimg("judge", str(folder), "-j", "builtin/icons", *stranger, "--budget", "5")
    assert code == 2
    assert "the price of openai/nobody-knows is unknown" in err
    assert "--price openai/nobody-knows=0.15/0.60" in err
    assert [judge.name for judge in open_run(folder).judges()] == ["builtin/icons"]


def test_a_closed_pipe_is_no_verdict(workplace: Path) -> None:
    folder = workplace / "runs" / "knolling-builtin-oracle"
    shell = f"{sys.executable} -m formalimg report {folder} --format json | true; exit ${{PIPESTATUS[0]}}"
    assert subprocess.run(["bash", "-c", shell], capture_output=True, timeout=60).returncode == 141


@pytest.mark.parametrize("suite", ["natural", "conceptmix", "cf-world"])
def test_layouts_are_for_suites_judged_by_boxes(suite: str, tmp_path: Path) -> None:
    code, _, err = formalimg("run", suite, "-m", "builtin/solver", "--task", "layout", cwd=tmp_path)
    assert (code, "only knolling and knolling-counts can be planned as a layout" in err) == (2, True)
    code, _, err = formalimg("run", suite, "-m", "builtin/oracle", "--condition", "text-layout", cwd=tmp_path)
    assert (code, f"{suite} has no layouts to give to a model" in err) == (2, True)
