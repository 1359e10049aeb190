"""Which words and which atoms are shown as failed."""

from __future__ import annotations

from formalimg.benchmarks.registry import suite
from formalimg.stats.observations import Interval, Rate
from formalimg.types import Part
from formalimg.web.viewer.highlight import highlight_formula, highlight_prompt, list_parts
from formalimg.web.viewer.summaries import sparkline

FORMULA = "(exists ?cup (exists ?hat (and (Is ?cup 'cup') (Is ?hat 'hat') (OnTopSide ?cup) (Above ?hat ?cup))))"
PARTS = (
    Part("(Is ?cup 'cup')", "object", 1.0, about=("Is",)),
    Part("(Is ?hat 'hat')", "object", 1.0, about=("Is",)),
    Part("(OnTopSide ?cup)", "attribute", 0.0, about=("OnTopSide",)),
)


def test_atoms_are_told_apart_by_the_clauses_they_stand_in() -> None:
    pieces = highlight_formula(FORMULA, PARTS)
    sorts = {piece.text: piece.kind for piece in pieces if piece.text.startswith("(") and piece.kind}
    assert sorts == {
        "(Is ?cup 'cup')": "holds",
        "(Is ?hat 'hat')": "holds",
        "(OnTopSide ?cup)": "fails",
        "(Above ?hat ?cup)": "open",
    }
    assert "".join("".join(piece.text for piece in pieces).split()) == "".join(FORMULA.split())


def test_an_atom_that_fails_in_one_clause_is_not_shown_as_holding() -> None:
    parts = [Part("(or (Is ?x 'cup') (Is ?x 'hat'))", "object", 1.0), Part("(Is ?x 'cup')", "object", 0.0)]
    sorts = {piece.text: piece.kind for piece in highlight_formula("(exists ?x (Is ?x 'cup'))", parts)}
    assert sorts["(Is ?x 'cup')"] == "fails"


def test_a_formula_that_cannot_be_read_is_shown_as_it_is() -> None:
    assert "".join(piece.text for piece in highlight_formula("(and (Oops", PARTS)) == "(and (Oops"


def test_the_phrase_of_a_failed_predicate_is_marked_in_the_prompt() -> None:
    prompt = "There is a cup in the upper half of the image. The hat is above the cup."
    phrases = highlight_prompt(prompt, PARTS, suite("knolling"))
    assert [phrase.text for phrase in phrases if phrase.failed] == ["in the upper half of the image"]
    assert "".join(phrase.text for phrase in phrases) == prompt


def clauses(*texts: str) -> list[Part]:
    """The parts of a verdict; those with ✗ in front failed."""
    return [Part(text.removeprefix("✗"), "relation", float(not text.startswith("✗"))) for text in texts]


def with_marks(prompt: str, parts: list[Part], name: str) -> str:
    return "".join(f"[{one.text}]" if one.failed else one.text for one in highlight_prompt(prompt, parts, suite(name)))


def test_of_two_alike_phrases_the_one_that_says_what_failed_is_marked() -> None:
    objects = ["(Is ?a 'stapler')", "(Is ?b 'wrench')", "(Is ?c 'plate')", "(OnTopSide ?c)"]
    prompt = (
        "The image shows a stapler, a wrench and a plate. The stapler is {} the wrench, which is {} the plate. "
        "The plate and the wrench are {}."
    )
    here, there = "to the right of", "in the upper half of the image"
    parts = clauses(*objects, "✗(RightOf ?a ?b)", "(RightOf ?b ?c)", "(OnTopSide ?b)")
    assert with_marks(prompt.format(here, here, there), parts, "knolling") == prompt.format(f"[{here}]", here, there)
    parts = clauses(*objects, "(RightOf ?a ?b)", "✗(RightOf ?b ?c)", "✗(OnTopSide ?b)")
    marked_so = prompt.format(here, f"[{here}]", f"[{there}]")
    assert with_marks(prompt.format(here, here, there), parts, "knolling") == marked_so


def test_places_and_directions_are_marked_in_their_short_forms() -> None:
    objects = ["(Is ?a 'cup')", "(Is ?b 'pen')", "(Is ?c 'hat')"]
    prompt = (
        "A cup, a pen and a hat are arranged {}. The cup is in the left half of the image, and the hat is {}. "
        "It is also in one row with the cup."
    )
    here, there = "from left to right", "in the upper half"
    relations = ("(LeftOf ?a ?b)", "✗(LeftOf ?b ?c)", "(OnLeftSide ?a)", "(AlignedHorizontally ?c ?a)")
    parts = clauses(*objects, *relations, "✗(OnTopSide ?c)")
    marked = prompt.format(f"[{here}]", f"[{there}]")
    assert with_marks(prompt.format(here, there), parts, "knolling") == marked


def test_what_fails_under_a_condition_is_marked_where_it_is_said_and_not_the_condition() -> None:
    guard = "(not (Is ?x 'donut'))"
    parts = clauses(
        "(Is ?cup 'cup')",
        "(Is ?hat 'hat')",
        "(LeftOf ?cup ?hat)",
        f"(or {guard} (Is ?sock 'sock'))",
        f"✗(or {guard} (LeftOf ?sock ?x))",
        "(Is ?some_donut 'donut')",
    )
    prompt = "A cup is to the left of a hat. For every donut there is a sock to its left."
    assert with_marks(prompt, parts, "knolling") == prompt.replace("to its left", "[to its left]")


def test_an_object_whose_name_is_part_of_another_is_not_marked_for_it() -> None:
    parts = clauses("✗(Is ?a 'car')", "(Is ?b 'toy car')", "(NextTo ?b ?a)")
    assert with_marks("A toy car is beside a car.", parts, "natural") == "A toy car is beside a [car]."


def test_in_words_that_are_not_ours_only_phrases_of_failed_parts_alone_are_marked() -> None:
    parts = clauses("(Is ?a 'cup')", "(Is ?b 'hat')", "✗(Above ?a ?b)", "(Above ?b ?c)", "✗(InCenter ?a)")
    prompt = "Paint a cup above a hat, the hat above all, and the cup in the center of the image!"
    where = "in the center of the image"
    assert with_marks(prompt, parts, "knolling") == prompt.replace(where, f"[{where}]")


def test_values_of_concepts_are_marked_as_words_and_only_where_no_part_with_them_holds() -> None:
    parts = [
        Part("Is it red?", "color", 0.0, about=("red",)),
        Part("Is there a cat?", "object", 0.0, about=("cat",)),
        Part("Is the bird blue?", "color", 0.0, about=("blue",)),
        Part("Is the hill blue?", "color", 1.0, about=("blue",)),
    ]
    assert with_marks("Red cats on a bored blue hill.", parts, "conceptmix") == "[Red] [cats] on a bored blue hill."


def test_values_of_concepts_are_marked_in_the_forms_that_prompts_have() -> None:
    asked = [("number", "3"), ("shape", "circle"), ("style", "surrealism"), ("object", "lion")]
    parts = [Part("?", kind, 0.0, about=(value,)) for kind, value in asked]
    prompt = "A surrealist image shows three circular lions."
    assert with_marks(prompt, parts, "conceptmix") == "A [surrealist] image shows [three] [circular] [lions]."


def test_a_curve_is_broken_where_a_level_has_no_figure() -> None:
    rates = {level: Rate(1, 2, 2, value, Interval(0.1, 0.9)) for level, value in ((1, 1.0), (2, 0.5), (4, 0.0))}
    drawn = sparkline(rates, (1, 2, 3, 4))
    assert [letter for letter in drawn.line if letter.isalpha()] == ["M", "L", "M"]
    assert drawn.words == "1: 1.00, 2: 0.50, 4: 0.00"
    assert sparkline({}, ()).ends is None


def test_of_a_rule_that_fails_the_condition_is_not_what_failed() -> None:
    formula = "(forall ?cup (implies (Is ?cup 'cup') (OnLeftSide ?cup)))"
    parts = (
        Part("(or (not (Is ?cup 'cup')) (OnLeftSide ?cup))", "condition", 0, reason="?cup = red cup #0: 782 ≥ 500"),
    )
    sorts = {piece.text: piece.kind for piece in highlight_formula(formula, parts)}
    assert sorts["(Is ?cup 'cup')"] == "holds"
    assert sorts["(OnLeftSide ?cup)"] == "fails"
    denied = highlight_formula("(forall ?cup (not (Is ?cup 'cup')))", [Part("(not (Is ?cup 'cup'))", "condition", 0)])
    assert "fails" in [piece.kind for piece in denied if piece.text == "(Is ?cup 'cup')"]
    (shown,) = list_parts(parts, formula, suite("knolling"))
    assert shown.words.lower().count("cup") == 1
    assert "left half" in shown.words
    assert shown.reason == "red cup #0: 782 ≥ 500"
