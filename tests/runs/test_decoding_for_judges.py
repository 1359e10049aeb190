"""Judges of an existing run: only items with an image left to judge are decoded, and bad ones are said at once."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import pytest

from formalimg.benchmarks.items_file import decode_item
from formalimg.errors import FormalimgError
from formalimg.runs.execution import execute, judge_run
from tests.support.models import NumberJudge, Speckles
from tests.support.run_contents import order


@pytest.fixture
def decoded(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The records that are decoded in this test."""
    records: list[str] = []

    def noted(record: str, suite: str) -> Any:
        records.append(record)
        return decode_item(record, suite)

    monkeypatch.setattr("formalimg.runs.reader.decode_item", noted)
    return records


def test_items_that_are_judged_are_not_decoded_again(tmp_path: Path, decoded: list[str]) -> None:
    execute(order(Speckles(), samples=2), tmp_path / "run", NumberJudge())
    assert judge_run(tmp_path / "run", NumberJudge()).judged == 0
    assert not decoded
    other = NumberJudge(settings={"other": 1})
    assert judge_run(tmp_path / "run", other).judged == len(other.judged) == 16
    assert len(set(decoded)) == len(decoded) == 8


def test_a_record_that_cannot_be_read_ends_judging_before_it_begins(tmp_path: Path) -> None:
    execute(order(Speckles()), tmp_path / "run")
    with sqlite3.connect(tmp_path / "run" / "results.sqlite") as database:
        database.execute("UPDATE items SET record = '{' WHERE position = (SELECT max(position) FROM items)")
    judge = NumberJudge()
    with pytest.raises(FormalimgError, match="not valid JSON"):
        judge_run(tmp_path / "run", judge)
    assert not judge.judged
