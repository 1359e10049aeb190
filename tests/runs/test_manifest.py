"""`run.toml`: whatever was set is read back as it was, and what cannot be is refused with one clear line."""

from __future__ import annotations

import contextlib
import json
import math
import os
import sqlite3
import subprocess
import sys
import tempfile
import tomllib
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from formalimg.errors import FormalimgError
from formalimg.models import Setting
from formalimg.runs import Identity, RunManifest, execute, judge_run, open_run
from formalimg.runs.manifest import manifest_differences, read_manifest, write_manifest
from tests.support.models import NumberJudge, Speckles
from tests.support.run_contents import order

_CARD = RunManifest("knolling", "1", "abc", Identity("a/b", {}), None, 2, 3, 64, "2026-01-31T10:00:00Z", "formalimg 1")
_TEXT = st.text(st.characters(exclude_categories=["Cs"]))
_SETTINGS = st.dictionaries(
    _TEXT,
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | _TEXT,
)


@given(_SETTINGS, st.none() | _SETTINGS, _TEXT)
def test_settings_are_read_back_as_they_were(
    model: dict[str, Setting], judge: dict[str, Setting] | None, name: str
) -> None:
    manifest = replace(_CARD, model=Identity(name, model), judge=None if judge is None else Identity(name, judge))
    with tempfile.TemporaryDirectory() as made:
        write_manifest(manifest, Path(made))
        back = read_manifest(Path(made))
        tomllib.loads((Path(made) / "run.toml").read_text(encoding="utf-8"))
    assert back == manifest
    assert json.dumps(dict(back.model.settings)) == json.dumps(model), "also 1 and 1.0 and True"
    assert manifest_differences(back, manifest) == []


@pytest.mark.parametrize("value", [math.nan, math.inf, "\ud800", [1], {"a": 1}, b"x", object()])
def test_settings_that_cannot_be_written_are_refused_before_anything_is_made(tmp_path: Path, value: Setting) -> None:
    with pytest.raises(FormalimgError, match="the setting 'steps' of test/speckles is "):
        execute(order(Speckles(settings={"steps": value})), tmp_path / "run")
    assert not (tmp_path / "run").exists()
    execute(order(), tmp_path / "run")
    with pytest.raises(FormalimgError, match="the setting 'steps' of test/number is "):
        judge_run(tmp_path / "run", NumberJudge(settings={"steps": value}))
    assert open_run(tmp_path / "run").manifest.judge is None


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"steps": 7.0}, "model setting steps: was 7, now 7.0"),
        ({"steps": "7"}, "model setting steps: was 7, now '7'"),
        ({}, "model setting steps: was 7, now not set"),
        ({"steps": 7, "more": None}, "model setting more: was not set, now None"),
    ],
)
def test_differences_are_named_to_the_letter(settings: dict[str, Setting], told: str) -> None:
    there = replace(_CARD, model=Identity("a/b", {"steps": 7}))
    assert manifest_differences(replace(_CARD, model=Identity("a/b", settings)), there) == [told]


def _edited(folder: Path, old: str, new: str) -> None:
    text = (folder / "run.toml").read_text(encoding="utf-8")
    assert old in text
    (folder / "run.toml").write_text(text.replace(old, new), encoding="utf-8")


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        (
            "schema = 1",
            "schema = 2",
            "has run schema 2, this version of formalimg reads 1: use the version that made it",
        ),
        ("schema = 1", "", "has run schema None"),
        ("seed = 1", "seed = ", "run.toml is damaged"),
        ("seed = 1", "", "run.toml is damaged: seed is missing"),
        ("seed = 1", 'seed = "one"', "run.toml is damaged: seed"),
        ("[model]", "[modell]", "run.toml is damaged: name is missing"),
        ("[model.settings]", "[model.setting]", "run.toml is damaged: settings is missing"),
    ],
)
def test_a_card_that_cannot_be_read_says_why(tmp_path: Path, old: str, new: str, told: str) -> None:
    folder = tmp_path / "run"
    execute(order(), folder)
    _edited(folder, old, new)
    for use in (lambda: open_run(folder), lambda: execute(order(), folder), lambda: judge_run(folder, NumberJudge())):
        with pytest.raises(FormalimgError, match=told):
            use()


def test_a_card_of_bytes_that_are_no_text_says_so(tmp_path: Path) -> None:
    execute(order(), tmp_path / "run")
    (tmp_path / "run" / "run.toml").write_bytes(b"\xff\xfe\0")
    with pytest.raises(FormalimgError, match="is damaged"):
        open_run(tmp_path / "run")


def test_results_of_another_schema_or_damaged_ones_say_so(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    execute(order(), folder)
    with contextlib.closing(sqlite3.connect(folder / "results.sqlite")) as database:
        database.execute("PRAGMA user_version = 9")
    for use in (lambda: open_run(folder), lambda: execute(order(), folder)):
        with pytest.raises(FormalimgError, match="has schema 9, this version of formalimg reads 1"):
            use()
    (folder / "results.sqlite").write_bytes(b"no database at all" * 1000)
    for use in (lambda: open_run(folder), lambda: execute(order(), folder)):
        with pytest.raises(FormalimgError, match="the file is damaged"):
            use()


def test_what_is_no_run_says_so(tmp_path: Path) -> None:
    with pytest.raises(FormalimgError, match=r"is not a run: it has no run\.toml"):
        open_run(tmp_path)
    with pytest.raises(FormalimgError, match=r"is not a run: it has no run\.toml"):
        judge_run(tmp_path / "nowhere", NumberJudge())
    assert not (tmp_path / "nowhere").exists()
    execute(order(), tmp_path / "run")
    (tmp_path / "run" / "results.sqlite").unlink()
    with pytest.raises(FormalimgError, match=r"is not a run: it has no results\.sqlite"):
        open_run(tmp_path / "run")


def test_a_folder_that_is_a_file_says_so(tmp_path: Path) -> None:
    (tmp_path / "run").write_text("mine")
    with pytest.raises(FormalimgError, match="cannot make the run folder"):
        execute(order(), tmp_path / "run")
    assert (tmp_path / "run").read_text() == "mine"


_AS_NOBODY = """
import os, sys
from pathlib import Path
from formalimg.errors import FormalimgError
from formalimg.runs import execute, open_run
from tests.support.models import NumberJudge
from tests.support.run_contents import order
folder = Path(sys.argv[1])
execute(order(), folder, NumberJudge())
os.setgid(65534); os.setuid(65534)
print(sum(outcome.passed is not None for outcome in open_run(folder).outcomes()))
for place in (folder, folder / "inside"):
    try:
        execute(order(), place, NumberJudge())
    except FormalimgError as error:
        print(error)
print(sorted(path.name for path in folder.iterdir()))
"""


def test_a_folder_of_someone_else_can_be_read_but_not_written() -> None:
    if not hasattr(os, "geteuid") or os.geteuid() != 0:
        pytest.skip("only root can act as someone else")
    with tempfile.TemporaryDirectory() as made:
        Path(made).chmod(0o755)
        folder = Path(made) / "run"
        done = subprocess.run(
            [sys.executable, "-c", _AS_NOBODY, str(folder)],
            capture_output=True,
            text=True,
            cwd=Path(__file__).parents[2],
        )
        read, *refused, names = done.stdout.splitlines() or [done.stderr, ""]
        assert read == "8"
        assert [line.split(": ")[0] for line in refused] == [
            f"cannot make the run folder {folder}",
            f"cannot make the run folder {folder / 'inside'}",
        ]
        assert names == "['images', 'lock', 'results.sqlite', 'run.toml']"
