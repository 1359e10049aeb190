"""Free English: what is read of short prompts, which words are left over, and what is refused, word by word."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from formalimg.benchmarks.prompt_formulas import read_formula
from formalimg.benchmarks.questions.spec import QuestionSpec
from formalimg.judges.grounders.detector_files import coco_classes
from formalimg.language.equivalence import is_equivalent_as_written
from formalimg.language.free_english import read_free_english
from formalimg.language.lexicon import WordingError, plural_of
from formalimg.logic.parser import parse

NOUNS = tuple(coco_classes().words)
KNOWN = tuple(coco_classes().ids)


def read(prompt: str) -> QuestionSpec:
    spec = read_formula(prompt, NOUNS)
    assert isinstance(spec, QuestionSpec), spec
    return spec


@pytest.mark.parametrize(
    ("prompt", "formula", "left_over"),
    [
        ("A green colored zebra.", "(exists ?a (and (Is ?a 'zebra') (HasColor ?a 'green')))", ""),
        ("a grey-coloured kite", "(exists ?a (and (Is ?a 'kite') (HasColor ?a 'gray')))", ""),
        ("Seven buses on the bridge.", "(exactly 7 ?a (Is ?a 'bus'))", "on the bridge"),
        ("One horse and two cows standing in the rain.",
         "(and (exactly 1 ?a (Is ?a 'horse')) (exactly 2 ?b (Is ?b 'cow')))", "standing in the rain"),
        ("A kite underneath a bench.", "(exists ?a (exists ?b (and (Is ?a 'kite') (Is ?b 'bench') (Under ?a ?b))))",
         ""),
        ("a vase on the top of a suitcase",
         "(exists ?a (exists ?b (and (Is ?a 'vase') (Is ?b 'suitcase') (On ?a ?b))))", ""),
        ("a fork on side of a oven", "(exists ?a (exists ?b (and (Is ?a 'fork') (Is ?b 'oven') (NextTo ?a ?b))))", ""),
        ("a bird sitting on a bench", "(exists ?a (exists ?b (and (Is ?a 'bird') (Is ?b 'bench') (On ?a ?b))))",
         "sitting"),
        (
            "a small white dog and red apples",
            "(exists ?a (and (Is ?a 'dog') (HasColor ?a 'white')"
            " (at-least 2 ?b (and (Is ?b 'apple') (HasColor ?b 'red')))))",
            "small",
        ),
        ("three frogs jumped near a truck", "(exists ?b (and (Is ?b 'truck') (exactly 3 ?a (Is ?a 'frog'))))",
         "jumped near"),
        ("a horse in a meadow", "(exists ?a (Is ?a 'horse'))", "in a meadow"),
        ("a horse chasing a postman", "(exists ?a (exists ?b (and (Is ?a 'horse') (Is ?b 'postman'))))", "chasing"),
        ("a red school bus", "(exists ?a (and (Is ?a 'school bus') (HasColor ?a 'red')))", ""),
        ("a sign that says 'No Way'", "(exists ?a (Is ?a 'sign'))", "that says 'No Way'"),
        ("two sheep, grazing in Wales", "(exactly 2 ?a (Is ?a 'sheep'))", "grazing in Wales"),
        ("a photo of an orange cat", "(and (IsStyle 'photo') (exists ?a (and (Is ?a 'cat') (HasColor ?a 'orange'))))",
         ""),
        ("a person wearing a tie", "(exists ?a (exists ?b (and (Is ?a 'person') (Is ?b 'tie'))))", "wearing"),
    ],
)  # fmt: skip
def test_what_is_read_and_what_is_left_over(prompt: str, formula: str, left_over: str) -> None:
    spec = read(prompt)
    assert spec.formula is not None
    assert is_equivalent_as_written(spec.formula.formula, parse(formula)), spec.text
    assert spec.left_over == left_over
    asked = [question.question for question in spec.questions]
    assert all(words in text for words, text in zip(left_over.split("; "), asked, strict=bool(left_over)))


@pytest.mark.parametrize(
    ("prompt", "named"),
    [
        ("a dog without a tail", "without"),
        ("a statue of a dog", "statue of a"),
        ("a cat or a dog", "or"),
        ("a gold clock and a vase", "gold"),
        ("a dog dreaming of a cat", "dreaming"),
        ("a pair of birds", "a pair"),
        ("no dogs on the street", "no"),
        ("a black and white cow", "black"),
        ("A stack of 3 books. A book is red.", "of"),
        ("a machine resembling a horse", "resembling"),
        ("an ornate, carved chair", "ornate"),
        ("gravity", "gravity"),
        ("a robot's head", "robot's"),
        ("a Big Ben clock", "big ben"),
    ],
)
def test_what_could_mean_something_else_is_refused_with_the_words(prompt: str, named: str) -> None:
    found = read_formula(prompt, NOUNS)
    assert isinstance(found, WordingError)
    assert named in str(found)


def test_two_relations_of_one_subject_are_not_both_guessed() -> None:
    spec = read("a cat on a chair next to a bench")
    assert "NextTo" not in spec.text
    assert spec.left_over == "next to"
    both = read("a cat and a dog on a couch")
    assert "On" not in both.text
    assert both.left_over == "on"


def test_nouns_of_the_suite_alone_where_nobody_says_what_can_be_looked_for() -> None:
    with pytest.raises(WordingError, match="wombat"):
        read_free_english("a wombat", "natural")
    assert read_free_english("a wombat", "natural", any_noun=True).formula == parse(
        "(exists ?wombat_1 (Is ?wombat_1 'wombat'))"
    )


def test_a_reading_in_part_can_be_declined() -> None:
    assert isinstance(read_formula("Two cars on the street.", NOUNS, partly=False), WordingError)
    assert isinstance(read_formula("Two cars.", NOUNS, partly=False), QuestionSpec)


_COLORS = st.sampled_from(("red", "green", "blue", "yellow", "black", "white", "brown", "pink"))


@given(number=st.integers(2, 12), first=st.sampled_from(KNOWN), second=st.sampled_from(KNOWN), color=_COLORS)
def test_numbers_and_colors_of_all_known_classes_are_read(number: int, first: str, second: str, color: str) -> None:
    if first == second or first in ("scissors", "skis") or second in ("scissors", "skis"):
        return
    spec = read(f"{number} {plural_of(first)} and a {color} colored {second} on the street.")
    wanted = parse(
        f"(exists ?b (and (Is ?b '{second}') (HasColor ?b '{color}') (exactly {number} ?a (Is ?a '{first}'))))"
    )
    assert spec.formula is not None
    assert spec.left_over == "on the street"
    assert is_equivalent_as_written(spec.formula.formula, wanted)


@given(st.text(alphabet="abc ,.'’-12()\n", max_size=60))
def test_any_text_is_read_or_refused(text: str) -> None:
    assert isinstance(read_formula(text, NOUNS), QuestionSpec | WordingError)


_WORDS = (
    "a",
    "two",
    "red",
    "dog",
    "dogs",
    "of",
    "and",
    ",",
    ".",
    "on",
    "the",
    "no",
    "next",
    "to",
    "is",
    "with",
    "'s",
    "run",
)


@given(st.lists(st.sampled_from(_WORDS), max_size=10))
def test_any_words_are_read_or_refused(words: list[str]) -> None:
    found = read_formula(" ".join(words), NOUNS)
    assert isinstance(found, QuestionSpec | WordingError)
    if isinstance(found, QuestionSpec) and found.formula is not None:
        assert "no" not in words or "exactly 0" in found.text
