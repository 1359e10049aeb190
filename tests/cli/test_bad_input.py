"""Bad formulas on the command line: one line that says what and where, a caret, exit code 2, no traceback."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.support.command import formalimg

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
