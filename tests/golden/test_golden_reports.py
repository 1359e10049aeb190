"""What is told of stored runs and studies: files for programs as they are, and the numbers of tables for people."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.golden.capture import (
    RUNS,
    UPDATING,
    check,
    command,
    keep,
    make_rated_study,
    normal,
    schema,
    stored,
    table_rows,
    text_pin,
)
from tests.golden.scenarios import RUN_NAMES
from tests.support.sizes import tries

STUDIES = {
    "rated-likert": ("knolling", "likert"),
    "rated-boxes": ("knolling", "boxes"),
    "rated-questions": ("conceptmix", "questions"),
    "rated-scores": ("cf-world", "scores"),
}
"""Stored studies, each with its run and its protocol."""

SIDE_BY_SIDE = {
    **{name: (name,) for name in (*RUN_NAMES, "interrupted")},
    "every-judge": ("knolling-grounded", "conceptmix", "cf-world", "natural", "--judges", "all"),
    "missing-fail": ("knolling", "conceptmix", "interrupted", "--missing", "fail"),
    "official-code": ("conceptmix", "cf-world", "--profile", "official-code"),
    "threshold": ("cf-world", "--threshold", "0.9"),
    "epsilon": ("knolling", "--epsilon", "0.9"),
    "reference": ("knolling", "conceptmix", "cf-world", "--reference"),
    "people": ("conceptmix", "--ratings", "rated-questions"),
}
"""Reports: runs and options."""


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with copies of all that is stored. Nothing here writes into runs or studies."""
    folder = tmp_path_factory.mktemp("home")
    for path in RUNS.iterdir():
        shutil.copytree(path, folder / path.name)
    if UPDATING == "runs":
        for name, (run, protocol) in STUDIES.items():
            shutil.rmtree(folder / name, ignore_errors=True)
            make_rated_study(folder / run, folder / name, protocol)
            keep(folder / name)
    return folder


def _said(home: Path, *words: str) -> str:
    done = command(*words, cwd=home)
    assert done.code == 0, done.out + done.err
    return normal(done.out, home)


@pytest.mark.parametrize("name", SIDE_BY_SIDE)
@pytest.mark.parametrize("form", ["csv", "json"])
def test_reports_for_programs(name: str, form: str, home: Path) -> None:
    text = _said(home, "report", *SIDE_BY_SIDE[name], "--format", form)
    check(f"reports/{name}.{form}", text_pin(f"report.{form}", text))


@pytest.mark.parametrize("name", list(SIDE_BY_SIDE)[:: tries(3, 1)])
def test_numbers_in_reports_for_people(name: str, home: Path, tmp_path: Path) -> None:
    words = ("report", *SIDE_BY_SIDE[name])
    found = {form: table_rows(form, _said(home, *words, "--format", form)) for form in ("md", "latex")}
    found["terminal"] = table_rows("terminal", _said(home, *words, "--details"))
    page = tmp_path / "page.html"
    _said(home, *words, "--format", "html", "--images", "none", "--out", str(page))
    found["html"] = table_rows("html", page.read_text(encoding="utf-8"))
    assert all(found.values())
    check(f"reports/{name}.numbers", found)


def test_the_ending_of_a_file_chooses_the_format(home: Path, tmp_path: Path) -> None:
    for ending, form in {"csv": "csv", "json": "json"}.items():
        path = tmp_path / f"report.{ending}"
        _said(home, "report", "knolling", "--out", str(path))
        text = normal(path.read_text(encoding="utf-8"), home)
        check(f"reports/knolling.{form}", text_pin(path.name, text))


PROBED = ("cf-world", "cf-world-rules", "cf-world-attributes", "cf-world-denominalised")
STUDIED = {
    "agree-judges": ("agree", "conceptmix"),
    "agree-scores": ("agree", "cf-world"),
    "agree-clauses": ("agree", "natural"),
    "agree-questions": ("agree", "conceptmix", "--ratings", "rated-questions"),
    "agree-people": ("agree", "cf-world", "--ratings", "rated-scores"),
    "agree-likert": ("agree", "knolling", "--ratings", "rated-likert"),
    "agree-boxes": ("agree", "knolling", "--ratings", "rated-boxes", "--iou", "0.5"),
    "diagnose": ("cf-world", "diagnose", *PROBED, "--judge", "openai/looker"),
    "calibrate": ("cf-world", "calibrate", "cf-world", "--labels", "labels.csv"),
}
"""Studies of runs, judges and people."""


@pytest.mark.parametrize("name", STUDIED)
def test_studies_for_programs(name: str, home: Path) -> None:
    (home / "labels.csv").write_text(
        "model,item,sample,rater,label\n"
        + "".join(
            f"openai/painter,mechanics-00{number}-l1,0,{rater},{(number + (rater == 'a')) % 2}\n"
            for number in (2, 3, 4)
            for rater in "abc"
        ),
        encoding="utf-8",
    )
    for form in ("csv", "json"):
        text = _said(home, *STUDIED[name], "--format", form)
        check(f"studies/{name}.{form}", text_pin(f"study.{form}", text))


@pytest.mark.parametrize("name", STUDIES)
def test_stored_studies_open_and_are_exported_the_same(name: str, home: Path, tmp_path: Path) -> None:
    assert "rater-2" in _said(home, "annotate", name, "--status")
    _said(home, "annotate", name, "--export", str(tmp_path / "all"))
    _said(home, "annotate", name, "--export", str(tmp_path / "some"), "--leave-out", "rater-2")
    check(f"studies/{name}", {part: stored(tmp_path / part, home) for part in ("all", "some")})


def test_the_tables_of_a_study(home: Path) -> None:
    check("studies/schema", schema(home / "rated-likert" / "ratings.sqlite"))


def test_a_run_of_conceptmix_is_exported_as_published(home: Path, tmp_path: Path) -> None:
    (tmp_path / "runs").mkdir()
    shutil.copytree(home / "conceptmix", tmp_path / "runs" / "mine")
    _said(tmp_path, "export", "runs/mine", "--out", "published", "--name", "painter")
    check("exports/run-of-conceptmix", stored(tmp_path / "published", tmp_path))


@pytest.mark.parametrize("name", STUDIES)
def test_stored_studies_keep_all_that_was_said(name: str, home: Path) -> None:
    check(f"studies/{name}.stored", stored(home / name, home))
