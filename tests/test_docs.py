"""What the documentation shows is what happens: its commands and its Python examples are run and compared."""

from __future__ import annotations

import doctest
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import typer
from tools.docs_reference import COMMAND_LIST, DOCS, command_details

from formalimg.cli.commands import app
from formalimg.logic.vocabulary import vocabulary
from formalimg.scenes.rules import BINARY_RULES, UNARY_RULES
from tests.support.command import formalimg
from tests.test_imports import MAY_IMPORT

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
LINKING = [*PAGES, *(ROOT / name for name in ("CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md"))]
_BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\]\(([^)#\s]*)(?:#([^)\s]+))?\)")


class Shown(NamedTuple):
    """A command in the documentation and the output shown under it."""

    page: str
    command: str
    output: str


def _shown() -> list[Shown]:
    found = []
    for page in PAGES:
        for language, text in _BLOCK.findall(page.read_text(encoding="utf-8")):
            if language == "console":
                for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
                    command, _, output = part.partition("\n")
                    found.append(Shown(page.name, command, output))
    return found


@pytest.mark.parametrize("shown", _shown(), ids=lambda shown: f"{shown.page}: {shown.command[:60]}")
def test_commands_print_what_is_shown(shown: Shown, monkeypatch: pytest.MonkeyPatch) -> None:
    if not re.search(r"[|&$<>]", shown.command):  # nothing for a shell
        name, *arguments = shlex.split(shown.command)
        assert name == "formalimg"
        monkeypatch.setenv("COLUMNS", "100")
        said = formalimg(*arguments, cwd=ROOT)  # in this process: another one takes a second to begin
        assert said.out + said.err == shown.output
        return
    done = subprocess.run(
        ["bash", "-c", shown.command],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "COLUMNS": "100"},
        timeout=120,
    )
    assert done.stdout + done.stderr == shown.output


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands_that_are_not_run_could_be(page: Path) -> None:
    """Those in `sh` blocks need keys, models or time. Their options are read, and nothing is done."""
    group: Any = typer.main.get_command(app)
    for language, text in _BLOCK.findall(page.read_text(encoding="utf-8")):
        lines = re.sub(r"\$\(\(.*?\)\)", "1", text.replace("\\\n", " ")).splitlines() if language == "sh" else []
        for _, name, *words in (shlex.split(line, comments=True) for line in lines if line.startswith("formalimg ")):
            command = group.commands[name]
            while hasattr(command, "commands") and words:
                command = command.commands[words.pop(0)]
            command.make_context(name, words)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_python_examples_give_what_is_shown(page: Path) -> None:
    result = doctest.testfile(str(page), module_relative=False, optionflags=doctest.IGNORE_EXCEPTION_DETAIL)
    assert result.failed == 0


def test_there_are_examples_to_run() -> None:
    assert len(_shown()) >= 3
    assert sum(page.read_text(encoding="utf-8").count(">>>") for page in PAGES) >= 20


@pytest.mark.parametrize("page", LINKING, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    for target, place in _LINK.findall(page.read_text(encoding="utf-8")):
        if not target.startswith("http"):
            file = page.parent / target if target else page
            assert file.exists(), target
            assert not place or place in _places(file), f"{target}#{place}"


def _places(page: Path) -> set[str]:
    """The anchors of a page, as sites that show Markdown name them after its headings."""
    text = page.read_text(encoding="utf-8")
    if page.resolve() == DOCS / COMMAND_LIST:
        text = f"{text}\n{command_details()}"  # commands and options, on the site
    headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    named = {re.sub(r"[^\w -]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}
    return named | set(re.findall(r'<dt id="([^"]+)"', text))


def test_the_readme_is_read_in_three_minutes() -> None:
    assert len((ROOT / "README.md").read_text(encoding="utf-8").split()) <= 700


def test_every_predicate_is_defined_in_the_semantics() -> None:
    page = (ROOT / "docs" / "explanation" / "semantics.md").read_text(encoding="utf-8")
    atoms = page[page.index("## Atoms") : page.index("## Connectives")]
    known = {name for suite in ("knolling", "natural") for name in vocabulary(suite).predicates}
    assert known == {name for name in known if re.search(rf"\b{name}\b", atoms)}
    assert {*UNARY_RULES, *BINARY_RULES} <= known


ARCHITECTURE = (ROOT / "docs" / "explanation" / "architecture.md").read_text(encoding="utf-8")


def test_the_architecture_tells_who_may_import_whom() -> None:
    rows = re.findall(r"^\| `([\w./]+)/` \|[^|]*\|([^|]*)\|$", ARCHITECTURE, re.MULTILINE)
    base = next(line for line in ARCHITECTURE.splitlines() if line.startswith("*Base* stands for"))
    texts = {package: imports.replace("*base*", base) for package, imports in rows}
    stated = {package: set(re.findall(r"`([\w. ]+)`", imports)) for package, imports in texts.items()}
    assert stated.pop("cli") == set()  # "all"
    stated["benchmarks folders"] = stated.pop("benchmarks/NAME")
    assert stated == {package: imports for package, imports in MAY_IMPORT.items() if package != "cli"}


def test_the_core_has_the_lines_that_the_architecture_says() -> None:
    core = ARCHITECTURE.partition("## The core in an hour")[2].partition("## Data flow")[0]
    rows = re.findall(r"^\| \d+ \| `([\w./]+)` \| (\d+) \|", core, re.MULTILINE)
    source = ROOT / "src" / "formalimg"
    lines = {name: len((source / name).read_text(encoding="utf-8").splitlines()) for name, _ in rows}
    assert {name: int(count) for name, count in rows} == lines
    assert len(rows) == 12
    assert lines["types.py"] <= 200


def test_nothing_speaks_of_the_workshop() -> None:
    """No trace of the machine it was made on in anything that ships."""
    listed = subprocess.run(["git", "ls-files"], capture_output=True, text=True, cwd=ROOT)
    if listed.returncode != 0:
        pytest.skip("not a git checkout")
    forbidden = re.compile(r"/work/|/root/|/tmp/bash|index[-_]url|simple/\b")
    for name in listed.stdout.split():
        path = ROOT / name
        if path.suffix in {".py", ".md", ".toml", ".json", ".cff", ".yml", ""} and path != Path(__file__):
            match = forbidden.search(path.read_text(encoding="utf-8"))
            assert match is None, f"{name}: {match and match.group()}"
