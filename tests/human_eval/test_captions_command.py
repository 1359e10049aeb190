"""`formalimg items captions` as users meet it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from formalimg.cli.captions import captions_command
from formalimg.errors import FormalimgError
from tests.support.loopback.dialects import Asked
from tests.support.loopback.server import Loopback

app = typer.Typer()
app.command()(captions_command)


@pytest.fixture(autouse=True)
def captions(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-planted-7f3a9c51e2")
    monkeypatch.chdir(tmp_path)
    Path("captions.txt").write_text("a red cat\n\ntwo dogs\nhello\n")
    Path("empty.txt").touch()
    Path("blank.txt").write_text("\n  \n")


def run(*arguments: str) -> tuple[int, str]:
    done = CliRunner().invoke(app, [*arguments])
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done.exit_code, done.stdout


def by_server(server: Loopback, *arguments: str) -> tuple[int, str]:
    options = ["-M", f"base_url={server.url}/v1", "-M", "cache=off", "-M", "first_wait=0", "-M", "reads=0"]
    return run("captions.txt", "--model", "openai/some-model", *options, *arguments)


def reply(asked: Asked) -> str:
    return "I see a dog" if "two dogs" in "".join(asked.texts) else '{"categories": ["object"]}'


def test_the_study_is_printed() -> None:
    code, out = run("captions.txt")
    assert code == 0
    assert "3 captions of captions.txt, by the lexicon, version 1" in out
    assert "1.33 ± 1.15 categories in a caption, 2 at most (3)" in out
    assert "1 empty line skipped" in out
    assert [line.split() for line in out.splitlines() if line.startswith(" 2 ")] == [["2", "2", "66.7", "█" * 40]]


def test_formats_are_clean(tmp_path: Path) -> None:
    code, out = run("captions.txt", "--format", "json", "--out", "found", "--limit", "1")
    assert code == 0
    assert json.loads(out) == json.loads((tmp_path / "found" / "study.json").read_text())
    assert json.loads(out)["captions"] == 1
    assert run("captions.txt", "--format", "csv")[1].splitlines()[0] == "captions,table,row,column,count,share"


def test_a_model_is_asked_through_its_library_and_missing_answers_are_no_success() -> None:
    pytest.importorskip("openai")
    with Loopback(reply=reply) as server:
        code, out = by_server(server, "--dry-run")
        assert (code, server.requests) == (0, [])
        assert out.startswith("3 captions, 3 questions to ask of openai/some-model")
        code, out = by_server(server, "--out", "found")
        assert code == 1
        assert "1 caption without an answer (unreadable)" in out
        assert len(server.requests) == 3
        code, out = by_server(server, "--out", "found")
        assert len(server.requests) == 4


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere.txt"], "cannot read nowhere.txt"),
        (["captions.txt", "--dry-run"], "name it with --model"),
        (["captions.txt", "-M", "a=b"], "name it with --model"),
        (["captions.txt", "--column", "x"], "no column x"),
        (["captions.txt", "--out", "captions.txt"], "captions.txt"),
        (["empty.txt"], "there are no captions in empty.txt: give a file with at least one"),
        (["blank.txt", "--out", "found"], "there are no captions in blank.txt"),
        (["blank.txt", "--model", "openai/some-model", "--dry-run"], "there are no captions in blank.txt"),
    ],
)
def test_mistakes_are_told(arguments: list[str], message: str) -> None:
    with pytest.raises(FormalimgError, match=message):
        run(*arguments)
    assert not Path("found").exists()


def test_the_command_loads_nothing_heavy_before_it_is_used() -> None:
    code = "import formalimg.cli.captions, sys; print(*sorted(sys.modules))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert {"asyncio", "pydantic", "openai", "numpy", "formalimg.benchmarks.conceptmix.captions.mentions"}.isdisjoint(
        loaded
    )
