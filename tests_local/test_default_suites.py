"""The default suites that ship with the package are what its own synthesis makes."""

from __future__ import annotations

import contextlib
import os

import pytest

from formalimg import load
from formalimg.benchmarks.conceptmix.generation import ConceptRecipe, generate_concept_items
from formalimg.benchmarks.formal.synthesis.generator import ItemSlot, Recipe, make_item, make_items
from formalimg.benchmarks.formal.texts import count_contents
from formalimg.benchmarks.loader import instruction_digest
from formalimg.logic.verification import verify
from formalimg.scenes.solver.inequalities import keeps_margin
from formalimg.scenes.solver.results import SolverLimitError
from formalimg.scenes.solver.spatial import solve_natural
from formalimg.scenes.spatial_relations import is_natural_witness


def test_made_anew_they_are_the_same() -> None:
    shipped = load("knolling")  # raises if the digest is another
    made = make_items(Recipe("knolling"), jobs=os.cpu_count() or 1).items
    assert instruction_digest(made) == instruction_digest(shipped)


def test_made_anew_the_natural_items_are_the_same() -> None:
    shipped = load("natural")
    slots = [ItemSlot(int(item.id), item.level) for item in shipped[::10]]  # all of them take minutes to prove
    made = [make_item(Recipe("natural"), slot).item for slot in slots]
    assert instruction_digest(made) == instruction_digest(shipped[::10])


def test_natural_items_of_version_1_that_contradict_themselves_are_not_in_version_2() -> None:
    second = {item.id: item for item in load("natural", "@2")}
    replaced = [item for item in load("natural", "@1") if item.spec.formula != second[item.id].spec.formula]
    refused = []
    for item in replaced:
        with contextlib.suppress(SolverLimitError):
            refused += [item.id] if not solve_natural(item.spec.formula) else []
    assert len(refused) >= 48
    assert len(replaced) - len(refused) <= 1, "besides, one that no comfortable layout shows"
    assert {"780", "680", "946", "1462"} <= set(refused)


def test_made_anew_the_concepts_are_the_same() -> None:
    assert generate_concept_items(ConceptRecipe()).items == load("conceptmix")


@pytest.mark.parametrize("suite", ["natural", "knolling"])
def test_they_are_balanced_and_proven(suite: str) -> None:
    items = load(suite)
    assert [int(item.id) for item in items] == list(range(2000))
    assert all(item.level == int(item.id) // 200 + 1 for item in items)
    census = count_contents(suite, items)
    # Sensible comes before even: what would contradict itself as read is not drawn, so some predicates are rarer.
    assert all(0.55 <= share <= 1.65 for share in census.predicate_shares.values())
    assert all(0.6 <= share <= 1.35 for share in census.class_shares.values())
    assert 0.6 <= 1 - census.patterns["exists"] / len(items) <= 0.7, "0.67 of the published items"
    assert len({item.prompt for item in items}) == len({str(item.spec.formula) for item in items}) == 2000
    for item in items:
        formula, witness = item.spec.formula, item.spec.witness
        assert witness is not None
        assert verify(formula, witness, style=item.spec.style)
        if suite == "knolling":
            assert keeps_margin(formula, witness)
        else:
            assert is_natural_witness(formula, witness, 20, style=item.spec.style)
