"""`formalimg items write`, through the real library of a provider, against a server on this machine."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from formalimg.benchmarks.loader import load
from formalimg.cli.write import write_command
from formalimg.errors import FormalimgError
from tests.benchmarks_authoring.mixer import right_answer, step_of
from tests.benchmarks_authoring.scripted import honest_draft, review
from tests.support.loopback.dialects import Asked
from tests.support.loopback.faults import Fault
from tests.support.loopback.server import Loopback

KEY = "sk-planted-7f3a9c51e2"

pytest.importorskip("openai")
app = typer.Typer()
app.command()(write_command)


def reply(asked: Asked) -> str:
    question = "".join(asked.texts)
    return json.dumps(honest_draft(question) if "Your assignment" in question else review())


def stumbling(number: int) -> Fault | None:
    """Every fourth request goes wrong in one way or another."""
    kinds = ("500", "refusal", "length", "429")
    return Fault(kinds[number // 4 % 4]) if number % 4 == 3 else None


@pytest.fixture(autouse=True)
def a_key_and_no_memory(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.chdir(tmp_path)


def run(server: Loopback, *arguments: str, suite: str = "knolling") -> tuple[int, str]:
    options = ["-M", f"base_url={server.url}/v1", "-M", "cache=off", "-M", "first_wait=0"]
    done = CliRunner().invoke(app, [suite, "--model", "openai/some-model", *options, *arguments])
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done.exit_code, done.output


def test_it_writes_and_tells_what_became_of_all_attempts(tmp_path: Path) -> None:
    with Loopback(reply=reply) as server:
        code, out = run(server, "--out", "made", "--levels", "1-2", "--per-level", "2")
    assert code == 0, out
    assert out.splitlines()[-1] == "4 items in made/items.jsonl"
    assert out.splitlines()[1].split() == ["accepted", "4", "100.0%"]
    items = load("knolling", tmp_path / "made")
    assert [item.level for item in items] == [1, 1, 2, 2]
    assert items[0].tags == ("written-by:openai/some-model",)


def test_faults_are_counted_or_mended_and_the_key_is_nowhere(tmp_path: Path) -> None:
    with Loopback(reply=reply, faults=stumbling) as server:
        code, out = run(server, "--out", "made", "--levels", "1-3", "--per-level", "3", "-M", "reads=0")
    assert code == 0, out
    manifest = json.loads((tmp_path / "made" / "writing.json").read_text())
    assert manifest["items"] == 9
    assert manifest["tried"] == 9 + sum(manifest["rejections"].values())
    assert {"refused", "check refused", "unreadable", "check unreadable"} & set(manifest["rejections"])
    for path in (tmp_path / "made").iterdir():
        assert KEY.encode() not in path.read_bytes()
    assert KEY not in out


def mix(asked: Asked) -> str:
    step = step_of(asked.schema)
    return json.dumps(right_answer(step, "".join(asked.texts)))


def test_it_writes_conceptmix_with_all_its_choices(tmp_path: Path) -> None:
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "object.toml").write_text('values = ["cat", "dog", "lamp"]')
    choices = ["--concepts", "own", "--only", "color", "--difficulty", "easy", "--profile", "official-code"]
    choices += ["--binder", "offline", "--questions", "template"]
    with Loopback(reply=mix) as server:
        code, out = run(server, "--out", "made", "--levels", "1", "--per-level", "2", *choices, suite="conceptmix")
        assert code == 0, out
        with pytest.raises(FormalimgError, match="at most 6 different items with k=1, fewer than 9"):
            run(server, "--out", "more", "--levels", "1", "--per-level", "9", *choices, suite="conceptmix")
    for item in load("conceptmix", tmp_path / "made"):
        obj, color = item.spec.concepts
        assert obj.value in ("cat", "dog", "lamp")
        assert color.value in ("red", "green")


def test_an_outage_is_said_and_the_same_command_goes_on() -> None:
    arguments = ("--out", "made", "--levels", "1", "--per-level", "1", "-M", "tries=1")
    with Loopback(reply=reply, faults=lambda number: Fault("500") if number < 3 else None) as server:
        code, out = run(server, *arguments)
        assert code == 1
        assert "1 answers did not come: the same command asks for them again" in out
        code, out = run(server, *arguments)
    assert code == 0
    assert "unanswered" in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--levels", "11"], "between 1 and 10"),
        (["-C", "temperature=0"], "--checker"),
        (["--prompts", "nowhere"], "there is no folder"),
        (["-M", "key"], "write key=value"),
        (["--questions", "template"], "--questions: for conceptmix only, not for knolling"),
    ],
)
def test_mistakes_are_told_before_anything_is_asked(arguments: list[str], message: str) -> None:
    with Loopback(reply=reply) as server:
        with pytest.raises(FormalimgError, match=message):
            run(server, "--out", "made", *arguments)
        assert server.requests == []


def test_the_command_loads_nothing_heavy_before_it_is_used() -> None:
    code = "import formalimg.cli.write, formalimg.benchmarks.authoring, sys; print(*sorted(sys.modules))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert {"asyncio", "pydantic", "openai", "ortools", "numpy"}.isdisjoint(loaded)
