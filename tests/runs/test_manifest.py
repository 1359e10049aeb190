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
from formalimg.runs.execution import execute, judge_run
from formalimg.runs.manifest import Identity, RunManifest, manifest_differences, read_manifest, write_manifest
from formalimg.runs.reader import open_run
from formalimg.types import Setting
from tests.support.models import NumberJudge, Speckles
from tests.support.run_contents import order

_CARD = RunManifest("knolling", "1", "abc", Identity("a/b", {}), None, 2, 3, 64, "2026-01-31T10:00:00Z", "formalimg 1")
_BAD_SETTINGS = [math.nan, math.inf, "\ud800", [1], {"a": 1}, b"x", object(), 2**64, -(2**63) - 1, "x" * 100_001]
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


@pytest.mark.parametrize("value", _BAD_SETTINGS)
def test_settings_that_cannot_be_written_are_refused_before_anything_is_made(tmp_path: Path, value: Setting) -> None:
    with pytest.raises(FormalimgError, match="the setting 'steps' of test/speckles is ") as refused:
        execute(order(Speckles(settings={"steps": value})), tmp_path / "run")
    assert len(str(refused.value)) < 1000
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


def _settings(text: str) -> tuple[str, str]:
    return "[model.settings]", f"[model.settings]\n{text}"


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
        ("seed = 1", f"seed = {'9' * 5000}", "run.toml is damaged: "),
        ("seed = 1", f"seed = 0x{'f' * 5000}", "run.toml is damaged: seed is missing or has the wrong type"),
        ("seed = 1", f"seed = {2**64}", "run.toml is damaged: seed"),
        ("seed = 1", f"seed = {-(2**63) - 1}", "run.toml is damaged: seed"),
        ("seed = 1", "seed = true", "run.toml is damaged: seed"),
        (
            "seed = 1",
            f"seed = {'[' * 100_000}{']' * 100_000}",
            "run.toml is damaged: values in it are nested too deeply",
        ),
        (
            "seed = 1",
            f"seed = {'{a=' * 100_000}1{'}' * 100_000}",
            "run.toml is damaged: values in it are nested too deep",
        ),
        ("seed = 1", f"{'a.' * 100_000}a = 1", "run.toml is damaged: a key in it has more than 32 parts"),
        ("seed = 1", f"[{'a . ' * 100_000}a]", "run.toml is damaged: a key in it has more than 32 parts"),
        ("seed = 1", "'a'.\"b\"." * 50_000 + "a = 1", "run.toml is damaged: a key in it has more than 32 parts"),
        (
            "seed = 1",
            f"seed = 1\n# {'x' * 1_000_000}",
            "cannot read .*run.toml: it has 1,000,[0-9]* bytes, and no more",
        ),
        ("seed = 1", 'x = {y = """z"""", ' + "a." * 99 + "a = 1}", "run.toml is damaged: a key in it has more than 32"),
        (
            "seed = 1",
            "x = {y = '''z''''', " + "a." * 99 + "a = 1}",
            "run.toml is damaged: a key in it has more than 32",
        ),
        ("seed = 1", "# " + '"""' + "\n" + "a." * 99 + "a = 1", "run.toml is damaged: a key in it has more than 32"),
        ("samples = ", "samples = 10000000", "run.toml is damaged: samples is missing or has the wrong type"),
        ("samples = ", "samples = -", "run.toml is damaged: samples"),
        ("schema = 1", f"schema = {'[' * 90}{']' * 90}", "has run schema of type list, this version"),
        ("schema = 1", f"schema = '{'x' * 100_000}'", "has run schema '[x]*, this version"),
        (*_settings("steps = [1]"), "run.toml is damaged: model.settings.'steps' is missing or has the wrong type"),
        (*_settings("steps = {a = 1}"), "run.toml is damaged: model.settings.'steps'"),
        (*_settings("steps = 2026-01-31"), "run.toml is damaged: model.settings.'steps'"),
        (*_settings("steps = nan"), "run.toml is damaged: model.settings.'steps'"),
        (*_settings(f"steps = 0x{'f' * 5000}"), "run.toml is damaged: model.settings.'steps'"),
        (*_settings(f"steps = '{'x' * 100_001}'"), "run.toml is damaged: model.settings.'steps'"),
        (*_settings('"\\u001b[2J" = [1]'), r"run.toml is damaged: model.settings.'\\x1b\[2J'"),
    ],
    ids=lambda text: text[:24],
)
def test_a_card_that_cannot_be_read_is_refused_with_one_short_line(
    tmp_path: Path, old: str, new: str, told: str
) -> None:
    folder = tmp_path / "run"
    execute(order(), folder)
    _edited(folder, old, new)
    for use in (lambda: open_run(folder), lambda: execute(order(), folder), lambda: judge_run(folder, NumberJudge())):
        with pytest.raises(FormalimgError, match=told) as refused:
            use()
        assert "\n" not in str(refused.value)
        assert len(str(refused.value)) < 500


def test_many_long_settings_and_large_seeds_are_refused(tmp_path: Path) -> None:
    settings = {f"text {number}": "x" * 100_000 for number in range(11)}
    with pytest.raises(FormalimgError, match=r"settings of test/speckles and its judge have 1,1.* give shorter ones"):
        execute(order(Speckles(settings=settings)), tmp_path / "run")
    with pytest.raises(FormalimgError, match=r"a seed of .* cannot be stored"):
        order(seed=2**64)


def test_large_settings_and_texts_with_many_dots_are_read_back(tmp_path: Path) -> None:
    settings: dict[str, Setting] = {
        "steps": 2**64 - 1,
        "text": "x" * 100_000,
        "version": "1." * 31,
        "dots": "." * 1000,
        "words": "one. two.\n" * 1000,
        "a.b." * 20: 1,
        "quotes": '""" \'\'\' # \\" ' + "a." * 50,
    }
    execute(order(Speckles(settings=settings)), tmp_path / "run")
    assert open_run(tmp_path / "run").manifest.model.settings == settings


def test_captions_name_the_networks_and_the_reader_of_a_detector() -> None:
    assert Identity("a/b", {"threshold": 0.5}).components == ""
    assert Identity("detector/coco", {"network": "ssd", "size": 320}).components == "ssd"
    settings = {"formula.network": "yolov3+ssd", "questions.reader": "ocr/rapidocr", "questions.weights": "12"}
    assert Identity("detector/coco", settings).components == "yolov3+ssd, ocr/rapidocr"
