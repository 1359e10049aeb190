"""Help screens: names, sections, examples, and the time they take."""

from __future__ import annotations

import logging
import re
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

import formalimg as package
from formalimg.cli.commands import COMMANDS, SECTIONS, app, configure_logging
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


WIDE = {"COLUMNS": "100"}
WORDS = [words for words, _ in commands()]


def _help(*command: str) -> str:
    done = CliRunner().invoke(app, [*command, "--help"], env=WIDE)
    assert done.exit_code == 0
    return done.stdout


def _sections(page: str) -> list[str]:
    return re.findall(r"^(\w[\w ]*):$", page, re.MULTILINE)


def test_commands_are_listed_by_purpose() -> None:
    page = _help()
    assert _sections(page) == ["Options", "Evaluate", "Rely on it", "Data", "Set up", "Groups of commands"]
    everyday = [name for name, entry in COMMANDS.items() if entry.section != "Groups of commands"]
    assert len(everyday) <= 17
    for name, *_ in WORDS:
        assert re.search(rf"^  {name} +\w", page, re.MULTILINE), name


def test_options_of_run_are_listed_by_purpose_on_two_screens() -> None:
    page = _help("run")
    assert _sections(page) == ["Arguments", *SECTIONS, "Other options"]
    assert len(page.splitlines()) <= 2 * 45  # at 80 columns, which is what is left here


@pytest.mark.parametrize("command", WORDS, ids=" ".join)
def test_help_has_no_types_of_python_and_no_limits_that_nobody_meets(command: tuple[str, ...]) -> None:
    page = _help(*command)
    assert not re.search(r"<(list|path|str|int)\b|\[\[|\[default: ?\(|\d{19}|<=1000000\b", " ".join(page.split()))


@pytest.mark.parametrize("command", WORDS, ids=" ".join)
def test_every_command_takes_verbose(command: tuple[str, ...]) -> None:
    assert re.search(r"^  -v, --verbose ", _help(*command), re.MULTILINE)


@pytest.fixture
def logger() -> Iterator[logging.Logger]:
    ours = logging.getLogger("formalimg")
    level, handlers = ours.level, list(ours.handlers)
    ours.handlers.clear()
    yield ours
    ours.setLevel(level)
    ours.handlers[:] = handlers


@pytest.mark.parametrize(
    ("options", "level"), [([], logging.WARNING), (["-v"], logging.INFO), (["-vv"], logging.DEBUG)]
)
def test_verbosity_sets_the_level_of_our_loggers(options: list[str], level: int, logger: logging.Logger) -> None:
    assert CliRunner().invoke(app, ["formula", "vocabulary", "knolling", *options]).exit_code == 0
    assert logging.getLogger("formalimg.models.retry").getEffectiveLevel() == level
    assert bool(logger.handlers) == bool(options)


def test_events_go_to_standard_error(logger: logging.Logger, capsys: pytest.CaptureFixture[str]) -> None:
    configure_logging(1)
    logging.getLogger("formalimg.models.retry").info("waiting 2.0 s")
    printed = capsys.readouterr()
    assert printed.out == ""
    assert re.fullmatch(r"\d\d:\d\d:\d\d INFO formalimg.models.retry: waiting 2.0 s\n", printed.err)


def test_options_of_models_judges_and_writers_are_described_alike() -> None:
    found = [line for command in WORDS for line in _help(*command).splitlines() if " KEY=VALUE " in line]
    assert len(found) > 10
    assert [line for line in found if not re.search(r"KEY=VALUE +Option of the \w+", line)] == []


def test_commands_are_imported_when_they_are_used() -> None:
    words = ["formalimg", "formula", "vocabulary", "knolling"]
    code = f"import sys; from formalimg.cli import main; sys.argv = {words}; main()"
    code = f"import atexit, sys; atexit.register(lambda: print(*sorted(sys.modules))); {code}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = {name for name in done.stdout.split() if name.startswith("formalimg.cli.")}
    assert "formalimg.cli.listings" in loaded
    others = {words[-1] for words in WORDS} | COMMANDS.keys()
    assert not loaded & {f"formalimg.cli.{name}" for name in others - {"vocabulary"}}
