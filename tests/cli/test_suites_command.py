"""`formalimg suites`, `models` and what other messages say of suites; and the commands that `make demo` ends with."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest

from formalimg.benchmarks.download.source import source_names
from formalimg.benchmarks.loader import load
from formalimg.benchmarks.registry import suite_names
from tests.support.command import formalimg

MAKEFILE = Path(__file__).parents[2] / "Makefile"


def test_every_suite_is_described() -> None:
    code, out, err = formalimg("suites")
    assert (code, err) == (0, "")
    names = [line.split()[0] for line in out.splitlines() if not line.startswith(" ")]
    assert names == [*suite_names()]
    assert out.count("Judge: a ") == len(names)
    assert max(map(len, out.splitlines())) < 160
    pulled = {name for listed in re.findall(r"formalimg pull (\S+)", out) for name in listed.split("|")}
    assert pulled == {*source_names()}


def test_the_numbers_are_those_of_the_items() -> None:
    suites = {suite["name"]: suite for suite in json.loads(formalimg("suites", "--json").out)}
    items = load("natural")
    assert suites["natural"]["items"] == len(items)
    assert suites["natural"]["levels"] == f"K 1–{max(item.level for item in items)}"
    assert suites["natural"]["versions"][-1] == items[0].version
    assert (suites["geneval"]["items"], suites["geneval"]["sources"]) == (None, ["geneval"])
    assert suites["free-prompts"]["sources"] == []


def test_detectors_are_listed_with_what_they_need() -> None:
    by_name = {each["name"]: each for each in json.loads(formalimg("models", "--json").out)}
    assert {name for name, each in by_name.items() if each["finds"]} == {"builtin/icons", "detector/coco", "detector"}
    assert by_name["builtin/icons"]["ready"]
    shown = formalimg("models").out
    assert re.search(r"^[–✓] detector/coco +finds objects$", shown, re.M)
    for step in by_name["detector/coco"]["missing"]:
        assert f"to do: {step}" in shown


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["run", "GenEval2", "-m", "builtin/reader"], "unknown suite 'GenEval2': did you mean geneval2?"),
        (["run", "dsg", "-m", "builtin/reader"], "`formalimg pull dsg` brings data for questions"),
        (["run", "formalimg", "-m", "builtin/reader"], "brings data for knolling and natural"),
        (["run", "xyzzy", "-m", "builtin/reader"], "drawbench; `formalimg suites` describes them"),
        (["pull", "natural", "--to", "x"], "natural is a suite, not published data: pull its data with "),
        (["pull", "knolling-counts", "--to", "x"], "its items ship with formalimg"),
        (["pull", "genval", "--to", "x"], "did you mean geneval?"),
    ],
)
def test_names_that_are_mixed_up(arguments: list[str], message: str, tmp_path: Path) -> None:
    code, out, err = formalimg(*arguments, cwd=tmp_path)
    assert (code, out) == (2, "")
    assert message in err
    assert len(err.splitlines()) == 1
    assert not [*tmp_path.iterdir()]


def test_the_commands_that_the_demo_ends_with_work(tmp_path: Path) -> None:
    target = MAKEFILE.read_text(encoding="utf-8").partition("\ndemo: ")[2].partition("\n\n")[0]
    commands = re.findall(r"@echo '  formalimg (.*?) +# ", target)
    assert len(commands) == 3
    for command in commands:
        done = formalimg(*shlex.split(command), cwd=tmp_path)
        assert done.code == 0, done.err
        assert done.out
