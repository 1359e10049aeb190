"""The default suites that ship with the package: sound, and refused when damaged."""

from __future__ import annotations

import gc
import gzip
import tomllib
from dataclasses import replace
from importlib.resources import files
from pathlib import Path

import pytest

from formalimg import load
from formalimg.errors import FormalimgError
from formalimg.suites import DigestError, instruction_digest, suite_names
from formalimg.suites.defaults import load_default
from formalimg.suites.items_file import read_lines
from formalimg.suites.record import ItemFindings
from tests.support.sizes import tries

SHIPPED = files("formalimg.suites") / "default_items"


@pytest.mark.parametrize(
    "suite", sorted(path.name.removesuffix(".jsonl.gz") for path in SHIPPED.iterdir() if path.name.endswith(".gz"))
)
def test_reading_them_strictly_finds_nothing_and_gives_the_same(suite: str, tmp_path: Path) -> None:
    step = tries(20, 1)
    lines = gzip.decompress((SHIPPED / f"{suite}.jsonl.gz").read_bytes()).splitlines(keepends=True)
    (tmp_path / "items.jsonl").write_bytes(b"".join(lines[::step]))
    findings = ItemFindings()
    name, _, version = suite.partition("@")
    strictly = read_lines(tmp_path / "items.jsonl", name, findings)
    assert not len(findings)
    loaded = load(name, f"@{version}") if version else load(name)
    assert strictly == loaded[::step]
    assert {item.version for item in loaded} == {version or loaded[0].version}
    known = tomllib.loads((SHIPPED / "digests.toml").read_text(encoding="utf-8"))
    assert known["instructions"][suite] == instruction_digest(loaded)


PULLED = {"free-prompts", "questions", "geneval", "geneval2", "t2i-compbench"}
"""Suites whose items are the user's, or may not be shipped."""


def test_every_suite_ships_and_earlier_versions_are_of_such_suites() -> None:
    names = {path.name.removesuffix(".jsonl.gz") for path in SHIPPED.iterdir()} - {"digests.toml"}
    assert {name for name in names if "@" not in name} == set(suite_names()) - PULLED
    assert {name.partition("@")[0] for name in names} == set(suite_names()) - PULLED


def test_the_newest_version_may_be_named_and_an_unknown_one_lists_those_that_ship() -> None:
    newest = load("cf-world")[0].version
    assert load("cf-world", f"@{newest}") == load("cf-world")
    with pytest.raises(FormalimgError, match=f"cf-world .* no version 99: give @1 or @{newest}$"):
        load("cf-world", "@99")


@pytest.mark.parametrize("is_on", [True, False])
def test_garbage_is_not_looked_for_while_they_are_read(is_on: bool) -> None:
    searches: list[str] = []

    def note(phase: str, found: dict[str, int]) -> None:
        searches.append(phase)

    before = gc.get_threshold()
    gc.set_threshold(100)
    gc.callbacks.append(note)
    try:
        if not is_on:
            gc.disable()
        items = load_default("cf-world-rules")
        assert gc.isenabled() is is_on
    finally:
        gc.callbacks.remove(note)
        gc.set_threshold(*before)
        gc.enable()
    assert len(items) > 100
    assert len(searches) <= 20, "the search goes on"


def test_a_damaged_file_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("formalimg.suites.defaults.tomllib.loads", lambda text: {"files": {"knolling": "sha256:0"}})
    with pytest.raises(DigestError, match="install it again"):
        load_default("knolling")


def test_a_style_that_no_formula_demands_is_part_of_what_is_asked() -> None:
    item = load("knolling")[0]
    digests = {instruction_digest([replace(item, spec=replace(item.spec, style=style))]) for style in (None, "a", "b")}
    assert len(digests) == 3
