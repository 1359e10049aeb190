"""Counts and `distinct` in English: said, read back, read from plain English, and compared."""

from __future__ import annotations

import random

import pytest

from formalimg.language.equivalence import is_equivalent_as_written
from formalimg.language.lexicon import WordingError
from formalimg.language.parser import parse_prompt, understand
from formalimg.language.realization import clause_in_words, realize
from formalimg.logic.checks import check
from formalimg.logic.parser import parse
from formalimg.logic.syntax import Formula
from formalimg.logic.verification import verify
from tests.language.test_wording_round_trip import assert_well_formed, scene_for
from tests.support.sayable_formulas import Sayable, Taste
from tests.support.sizes import tries

OPENING = "Make a knolling image, seen from above. "
TASTES = (Taste(counts=0.5), Taste(logic=0.25, twins=0.4, nameless=0.1, counts=0.5))


def said(formula: str, seed: int = 0) -> str:
    return realize(parse(formula), "knolling", seed=seed).removeprefix(OPENING)


def counted(suite: str, taste: Taste, count: int) -> list[tuple[Formula, str]]:
    """Formulas with their words; those inside which something has no words are few."""
    found = []
    for seed in range(count):
        formula = Sayable(suite, seed, taste).formula(seed % 5 + 1)
        try:
            found.append((formula, realize(formula, suite, seed=seed)))
        except WordingError as error:
            assert "count" in str(error), error
    assert len(found) > 0.85 * count
    assert sum("exactly" in str(formula) for formula, _ in found) > 0.2 * count
    return found


@pytest.mark.parametrize("suite", ["knolling", "natural"])
@pytest.mark.parametrize("taste", TASTES)
def test_random_counted_formulas_come_back_and_are_true_of_the_same_scenes(suite: str, taste: Taste) -> None:
    """Held against the geometry too, so that it does not hang on our own comparison of formulas."""
    chance = random.Random("counts")
    truths = []
    for formula, text in counted(suite, taste, tries(25, 400)):
        parsed = parse_prompt(text, suite)
        assert check(parsed, suite) == [], text
        assert is_equivalent_as_written(parsed, formula), (text, str(formula))
        assert_well_formed(text)
        for _ in range(4 if suite == "knolling" else 0):
            scene = scene_for(formula, chance)
            truths.append(bool(verify(formula, scene)))
            assert bool(verify(parsed, scene)) is truths[-1], text
    assert suite != "knolling" or {*truths} == {True, False}


@pytest.mark.parametrize(
    ("formula", "words"),
    [
        ("(exactly 3 ?x (and (Is ?x 'cup') (Has ?x 'red')))", "There are exactly three red cups."),
        ("(at-most 4 ?x (Is ?x 'keys'))", "There are at most four bunches of keys."),
        ("(exactly 1 ?x (Is ?x 'scissors'))", "There is exactly one pair of scissors."),
        ("(exactly 0 ?x (Is ?x 'knife'))", "There is no knife."),
        ("(at-most 0 ?x (Is ?x 'knife'))", "There is no knife."),
        ("(not (at-least 3 ?x (Is ?x 'knife')))", "There are at most two knives."),
        ("(not (exactly 3 ?x (Is ?x 'knife')))", "There are not exactly three knives."),
        ("(at-least 25 ?x (Is ?x 'donut'))", "There are at least 25 donuts."),
        ("(exists ?p (and (Is ?p 'plate') (at-least 2 ?x (and (Is ?x 'fork') (LeftOf ?x ?p)))))",
         "There is a plate. At least two forks are to the left of the plate."),
        ("(exactly 2 ?x (exists ?p (and (Is ?p 'plate') (Is ?x 'fork') (LeftOf ?x ?p))))",
         "There are exactly two forks that are each to the left of a plate."),
        ("(forall ?p (implies (Is ?p 'plate') (exactly 2 ?x (and (Is ?x 'fork') (LeftOf ?p ?x)))))",
         "For every plate there are exactly two forks that the plate is to the left of."),
        ("(exists ?a (exists ?b (and (Is ?a 'cup') (Is ?b 'cup') (distinct ?a ?b))))",
         "A first cup is different from a second cup."),
    ],
)  # fmt: skip
def test_counts_are_said_in_plain_words(formula: str, words: str) -> None:
    assert said(formula) == words
    assert is_equivalent_as_written(parse_prompt(words, "knolling"), parse(formula))


@pytest.mark.parametrize(
    ("text", "formula"),
    [
        ("three cups", "(exactly 3 ?x (Is ?x 'cup'))"),
        ("There are exactly 3 red cups.", "(exactly 3 ?x (and (Is ?x 'cup') (Has ?x 'red')))"),
        ("There are no fewer than two forks.", "(at-least 2 ?x (Is ?x 'fork'))"),
        ("There are no more than two forks.", "(at-most 2 ?x (Is ?x 'fork'))"),
        ("There is more than one fork.", "(at-least 2 ?x (Is ?x 'fork'))"),
        ("The image shows fewer than three forks.", "(at-most 2 ?x (Is ?x 'fork'))"),
        ("There are no knives.", "(exactly 0 ?x (Is ?x 'knife'))"),
        ("a pair of scissors", "(exists ?x (Is ?x 'scissors'))"),
        ("two pairs of scissors", "(exactly 2 ?x (Is ?x 'scissors'))"),
        ("a dozen donuts", "(exactly 12 ?x (Is ?x 'donut'))"),
        ("a cup and two forks", "(exists ?c (and (Is ?c 'cup') (exactly 2 ?x (Is ?x 'fork'))))"),
        ("There is a plate. Two forks are placed to the left of the plate.",
         "(exists ?p (and (Is ?p 'plate') (exactly 2 ?x (and (Is ?x 'fork') (LeftOf ?x ?p)))))"),
        ("Every plate has two forks to its left.",
         "(forall ?p (implies (Is ?p 'plate') (exactly 2 ?x (and (Is ?x 'fork') (LeftOf ?x ?p)))))"),
    ],
)  # fmt: skip
def test_plain_english_with_numbers_is_read(text: str, formula: str) -> None:
    assert is_equivalent_as_written(understand(text, "knolling").formula, parse(formula))


@pytest.mark.parametrize(
    "text",
    [
        "There are two forks to the left of a plate.",  # one plate, or one for each
        "two cups to the left of every plate",
        "a cup and three cups",
        "three cups, which are red",
        "There are three cups. They are red.",
        "There are three cups. The cup is red.",
        "There are a fork, a spoon and two cups. Both are red.",
        "two plates with a cup to their left",
        "two cups to the left of three plates",
        "a cup and two forks, aligned horizontally",
        "There are twelve objects.",
        "two scissors",
        "several cups",
    ],
)
def test_what_numbers_leave_open_is_refused(text: str) -> None:
    with pytest.raises(WordingError):
        understand(text, "knolling")


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("(exactly 2 ?x (and (Is ?x 'cup') (Has ?x 'red')))", "(exactly 2 ?y (and (Has ?y 'red') (Is ?y 'cup')))",
         True),
        ("(exactly 2 ?x (Is ?x 'cup'))", "(exactly 3 ?x (Is ?x 'cup'))", False),
        ("(exactly 2 ?x (Is ?x 'cup'))", "(at-least 2 ?x (Is ?x 'cup'))", False),
        ("(not (at-most 2 ?x (Is ?x 'cup')))", "(at-least 3 ?x (Is ?x 'cup'))", True),
        ("(not (exactly 2 ?x (Is ?x 'cup')))", "(exactly 2 ?x (Is ?x 'cup'))", False),
        ("(exactly 2 ?x (exists ?p (and (Is ?p 'plate') (On ?x ?p))))",
         "(exists ?p (and (Is ?p 'plate') (exactly 2 ?x (On ?x ?p))))", False),
        ("(exactly 1 ?x (exactly 2 ?y (On ?x ?y)))", "(exactly 1 ?a (exactly 2 ?b (On ?a ?b)))", True),
        ("(exactly 1 ?x (exactly 2 ?y (On ?x ?y)))", "(exactly 2 ?y (exactly 1 ?x (On ?x ?y)))", False),
        ("(exactly 1 ?x (or (and (Is ?x 'cup') (Has ?x 'red')) (Is ?x 'fork')))",
         "(exactly 1 ?y (or (and (Is ?y 'cup') (Has ?y 'red')) (Is ?y 'fork')))", True),
        ("(exists ?a (exists ?b (and (Is ?a 'cup') (Is ?b 'fork') (distinct ?a ?b))))",
         "(exists ?a (exists ?b (and (Is ?a 'cup') (Is ?b 'fork') (distinct ?b ?a))))", True),
    ],
)  # fmt: skip
def test_counts_are_compared_up_to_names(one: str, other: str, same: bool) -> None:
    assert is_equivalent_as_written(parse(one), parse(other)) is same


@pytest.mark.parametrize(
    "formula", ["(exactly 2 ?x (exactly 1 ?y (LeftOf ?x ?y)))", "(exactly 2 ?x (forall ?y (LeftOf ?x ?y)))"]
)
def test_what_cannot_be_said_of_a_count_says_so(formula: str) -> None:
    with pytest.raises(WordingError, match=r"count|object"):
        realize(parse(formula), "knolling")


def test_clauses_that_count_are_said() -> None:
    whole = "(exists ?p (and (Is ?p 'plate') (at-least 2 ?x (and (Is ?x 'fork') (LeftOf ?x ?p)))))"
    part = "(at-least 2 ?x (and (Is ?x 'fork') (LeftOf ?x ?p)))"
    assert clause_in_words(part, whole, "knolling") == said(whole)
    rule = f"(forall ?p (implies (Is ?p 'plate') {part}))"
    clause = f"(or (not (Is ?p 'plate')) {part})"
    assert (
        clause_in_words(clause, rule, "knolling")
        == "For every plate there are at least two forks to the left of the plate."
    )
