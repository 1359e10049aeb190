"""Keys are found where users put them, and appear nowhere else."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from formalimg.errors import FormalimgError
from formalimg.models.secrets import find_api_key, get_api_key, read_env_file, redact, register_secret

KEY = "planted-Q7x2-key-4711-abcdefgh"
NAMES = ("GEMINI_API_KEY", "GOOGLE_API_KEY")


@pytest.fixture(autouse=True)
def _empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in (*NAMES, "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)


def test_the_environment_comes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    Path(".env").write_text("GEMINI_API_KEY=from-the-file-1234\n")
    assert get_api_key(NAMES) == "from-the-file-1234"
    monkeypatch.setenv("GOOGLE_API_KEY", f" {KEY}\n")
    assert get_api_key(NAMES) == KEY


def test_a_missing_key_says_what_to_set() -> None:
    with pytest.raises(FormalimgError, match=r"gemini/x needs a key: set GEMINI_API_KEY or GOOGLE_API_KEY in the env"):
        get_api_key(NAMES, "gemini/x")
    assert find_api_key(NAMES) is None


def test_an_empty_key_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GEMINI_API_KEY", "")
    assert find_api_key(NAMES) is None


@pytest.mark.parametrize(
    ("line", "value"),
    [
        ("A=b", "b"),
        ("A = b c ", "b c"),
        ("export A='b # c'", "b # c"),
        ('A="b" # why', "b"),
        ("A=b#c # why", "b#c"),
        ("A=", ""),
        ("A=''", ""),
        ("A= # nothing", ""),
        ("A=x=y==", "x=y=="),
        ("A=$HOME", "$HOME"),
    ],
)
def test_env_files_are_read(line: str, value: str) -> None:
    Path(".env").write_text(f"\ufeff# keys\n\n{line}\r\n", encoding="utf-8")
    assert read_env_file(Path(".env")) == {"A": value}


@pytest.mark.parametrize("line", [f"{KEY}", f"A='{KEY}", f"1A={KEY}", f"A='x'{KEY}", f"A B={KEY}"])
def test_a_line_that_cannot_be_read_is_named_and_not_shown(line: str) -> None:
    Path(".env").write_text(f"B=1\n{line}\n")
    with pytest.raises(FormalimgError, match=r"cannot read line 2 of \.env") as caught:
        find_api_key(NAMES)
    assert KEY not in str(caught.value)


def test_without_a_file_there_is_nothing_in_it() -> None:
    assert read_env_file(Path(".env")) == {}


def _planted_in_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)


def _planted_in_the_file(monkeypatch: pytest.MonkeyPatch) -> None:
    Path(".env").write_text(f"no variable\nMY_LAB_TOKEN='{KEY}'\n")


def _registered(monkeypatch: pytest.MonkeyPatch) -> None:
    register_secret(KEY)


@pytest.mark.parametrize("planted", [_planted_in_the_environment, _planted_in_the_file, _registered])
@pytest.mark.parametrize(
    "text",
    [
        f"Incorrect API key provided: {KEY}.",
        f"GET https://x/v1?key={KEY}&alt=1",
        f"Incorrect API key provided: {KEY[:8]}******{KEY[-4:]}.",
        f"the key that begins with {KEY[:12]} is unknown",
        f"the key that ends with {KEY[-10:]} is unknown",
    ],
)
def test_keys_and_parts_of_them_are_hidden(planted: object, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert callable(planted)
    planted(monkeypatch)
    shown = redact(text)
    assert "***" in shown
    assert KEY[:8] not in shown
    assert KEY[-4:] not in shown


@pytest.mark.parametrize(
    "text",
    [
        "Incorrect API key provided: sk-proj-0123456789abcdef",
        "invalid key AIzaSyA0123456789abcdefghij",
        "hf_abcdefghijklmnop is not valid",
        "header Authorization: Bearer abcdefgh12345",
        "Incorrect API key provided: sk-ab***************wxyz",
    ],
)
def test_what_looks_like_a_key_is_hidden_too(text: str) -> None:
    shown = redact(text)
    assert "***" in shown
    assert not {"0123", "abcd", "wxyz"} & {shown[place : place + 4] for place in range(len(shown))}


def test_a_key_at_the_end_of_a_long_word_is_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    for part in (KEY, KEY[-8:], KEY[:8]):
        assert redact("A" * 10_000 + part) == "A" * 10_000 + "***"


def test_ordinary_messages_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_TOKEN", "true")
    monkeypatch.setenv("SIGNING_KEY", "/home/user/signing.pem")
    text = "error 429 in /home/user/task.py: it is true that a task-oriented sketch (1024x1024) took 3.5 s"
    assert redact(text) == text


@given(st.text(st.characters(codec="ascii", categories=["L", "N"]), min_size=12, max_size=60), st.text(max_size=60))
@settings(max_examples=60, deadline=None)
def test_no_key_survives_anywhere_in_a_text(secret: str, around: str) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OPENAI_API_KEY", secret)
        assert secret not in redact(f"{around}{secret}{around}")
