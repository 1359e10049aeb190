"""Formulas that were made ready are remembered, up to a size: they come from anywhere, and may be long."""

from __future__ import annotations

import pytest

from formalimg.rewards import tasks
from formalimg.rewards.scorer import Scorer

SHORT = "(exists ?x (Is ?x 'cup'))"


def long(name: str) -> str:
    clauses = " ".join(f"(Is ?x '{name}{number}')" for number in range(150))
    return f"(exists ?x (and {clauses}))"


def size(text: str) -> int:
    prepared = Scorer().prepare(text).formula
    assert prepared is not None
    return max(tasks._MIN_CACHED_BYTES, prepared.estimated_bytes)


def test_long_formulas_count_by_the_memory_they_take(monkeypatch: pytest.MonkeyPatch) -> None:
    assert size(long("a")) == size(long("b")) > 10 * size(SHORT)
    monkeypatch.setattr(tasks, "_MAX_CACHED_BYTES", 2 * size(long("a")) + size(SHORT))
    scorer = Scorer()
    first, second = scorer.prepare(long("a")), scorer.prepare(long("b"))
    short = scorer.prepare(SHORT)
    assert scorer.prepare(long("b")) is second
    assert scorer.prepare(long("a")) is first  # all three fit
    scorer.prepare(long("c"))  # and one too many, so that those who were asked for longest ago go
    assert scorer.prepare(long("a")) is first
    assert scorer.prepare(SHORT) is not short
    assert scorer.prepare(long("b")) is not second
