"""Every report says whose items were run, in which version; published rows say that theirs are others."""

from __future__ import annotations

from pathlib import Path

import pytest

from formalimg import load
from formalimg.benchmarks.items_file import write_items
from formalimg.benchmarks.loader import shipped_versions
from tests.support.command import formalimg

RUN = ("run", "knolling", "-m", "builtin/oracle", "--levels", "1", "--per-level", "1", "--size", "64", "--out", "run")


def report(cwd: Path, *options: str) -> str:
    done = formalimg("report", "run", "--format", "md", *options, cwd=cwd)
    assert done.code == 0, done.err
    return done.out


def test_shipped_items_are_named_with_their_version(tmp_path: Path) -> None:
    assert formalimg(*RUN, cwd=tmp_path).code == 0
    newest = load("knolling")[0].version
    assert f"FormalImg Knolling, formalimg items v{newest}: pass rate" in report(tmp_path)
    assert "on their items, which are others than those of the runs, and by their judge" in report(
        tmp_path, "--reference"
    )
    assert formalimg("report", "run", "--format", "html", cwd=tmp_path).code == 0
    page = (tmp_path / "run" / "report.html").read_text(encoding="utf-8")
    assert f"<h1>FormalImg Knolling, formalimg items v{newest}" in page


def test_items_of_ones_own_are_not_called_ours(tmp_path: Path) -> None:
    done = formalimg("items", "synth", "knolling", "--levels", "1", "--per-level", "1", "--out", "own", cwd=tmp_path)
    assert done.code == 0, done.err
    assert formalimg(*RUN, "--items", "own", cwd=tmp_path).code == 0
    assert "FormalImg Knolling, unversioned items: pass rate" in report(tmp_path)


def test_files_as_published_are_the_authors(tmp_path: Path) -> None:
    done = formalimg(
        *("items", "synth", "knolling", "--levels", "1", "--per-level", "1", "--out", "own", "--published"),
        cwd=tmp_path,
    )
    assert done.code == 0, done.err
    formalimg(*RUN[:3], "builtin/scatter", *RUN[4:], "--items", "own/published", cwd=tmp_path)
    assert "FormalImg Knolling, authors' items: pass rate" in report(tmp_path)
    assert "on their items and by their judge" in report(tmp_path, "--reference")


def test_runs_over_different_items_say_which(tmp_path: Path) -> None:
    write_items([load("knolling")[0]], tmp_path / "mine")
    text = (tmp_path / "mine" / "items.jsonl").read_text(encoding="utf-8")
    version = load("knolling")[0].version
    (tmp_path / "mine" / "items.jsonl").write_text(text.replace(f'"version": "{version}"', '"version": "77"'))
    assert formalimg(*RUN[:-1], "one", cwd=tmp_path).code == 0
    assert formalimg(*RUN[:-1], "two", "--items", "mine", cwd=tmp_path).code == 0
    done = formalimg("report", "one", "two", "--format", "md", cwd=tmp_path)
    assert "FormalImg Knolling: pass rate" in done.out
    assert "The runs differ in their items: " in done.out
    assert f"formalimg items v{version} for" in done.out
    assert "items v77 for" in done.out


@pytest.mark.parametrize("suite", ["knolling", "natural", "conceptmix"])
def test_versions_end_with_the_newest(suite: str) -> None:
    assert shipped_versions(suite)[-1] == load(suite)[0].version
    assert shipped_versions("questions") == ()
