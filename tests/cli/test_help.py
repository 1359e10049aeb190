"""Every command says what it does, what it takes and how it ends."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import typer
from typer.testing import CliRunner

import formalimg as package
from formalimg.cli.commands import app
from tests.support.command import formalimg, formalimg_process


def commands() -> Iterator[tuple[tuple[str, ...], Any]]:
    """All commands with the words that call them; those of groups as well."""
    waiting: list[tuple[tuple[str, ...], Any]] = [((), typer.main.get_command(app))]
    while waiting:
        words, command = waiting.pop()
        inside = getattr(command, "commands", {})
        waiting += [((*words, name), each) for name, each in inside.items()]
        if not inside:
            yield words, command


def test_every_command_has_help_and_every_option_is_explained() -> None:
    found = dict(commands())
    assert ("items", "review", "import") in found
    for words, command in found.items():
        done = CliRunner().invoke(app, [*words, "--help"], env={"COLUMNS": "200"})
        assert done.exit_code == 0
        assert command.help.splitlines()[0] in " ".join(done.output.split()), words
        for parameter in command.params:
            assert getattr(parameter, "help", None), (words, parameter.name)


def test_version() -> None:
    assert formalimg_process("--version").out == f"formalimg {package.__version__}\n"


def test_no_arguments_show_the_help() -> None:
    assert "Usage" in "".join(formalimg()[1:])


def test_vocabulary_lists_words_and_predicates() -> None:
    assert formalimg_process("formula", "vocabulary").out == "knolling\nnatural\nconceptmix\n"
    out = formalimg("formula", "vocabulary", "natural").out
    assert "class (69): person" in out
    assert "(IsStyle 'style')" in out
    assert formalimg("formula", "vocabulary", "zzz").code == 2


def test_importing_the_package_loads_nothing_heavy() -> None:
    """`formalimg --help` must answer at once: the start of the program may not load what few commands need."""
    loaded = subprocess.run(
        [sys.executable, "-c", "import formalimg.cli, sys; print(*sorted(sys.modules))"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()
    heavy = {"numpy", "torch", "ortools", "pandas", "openai", "PIL", "scipy", "fastapi", "altair", "asyncio"}
    assert heavy.isdisjoint(loaded)


def test_output_survives_a_terminal_without_unicode() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "formalimg", "formula", "check"],
        input=b"(Is ?x 'cup'",
        capture_output=True,
        env={"PYTHONIOENCODING": "ascii"},
    )
    assert done.returncode == 2
    assert b"Traceback" not in done.stderr
