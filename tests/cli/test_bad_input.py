"""Input that cannot be read, and text that tries to do harm: one line on the terminal."""

from __future__ import annotations

import csv
import json
import logging
import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest

from formalimg.cli.commands import configure_logging
from formalimg.cli.streams import VisibleFormatter
from formalimg.human_eval.agreement.study_tables import RaterSummary
from tests.support.command import formalimg, read_terminal
from tests.support.sizes import only_in_full

BAD: dict[str, tuple[bytes, str]] = {
    "empty": (b"", "there is no formula here"),
    "unbalanced": (b"(exists ?x (Is ?x 'cup')", "never closed"),
    "unknown word": (b"(exists ?x (Is ?x 'cupp'))", "did you mean 'cup'?"),
    "unknown predicate": (b"(exists ?x (Iz ?x 'cup'))", "did you mean Is?"),
    "wrong arity": (b"(exists ?x (LeftOf ?x))", "is written (LeftOf"),
    "unbound variable": (b"(Is ?x 'cup')", "not bound"),
    "wrong value kind": (b"(exists ?x (Is ?x 'red'))", "'red' is a color"),
    "deep nesting": (b"(" * 100_000, "nested more than 200 deep"),
    "a long line": (b"(and " + b"(Is ?x 'cup') " * 800_000 + b")", "too long"),
    "binary bytes": (bytes(range(256)) * 4, "not valid UTF-8"),
}

_PLACED = re.compile(r"error: line \d+, column \d+: .+")


@pytest.fixture
def scene(tmp_path: Path) -> str:
    path = tmp_path / "scene.json"
    path.write_text('{"objects": []}')
    return str(path)


@pytest.mark.parametrize("name", BAD)
def test_verify_refuses_it(name: str, scene: str, tmp_path: Path) -> None:
    data, says = BAD[name]
    path = tmp_path / "bad.formula"
    path.write_bytes(data)
    code, out, err = formalimg("formula", "verify", "--formula", str(path), "--scene", scene)
    assert (code, out) == (2, "")
    message, source, caret = err.splitlines()[:3]
    assert _PLACED.fullmatch(message)
    assert says in message
    assert len(source) < 120
    assert set(caret.strip()) == {"^"}
    assert "Traceback" not in err
    assert len(err) < 1000


@pytest.mark.parametrize("name", BAD)
def test_check_reports_it(name: str) -> None:
    """`check` exists to find problems (exit code 1); what is no formula at all is wrong use (exit code 2)."""
    data, says = BAD[name]
    code, out, err = formalimg("formula", "check", stdin=data)
    readable = (name.startswith("un") and name != "unbalanced") or name.startswith("wrong")
    assert code == (1 if readable else 2)
    assert out == ""
    assert says in err
    assert "^" in err
    assert "Traceback" not in err


def test_empty_text_as_an_argument(scene: str) -> None:
    code, _, err = formalimg("formula", "verify", "--formula", "", "--scene", scene)
    assert code == 2
    assert "there is no formula here" in err


def test_wrong_use_of_the_command_line() -> None:
    assert formalimg("formula", "verify").code == 2
    assert formalimg("nonsense").code == 2
    assert formalimg("formula", "check", "--suite").code == 2


EVIL = "\x1b]0;owned\x07\x1b[8m\u202e\x9b2J"
SEEN = "\\x1b]0;owned\\x07\\x1b[8m\\u202e\\u009b2J"
FORMULA = "(exists ?x (Is ?x 'cup'))"


def _obeyed(text: str) -> set[str]:
    return set(text) & set("\x1b\x07\u202e\x9b\r")


def _items(folder: Path) -> Path:
    """A suite of one item, with a prompt that would clear the screen."""
    assert formalimg("items", "synth", "knolling", "--levels", "1", "--per-level", "1", "--out", str(folder)).code == 0
    path = folder / "items.jsonl"
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    for line in lines:
        if "prompt" in line:
            line["prompt"] += EVIL
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    return folder


def test_items_are_shown_visibly(tmp_path: Path) -> None:
    items = _items(tmp_path / "items")
    name = json.loads((items / "items.jsonl").read_text().splitlines()[0])["id"]
    code, out, err = formalimg("items", "show", f"knolling/{name}", "--items", str(items))
    assert code == 0, err
    assert SEEN in out
    assert not _obeyed(out)


def test_names_of_files_and_messages(tmp_path: Path) -> None:
    (tmp_path / f"{EVIL}.formula").write_text(FORMULA)
    code, out, _ = formalimg("formula", "check", f"{EVIL}.formula", cwd=tmp_path)
    assert (code, _obeyed(out)) == (0, set())
    assert SEEN in out
    code, _, err = formalimg("formula", "check", f"{EVIL}\nerror: all is well.formula", cwd=tmp_path)
    assert (code, _obeyed(err)) == (2, set())
    assert f"{SEEN}\\nerror: all is well" in err, "a message is one line"


@only_in_full
def test_json_is_the_same_data_on_a_terminal_and_in_a_pipe(tmp_path: Path) -> None:
    (tmp_path / f"{EVIL}.formula").write_text(FORMULA)
    command = [sys.executable, "-m", "formalimg", "formula", "check", "--json", f"{EVIL}.formula"]
    piped = subprocess.run(command, cwd=tmp_path, capture_output=True, timeout=60).stdout.decode()
    main, terminal = pty.openpty()
    with subprocess.Popen(command, cwd=tmp_path, stdout=terminal) as process:
        os.close(terminal)
        text = read_terminal(main).replace("\r\n", "\n")
        assert process.wait(60) == 0
    assert not _obeyed(text)
    assert json.loads(text) == json.loads(piped)
    assert json.loads(piped)[0]["file"] == f"{EVIL}.formula"


def test_events_of_the_log() -> None:
    logger = logging.getLogger("formalimg")
    before = logger.handlers[:]
    logger.handlers.clear()
    try:
        configure_logging(1)
        assert isinstance(logger.handlers[0].formatter, VisibleFormatter)
        record = logging.LogRecord("formalimg", logging.INFO, "x", 1, "answered %s", (EVIL,), None)
        assert logger.handlers[0].format(record).endswith(f"answered {SEEN}")
    finally:
        logger.handlers[:] = before
        logger.setLevel(logging.WARNING)


def test_captions_in_a_table_for_spreadsheets(tmp_path: Path) -> None:
    (tmp_path / "captions.txt").write_text("=cmd|' /C calc'!A0\na red cat\n-2 cats\n-2\n")
    code, _, err = formalimg("items", "captions", "captions.txt", "--out", "out", cwd=tmp_path)
    assert code == 0, err
    with (tmp_path / "out" / "per_caption.csv").open(newline="") as file:
        found = [row["caption"] for row in csv.DictReader(file)]
    assert found == ["'=cmd|' /C calc'!A0", "a red cat", "'-2 cats", "-2"]


def test_names_of_raters_are_shown_and_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name = "\x1b[2J[red]ann[/red]"
    named = RaterSummary(name, finished=1, of=2, checks=0, checks_passed=0, seconds=60.0, median_seconds=None)
    (tmp_path / "study.toml").touch()
    monkeypatch.setattr("formalimg.human_eval.records.read_study", lambda place: place)
    monkeypatch.setattr("formalimg.human_eval.records.summarize_raters", lambda study: [named])
    done = formalimg("annotate", str(tmp_path), "--status")
    assert done.code == 0
    assert "\\x1b[2J[red]ann[/red]" in done.out
