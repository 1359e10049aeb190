"""The default suites come out as the package knows them, are kept, and are made anew if they were tampered with."""

from __future__ import annotations

from pathlib import Path

import pytest

from formalimg import load
from formalimg.logic import verify
from formalimg.scenes import keeps_margin
from formalimg.suites import take_census


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


@pytest.mark.parametrize("suite", ["natural", "knolling"])
def test_made_on_first_use_and_read_afterwards(suite: str, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORMALIMG_CACHE", str(cache))
    items = load(suite)  # raises if the digest is another
    assert [int(item.id) for item in items] == list(range(2000))
    assert all(item.level == int(item.id) // 200 + 1 for item in items)
    (kept,) = (cache / "suites").glob(f"{suite}-*/items.jsonl")
    written = kept.stat().st_mtime_ns
    assert load(suite) == items
    assert kept.stat().st_mtime_ns == written

    census = take_census(suite, items)
    assert all(0.75 <= share <= 1.25 for share in census.predicate_shares.values())
    assert all(0.75 <= share <= 1.25 for share in census.class_shares.values())
    assert 0.4 <= 1 - census.patterns["exists"] / len(items) <= 0.6
    assert len({item.prompt for item in items}) == len({str(item.spec.formula) for item in items}) == 2000
    for item in items if suite == "knolling" else []:
        assert item.spec.witness is not None
        assert verify(item.spec.formula, item.spec.witness)
        assert keeps_margin(item.spec.formula, item.spec.witness)


def test_a_tampered_suite_is_made_anew(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORMALIMG_CACHE", str(cache))
    (kept,) = (cache / "suites").glob("natural-*/items.jsonl")
    genuine = kept.read_bytes()
    kept.write_bytes(genuine.replace(b"purple", b"yellow"))
    load("natural")
    assert kept.read_bytes() == genuine
