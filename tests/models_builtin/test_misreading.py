"""The reader loses, swaps and miscounts as its options say, more in long prompts than in short ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import sqrt
from random import Random

import pytest

from formalimg import load
from formalimg.models.builtin.drawn_parser import read_facts
from formalimg.models.builtin.drawn_world import (
    ATTRIBUTE_FACTS,
    MisreadRates,
    ReadFact,
    drawn_world,
    misread,
)
from tests.models_builtin.drawn_reading import as_stated
from tests.support.sizes import tries

NONE = MisreadRates(0, 0, 0, 0, 0, 0)
FACTS = read_facts("A sketch of three red cups to the left of a blue bed. The bed is on a wooden boat.", "conceptmix")


def _remembered(
    facts: Sequence[ReadFact] = FACTS, memory: int = len(FACTS), seed: int = 0, **rates: float
) -> set[tuple[str, ...]]:
    return as_stated(misread(facts, replace(NONE, **rates), memory, Random(seed)))


def test_nothing_is_lost_by_rates_of_zero_or_an_endless_memory() -> None:
    assert misread(FACTS, NONE, 1, Random(0)) == FACTS
    everything = MisreadRates(1, 1, 1, 1, 1, 1)
    assert misread(FACTS, everything, 10**9, Random(0)) == FACTS
    assert misread(FACTS, everything, 1, Random(0)) != FACTS


@pytest.mark.parametrize(
    ("option", "kinds"),
    [("lose_attributes", ATTRIBUTE_FACTS), ("lose_relations", ("relation",)), ("lose_style", ("style",))],
)
def test_a_certain_loss_takes_all_facts_of_its_kind_and_no_others(option: str, kinds: tuple[str, ...]) -> None:
    assert as_stated(misread(FACTS, replace(NONE, **{option: 1}), len(FACTS), Random(0))) == {
        fact for fact in as_stated(FACTS) if fact[0] not in kinds
    }


def test_a_lost_object_takes_with_it_what_is_said_of_it() -> None:
    for seed in range(30):
        found = _remembered(lose_objects=0.5, seed=seed)
        named = {fact[1] for fact in found if fact[0] == "object"}
        assert all(set(fact[2:]) <= named for fact in found if fact[0] != "object")


def test_one_object_is_always_left() -> None:
    lost = replace(NONE, lose_objects=1)
    for prompt in ("a red cup", "a red cup and a bed on a boat"):
        assert misread(read_facts(prompt), lost, 1, Random(0)) == read_facts("a red cup")


def test_a_swap_exchanges_attributes_of_one_kind_and_loses_none() -> None:
    facts = read_facts("A red cup and a blue bed.")
    assert _remembered(facts, lose_attributes=0) == as_stated(facts)
    found = [_remembered(facts, len(facts), seed, swap_attributes=0.5) for seed in range(40)]
    swapped = {("object", "cup"), ("object", "bed"), ("color", "blue", "cup"), ("color", "red", "bed")}
    assert swapped in found
    assert all(sorted(fact[1] for fact in each) == ["bed", "blue", "cup", "red"] for each in found)


def test_a_miscount_is_one_more_or_one_less() -> None:
    found = {fact[1] for seed in range(20) for fact in _remembered(miscount=1, seed=seed) if fact[0] == "number"}
    assert found == {"2", "4"}
    assert {fact for fact in _remembered(miscount=1) if fact[0] != "number"} <= as_stated(FACTS)


@pytest.mark.parametrize("option", ["lose_attributes", "lose_relations", "lose_style"])
def test_a_rate_is_the_chance_per_fact_and_grows_with_the_root_of_the_load(option: str) -> None:
    kinds = {"lose_attributes": ATTRIBUTE_FACTS, "lose_relations": ("relation",), "lose_style": ("style",)}[option]
    for memory in (len(FACTS), 4 * len(FACTS)):
        asked = sum(fact.kind in kinds for fact in FACTS)
        kept = [
            sum(fact.kind in kinds for fact in misread(FACTS, replace(NONE, **{option: 0.4}), memory, Random(seed)))
            for seed in range(1500)
        ]
        lost = 1 - sum(kept) / (asked * len(kept))
        assert lost == pytest.approx(0.4 * sqrt(len(FACTS) / memory), abs=0.05)


def test_one_rate_does_not_change_the_other_failures() -> None:
    for seed in range(30):
        both = _remembered(lose_relations=0.5, lose_style=0.5, seed=seed)
        only = _remembered(lose_relations=0.5, seed=seed)
        assert {fact for fact in both if fact[0] != "style"} == {fact for fact in only if fact[0] != "style"}


@pytest.mark.parametrize("version", [None, "@2"], ids=["newest", "second"])
@pytest.mark.parametrize(("world", "few", "many"), [("natural", 4, 20), ("conceptmix", 2, 7)])
def test_short_prompts_are_remembered_and_long_ones_are_not(
    world: str, few: int, many: int, version: str | None
) -> None:
    remembered: list[tuple[int, bool]] = []
    for item in load(world, version)[:: tries(4, 1)]:
        facts = read_facts(item.prompt, world)
        kept = misread(facts, drawn_world(world).rates, 12, Random(item.prompt))
        remembered.append((len(facts), kept == facts))

    def share(low: int, high: int) -> float:
        kept = [is_kept for count, is_kept in remembered if low <= count < high]
        assert len(kept) > 20
        return sum(kept) / len(kept)

    assert share(0, few + 1) > 0.65 > share(few + 1, many) > share(many, 100)
    assert share(many, 100) < 1 / 3
