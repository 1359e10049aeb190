"""Train and test have nothing in common of what they are split by, as read from the text of formulas."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache
from itertools import combinations
from typing import Any

import pytest

from formalimg import FormalimgError, load
from formalimg.benchmarks.export.splits import SPLITS, TrainTestSplit, split_items
from formalimg.benchmarks.formal.spec import FormulaSpec
from formalimg.logic.parser import parse
from formalimg.types import Item

CONVERSE = {"RightOf": "LeftOf", "Below": "Above", "SmallerThan": "LargerThan"}


@cache
def items(name: str = "knolling") -> list[Item[Any]]:
    return load(name)[::5]


def ids(side: list[Item[Any]]) -> set[str]:
    return {item.id for item in side}


def pairs(text: str) -> set[tuple[str, str]]:
    return set(combinations(sorted(set(re.findall(r"\(Is \?\w+ '(\w+)'\)", text))), 2))


def relations(text: str) -> set[str]:
    return {CONVERSE.get(name, name) for name in re.findall(r"\((\w+) \?\w+ \?\w+\)", text) if name != "Distinct"}


@pytest.mark.parametrize(("by", "read"), [("class-pair", pairs), ("relation", relations)])
def test_nothing_that_is_tested_was_trained_on(by: Any, read: Any) -> None:
    split = split_items(items(), by)
    seen, held = (set().union(*(read(item.spec.text) for item in side)) for side in (split.train, split.test))
    assert seen
    assert held
    assert not seen & held
    assert ids(split.train) | ids(split.test) | ids(split.left_out) == ids(items())
    assert sum(map(len, split)) == len(items())
    for item in split.left_out:  # each has a part on either side, and could go to none
        assert read(item.spec.text) & held
        assert read(item.spec.text) - held
    assert 0.09 <= len(split.test) / (len(split.train) + len(split.test)) <= 0.4


@pytest.mark.parametrize("by", SPLITS)
def test_the_same_seed_gives_the_same_split_in_whatever_order_items_come(by: Any) -> None:
    split = split_items(items(), by)
    assert split_items(items()[::-1], by) == split
    assert [item.id for item in split.train] == sorted(ids(split.train), key=int)
    if by == "formula":
        assert ids(split_items(items(), by, seed=1).test) != ids(split.test)


def test_formulas_are_split_level_by_level_and_none_is_left_out() -> None:
    split = split_items(items(), "formula")
    assert split.left_out == []
    for level in range(1, 11):
        tested = sum(item.level == level for item in split.test)
        assert tested == round(0.1 * sum(item.level == level for item in items()))


def test_the_same_formula_stays_together_whatever_its_variables_are_called() -> None:
    few = items()[::20]
    renamed = [
        replace(
            item, id=f"again-{item.id}", spec=FormulaSpec.of(parse(re.sub(r"\?(\w+)", r"?other_\1", item.spec.text)))
        )
        for item in few
    ]
    split = split_items([*few, *renamed], "formula", test_share=0.5)
    assert split.test
    for side in split[:2]:
        assert {item.id.removeprefix("again-") for item in side} == {
            item.id for item in side if not item.id.startswith("again-")
        }


def test_concepts_are_split_by_their_objects_and_relations() -> None:
    concepts = items("conceptmix")

    def named(item: Item[Any], category: str) -> set[str]:
        return {each.value for each in item.spec.drawn if each.category == category}

    split = split_items(concepts, "class-pair")
    seen, held = (
        {pair for item in side for pair in combinations(sorted(named(item, "object")), 2)}
        for side in (split.train, split.test)
    )
    assert held
    assert not seen & held
    by_relation = split_items(concepts, "relation")
    seen_relations, held_relations = (
        {value for item in side for value in named(item, "spatial")} for side in (by_relation.train, by_relation.test)
    )
    assert held_relations
    assert not seen_relations & held_relations
    assert ("left" in held_relations) <= ("right" not in seen_relations)


def test_what_cannot_be_split_is_an_error_in_one_line() -> None:
    with pytest.raises(FormalimgError, match="choose --split formula"):
        split_items(load("cf-world")[:20], "relation")
    with pytest.raises(FormalimgError, match="no item of knolling has a relation"):
        split_items([item for item in items() if item.level == 1], "relation")
    with pytest.raises(FormalimgError, match="too few to split by formula: nothing is left for test"):
        split_items(items()[:2], "formula")
    with pytest.raises(FormalimgError, match="above 0 and below 1"):
        split_items(items(), "formula", test_share=1.0)
    assert isinstance(split_items(items()[:40], "formula"), TrainTestSplit)
