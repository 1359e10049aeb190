"""Clauses of formulas as English sentences, as failures name them."""

from __future__ import annotations

import pytest

import formalimg
from formalimg.language.lexicon import WordingError
from formalimg.language.realization import clause_in_words
from formalimg.logic.parser import parse
from formalimg.logic.prenex import clauses
from tests.support.sizes import tries

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
