"""Runs and writings of an earlier version: made anew they are the same, and stored ones still go on and are read."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.golden.capture import (
    DATA,
    RUNS,
    UPDATING,
    Provider,
    check,
    command,
    golden,
    judge,
    keep,
    rows,
    stored,
    without_sentences,
)
from tests.golden.scenarios import BY_NAME, GOES_ON, INTERRUPTED, PRICES, Scenario

pytest.importorskip("openai")


def _beside(scenario: Scenario, folder: Path) -> None:
    for name, text in scenario.files.items():
        (folder / name).write_text(text, encoding="utf-8")


@pytest.mark.parametrize("name", BY_NAME)
def test_made_anew_it_asks_the_same_and_stores_the_same(name: str, tmp_path: Path) -> None:
    scenario = BY_NAME[name]
    _beside(scenario, tmp_path)
    with Provider(f"talks/{name}", scenario.author).serving() as provider:
        done = command(*scenario.arguments, cwd=tmp_path, proxy=provider.url)
    assert done.code == 0, done.out + done.err
    provider.check()
    check(f"stored/{name}", stored(tmp_path / name, tmp_path))
    if (tmp_path / "cache").exists():
        check(f"stored/cache-{name}", stored(tmp_path / "cache", tmp_path))
    if UPDATING == "runs":
        keep(tmp_path / name)


@pytest.mark.parametrize("name", BY_NAME)
def test_what_is_stored_goes_on_and_asks_nothing(name: str, tmp_path: Path) -> None:
    scenario = BY_NAME[name]
    _beside(scenario, tmp_path)
    shutil.copytree(RUNS / name, tmp_path / name)
    databases = sorted((tmp_path / name).glob("*.sqlite"))
    assert databases
    assert stored(tmp_path / name, tmp_path) == golden(f"stored/{name}")
    before = [_settled(path) for path in databases]
    with Provider(f"talks/{name}", None).serving() as provider:
        done = command(*scenario.arguments, cwd=tmp_path, proxy=provider.url)
    assert done.code == 0, done.out + done.err
    assert provider.answered == 0
    assert all(request["path"].startswith("/v1/images/") for request in provider.requests.values())
    assert without_sentences([_settled(path) for path in databases]) == without_sentences(before)


def _settled(database: Path) -> dict[str, list[dict[str, Any]]]:
    """All rows with their times; but what was refused or could not be scored is tried again each time."""
    found = rows(database)
    for row in (*found.get("verdicts", ()), *found.get("pictures", ())):
        if row.get("passed", 0) is None or row.get("status") == "refused":
            row |= {"attempts": None, "seconds": None, "at": None, "cost": None, "unpriced": None}
    return found


def test_an_interrupted_run_is_made_anew_the_same(tmp_path: Path) -> None:
    (tmp_path / "prices.toml").write_text(PRICES, encoding="utf-8")
    with Provider("talks/interrupted", judge).serving() as provider:
        codes = [command(*words, cwd=tmp_path, proxy=provider.url).code for words in INTERRUPTED]
    assert codes == [130, 130]
    provider.check()
    check("stored/interrupted", stored(tmp_path / "interrupted", tmp_path))
    if UPDATING == "runs":
        keep(tmp_path / "interrupted")


def test_a_stored_run_that_was_interrupted_goes_on_where_it_was(tmp_path: Path) -> None:
    (tmp_path / "prices.toml").write_text(PRICES, encoding="utf-8")
    shutil.copytree(RUNS / "interrupted", tmp_path / "interrupted")
    database = tmp_path / "interrupted" / "results.sqlite"
    assert stored(tmp_path / "interrupted", tmp_path) == golden("stored/interrupted")
    before = rows(database)
    assert {row["status"] for row in before["pictures"]} >= {"made", "planned"}
    assert 0 < len(before["verdicts"]) < sum(row["status"] == "made" for row in before["pictures"])
    with Provider("talks/interrupted-goes-on", judge).serving() as provider:
        done = command(*GOES_ON, cwd=tmp_path, proxy=provider.url)
    assert done.code == 0, done.out + done.err
    provider.check()
    after = rows(database)
    assert after["items"] == before["items"]
    assert after["judges"] == before["judges"]
    assert all(row in after["pictures"] for row in before["pictures"] if row["status"] == "made")
    assert all(row in after["verdicts"] for row in before["verdicts"] if row["passed"] is not None)
    assert all(row["status"] in ("made", "refused") for row in after["pictures"])
    check("stored/interrupted-goes-on", stored(tmp_path / "interrupted", tmp_path))


def test_there_is_a_golden_file_for_each_and_no_other() -> None:
    assert {path.name.removesuffix(".json") for path in (DATA / "talks").iterdir()} == {
        *BY_NAME,
        "interrupted",
        "interrupted-goes-on",
    }
