"""Every command says what it does, what it takes and how it ends."""

from __future__ import annotations

import subprocess
import sys

import formalimg as package
from formalimg.cli import app
from tests.support.command import formalimg


def test_every_command_has_help_and_every_option_is_explained() -> None:
    for command in app.registered_commands:
        assert command.name is not None
        code, out, _ = formalimg(command.name, "--help")
        assert code == 0
        assert command.callback is not None
        assert command.callback.__doc__
        assert command.callback.__doc__.splitlines()[0] in " ".join(out.split())


def test_version() -> None:
    assert formalimg("--version").out == f"formalimg {package.__version__}\n"


def test_no_arguments_show_the_help() -> None:
    assert "Usage" in "".join(formalimg()[1:])


def test_vocabulary_lists_words_and_predicates() -> None:
    assert formalimg("vocabulary").out == "knolling\nnatural\nconceptmix\n"
    out = formalimg("vocabulary", "natural").out
    assert "class (69): person" in out
    assert "(IsStyle 'style')" in out
    assert formalimg("vocabulary", "zzz").code == 2


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
        [sys.executable, "-m", "formalimg", "check"],
        input=b"(Is ?x 'cup'",
        capture_output=True,
        env={"PYTHONIOENCODING": "ascii"},
    )
    assert done.returncode == 2
    assert b"Traceback" not in done.stderr
