"""The default suites that ship with the package are what its own synthesis makes."""

from __future__ import annotations

import os

import pytest

from formalimg import load
from formalimg.logic import verify
from formalimg.scenes import keeps_margin
from formalimg.suites import (
    ConceptRecipe,
    Recipe,
    count_contents,
    generate_concept_items,
    instruction_digest,
    make_items,
)


@pytest.mark.parametrize("suite", ["natural", "knolling"])
def test_made_anew_they_are_the_same(suite: str) -> None:
    shipped = load(suite)  # raises if the digest is another
    made = make_items(Recipe(suite), jobs=os.cpu_count() or 1).items
    assert instruction_digest(made) == instruction_digest(shipped)


def test_made_anew_the_concepts_are_the_same() -> None:
    assert generate_concept_items(ConceptRecipe()).items == load("conceptmix")


@pytest.mark.parametrize("suite", ["natural", "knolling"])
def test_they_are_balanced_and_proven(suite: str) -> None:
    items = load(suite)
    assert [int(item.id) for item in items] == list(range(2000))
    assert all(item.level == int(item.id) // 200 + 1 for item in items)
    census = count_contents(suite, items)
    assert all(0.75 <= share <= 1.25 for share in census.predicate_shares.values())
    assert all(0.75 <= share <= 1.25 for share in census.class_shares.values())
    assert 0.4 <= 1 - census.patterns["exists"] / len(items) <= 0.6
    assert len({item.prompt for item in items}) == len({str(item.spec.formula) for item in items}) == 2000
    for item in items if suite == "knolling" else []:
        assert item.spec.witness is not None
        assert verify(item.spec.formula, item.spec.witness)
        assert keeps_margin(item.spec.formula, item.spec.witness)
