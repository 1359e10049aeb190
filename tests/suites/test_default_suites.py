"""The default suites that ship with the package: sound, and refused when damaged."""

from __future__ import annotations

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
    step = tries(4, 1)
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


def test_every_suite_ships_and_earlier_versions_are_of_such_suites() -> None:
    """All but those whose items are the user's, or are pulled."""
    elsewhere = {"free-prompts", "questions", "geneval"}
    names = {path.name.removesuffix(".jsonl.gz") for path in SHIPPED.iterdir()} - {"digests.toml"}
    assert {name for name in names if "@" not in name} == set(suite_names()) - elsewhere
    assert {name.partition("@")[0] for name in names} == set(suite_names()) - elsewhere


def test_the_newest_version_may_be_named_and_an_unknown_one_lists_those_that_ship() -> None:
    newest = load("knolling")[0].version
    assert load("knolling", f"@{newest}") == load("knolling")
    with pytest.raises(FormalimgError, match=f"knolling .* no version 99: give @{newest}$"):
        load("knolling", "@99")


def test_a_damaged_file_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("formalimg.suites.defaults.tomllib.loads", lambda text: {"files": {"knolling": "sha256:0"}})
    with pytest.raises(DigestError, match="install it again"):
        load_default("knolling")


def test_a_style_that_no_formula_demands_is_part_of_what_is_asked() -> None:
    item = load("knolling")[0]
    digests = {instruction_digest([replace(item, spec=replace(item.spec, style=style))]) for style in (None, "a", "b")}
    assert len(digests) == 3
