"""Formulas that were made ready are remembered, up to a size: they come from anywhere, and may be long."""

from __future__ import annotations

import pytest

from formalimg.rewards import Scorer, tasks

SHORT = "(exists ?x (Is ?x 'cup'))"


def long(name: str) -> str:
    clauses = " ".join(f"(Is ?x '{name}{number}')" for number in range(150))
    return f"(exists ?x (and {clauses}))"


def test_long_formulas_count_as_several(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tasks, "_MOST_REMEMBERED", 7)
    scorer = Scorer()
    assert 2000 < len(long("a")) <= 3000
    first, second = scorer.ready(long("a")), scorer.ready(long("b"))
    short = scorer.ready(SHORT)
    assert scorer.ready(long("b")) is second
    assert scorer.ready(long("a")) is first  # 3 + 3 + 1
    scorer.ready(long("c"))  # and one too many, so that those who were asked for longest ago go
    assert scorer.ready(long("a")) is first
    assert scorer.ready(SHORT) is not short
    assert scorer.ready(long("b")) is not second
