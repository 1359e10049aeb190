"""The command line explains itself: help that fits a terminal, examples to be typed, one line for what goes wrong."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from formalimg.cli.commands import app

TERMINAL = {"COLUMNS": "80"}
FULL_DISK = Path("/dev/full")


@cache
def commands() -> dict[str, Any]:
    """All commands, by their names."""
    group: Any = typer.main.get_command(app)
    return dict(group.commands)


def shown(*words: str) -> str:
    """What `--help` prints in a terminal of 80 columns."""
    return CliRunner().invoke(app, [*words, "--help"], env=TERMINAL).output


def examples() -> Iterator[tuple[str, str]]:
    for name, command in commands().items():
        if command.epilog:
            yield name, command.epilog.removeprefix("Example: ")


def test_the_list_of_commands_is_cut_nowhere() -> None:
    listed = shown()
    assert "..." not in listed.partition("Commands:")[2]
    assert all(re.search(rf"^  {name} +\S", listed, re.MULTILINE) for name in commands())


@pytest.mark.parametrize("name", commands())
def test_help_fits_a_terminal(name: str) -> None:
    assert max(map(len, shown(name).splitlines())) <= 80


def test_extras_are_named_in_full() -> None:
    """Brackets are words here, and no markup."""
    assert "formalimg[stores]" in shown("run")


@pytest.mark.parametrize(("name", "example"), [*examples()])
def test_examples_in_the_help_can_be_typed(name: str, example: str) -> None:
    program, command, *arguments = shlex.split(example)
    assert (program, command) == ("formalimg", name)
    assert example in shown(name), "on one line, to be copied"
    commands()[name].make_context(name, arguments)  # refuses options that are not there, and values that do not fit


def run(*arguments: str, out: int = subprocess.PIPE) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "formalimg", *arguments]
    return subprocess.run(command, stdout=out, stderr=subprocess.PIPE, text=True, timeout=60)


@pytest.mark.skipif(not FULL_DISK.exists(), reason="this system has no device that is always full")
@pytest.mark.parametrize("arguments", [["formula", "vocabulary", "knolling"], ["--help"]])
def test_a_full_disk_is_told_in_one_line(arguments: list[str]) -> None:
    with FULL_DISK.open("w") as full:
        done = run(*arguments, out=full.fileno())
    assert (done.returncode, done.stderr) == (2, "error: cannot write: No space left on device\n")


def test_short_output_that_nobody_reads_ends_like_long_output() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    done = run("formula", "vocabulary", out=writer)
    os.close(writer)
    assert (done.returncode, done.stderr) == (141, "")


def test_a_name_that_no_file_can_have_is_told_in_one_line() -> None:
    done = run("formula", "check", "x" * 300)
    assert done.returncode == 2
    assert re.fullmatch(r"error: cannot \w+ x+: File name too long\n", done.stderr)
