"""Formulas that were made ready are remembered, up to a size: they come from anywhere, and may be long."""

from __future__ import annotations

import pytest

from formalimg.rewards import Scorer, tasks

SHORT = "(exists ?x (Is ?x 'cup'))"


def long(name: str) -> str:
    clauses = " ".join(f"(Is ?x '{name}{number}')" for number in range(150))
    return f"(exists ?x (and {clauses}))"


def test_long_formulas_count_as_several(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tasks, "_MAX_CACHED", 7)
    scorer = Scorer()
    assert 2000 < len(long("a")) <= 3000
    first, second = scorer.prepare(long("a")), scorer.prepare(long("b"))
    short = scorer.prepare(SHORT)
    assert scorer.prepare(long("b")) is second
    assert scorer.prepare(long("a")) is first  # 3 + 3 + 1
    scorer.prepare(long("c"))  # and one too many, so that those who were asked for longest ago go
    assert scorer.prepare(long("a")) is first
    assert scorer.prepare(SHORT) is not short
    assert scorer.prepare(long("b")) is not second
