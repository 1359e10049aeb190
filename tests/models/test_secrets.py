"""Keys are read from the environment or a file, and kept out of all texts."""

from __future__ import annotations

import base64
import json
import re
import sys
import time
from pathlib import Path
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel

from formalimg.errors import FormalimgError
from formalimg.models.base import Failed
from formalimg.models.command import open_command
from formalimg.models.registry import open_chat_model
from formalimg.models.secrets import (
    find_api_key,
    get_api_key,
    read_env_file,
    redact,
    redact_known_keys,
    register_secret,
)
from tests.support.loopback import Fault, Loopback, scripted
from tests.support.remote_models import CONVERSATION, PLANTED, answers, request, stand_alone, wait_for
from tests.support.sizes import tries

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
        "with ghp_abcdABCD0123abcdABCD0123abcdABCD0123, no",
        "with github_pat_11ABCDEFG0abcdefghijkl_0123456789, no",
        "with xoxb-123456789012-abcdefABCDEF, no",
        "with AKIAIOSFODNN7ABCDEFG, no",
        "with eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N, no",
    ],
)
def test_what_looks_like_a_key_is_hidden_too(text: str) -> None:
    shown = redact(text)
    assert "***" in shown
    assert not {"0123", "abcd", "wxyz"} & {shown[place : place + 4] for place in range(len(shown))}
    assert not text.startswith("with ") or shown == "with ***, no"


def test_ordinary_messages_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_TOKEN", "true")
    monkeypatch.setenv("SIGNING_KEY", "/home/user/signing.pem")
    monkeypatch.setenv("TOKEN_URL", "https://login.example.com/token")
    places = "/home/user/signing.pem, https://login.example.com/token"
    text = f"error 429 in {places}: it is true that a task-oriented sketch (1024x1024) took 3.5 s"
    assert redact(text) == text


@given(st.text(st.characters(codec="ascii", categories=["L", "N"]), min_size=12, max_size=60), st.text(max_size=60))
@settings(max_examples=60, deadline=None)
def test_no_key_survives_anywhere_in_a_text(secret: str, around: str) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OPENAI_API_KEY", secret)
        assert secret not in redact(f"{around}{secret}{around}")


ODD_KEY = 'Zq7/x2+V"k9mWp4\\Lr8 tYb3=Nc6Fd1'

PROJECT_KEY = "kTx9Wq2mZr7Lp4Vb8Nc3Hd6Jf1Gs5YaQ"


@pytest.fixture(autouse=True)
def _alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    stand_alone(monkeypatch, tmp_path)
    monkeypatch.setenv("PAINTER_API_KEY", ODD_KEY)
    monkeypatch.setenv("OPENAI_API_KEY_OF_THE_PROJECT", PROJECT_KEY)


def _base64(before: str, key: str = ODD_KEY, after: str = "!") -> str:
    return base64.b64encode(f"{before}{key}{after}".encode()).decode()


ECHOES = {
    "whole": ODD_KEY,
    "base64": base64.b64encode(ODD_KEY.encode()).decode(),
    "base64 of Basic": _base64("user:"),
    **{f"base64 at offset {offset}": _base64("a" * offset) for offset in range(3)},
    **{f"url-safe base64 at offset {offset}": _base64("a" * offset).translate({43: "-", 47: "_"}) for offset in (0, 1)},
    "URL-quoted": quote(ODD_KEY, safe=""),
    "URL-quoted, small": re.sub("%..", lambda code: code[0].lower(), quote(ODD_KEY, safe="")),
    "form": quote_plus(ODD_KEY),
    "of a variable with more words": PROJECT_KEY,
}


@pytest.mark.parametrize("form", ECHOES)
@pytest.mark.parametrize("around", ["", "x" * 5, "é" * 11])
def test_encoded_echoes_are_redacted(form: str, around: str) -> None:
    for redacted in (redact, redact_known_keys):
        shown = redacted(f"{around} the key <{ECHOES[form]}> is wrong {around}")
        assert shown.startswith(f"{around} the key <")
        assert shown.endswith(f" is wrong {around}")
        assert "***" in shown
        # At most the characters remain that encode bits of the neighbours too.
        inside = shown.removeprefix(f"{around} the key <").removesuffix(f"> is wrong {around}").replace("***", "")
        assert len(inside) <= 12


@given(st.text(st.characters(codec="utf-8"), min_size=12, max_size=40), st.binary(max_size=5))
@settings(max_examples=tries(25, 100), deadline=None)
def test_a_key_is_found_in_base64_at_every_alignment(key: str, before: bytes) -> None:
    register_secret(key)
    coded = base64.b64encode(before + key.encode("utf-8", "replace") + b"?").decode()
    assert "***" in redact_known_keys(f"«{key}»")
    assert "***" in redact_known_keys(coded)


HOSTILE = {
    "words": "some ordinary words of an answer, " * 30_000,
    "the key, many times": ODD_KEY * 33_000,
    "stars": "*" * 1_000_000,
    "stars in words": "ab**" * 250_000,
    "tokens that never end": "-eyJ" * 250_000,
    "one word": "A" * 1_000_000,
}


@pytest.mark.parametrize("name", list(HOSTILE)[:: tries(4, 1)])
def test_time_is_linear(name: str) -> None:
    text = HOSTILE[name]
    redact("warm")
    began = time.process_time()
    shown = redact(text)
    assert time.process_time() - began < 5  # quadratic would be hours
    assert ODD_KEY not in shown


class Seen(BaseModel):
    seen: str


def test_no_echo_of_a_server_is_stored_or_told(tmp_path: Path) -> None:
    coded = base64.b64encode(f"Bearer {PLANTED}".encode()).decode()
    said = json.dumps({"seen": f"{coded} {PLANTED}"})
    fault = Fault("400", message=f"no such thing: {coded} {PLANTED}")
    with Loopback(faults=scripted([None, fault]), reply=lambda asked: said) as server:
        options = {"max_attempts": "1", "base_url": f"{server.url}/v1", "parse_retries": "0"}
        model = open_chat_model("openai/gpt-4.1", options)
        first = wait_for(model.ask(CONVERSATION, Seen))
        second = wait_for(open_chat_model("openai/gpt-4.1", {**options, "seed": "1"}).ask(CONVERSATION, Seen))
    stored = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()).decode(errors="replace")
    for text in (str(first), str(second), stored):
        assert "***" in text
        for echo in (coded[10:30], PLANTED):
            assert echo not in text


def test_no_echo_of_a_program_is_told(tmp_path: Path) -> None:
    program = tmp_path / "paint.py"
    program.write_text(
        "import base64, os, sys\nsys.exit('no: ' + base64.b64encode(os.environ['PAINTER_API_KEY'].encode()).decode())"
    )
    (answer,) = answers(open_command(f"{sys.executable} -S {program}", {}), [request()])
    assert isinstance(answer, Failed)
    assert answer.reason.startswith("the program exited with code 1: no: ***")
    assert base64.b64encode(ODD_KEY.encode()).decode()[:16] not in answer.reason
