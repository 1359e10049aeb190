"""A suite of a known kind is one table in suites.toml, and perhaps a module that reads its published files."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType

import pytest

from formalimg.errors import FormalimgError
from formalimg.suites import (
    CATEGORIES,
    DIMENSIONS,
    Imprint,
    Item,
    decode_item,
    encode_item,
    export_suite,
    load,
    suite,
    suite_names,
    write_items,
)
from formalimg.suites import suite as get_suite
from formalimg.suites.record import ItemFindings
from formalimg.suites.registry import KINDS, Suite, _suites


def test_the_suites_that_ship() -> None:
    for name in suite_names():
        known = suite(name)
        assert known.traits.name == known.kind
        assert known.traits.scale == ("score" if known.traits.has_scores else "percent")
        assert set(known.level_names) <= set(range(1, 4))
    assert [name for name in suite_names() if suite(name).has_gate] == ["cf-world"]
    assert [name for name in suite_names() if suite(name).has_style_text] == ["knolling"]
    assert {suite(name).judge for name in suite_names()} == {"scene", "clauses", "questions", "scores"}
    assert KINDS["concepts"].part_kinds == CATEGORIES
    assert KINDS["counterfactual"].part_kinds == DIMENSIONS
    assert suite("knolling").format_level(3) == "K = 3"
    assert suite("cf-world-rules").format_level(2) == "L2"


@pytest.fixture
def mine(monkeypatch: pytest.MonkeyPatch) -> Suite:
    """A suite with questions whose published files are lines of text."""
    first = load("conceptmix")[0]
    module = ModuleType("my_published_files")

    def read_published(path: Path, name: str, findings: ItemFindings) -> list[Item[object]]:
        prompts = path.read_text().splitlines()
        return [Item(name, str(number), 1, prompt, first.spec) for number, prompt in enumerate(prompts)]

    module.read_published = read_published  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "my_published_files", module)
    new = Suite("mine", "My suite", "concepts", "k", None, {}, "conceptmix", "questions", published=module.__name__)
    known = {**_suites(), "mine": new}
    monkeypatch.setattr("formalimg.suites.registry._suites", lambda: known)
    return new


def test_a_new_suite_of_a_known_kind(mine: Suite, tmp_path: Path) -> None:
    assert get_suite("mine") is mine
    (tmp_path / "published.txt").write_text("a cup\na plate\n")
    items = load("mine", tmp_path / "published.txt")
    assert [item.prompt for item in items] == ["a cup", "a plate"]
    assert decode_item(encode_item(items[0]), "mine") == items[0]
    write_items(items, tmp_path / "items")
    assert load("mine", tmp_path / "items") == items
    exported = export_suite("mine", tmp_path / "out", items=tmp_path / "items", imprint=Imprint("CC-BY-4.0"))
    assert exported.items == 2
    assert "2 items of My suite." in (tmp_path / "out" / "DATASHEET.md").read_text()
    with pytest.raises(FormalimgError, match="no items of mine ship with formalimg"):
        load("mine")
