"""What the sentences look like, what cannot be said, and what cannot be read."""

from __future__ import annotations

import pytest

import formalimg
from formalimg.language.equivalence import is_equivalent_as_written
from formalimg.language.lexicon import WordingError
from formalimg.language.parser import parse_prompt
from formalimg.language.realization import clause_in_words, realize
from formalimg.logic.parser import parse
from formalimg.logic.prenex import clauses
from tests.support.sizes import tries

KNOLLING = "Make a knolling image, seen from above. "
FRAME = "Left and right are the viewer's. "


def wordings(formula: str, suite: str) -> set[str]:
    """All that is said for a formula, without the opening."""
    texts = {realize(parse(formula), suite, seed=seed) for seed in range(60)}
    return {text.removeprefix(KNOLLING).removeprefix(FRAME) for text in texts}


@pytest.mark.parametrize(
    ("suite", "formula", "text"),
    [
        ("knolling", "(exists ?a (and (Is ?a 'apple') (Has ?a 'green')))", "There is a green apple."),
        ("knolling", "(exists ?a (and (Is ?a 'hat') (or (Has ?a 'red'))))", "There is a red hat."),
        (
            "knolling",
            "(exists ?a (exists ?b (exists ?c (and (Is ?a 'cup') (Is ?b 'hat') (Is ?c 'pen')"
            " (LeftOf ?b ?c) (LeftOf ?a ?b)))))",
            "A cup, a hat and a pen are arranged from left to right.",
        ),
        (
            "knolling",
            "(exists ?a (and (Is ?a 'jeans') (OnTopSide ?a)))",
            "A pair of jeans is in the top half of the image.",
        ),
        (
            "knolling",
            "(exists ?a (and (Is ?a 'hat') (OnTopSide ?a) (OnLeftSide ?a)))",
            "A hat is in the upper left quarter of the image.",
        ),
        ("knolling", "(forall ?a (implies (Is ?a 'book') (Has ?a 'green')))", "All books are green."),
        (
            "knolling",
            "(forall ?a (implies (Is ?a 'fork') (exists ?b (and (Is ?b 'cup') (LeftOf ?b ?a)))))",
            "Every fork has a cup to its left.",
        ),
        (
            "knolling",
            "(forall ?a (implies (Is ?a 'fork') (exists ?b (and (Is ?b 'cup') (LeftOf ?b ?a)))))",
            "For every fork there is a cup to its left.",
        ),
        (
            "knolling",
            "(exists ?b (and (Is ?b 'plate') (forall ?a (implies (Is ?a 'fork') (Above ?b ?a)))))",
            "There is a plate that is above every fork.",
        ),
        (
            "knolling",
            "(exists ?b (and (Is ?b 'fork') (OnTopSide ?b) (forall ?a (implies (Is ?a 'fork') (Below ?a ?b)))))",
            "A particular fork is in the top half of the image. Every fork is below that particular fork.",
        ),
        (
            "knolling",
            "(exists ?a (exists ?b (exists ?c (and (Is ?a 'pen') (Is ?b 'book') (Is ?c 'cup')"
            " (AlignedHorizontally ?a ?b) (AlignedHorizontally ?a ?c) (AlignedHorizontally ?b ?c)))))",
            "A pen, a book and a cup together form one row.",
        ),
        (
            "knolling",
            "(exists ?a (exists ?b (and (Is ?a 'cup') (Is ?b 'cup') (Has ?a 'red') (Has ?b 'blue') (Above ?a ?b)"
            " (OnTopSide ?b))))",
            "A red cup is above a blue cup, which is in the top half of the image.",
        ),
        (
            "knolling",
            "(exists ?a (exists ?b (and (Is ?a 'cup') (Is ?b 'cup') (Above ?a ?b))))",
            "A first cup is above a second cup.",
        ),
        (
            "knolling",
            "(exists ?a (and (Is ?a 'cup') (or (Has ?a 'red') (Has ?a 'blue')) (OnTopSide ?a)))",
            "A red or blue cup is in the top half of the image.",
        ),
        ("knolling", "(exists ?a (and (Is ?a 'cup') (not (Has ?a 'red'))))", "There is a cup that is not red."),
        (
            "knolling",
            "(forall ?a (implies (Is ?a 'cup') (not (Has ?a 'red'))))",
            "For every cup, the cup is not red.",
        ),
        ("natural", "(and (IsStyle 'photo') (exists ?a (and (Is ?a 'lamp') (HasState ?a 'on'))))",
         "A photo of a lamp that is switched on."),
        ("natural", "(exists ?a (and (Is ?a 'cat') (HasState ?a 'sleeping') (HasColor ?a 'black')))",
         "There is a sleeping black cat."),
        ("natural", "(exists ?a (and (Is ?a 'orange') (HasColor ?a 'orange')))", "There is an orange orange."),
        (
            "natural",
            "(exists ?a (exists ?b (and (Is ?a 'table') (HasShape ?a 'round') (HasMaterial ?a 'wooden') (Is ?b 'cup')"
            " (On ?b ?a))))",
            "A cup is on a round wooden table.",
        ),
        ("natural", "(and (IsStyle 'oil painting') (forall ?a (implies (Is ?a 'woman') (HasState ?a 'smiling'))))",
         "An oil painting in which every woman is smiling."),
        ("natural", "(forall ?a (implies (Is ?a 'woman') (exists ?b (and (Is ?b 'cup') (LeftOf ?b ?a)))))",
         "Every woman has a cup to her left."),
    ],
)  # fmt: skip
def test_a_formula_can_be_said_like_this(suite: str, formula: str, text: str) -> None:
    assert text in wordings(formula, suite)


def test_a_chain_is_not_said_to_be_a_row() -> None:
    """Alignment is not transitive: a with b and b with c does not give a with c."""
    chain = (
        "(exists ?a (exists ?b (exists ?c (and (Is ?a 'pen') (Is ?b 'book') (Is ?c 'cup') (AlignedHorizontally ?a ?b)"
        " (AlignedHorizontally ?b ?c)))))"
    )
    assert not any("form one row" in text for text in wordings(chain, "knolling"))


def test_direction_and_subject_of_a_relation_are_kept() -> None:
    things = "(exists ?a (exists ?b (and (Is ?a 'cup') (Is ?b 'fork') {})))"
    left, right = things.format("(LeftOf ?a ?b)"), things.format("(RightOf ?b ?a)")
    assert not wordings(left, "knolling") & wordings(right, "knolling")


def test_openings() -> None:
    directed = parse("(exists ?a (exists ?b (and (Is ?a 'cup') (Is ?b 'fork') (LeftOf ?a ?b))))")
    plain = parse("(exists ?a (exists ?b (and (Is ?a 'cup') (Is ?b 'fork') (NextTo ?a ?b))))")
    assert realize(directed, "knolling").startswith(KNOLLING)
    assert realize(directed, "natural").startswith(FRAME)
    assert FRAME not in realize(plain, "natural")


@pytest.mark.parametrize(
    ("formula", "reason"),
    [
        ("(exists ?a (iff (Is ?a 'cup') (Has ?a 'red')))", "no iff"),
        ("(exists ?a (implies (Is ?a 'cup') (Has ?a 'red')))", "directly under a forall"),
        ("(not (exists ?a (Is ?a 'cup')))", "single atoms"),
        ("(exists ?a (and (Is ?a 'cup') (not (and (Has ?a 'red') (OnTopSide ?a)))))", "single atoms"),
        ("(exists ?a (or (Is ?a 'cup') (and (Is ?a 'fork') (Has ?a 'red'))))", "single atoms"),
        ("(forall ?a (implies (Is ?a 'cup') (forall ?b (implies (Is ?b 'fork') (Above ?a ?b)))))", "inside a forall"),
        ("(exists ?a (and (Is ?a 'cup') (Is ?a 'fork')))", "two classes"),
        ("(exists ?a (and (Is ?a 'cup') (Above ?a ?a)))", "to itself"),
        ("(exists ?a (and (Is ?a 'cup') (Is ?a 'cup')))", "twice"),
        ("(exists ?a (exists ?b (Is ?a 'cup')))", "never used"),
        ("(forall ?a (implies (exists ?b (Above ?b ?a)) (Is ?a 'cup')))", "of it alone"),
        ("(exists ?a (Is ?a 'dragon'))", "not one of knolling"),
        ("(exists ?a (Is ?b 'cup'))", "not one of knolling"),
    ],
)
def test_what_cannot_be_said_is_a_clear_error(formula: str, reason: str) -> None:
    with pytest.raises(WordingError, match=reason):
        realize(parse(formula), "knolling")


def test_two_styles_cannot_be_said() -> None:
    with pytest.raises(WordingError, match="style"):
        realize(parse("(and (IsStyle 'photo') (IsStyle 'cartoon') (exists ?a (Is ?a 'cup')))"), "natural")


def test_an_unknown_suite_is_a_clear_error() -> None:
    with pytest.raises(WordingError, match="use knolling or natural"):
        parse_prompt("There is a cup.", "conceptmix")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "says nothing"),
        ("There is a dragon.", "expected a noun"),
        ("There is a cup", "expected '.'"),
        ("There is a jeans.", "pair of jeans"),
        ("The cup is red.", "calls nothing"),
        ("There is a red cup. There is a blue cup. The cup is above the red cup.", "more than one"),
        ("Every fork has a cup to its left. There is a plate. The cup is red.", "calls nothing"),
        ("A cup is larger than it.", "pronoun"),
        ("A cup is kind of red.", "an attribute, a place or a relation"),
        ("A cup and a fork have a plate to their left.", "one subject"),
        ("A cup is red %.", "expected"),
        ("There is a cup. " * 2000, "limit"),
    ],
)
def test_what_cannot_be_read_is_a_clear_error(text: str, reason: str) -> None:
    with pytest.raises(WordingError, match=reason):
        parse_prompt(text, "knolling")


def test_reading_does_not_need_our_own_order_of_words() -> None:
    text = "There is a red cup. The image contains a plate and a fork. The fork is above the cup and below the plate."
    formula = parse(
        "(exists ?p (exists ?c (exists ?f (and (Is ?f 'fork') (Above ?f ?c) (Below ?f ?p) (Is ?p 'plate') (Is ?c 'cup')"
        " (Has ?c 'red')))))"
    )
    assert is_equivalent_as_written(parse_prompt(text, "knolling"), formula)


TWO = "(exists ?x (exists ?y (and (Is ?x 'cup') (Is ?y 'table') ({} ?x ?y))))"
ONE = "(exists ?x (and (Is ?x 'cup') ({})))"


@pytest.mark.parametrize(
    ("formula", "text"),
    [
        (TWO.format("Above"), "There is a cup above a table."),
        (TWO.format("Below"), "A cup is below a table."),
        (TWO.format("LargerThan"), "A cup is larger than a table."),
        (TWO.format("Behind"), "A cup is behind a table."),
        (TWO.format("inFrontOf"), "A cup is in front of a table."),
        (TWO.format("is_near"), "There is a cup near a table."),
        (TWO.format("Inside"), "A cup is in the relation inside to a table."),  # In is said so already
        (ONE.format("OnLeftSide ?x"), "A cup is on the left side of the image."),
        (ONE.format("Shiny ?x"), "A cup is shiny."),
        (ONE.format("HasPattern ?x 'striped'"), "There is a cup that is of the pattern striped."),
        (ONE.format("Above ?x 'red'"), "There is a cup that is of the above red."),
        (ONE.format("Has ?x 'red'"), "There is a cup that is of the quality red."),
    ],
)
def test_predicates_that_the_vocabulary_does_not_have_are_said_by_their_names(formula: str, text: str) -> None:
    """Published natural formulas have some of these."""
    assert text in wordings(formula, "natural")


def test_a_predicate_of_the_other_suite_is_understood_in_natural_texts() -> None:
    assert str(parse_prompt("A cup is above a table.", "natural")).count("(Above ?cup ?table)") == 1
    assert "There is a cup on a fork." in wordings(TWO.format("On").replace("table", "fork"), "knolling")


@pytest.mark.parametrize("formula", [TWO.format("A"), TWO.replace("{} ?x", "Between ?x ?x")])
def test_names_that_make_no_words_are_a_clear_error(formula: str) -> None:
    with pytest.raises(WordingError):
        realize(parse(formula), "natural")


def test_the_pronoun_of_a_pair_agrees_with_its_verb() -> None:
    formula = parse("(exists ?k (exists ?h (and (Is ?k 'keys') (Is ?h 'hat') (OnTopSide ?k) (RightOf ?h ?k))))")
    texts = {realize(formula, "knolling", seed=seed) for seed in range(200)}
    having = {text for text in texts if "keys" in text and (" has a hat" in text or " with a hat" in text)}
    assert having
    assert all("to its right" in text and "their" not in text for text in having), having
    assert all("to their right" in text for text in texts if "keys have a hat" in text)


WHOLE = (
    "(exists ?b (and (Is ?b 'bowl') (Has ?b 'red') (forall ?p (implies (Is ?p 'pizza') "
    "(and (Above ?p ?b) (exists ?f (and (Is ?f 'fork') (LeftOf ?f ?p))))))))"
)


@pytest.mark.parametrize(
    ("clause", "sentence"),
    [
        ("(Is ?b 'bowl')", "There is a bowl."),
        ("(Has ?b 'red')", "There is a red bowl."),
        ("(or (not (Is ?p 'pizza')) (Above ?p ?b))", "There is a bowl. Every pizza is above the bowl."),
        ("(or (not (Is ?p 'pizza')) (LeftOf ?f ?p))", "For every pizza there is a fork to its left."),
        ("(or (not (Is ?p 'pizza')) (Is ?f 'fork'))", "For every pizza there is a fork."),
        ("(Is ?some_pizza 'pizza')", "There is a pizza."),
    ],
)
def test_a_clause_in_words(clause: str, sentence: str) -> None:
    assert clause_in_words(clause, WHOLE, "knolling") == sentence


def test_what_has_no_words_is_refused() -> None:
    with pytest.raises(WordingError, match="it offers a choice"):
        clause_in_words("(or (Has ?b 'red') (Has ?b 'blue'))", WHOLE, "knolling")
    with pytest.raises(WordingError, match="not about one kind of object"):
        clause_in_words("(Above ?p ?b)", WHOLE, "knolling")
    with pytest.raises(formalimg.FormulaError):
        clause_in_words("Is there a bowl?", WHOLE, "knolling")


@pytest.mark.parametrize("suite", ["knolling", "natural"])
def test_every_clause_of_the_suites_has_words(suite: str) -> None:
    items = formalimg.load(suite)
    for item in items[:: len(items) // tries(8, len(items))]:
        for clause in clauses(parse(str(item.spec.formula))):
            text = clause_in_words(clause.text, str(item.spec.formula), suite)
            assert text[0].isupper(), text
            assert text.endswith(".")
            assert "?" not in text
            assert "knolling" not in text
