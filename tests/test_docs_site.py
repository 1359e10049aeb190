"""The documentation as a whole: generated pages are up to date, and every page can be found and says what it is for."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tools.docs_images.drawings import DRAWINGS, OTHER_TOOLS
from tools.docs_images.pages import SHOTS
from tools.docs_reference import API, ARCHITECTURE, CLI, DOCS, PACKAGES, SCREENS, generated_pages, help_text

import formalimg
from formalimg.cli.commands import COMMANDS

ROOT = DOCS.parent
PAGES = sorted(DOCS.rglob("*.md"))
KINDS = {"tutorial", "guides", "explanation", "reference"}
GENERATED = dict(generated_pages())

_IMAGE = re.compile(r"(?:\]\(|src=\")(?:[./]|docs/)*images/([\w-]+\.(?:png|svg))")
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+(?=[A-Z`*\[])")


@pytest.mark.parametrize("page", GENERATED, ids=str)
def test_generated_pages_are_what_the_code_says(page: Path) -> None:
    assert (DOCS / page).read_text(encoding="utf-8") == GENERATED[page], "run `make docs-reference`"


def test_no_generated_page_is_left_over() -> None:
    kept = {path.relative_to(DOCS) for folder in (CLI, API) for path in (DOCS / folder).glob("*.md")}
    assert kept | {SCREENS, ARCHITECTURE} == set(GENERATED)


@pytest.mark.parametrize("command", COMMANDS)
def test_the_page_of_a_command_has_its_help(command: str) -> None:
    assert f"```text\n{help_text(command)}\n```\n" in (DOCS / CLI / f"{command}.md").read_text(encoding="utf-8")


def test_every_public_package_has_a_page() -> None:
    assert set(formalimg._PACKAGES) <= set(PACKAGES)


def test_every_page_is_in_the_navigation_once() -> None:
    """In an order of its own: MkDocs would only find out that a page is missing."""
    nav = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").partition("\nnav:\n")[2]
    listed = re.findall(r"[\w./-]+\.md", nav)
    assert sorted(name for name in listed if not name.startswith("project/")) == [
        page.relative_to(DOCS).as_posix() for page in PAGES
    ]


def test_every_guide_is_in_the_list_of_guides() -> None:
    index = (DOCS / "guides" / "index.md").read_text(encoding="utf-8")
    guides = {page.name for page in (DOCS / "guides").glob("*.md")} - {"index.md"}
    assert guides == set(re.findall(r"\]\(([\w-]+\.md)\)", index))


def test_pages_are_of_four_kinds() -> None:
    assert [page.name for page in DOCS.glob("*.md")] == ["index.md"]
    assert {path.name for path in DOCS.iterdir() if path.is_dir()} == {*KINDS, "assets", "images"}


def test_every_image_is_shown_and_can_be_made_again() -> None:
    there = {path.name for path in (DOCS / "images").iterdir()}
    photographed = [f"{shot.name}{screen.suffix}" for shot in SHOTS for screen in shot.screens]
    made = {f"{name}.png" for name in (*DRAWINGS, *photographed)}
    assert there == made | OTHER_TOOLS
    texts = [page.read_text(encoding="utf-8") for page in (ROOT / "README.md", *PAGES)]
    assert there == {name for text in texts for name in _IMAGE.findall(text)}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(DOCS).as_posix())
def test_a_page_begins_with_what_it_is_for(page: Path) -> None:
    title, first, *_ = page.read_text(encoding="utf-8").split("\n\n")
    assert re.fullmatch(r"# .+", title)
    assert not re.match(r"```|\||#|!\[|[-*] |\d+\. |:::", first), "a sentence, before anything else"
    assert 1 <= len(_SENTENCE_END.split(first.strip())) <= 2, "one sentence or two"
