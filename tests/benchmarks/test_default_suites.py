"""The default suites that ship with the package: sound, and refused when damaged."""

from __future__ import annotations

import gc
import gzip
import json
import tomllib
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from formalimg import load
from formalimg.benchmarks.filed_items import _read_listed_tags
from formalimg.benchmarks.items_file import read_lines
from formalimg.benchmarks.loader import DigestError, instruction_digest, load_default, open_items
from formalimg.benchmarks.record import ItemFindings
from formalimg.errors import FormalimgError
from formalimg.types import Item
from tests.support.sizes import tries

SHIPPED = files("formalimg.benchmarks") / "default_items"


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
    opened = open_items(name, f"@{version}" if version else None).items
    assert [_head(item) for item in opened] == [_head(item) for item in loaded]
    assert opened[::200] == loaded[::200]
    assert {item.version for item in loaded} == {version or loaded[0].version}
    known = tomllib.loads((SHIPPED / "digests.toml").read_text(encoding="utf-8"))
    assert known["instructions"][suite] == instruction_digest(loaded)


def _head(item: Item[Any]) -> tuple[object, ...]:
    return item.suite, item.id, item.level, item.tags, item.version


def test_opening_parses_no_line_and_counts_tags_once(monkeypatch: pytest.MonkeyPatch) -> None:
    parsed, counted = [], []

    def loads(text: str | bytes) -> Any:
        parsed.append(text)
        return json.JSONDecoder().decode(text if isinstance(text, str) else text.decode())

    def count_odd(tags: object, skipped: int) -> dict[str, int]:
        counted.append(skipped)
        return {"no-prompt": 2}

    monkeypatch.setattr(json, "loads", loads)
    monkeypatch.setattr("formalimg.benchmarks.loader.count_odd", count_odd)
    opened = open_items("natural")
    assert len(opened.items) == 2000
    assert not parsed
    assert opened.items[7].prompt
    assert len(parsed) == 1
    assert [opened.odd, opened.odd] == ["no-prompt 2"] * 2
    assert counted == [0]


@pytest.mark.parametrize(
    ("line", "tags"),
    [
        (b'{"id": "1", "tags": ["a", "b"]}', b'["a", "b"]'),
        (b'{"id": "1", "prompt": "x"}', b""),
        (b'{"id": "1", "words": ["a", "b"]}', b""),
        (b'{"id": "1", "spec": {"a": 1, "tags": ["a"]}}', b""),
        (b'{"id": "1", "spec": [{"a": 1, "tags": ["a"]}], "words": ["b"]}', b""),
    ],
)
def test_tags_are_those_at_the_end_of_a_line(line: bytes, tags: bytes) -> None:
    assert _read_listed_tags(line) == tags


def test_the_newest_version_may_be_named_and_an_unknown_one_lists_those_that_ship() -> None:
    newest = load("cf-world")[0].version
    versions = " or ".join(f"@{number}" for number in range(1, int(newest) + 1))
    assert load("cf-world", f"@{newest}") == load("cf-world")
    with pytest.raises(FormalimgError, match=f"cf-world .* no version 99: give {versions}$"):
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
    monkeypatch.setattr("formalimg.benchmarks.loader.tomllib.loads", lambda text: {"files": {"knolling": "sha256:0"}})
    with pytest.raises(DigestError, match="install it again"):
        load_default("knolling")


def test_a_style_that_no_formula_demands_is_part_of_what_is_asked() -> None:
    item = load("knolling")[0]
    digests = {instruction_digest([replace(item, spec=replace(item.spec, style=style))]) for style in (None, "a", "b")}
    assert len(digests) == 3
