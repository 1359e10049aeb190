"""Texts, files and exit codes that others rely on."""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import tomllib
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from tests.golden.capture import (
    PACKAGE,
    RUNS,
    SERVER,
    UPDATING,
    Provider,
    check,
    command,
    golden,
    judge,
    normal,
    numbers,
    schema,
    stored,
    text_pin,
)
from tests.support.sizes import tries

CUP = "(exists ?x (and (Is ?x 'cup') (Has ?x 'red')))"
NO_SUCH = "(exists ?x (and (Is ?x 'cup') (LeftOf ?x ?x)))"
SCENE = {"objects": [{"label": "cup", "color": "red", "box_2d": [100, 100, 300, 400]}]}
OTHER = {"objects": [{"label": "pen", "color": "blue", "box_2d": [100, 100, 300, 400]}]}


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A folder with formulas, scenes, and copies of what is stored."""
    for name, text in {
        "good.formula": CUP,
        "bad.formula": "(exists ?x (Is ?x 'unicorn'))",
        "broken.formula": "(exists ?x",
        "scene.json": json.dumps(SCENE),
        "other.json": json.dumps(OTHER),
        "broken.json": "{",
        "captions.txt": "a red cat\n\ntwo dogs on a large table\nhello\n",
    }.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    for name in ("knolling", "conceptmix", "cf-world", "rated-likert", "written-cf-world", "captions"):
        shutil.copytree(RUNS / name, tmp_path / name)
    return tmp_path


def test_texts_that_are_sent_to_models() -> None:
    """By the names of files, wherever they lie."""
    found = {}
    for path in sorted(PACKAGE.rglob("*.txt"), key=lambda path: path.name):
        assert path.name not in found, f"two texts are called {path.name}"
        found[path.name] = path.read_text(encoding="utf-8").splitlines()
    assert found
    check("texts", found)


def test_data_that_shapes_items_and_verdicts() -> None:
    """Digests of what is in files that are no code, whatever they are called; comments do not count, nor do prices."""
    found = sorted(
        [path.name, hashlib.sha256(_content(path)).hexdigest()]
        for path in PACKAGE.rglob("*")
        if path.suffix in {".toml", ".gz", ".npz"} and path.name not in ("prices.toml", "suites.toml")
    )
    assert found
    if UPDATING:
        check("data-files", found)
    there = {digest for _, digest in found}
    missing = [name for name, digest in golden("data-files") if digest not in there and name != "suites.toml"]
    assert not missing


def _content(path: Path) -> bytes:
    match path.suffix:
        case ".toml":
            return json.dumps(tomllib.loads(path.read_text(encoding="utf-8")), sort_keys=True, default=str).encode()
        case ".gz":
            return gzip.decompress(path.read_bytes())
        case _:
            return path.read_bytes()


# --- what is printed for programs

PRINTED = {
    "check-good": ("formula", "check", "good.formula", "--json"),
    "check-bad": ("formula", "check", "bad.formula", "--json"),
    "check-broken": ("formula", "check", "broken.formula", "--json"),
    "check-k": ("formula", "check", "good.formula", "-k", "3", "--single-component", "--json"),
    "check-natural": ("formula", "check", "good.formula", "--suite", "natural", "--plausible", "--json"),
    "verify-holds": ("formula", "verify", "--formula", "good.formula", "--scene", "scene.json", "--json"),
    "verify-fails": ("formula", "verify", "--formula", CUP, "--scene", "other.json", "--json"),
    "verify-classical": (
        *(
            "formula",
            "verify",
            "--formula",
            "(forall ?x (implies (Is ?x 'cup') (OnTopSide ?x)))",
            "--scene",
            "other.json",
        ),
        *("--semantics", "classical", "--json"),
    ),
    "solve": ("formula", "solve", "--formula", CUP, "--json"),
    "solve-none": ("formula", "solve", "--formula", NO_SUCH, "--json"),
    "certify": ("certify", "--scenes", "2", "--others", "2", "--json"),
    "captions-json": ("items", "captions", "captions.txt", "--format", "json"),
    "captions-csv": ("items", "captions", "captions.txt", "--format", "csv"),
}


@pytest.mark.parametrize("name", PRINTED)
def test_what_is_printed_for_programs(name: str, home: Path) -> None:
    done = command(*PRINTED[name], cwd=home)
    form = "csv" if name.endswith("csv") else "json"
    assert done.out, done.err
    check(f"printed/{name}", {"code": done.code, "out": text_pin(f"out.{form}", normal(done.out, home))})


@pytest.mark.parametrize(
    "name",
    ["knolling/1207", "natural/700", "conceptmix/1500", "cf-world/mechanics-003-l2", "cf-world-rules/settling-1"],
)
def test_items_are_shown(name: str, home: Path) -> None:
    done = command("items", "show", name, cwd=home)
    check(f"printed/show-{name.replace('/', '-')}", {"code": done.code, "numbers": numbers(done.out)})


@pytest.mark.parametrize("suite", ["knolling", "natural", "conceptmix", "cf-world"])
def test_items_are_counted(suite: str, home: Path) -> None:
    done = command("items", "census", suite, cwd=home)
    check(f"printed/census-{suite}", {"code": done.code, "numbers": numbers(done.out)})


# --- what is written

SUITES = ("knolling", "natural", "conceptmix", "cf-world", "cf-world-rules", "cf-world-attributes")


@pytest.mark.parametrize("suite", [*SUITES, "cf-world-denominalised"][:: tries(3, 1)])
def test_suites_are_exported(suite: str, tmp_path: Path) -> None:
    words = ("--date", "2026-01-31", "--url", "https://example.org/suite")
    assert command("export", suite, "--out", "out", *words, cwd=tmp_path).code == 0
    found = stored(tmp_path / "out", tmp_path)
    assert {"items.jsonl", "croissant.json", "DATASHEET.md", "LICENSE.md"} <= set(found)
    check(f"exports/{suite}", found)


def test_a_small_suite_is_exported_as_published(home: Path) -> None:
    own = ("--license", "CC-BY-4.0", "--creator", "Somebody", "--made", "By hand.", "--published")
    shutil.copytree(RUNS / "written-knolling", home / "written-knolling")
    for suite in ("knolling", "cf-world"):
        done = command("export", suite, "--items", f"written-{suite}", "--out", f"out-{suite}", *own, cwd=home)
        assert done.code == 0, done.err
        check(f"exports/own-{suite}", stored(home / f"out-{suite}", home))


@pytest.mark.parametrize(
    ("suite", "more"),
    [("knolling", ("--jobs", "1")), ("natural", ("--jobs", "1", "--connectives")), ("conceptmix", ())],
)
def test_items_are_made_by_lot(suite: str, more: tuple[str, ...], tmp_path: Path) -> None:
    words = ("--levels", "1-3", "--per-level", "2", "--seed", "5", "--published", "--out", "out")
    assert command("items", "synth", suite, *words, *more, cwd=tmp_path).code == 0
    check(f"exports/synth-{suite}", stored(tmp_path / "out", tmp_path))


def test_groups_are_reviewed(home: Path) -> None:
    assert command("items", "review", "export", "written-cf-world", "--out", "queue.jsonl", cwd=home).code == 0
    queue = (home / "queue.jsonl").read_text(encoding="utf-8")
    assert command("items", "review", "import", "queue.jsonl", "--out", "undecided", cwd=home).code == 1
    records = [{**json.loads(line), "decision": "accept"} for line in queue.splitlines()]
    (home / "queue.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    assert command("items", "review", "import", "queue.jsonl", "--out", "kept", "--version", "7", cwd=home).code == 0
    check("exports/review", {"queue": queue.splitlines(), "kept": stored(home / "kept", home)})


def test_a_study_is_made_with_the_same_tables(home: Path) -> None:
    """In a process of its own: it serves until it is interrupted."""
    words = ("annotate", "knolling", "--protocol", "likert", "--study", "study", "--raters", "3", "--per-image", "2")
    process = subprocess.Popen(
        [sys.executable, "-m", "formalimg", *words, "--seed", "3", "--port", "0", "--no-browser"],
        cwd=home,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )
    assert process.stdout is not None
    links = 0
    for line in process.stdout:
        links += bool(re.match(r"rater-\d +http", line))
        if line.startswith("progress"):
            _wait_for(line.split()[1])
            break
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=20)
    assert (process.returncode, links) == (0, 3)
    check("studies/tables", schema(home / "study" / "ratings.sqlite"))
    card = normal((home / "study" / "study.toml").read_text(encoding="utf-8"), home)
    check("studies/card", card.splitlines())


def _wait_for(address: str) -> None:
    """Wait until a server answers, whatever it says: before that, it is not ready to be interrupted."""
    end = time.monotonic() + 20
    while time.monotonic() < end:
        try:
            urllib.request.build_opener(urllib.request.ProxyHandler({})).open(address, timeout=5).close()
        except urllib.error.HTTPError:
            return
        except OSError:
            time.sleep(0.05)
        else:
            return
    raise AssertionError("nobody answers")


# --- exit codes

RUN = ("run", "knolling", "-m", "builtin/reader", "--levels", "1", "--per-level", "1", "--size", "128")
CODES: dict[str, tuple[str, ...]] = {
    "version": ("--version",),
    "nothing": (),
    "unknown command": ("paint",),
    "unknown option": ("items", "census", "knolling", "--loudly"),
    "run": (*RUN, "--out", "new"),
    "run, nothing to do": ("run", "knolling", "-m", "builtin/reader", "--dry-run"),
    "run, unknown suite": ("run", "kitchen", "-m", "builtin/reader"),
    "run, unknown model": ("run", "knolling", "-m", "builtin/rembrandt"),
    "run, unknown provider": ("run", "knolling", "-m", "nobody/x"),
    "run, unknown judge": (*RUN, "-j", "builtin/solomon", "--out", "new"),
    "run, no judge offline": ("run", "conceptmix", "-m", "openai/painter", "-M", SERVER),
    "run, too small": ("run", "knolling", "-m", "builtin/reader", "--size", "8"),
    "run, other settings": ("run", "knolling", "-m", "builtin/reader", "--seed", "2", "--out", "knolling"),
    "run, nobody knows the price": ("run", "knolling", "-m", "openai/painter", "-M", SERVER, "--budget", "1"),
    "run, level that is none": ("run", "knolling", "-m", "builtin/reader", "--levels", "99"),
    "run, cannot read levels": ("run", "knolling", "-m", "builtin/reader", "--levels", "many"),
    "run, nobody answers": (
        *("run", "knolling", "-m", "openai/painter", "-M", SERVER, "-M", "tries=1", "--levels", "1"),
        *("--per-level", "1", "--size", "64", "--out", "silent", "-j", "builtin/icons"),
    ),
    "judge": ("judge", "knolling"),
    "judge, no run": ("judge", "nowhere"),
    "report": ("report", "knolling"),
    "report, no run": ("report", "nowhere"),
    "report, a file": ("report", "knolling/run.toml"),
    "report, missing is an error": ("report", "knolling", "--missing", "error"),
    "report, unknown format": ("report", "knolling", "--format", "pdf"),
    "show": ("items", "show", "knolling/0"),
    "show, no item": ("items", "show", "knolling/none"),
    "show, no suite": ("items", "show", "kitchen/0"),
    "check": ("formula", "check", "good.formula"),
    "check, problems": ("formula", "check", "bad.formula"),
    "check, no formula": ("formula", "check", "broken.formula"),
    "check, no file": ("formula", "check", "nowhere.formula"),
    "check, other k": ("formula", "check", "good.formula", "-k", "4"),
    "verify, holds": ("formula", "verify", "--formula", "good.formula", "--scene", "scene.json"),
    "verify, does not": ("formula", "verify", "--formula", "good.formula", "--scene", "other.json"),
    "verify, no scene": ("formula", "verify", "--formula", "good.formula", "--scene", "broken.json"),
    "verify, no formula": ("formula", "verify", "--formula", "broken.formula", "--scene", "scene.json"),
    "solve": ("formula", "solve", "--formula", "good.formula"),
    "solve, none": ("formula", "solve", "--formula", NO_SUCH),
    "solve, no formula": ("formula", "solve", "--formula", "(or"),
    "certify, good enough": ("certify", "--scenes", "1", "--others", "1", "--require", "0.5"),
    "export, neither": ("export", "kitchen", "--out", "out"),
    "export, not of a run": ("export", "./conceptmix", "--out", "out", "--license", "MIT"),
    "export, of another run": ("export", "./knolling", "--out", "out"),
    "export, run": ("export", "./conceptmix", "--out", "out"),
    "annotate, status": ("annotate", "rated-likert", "--status"),
    "annotate, nowhere": ("annotate", "nowhere", "--status"),
    "agree": ("agree", "conceptmix"),
    "agree, one judge": ("agree", "knolling"),
    "diagnose, other suite": ("cf-world", "diagnose", "knolling"),
    "captions": ("items", "captions", "captions.txt"),
    "captions, no file": ("items", "captions", "nowhere.txt"),
    "captions, option without model": ("items", "captions", "captions.txt", "--dry-run"),
    "captions, nobody answers": (
        *("items", "captions", "captions.txt", "-m", "openai/reader", "-M", SERVER, "-M", "tries=1", "--out", "found"),
    ),
    "captions, other question": (
        "items",
        "captions",
        "captions.txt",
        "-m",
        "openai/x",
        "-M",
        SERVER,
        "--out",
        "captions",
    ),
    "write, nobody answers": (
        *("items", "write", "knolling", "-m", "openai/writer", "-M", SERVER, "-M", "tries=1", "--levels", "1"),
        *("--per-level", "1", "--out", "out"),
    ),
    "write, unknown suite": ("items", "write", "kitchen", "-m", "openai/writer", "-M", SERVER, "--out", "out"),
    "write, level that is none": (
        *("items", "write", "knolling", "-m", "openai/writer", "-M", SERVER, "--levels", "11", "--out", "out"),
    ),
    "synth, cf-world": ("items", "synth", "cf-world", "--out", "out"),
    "census": ("items", "census", "knolling"),
    "models": ("models",),
    "vocabulary": ("formula", "vocabulary", "knolling"),
    "vocabulary, unknown": ("formula", "vocabulary", "kitchen"),
    "review, nowhere": ("items", "review", "import", "nowhere.jsonl", "--out", "out"),
}


def test_exit_codes(home: Path) -> None:
    """Of all commands in one folder, one after the other; a provider that answers nothing stands by."""
    with Provider("talks-none", None).serving() as provider:
        found = {name: command(*words, cwd=home, proxy=provider.url).code for name, words in CODES.items()}
    assert set(found.values()) == {0, 1, 2}
    check("exit-codes", found)


def test_answers_are_kept_in_the_cache_by_the_same_keys(tmp_path: Path) -> None:
    """Whoever has paid for an answer need not pay again."""
    words = ("items", "captions", "captions.txt", "-m", "openai/reader", "-M", SERVER)
    (tmp_path / "captions.txt").write_text("a red cat\n\ntwo dogs\nhello\n", encoding="utf-8")
    with Provider("talks/captions", judge).serving() as provider:
        assert command(*words, cwd=tmp_path, proxy=provider.url).code == 0
        asked = sum(provider.asked.values())
        assert asked == 3
        assert command(*words, cwd=tmp_path, proxy=provider.url).code == 0
        assert sum(provider.asked.values()) == asked
    check("stored/cache-captions", stored(tmp_path / "cache", tmp_path))
