"""Which words and which atoms are shown as failed."""

from __future__ import annotations

from formalimg.judges import Part
from formalimg.stats import Interval, Rate
from formalimg.suites import suite
from formalimg.web.formula import formula_pieces
from formalimg.web.marking import marked
from formalimg.web.sparkline import sparkline

FORMULA = "(exists ?cup (exists ?hat (and (Is ?cup 'cup') (Is ?hat 'hat') (OnTopSide ?cup) (Above ?hat ?cup))))"
PARTS = (
    Part("(Is ?cup 'cup')", "object", 1.0, about=("Is",)),
    Part("(Is ?hat 'hat')", "object", 1.0, about=("Is",)),
    Part("(OnTopSide ?cup)", "attribute", 0.0, about=("OnTopSide",)),
)


def test_atoms_are_told_apart_by_the_clauses_they_stand_in() -> None:
    pieces = formula_pieces(FORMULA, PARTS)
    sorts = {piece.text: piece.sort for piece in pieces if piece.text.startswith("(") and piece.sort}
    assert sorts == {
        "(Is ?cup 'cup')": "holds",
        "(Is ?hat 'hat')": "holds",
        "(OnTopSide ?cup)": "fails",
        "(Above ?hat ?cup)": "open",
    }
    assert "".join("".join(piece.text for piece in pieces).split()) == "".join(FORMULA.split())


def test_an_atom_that_fails_in_one_clause_is_not_shown_as_holding() -> None:
    parts = [Part("(or (Is ?x 'cup') (Is ?x 'hat'))", "object", 1.0), Part("(Is ?x 'cup')", "object", 0.0)]
    sorts = {piece.text: piece.sort for piece in formula_pieces("(exists ?x (Is ?x 'cup'))", parts)}
    assert sorts["(Is ?x 'cup')"] == "fails"


def test_a_formula_that_cannot_be_read_is_shown_as_it_is() -> None:
    assert "".join(piece.text for piece in formula_pieces("(and (Oops", PARTS)) == "(and (Oops"


def test_the_phrase_of_a_failed_predicate_is_marked_in_the_prompt() -> None:
    prompt = "There is a cup in the upper half of the image. The hat is above the cup."
    phrases = marked(prompt, PARTS, suite("knolling"))
    assert [phrase.text for phrase in phrases if phrase.is_at_fault] == ["in the upper half of the image"]
    assert "".join(phrase.text for phrase in phrases) == prompt


def test_values_of_concepts_are_marked_as_words_and_only_where_no_part_with_them_holds() -> None:
    parts = [
        Part("Is it red?", "color", 0.0, about=("red",)),
        Part("Is there a cat?", "object", 0.0, about=("cat",)),
        Part("Is the bird blue?", "color", 0.0, about=("blue",)),
        Part("Is the hill blue?", "color", 1.0, about=("blue",)),
    ]
    phrases = marked("Red cats on a bored blue hill.", parts, suite("conceptmix"))
    assert [phrase.text for phrase in phrases if phrase.is_at_fault] == ["Red", "cats"]


def test_a_curve_is_broken_where_a_level_has_no_figure() -> None:
    rates = {level: Rate(1, 2, 2, value, Interval(0.1, 0.9)) for level, value in ((1, 1.0), (2, 0.5), (4, 0.0))}
    drawn = sparkline(rates, (1, 2, 3, 4))
    assert [letter for letter in drawn.line if letter.isalpha()] == ["M", "L", "M"]
    assert drawn.words == "1: 1.00, 2: 0.50, 4: 0.00"
    assert sparkline({}, ()).ends is None
