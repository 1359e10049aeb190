"""The formal check of written formulas, and whether their words say what they say."""

from __future__ import annotations

import re
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from formalimg.benchmarks.authoring.outcomes import Rejection
from formalimg.benchmarks.formal.authoring.checks import CheckedFormula, check_formula, find_agreement
from formalimg.benchmarks.formal.authoring.templates import Assignment, FormulaTemplates
from formalimg.benchmarks.loader import load
from formalimg.language.ontology.plausibility import find_implausible
from formalimg.logic.checks import check
from formalimg.logic.parser import parse
from formalimg.logic.prenex import complexity, component_sizes
from formalimg.logic.verification import verify
from formalimg.scenes.solver.inequalities import keeps_margin
from formalimg.scenes.solver.results import Witness
from formalimg.scenes.solver.search import solve
from tests.benchmarks_authoring.scripted import assignment_for, made
from tests.support.sizes import only_in_full, tries

CUP_AND_PEN = Assignment(
    "knolling", 2, ("exists", "exists"), ("cup", "pen"), {"color": ("red",)}, ("Has", "LeftOf", "RightOf", "Above")
)
CAT_AND_CUP = Assignment(
    "natural", 2, ("exists", "exists"), ("cat", "cup", "house"), {"color": ("red",)}, ("HasColor", "In", "Holding")
)


def reason(text: str, assignment: Assignment = CUP_AND_PEN) -> str:
    found = check_formula(text, assignment)
    assert isinstance(found, Rejection)
    assert found.detail
    assert "\n" not in found.detail
    return found.reason


def two(*facts: str, one: str = "cup", other: str = "pen") -> str:
    return f"(exists ?a (exists ?b (and (Is ?a '{one}') (Is ?b '{other}') {' '.join(facts)})))"


@pytest.mark.parametrize("suite", ["knolling", "natural"])
@pytest.mark.parametrize("level", [1, 4, 10][: tries(2, 3)])
def test_right_formulas_pass(suite: str, level: int) -> None:
    for item in made(suite, level, 3):
        found = check_formula(str(item.spec.formula), assignment_for(item))
        assert isinstance(found, CheckedFormula), found
        assert complexity(found.formula) == level
        if suite == "knolling":
            assert found.witness is not None
            assert verify(found.formula, found.witness)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a red cup left of a pen", "no formula"),
        ("(exists ?a (Is ?a 'cup')", "no formula"),
        ("", "no formula"),
        (two("(LeftOf ?a ?c)"), "unbound variable"),
        (f"(exists ?z {two('(LeftOf ?a ?b)')})", "unused variable"),
        (two("(Near ?a ?b)"), "unknown predicate"),
        (two("(LeftOf ?a)"), "wrong number of arguments"),
        (two("(LeftOf ?a 'pen')"), "wrong kind of argument"),
        (two("(LeftOf ?a ?b)", one="spaceship"), "unknown word"),
        (two("(LeftOf ?a ?b)", one="hat"), "not on offer"),
        (two("(Has ?a 'blue') (LeftOf ?a ?b)"), "not on offer"),
        (two("(Below ?a ?b)"), "not on offer"),
        (two("(not (LeftOf ?a ?b))"), "not on offer"),
        (two("(or (LeftOf ?a ?b) (Above ?a ?b))"), "not on offer"),
        ("(forall ?a (exists ?b (and (Is ?a 'cup') (Is ?b 'pen') (LeftOf ?a ?b))))", "not on offer"),
        ("(exists ?a (and (Is ?a 'cup') (exactly 2 ?b (and (Is ?b 'pen') (LeftOf ?a ?b)))))", "not on offer"),
        (two("(LeftOf ?a ?b) (distinct ?a ?b)"), "not on offer"),
        ("(exists ?a (and (Is ?a 'cup') (Has ?a 'red')))", "wrong level"),
        (two("(Has ?a 'red')"), "wrong level"),
        ("(exists ?a (exists ?b (and (Is ?a 'cup') (LeftOf ?a ?b))))", "class not said"),
        ("(exists ?a (exists ?b (and (Is ?a 'cup') (LeftOf ?b ?a))))", "class not said"),
        (two("(LeftOf ?a ?b) (RightOf ?a ?b)"), "contradiction"),
    ],
)
def test_wrong_formulas_are_called_by_their_name(text: str, expected: str) -> None:
    assert reason(text) == expected


def test_a_condition_outside_a_forall_demands_nothing() -> None:
    """A favourite mistake: "there is an object that is red if it is a cup" is true of every image with a pen."""
    offer = Assignment("knolling", 1, ("exists",), ("cup",), {"color": ("red",)}, ("Has",))
    assert reason("(exists ?a (implies (Is ?a 'cup') (Has ?a 'red')))", offer) == "nothing demanded"


def test_endless_formulas_are_too_large() -> None:
    grown = "(LeftOf ?a ?b)"
    for _ in range(30):
        grown = f"(implies (implies {grown} (and (LeftOf ?a ?b) (Above ?a ?b))) (and (LeftOf ?a ?b) (Has ?a 'red')))"
    assert reason(two(grown)) == "too large"
    assert reason("(and " * 5000 + "(Is ?a 'cup')" + ")" * 5000) in ("too large", "no formula")


def test_variables_that_do_not_hang_together_are_several_components() -> None:
    pair = two("(LeftOf ?a ?b)")
    assert reason(f"(and {pair} {pair.replace('LeftOf', 'Above')})") == "several components"


def test_a_style_must_be_the_one_asked_for() -> None:
    scene = two("(In ?a ?b)", one="cat", other="house")
    assert isinstance(check_formula(scene, CAT_AND_CUP), CheckedFormula)
    assert reason(f"(and (IsStyle 'photo') {scene})", CAT_AND_CUP) == "not on offer"


def test_what_no_image_would_show_is_implausible() -> None:
    assert reason(two("(In ?b ?a)", one="cat", other="house"), CAT_AND_CUP) == "implausible"


@only_in_full
def test_scenes_on_a_knifes_edge_are_too_tight() -> None:
    classes = ("cup", "pen", "book", "hat", "sock")
    names = [f"?{word}" for word in classes]
    facts = [f"(Is {name} '{word}')" for name, word in zip(names, classes, strict=True)]
    facts += [f"(Above {one} {other})" for one, other in pairwise(names)]
    facts.append(f"(AlignedHorizontally {names[0]} {names[-1]})")
    text = "".join(f"(exists {name} " for name in names) + f"(and {' '.join(facts)})" + ")" * 5
    assert isinstance(solve(text, margin=0), Witness)
    offer = Assignment("knolling", 5, ("exists",) * 5, classes, {}, ("Above", "AlignedHorizontally"))
    assert reason(text, offer) == "too tight"


@pytest.mark.parametrize("suite", ["knolling", "natural"])
def test_the_examples_in_our_prompts_pass_our_own_check(suite: str) -> None:
    text = FormulaTemplates(suite).asking_to_write(CUP_AND_PEN if suite == "knolling" else CAT_AND_CUP)
    examples = re.findall(
        r"^Level (\d+); quantifiers: ([^;]+); classes: ([^;]+); predicates: ([^;\n]+)(?:; style: (.+))?\n"
        r"prompt: (.+)\nformula: (.+)$",
        text,
        re.MULTILINE,
    )
    assert len(examples) == 3
    for level, quantifiers, classes, predicates, style, prompt, formula in examples:
        colors = {"color": ("yellow", "pink", "black", "red", "green"), "material": ("wooden",)}
        offer = Assignment(
            suite,
            int(level),
            tuple(quantifiers.split(", ")),
            tuple(classes.split(", ")),
            {**colors, "state": ("sleeping", "standing")},
            tuple(predicates.split(", ")),
            None if style in ("", "none") else style,
        )
        found = check_formula(formula, offer)
        assert isinstance(found, CheckedFormula), (formula, found)
        assert find_agreement(prompt, found.formula, suite) != "different"
        used = {name for name in offer.predicates if f"({name} " in formula}
        assert used == set(offer.predicates)


WORDS = [
    "(",
    ")",
    "(and",
    "(exists",
    "(forall",
    "(implies",
    "(not",
    "?a",
    "?b",
    "?c",
    "'cup'",
    "'pen'",
    "'red'",
    "'hat'",
]
TOKENS = st.sampled_from([*WORDS, "(Is", "(Has", "(LeftOf", "(RightOf", "(Above", "(IsStyle"])
FACTS = ["(Is ?a 'cup')", "(Is ?b 'pen')", "(Is ?b 'cup')", "(Has ?a 'red')", "(Has ?b 'blue')", "(LeftOf ?a ?a)"]
RELATIONS = ["(LeftOf ?a ?b)", "(RightOf ?a ?b)", "(Above ?b ?a)", "(forall ?b (implies (Is ?b 'pen') (LeftOf ?a ?b)))"]
PIECES = st.sampled_from([*FACTS, *RELATIONS])
TEXTS = st.lists(TOKENS, max_size=25).map(" ".join) | st.lists(PIECES, min_size=1, max_size=6).map(
    lambda parts: f"(exists ?a (exists ?b (and {' '.join(parts)})))"
)


@settings(max_examples=60, deadline=None)
@given(TEXTS)
def test_whatever_is_written_what_passes_is_sound(text: str) -> None:
    found = check_formula(text, CUP_AND_PEN)
    if isinstance(found, CheckedFormula):
        assert check(found.formula, "knolling", k=2, single_component=True) == []
        assert component_sizes(found.formula) == [2]
        assert found.witness is not None
        assert verify(parse(text), found.witness)
        assert keeps_margin(found.formula, found.witness)


def test_default_natural_items_are_plausible_and_pass() -> None:
    for item in load("natural")[::400]:
        assert find_implausible(item.spec.formula) == []
        assert isinstance(check_formula(str(item.spec.formula), assignment_for(item)), CheckedFormula)


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
