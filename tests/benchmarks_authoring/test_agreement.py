"""Words that our own reader understands must say what the formula says; logic decides."""

from __future__ import annotations

from itertools import pairwise

import pytest

from formalimg.benchmarks.formal.authoring.checks import find_agreement
from formalimg.logic.parser import parse
from tests.benchmarks_authoring.scripted import made
from tests.support.sizes import only_in_full

OPENING = "Make an image in the knolling style, seen straight from above."


@pytest.mark.parametrize("suite", ["knolling", "natural"])
def test_our_own_words_agree_with_their_formulas_and_not_with_others(suite: str) -> None:
    items = made(suite, 3, 5)
    for item in items:
        assert find_agreement(item.prompt, item.spec.formula, suite) == "same"
    for item, other in pairwise(items):
        assert find_agreement(item.prompt, other.spec.formula, suite) == "different"


@pytest.mark.parametrize(
    ("words", "formula", "expected"),
    [
        ("A cup is larger than a pen.", "(LargerThan ?a ?b)", "same"),
        ("A cup is larger than a pen.", "(SmallerThan ?b ?a)", "same"),
        ("A cup is larger than a pen.", "(SmallerThan ?a ?b)", "different"),
        ("A cup is horizontally aligned with a pen.", "(AlignedHorizontally ?b ?a)", "same"),
        ("A cup is to the left of a pen.", "(LeftOf ?a ?b)", "same"),
        # By the rules, left and right are no mirror images: an edge is compared with a centre.
        ("A cup is to the left of a pen.", "(RightOf ?b ?a)", "different"),
        ("A cup is to the left of a pen.", "(LeftOf ?a ?b) (Has ?a 'red')", "different"),
        ("A red cup is to the left of a pen.", "(LeftOf ?a ?b)", "different"),
        # Said twice is not said otherwise.
        ("A cup is to the left of a pen.", "(LeftOf ?a ?b) (LeftOf ?a ?b)", "same"),
        ("Cup and pen, arranged with love.", "(LeftOf ?a ?b)", "not understood"),
        ("There are two cups.", "(LeftOf ?a ?b)", "not understood"),
    ],
)
def test_relations_said_the_other_way_round(words: str, formula: str, expected: str) -> None:
    meant = parse(f"(exists ?a (exists ?b (and (Is ?a 'cup') (Is ?b 'pen') {formula})))")
    assert find_agreement(f"{OPENING} {words}", meant, "knolling") == expected


def test_plain_english_says_left_and_right_either_way() -> None:
    """Our own words are exact; in other words, a cup left of a pen is a pen right of a cup."""
    words = "Create a knolling-style picture. A cup is placed to the left of a pen."
    pair = "(exists ?a (exists ?b (and (Is ?a 'cup') (Is ?b 'pen') {})))"
    assert find_agreement(words, parse(pair.format("(LeftOf ?a ?b)")), "knolling") == "same"
    assert find_agreement(words, parse(pair.format("(RightOf ?b ?a)")), "knolling") == "same"
    assert find_agreement(words, parse(pair.format("(RightOf ?a ?b)")), "knolling") == "different"
    assert find_agreement(words, parse(pair.format("(LeftOf ?a ?b) (Has ?b 'red')")), "knolling") == "different"


def test_one_for_all_is_not_one_for_each() -> None:
    each = parse("(forall ?a (implies (Is ?a 'cup') (exists ?b (and (Is ?b 'pen') (AlignedVertically ?a ?b)))))")
    for_all = parse("(exists ?b (and (Is ?b 'pen') (forall ?a (implies (Is ?a 'cup') (AlignedVertically ?a ?b)))))")
    words = f"{OPENING} Every cup is vertically aligned with a pen."
    assert find_agreement(words, each, "knolling") == "same"
    assert find_agreement(words, for_all, "knolling") == "different"


@only_in_full
def test_what_cannot_be_told_apart_is_not_called_different() -> None:
    """If every cup has a pen to its left, the leftmost pen is left of all cups: one for each is one for all here."""
    for_all = parse("(exists ?b (and (Is ?b 'pen') (forall ?a (implies (Is ?a 'cup') (LeftOf ?b ?a)))))")
    assert find_agreement(f"{OPENING} Every cup has a pen to its left.", for_all, "knolling") in ("same", "undecided")


def test_a_slip_in_a_long_instruction_is_found() -> None:
    for item in made("knolling", 10, 3):
        formula = str(item.spec.formula)
        slip = (
            formula.replace("(LeftOf", "(RightOf", 1)
            if "(LeftOf" in formula
            else formula.replace("(Above", "(Below", 1)
        )
        assert slip != formula
        assert find_agreement(item.prompt, parse(slip), "knolling") == "different"
