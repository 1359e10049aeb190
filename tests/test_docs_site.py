"""The documentation as a whole: generated pages are up to date, and every page can be found and says what it is for."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tools.docs_images.drawings import DRAWINGS, OTHER_TOOLS
from tools.docs_images.pages import SHOTS
from tools.docs_reference import (
    API_GROUPS,
    DOCS,
    GUIDES,
    PACKAGES,
    all_parameters,
    command_details,
    command_list,
    option_anchor,
    site_pages,
    site_version,
    stored_pages,
)

import formalimg
from formalimg.cli.commands import COMMANDS

ROOT = DOCS.parent
PAGES = sorted(DOCS.rglob("*.md"))
KINDS = {"tutorial", "guides", "explanation", "reference"}
STORED = dict(stored_pages())
SITE_ONLY = dict(site_pages())

_IMAGE = re.compile(r"(?:\]\(|src=\")(?:[./]|docs/)*images/([\w-]+\.(?:png|svg))")
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+(?=[A-Z`*\[])")


@pytest.mark.parametrize("page", STORED, ids=str)
def test_generated_pages_are_what_the_code_says(page: Path) -> None:
    assert (DOCS / page).read_text(encoding="utf-8") == STORED[page], "run `make docs-reference`"


def test_what_the_site_generates_is_not_stored() -> None:
    assert len(SITE_ONLY) > 20
    assert not [page for page in SITE_ONLY if (DOCS / page).exists()]


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_is_described_and_linked_to_its_guides(command: str) -> None:
    (line,) = re.findall(rf"^- `{command}`: (.+)$", command_list(), re.MULTILINE)
    assert line.startswith(COMMANDS[command].summary)
    assert [page for page in GUIDES[command] if Path(page).name in line] == [*GUIDES[command]]
    assert f"\n## {command}\n" in f"\n{command_details()}"


def test_every_option_is_described_and_has_an_anchor_of_its_own() -> None:
    described = re.findall(r'<dt id="([^"]+)">.+</dt><dd>(.+)</dd>', command_details())
    anchors = [option_anchor(words, param) for words, param in all_parameters()]
    assert [anchor for anchor, _ in described] == anchors
    assert len(set(anchors)) == len(anchors) > 150
    assert "run--per-level" in anchors


def test_the_site_links_commands_and_names_to_their_details() -> None:
    commands = site_version(Path("reference/commands.md"), "")
    linked = re.findall(r"- \[`([\w -]+)`\]\(#([\w-]+)\): \w", commands)
    headings = re.findall(r"^###? ([a-z][\w -]*)$", commands, re.MULTILINE)
    assert [name for name, _ in linked] == headings
    assert [anchor for _, anchor in linked] == [name.replace(" ", "-") for name in headings]
    names = re.findall(r"\]\(api/formalimg\.md#formalimg\.(\w+)\)", site_version(Path("reference/api.md"), ""))
    assert names[:4] == ["evaluate", "score", "reward", "verify"]


def test_every_public_name_has_a_task() -> None:
    names = [name for group in API_GROUPS.values() for name in group]
    assert sorted(names) == sorted(name for name in formalimg.__all__ if not name.startswith("_"))


def test_every_public_package_has_a_page() -> None:
    assert set(formalimg._PACKAGES) <= set(PACKAGES)


def test_every_page_is_in_the_navigation_once() -> None:
    """In an order of its own: MkDocs would only find out that a page is missing."""
    nav = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").partition("\nnav:\n")[2]
    listed = re.findall(r"[\w./-]+\.md", nav)
    pages = [*(page.relative_to(DOCS) for page in PAGES), *SITE_ONLY]
    assert sorted(name for name in listed if not name.startswith("project/")) == sorted(map(Path.as_posix, pages))


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
    texts += SITE_ONLY.values()
    assert there == {name for text in texts for name in _IMAGE.findall(text)}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(DOCS).as_posix())
def test_a_page_begins_with_what_it_is_for(page: Path) -> None:
    title, first, *_ = page.read_text(encoding="utf-8").split("\n\n")
    assert re.fullmatch(r"# .+", title)
    assert not re.match(r"```|\||#|!\[|[-*] |\d+\. |:::", first), "a sentence, before anything else"
    assert 1 <= len(_SENTENCE_END.split(first.strip())) <= 2, "one sentence or two"
