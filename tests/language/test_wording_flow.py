"""How sentences go on from one another: rules in several sentences, pronouns, relative clauses, and false orders."""

from __future__ import annotations

import re

import pytest

from formalimg.benchmarks.loader import load
from formalimg.language.equivalence import is_equivalent_as_written
from formalimg.language.lexicon import WordingError
from formalimg.language.parser import parse_prompt
from formalimg.language.realization import realize
from formalimg.logic.parser import parse
from formalimg.logic.syntax import Forall, subformulas
from formalimg.logic.vocabulary import vocabulary
from tests.language.test_wording_round_trip import SUITES, TASTES, made
from tests.support.sayable_formulas import Sayable, Taste
from tests.support.sizes import tries

RULE = "(forall ?c (implies (Is ?c 'cup') (and (Has ?c 'red') {})))"
FORK = "(exists ?f (and (Is ?f 'fork') (LeftOf ?c ?f) {}))"
DIRECTIONS = ("LeftOf", "RightOf", "Above", "Below")


def reads_as(text: str, formula: str, suite: str = "knolling") -> bool:
    return is_equivalent_as_written(parse_prompt(text, suite), parse(formula))


@pytest.mark.parametrize("taste", TASTES)
@pytest.mark.parametrize("suite", SUITES)
def test_sentences_are_plain_and_claim_no_false_order(suite: str, taste: str) -> None:
    """Checked on the text and the predicates of the formula alone."""
    for seed, formula in made(suite, taste, tries(25, 400)):
        text = realize(formula, suite, seed=seed)
        assert ";" not in text
        assert "in this order" not in text
        for start, end in re.findall(r"arranged from (\w+) to (\w+)", text):
            predicate = {"left": "LeftOf", "right": "RightOf", "top": "Above", "bottom": "Below"}[start]
            assert f"({predicate} " in str(formula), (text, end)
        if not any(f"({name} " in str(formula) for name in DIRECTIONS):
            assert "arranged" not in text


@pytest.mark.parametrize("suite", SUITES)
def test_what_follows_every_calls_an_object_of_the_rule_or_says_in_each_case(suite: str) -> None:
    """No sentence of a rule can be taken for one about the whole image: its text alone names an object of the rule."""
    several = 0
    nouns = "|".join(sorted((word.replace("_", " ") for word in vocabulary(suite).words["class"]), key=len)[::-1])
    for seed in range(tries(60, 600)):
        formula = Sayable(suite, seed, Taste(twins=0)).formula(seed % 10 + 1)
        if sum(isinstance(part, Forall) for part in subformulas(formula)) != 1:
            continue
        text = realize(formula, suite, seed=seed)
        if "second" in text or "particular" in text:  # objects of one class, whose nouns are the same
            continue
        sentences = re.split(r"(?<=\.) ", text)
        first = next(
            n for n, sentence in enumerate(sentences) if re.search(r"\b(every|all)\b", sentence, re.IGNORECASE)
        )
        outside = set(re.findall(rf"\ban? (?:\w+ )*?({nouns})\b", " ".join(sentences[:first]), re.IGNORECASE))
        for sentence in sentences[first + 1 :]:
            several += 1
            called = set(re.findall(rf"\bthe (?:(?!an?\b)[a-z]+ )?({nouns})\b", sentence, re.IGNORECASE))
            assert sentence.startswith(("In each case, ", "It ", "He ", "She ")) or called - outside, text
    assert several > tries(10, 100)


@pytest.mark.parametrize(
    ("text", "body"),
    [
        ("Every cup is red. It is to the left of a fork.", FORK.format("")),
        ("Every cup is red and is to the left of a fork. The fork is green.", FORK.format("(Has ?f 'green')")),
        ("Every cup is red and is to the left of a fork, which is green.", FORK.format("(Has ?f 'green')")),
        ("Every cup is red. In each case, there is a pen.", "(exists ?p (Is ?p 'pen'))"),
        ("Every cup is red. A pen lies above the cup.", "(exists ?p (and (Is ?p 'pen') (Above ?p ?c)))"),
        (
            "Every cup is red. It lies to the left of a fork, a pen and a pan.",
            "(exists ?f (exists ?p (exists ?q (and (Is ?f 'fork') (LeftOf ?c ?f) (Is ?p 'pen') (LeftOf ?c ?p)"
            " (Is ?q 'pan') (LeftOf ?c ?q)))))",
        ),
    ],
)
def test_a_rule_goes_on_in_sentences_that_call_its_objects(text: str, body: str) -> None:
    assert reads_as(text, RULE.format(body))


def test_a_sentence_that_calls_nothing_of_the_rule_is_outside_of_it() -> None:
    inside = "(forall ?c (implies (Is ?c 'cup') (Has ?c 'red')))"
    assert reads_as("Every cup is red. There is a pen.", f"(and {inside} (exists ?p (Is ?p 'pen')))")
    two = "(forall ?c (implies (Is ?c 'cup') (exists ?p (and (Is ?p 'pen') (Above ?p ?c)))))"
    text = "Every cup has a pen above it. Every fork has a pen above it. The pen is red."
    second = "(forall ?f (implies (Is ?f 'fork') (exists ?p (and (Is ?p 'pen') (Above ?p ?f) (Has ?p 'red')))))"
    assert reads_as(text, f"(and {two} {second})")


@pytest.mark.parametrize(
    ("suite", "text"),
    [
        ("knolling", "There is a cup. It is red."),
        ("knolling", "A cup and a fork are red. It is above a pen."),
        ("knolling", "A cup is above a fork. He is red."),
        ("knolling", "In each case, there is a cup."),
        ("knolling", "A cup is red, which is above a fork."),
        ("knolling", "A cup lies red."),
        ("natural", "A cat sits on a rug."),
        ("natural", "A cat and a cup sit on a rug."),
        ("knolling", "A cup and a fork are arranged in this order."),
        ("knolling", "A cup, a fork and a pen are each above the next."),
    ],
)
def test_what_could_be_meant_in_two_ways_is_not_read(suite: str, text: str) -> None:
    with pytest.raises(WordingError):
        parse_prompt(text, suite)


def test_an_aligned_chain_gives_pairs_and_no_order() -> None:
    names, classes = "abcd", ("cup", "fork", "pen", "pan")
    objects = " ".join(f"(Is ?{name} '{word}')" for name, word in zip(names, classes, strict=True))
    pairs = "(AlignedVertically ?a ?b) (AlignedVertically ?b ?c) (AlignedVertically ?c ?d)"
    chain = parse("".join(f"(exists ?{name} " for name in names) + f"(and {objects} {pairs})" + ")" * 4)
    texts = {realize(chain, "knolling", seed=seed) for seed in range(30)}
    assert any("vertically aligned with the next one named" in text for text in texts)
    assert not any("order" in text or "form one" in text for text in texts)


def test_a_place_names_the_image_once() -> None:
    formula = parse("(exists ?a (exists ?b (and (Is ?a 'cup') (Is ?b 'pen') (OnTopSide ?a) (OnLeftSide ?b))))")
    for seed in range(20):
        assert realize(formula, "knolling", seed=seed).count("of the image") == 1
    assert reads_as("A cup is in the top half. A pen is on the left side of the image.", str(formula))


@pytest.mark.parametrize("suite", ["knolling", "natural", "knolling-counts"])
def test_stored_prompts_of_earlier_versions_are_read(suite: str) -> None:
    items = list(load(suite))
    for item in items[:: tries(60, 1)]:
        words = "natural" if suite == "natural" else "knolling"
        assert is_equivalent_as_written(parse_prompt(item.prompt, words), item.spec.formula), item.prompt


def test_words_and_patterns_of_earlier_versions_are_read() -> None:
    """Items of version 2 have these; their stored prompts must stay readable when the shipped ones are others."""
    text = (
        "Make an image in the knolling style, seen straight from above. A cup, a fork and a pen are arranged in this"
        " order, each to the left of the next and in one row with it. Every hat is red; the cup is above the hat; and"
        " there is a bowl below the pen."
    )
    formula = (
        "(exists ?c (exists ?f (exists ?p (and (Is ?c 'cup') (Is ?f 'fork') (Is ?p 'pen') (LeftOf ?c ?f) (LeftOf ?f ?p)"
        " (AlignedHorizontally ?c ?f) (AlignedHorizontally ?f ?p) (forall ?h (implies (Is ?h 'hat') (exists ?b (and"
        " (Has ?h 'red') (Above ?c ?h) (Is ?b 'bowl') (Below ?b ?p)))))))))"
    )
    assert reads_as(text, formula)


def test_an_adjective_stands_before_the_words_that_count_a_thing() -> None:
    fruit = "(exists ?f (and (Is ?f 'fruit') (HasShape ?f 'round') (HasColor ?f 'red')))"
    glasses = "(exists ?g (and (Is ?g 'glasses') (HasShape ?g 'round')))"
    assert "a round red piece of fruit" in realize(parse(fruit), "natural").lower()
    assert "a pair of round glasses" in realize(parse(glasses), "natural").lower()
    for words in ("round red piece of fruit", "piece of round red fruit"):
        assert reads_as(f"There is a {words}.", fruit, "natural")


def test_one_relation_to_two_objects_is_said_once() -> None:
    names = "(Is ?b 'bowl') (Is ?r 'remote')"
    relations = "(Below ?f ?b) (AlignedVertically ?f ?b) (AlignedVertically ?f ?r)"
    text = f"(exists ?b (exists ?r (and {names} (forall ?f (implies (Is ?f 'fork') (and {relations}))))))"
    for seed in range(20):
        words = realize(parse(text), "knolling", seed=seed)
        assert len(re.findall("aligned with|in one column with", words)) == 1, words


def test_it_is_not_said_where_it_could_be_another_thing() -> None:
    inside = "(exists ?b (exists ?s (and (Is ?b 'bus') (In ?j ?b) (Is ?s 'spoon') (In ?s ?j))))"
    jackets = parse(f"(forall ?j (implies (Is ?j 'jacket') {inside}))")
    texts = {realize(jackets, "natural", seed=seed) for seed in range(40)}
    assert not any("bus and has" in text or "bus, and has" in text for text in texts)


def test_the_next_sentence_says_it_only_of_the_one_thing_named() -> None:
    body = "(Is ?l 'lion') (Is ?t 'toy car') (Holding ?l ?t) (Is ?h 'hat') (On ?h ?l) (HasColor ?l 'brown')"
    formula = parse(f"(exists ?l (exists ?t (exists ?h (and {body}))))")
    for seed in range(40):
        assert "It " not in realize(formula, "natural", seed=seed)
