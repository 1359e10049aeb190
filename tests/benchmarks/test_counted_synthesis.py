"""Items that count: proven, exact, in good English, and the default suite made of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import pytest

from formalimg import load
from formalimg.benchmarks.formal.spec import FormulaSpec
from formalimg.benchmarks.formal.synthesis.generator import ItemSlot, Recipe, SynthesisError, make_item, make_items
from formalimg.language.equivalence import is_equivalent_as_written
from formalimg.language.parser import parse_prompt
from formalimg.language.realization import realize
from formalimg.logic.checks import check
from formalimg.logic.parser import parse
from formalimg.logic.prenex import complexity
from formalimg.logic.syntax import Count, Formula, subformulas
from formalimg.logic.verification import verify
from formalimg.scenes.rules import AS_READ
from formalimg.scenes.scene import Scene
from formalimg.scenes.solver.inequalities import keeps_margin
from formalimg.types import Item
from tests.support.command import formalimg
from tests.support.sizes import tries

LEVELS = (1, 2, 3, 4, 5)


def counts_of(formula: Formula) -> list[Count]:
    return [part for part in subformulas(formula) if isinstance(part, Count)]


def assert_sound(items: Sequence[Item[FormulaSpec]]) -> None:
    for item in items:
        formula, witness = item.spec.formula, item.spec.witness
        assert check(formula, "knolling", k=item.level, single_component=True) == []
        assert complexity(formula) == item.level
        counts = counts_of(formula)
        assert counts
        assert all(1 <= count.number <= 6 for count in counts)
        assert any(count.bound != "at-most" for count in counts)
        assert witness is not None
        assert verify(formula, witness)
        assert keeps_margin(formula, witness, AS_READ)
        assert not verify(formula, Scene(()))
        assert is_equivalent_as_written(parse_prompt(item.prompt, "knolling"), formula), item.prompt


def test_items_that_are_made_keep_their_promises() -> None:
    items = make_items(Recipe("knolling-counts", LEVELS, tries(2, 40), seed=7)).items
    assert {item.suite for item in items} == {"knolling-counts"}
    assert_sound(items)


def test_the_default_items_keep_them_too() -> None:
    items = load("knolling-counts")
    assert Counter(item.level for item in items) == dict.fromkeys(LEVELS, 200)
    assert {count.number for item in items for count in counts_of(item.spec.formula)} == {1, 2, 3, 4, 5, 6}
    assert len({item.prompt for item in items}) == len(items)
    assert_sound(items[:: tries(20, 1)])


def test_the_default_formulas_are_made_again_alike() -> None:
    """Stored prompts keep the wording of their version; they state the formula in either."""
    items = load("knolling-counts")
    recipe = Recipe("knolling-counts", LEVELS)
    # Of 23, the first draw is item 10; of 604, it had two objects in one place.
    for number in {*range(3, 1000, tries(450, 20)), 23, 604}:
        earlier = {text for item in items[:number] for text in (item.prompt, str(item.spec.formula))}
        slot = ItemSlot(number, number // 200 + 1)
        attempt = make_item(recipe, slot)
        while not earlier.isdisjoint((attempt.item.prompt, str(attempt.item.spec.formula))):
            attempt = make_item(recipe, slot._replace(first_draw=attempt.draw + 1))
        made = attempt.item
        assert made.spec.formula == items[number].spec.formula
        assert is_equivalent_as_written(parse_prompt(items[number].prompt, "knolling"), made.spec.formula)
        assert is_equivalent_as_written(parse_prompt(made.prompt, "knolling"), made.spec.formula)


def test_numbers_of_a_rule_are_said_of_more_than_one() -> None:
    formula = parse(
        "(forall ?s (implies (Is ?s 'scissors') (exactly 2 ?x (and (Is ?x 'fork') (Above ?x ?s) (SmallerThan ?x ?s)))))"
    )
    for seed in range(4):
        text = realize(formula, "knolling", seed=seed)
        assert "the scissors and smaller than them" in text or "the scissors and is smaller than them" in text, text


@pytest.mark.parametrize("suite", ["natural", "conceptmix"])
def test_what_cannot_be_counted_is_refused_with_a_reason(suite: str) -> None:
    done = formalimg("items", "synth", suite, "--counting", "--out", "nowhere")
    assert done.code == 2
    assert f"{suite} has no --counting: counts are proven by placing boxes" in done.err


def test_a_number_of_objects_beside_counts_is_refused() -> None:
    with pytest.raises(SynthesisError, match="leave out the number of objects"):
        Recipe("knolling-counts", (1,), 1, objects=10)
