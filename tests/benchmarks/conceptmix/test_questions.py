"""Questions: one for each concept, and each can stand alone."""

from __future__ import annotations

import random
import re
from dataclasses import replace

from hypothesis import given as for_all
from hypothesis import settings
from hypothesis import strategies as st

from formalimg.benchmarks.conceptmix.pools import load_pools
from formalimg.benchmarks.conceptmix.questions import template_questions
from formalimg.benchmarks.conceptmix.words import number_word, plural_of, singular_of
from tests.benchmarks.conceptmix.given import drawn, given
from tests.support.sizes import tries

POOLS = load_pools(profile="official-code")


def test_questions_in_the_singular() -> None:
    assert template_questions(*given("huge heart red glass house | man | 2 in front of 1 | style cubism")) == (
        "Does the image contain a house?",
        "Is the house huge compared with the usual size of a house?",
        "Is the house shaped like a heart?",
        "Is the house red?",
        "Does the house look like it is made of glass?",
        "Does the image contain a man?",
        "Is the image in the style of cubism?",
        "Is the man in front of the house, nearer to the viewer?",
    )


def test_questions_in_the_plural() -> None:
    found = given("3 tiny square fluffy sushi | 2 woman | apple | 1 above 2 | 2 inside 3 | 3 bottom 2 | style ink")
    assert template_questions(*found) == (
        "Does the image contain sushi?",
        "Are there exactly three pieces of sushi in the image?",
        "Are the pieces of sushi tiny compared with the usual size of a piece of sushi?",
        "Are the pieces of sushi shaped like squares?",
        "Do the pieces of sushi have a fluffy texture?",
        "Does the image contain at least one woman?",
        "Are there exactly two women in the image?",
        "Does the image contain an apple?",
        "Is the image an ink drawing?",
        "Are the pieces of sushi above the women, without touching them?",
        "Are the women inside the apple?",
        "Is the apple directly underneath the women, touching them?",
    )


def test_numbers_are_asked_for_once() -> None:
    asked = template_questions(*given("3 robot | 2 broccoli | car"))
    assert asked[0] == "Does the image contain at least one robot?"
    assert asked[2] == "Does the image contain broccoli?"
    assert asked[4] == "Does the image contain a car?"


def test_people_are_asked_about_as_people_and_colours_as_paint() -> None:
    assert template_questions(*given("black glass man | tiny woman | 2 inside 1 | 1 above 2"))[1:] == (
        "Is the man black all over, as if painted?",
        "Does the man look like he is made of glass?",
        "Does the image contain a woman?",
        "Is the woman tiny compared with the usual size of a woman?",
        "Is the woman inside the man?",
        "Is the man above the woman, without touching her?",
    )
    assert template_questions(*given("2 white woman"))[2] == "Are the women white all over, as if painted?"
    assert template_questions(*given("white oak tree"))[1] == "Is the oak tree white?"


def test_a_relation_of_the_user_is_asked_for_in_its_own_words() -> None:
    concepts, binding = given("cat | dog | 1 next to 2")
    relation = replace(binding.relations[0], description="the {ObjectA} is right {value} the {ObjectB}")
    asked = template_questions(concepts, replace(binding, relations=(relation,)))
    assert asked[-1] == "Is the cat right next to the dog?"


def test_two_of_the_same_name() -> None:
    assert template_questions(*given("cat | +cat | 1 left 2"))[-1] == "Is the cat to the left of another cat?"


@settings(max_examples=tries(60, 150), deadline=None)
@for_all(st.integers(1, 12), st.integers(0, 10**6))
def test_every_concept_has_a_question_about_its_objects(k: int, seed: int) -> None:
    found = drawn(k, POOLS, random.Random(seed))
    questions = template_questions(*found)
    assert len(questions) == len(found.concepts) == k + 1
    for question, (concept, numbers) in zip(questions, found.concepts, strict=True):
        assert re.fullmatch(r"(Is|Are|Do|Does) [a-z][^?.{}]*\?", question)
        assert "  " not in question
        asked = number_word(concept.value) if concept.category == "number" else concept.value
        if concept.category not in ("object", "style"):
            said = {"bottom": "underneath"}.get(asked, asked.rstrip("e"))
            assert said in question or concept.category == "shape"
        for number in numbers:
            obj = found.binding.objects[number - 1]
            noun = plural_of(obj.item) if "number" in obj.attributes else singular_of(obj.item)
            assert noun in question or (concept.category == "object" and obj.item in question)
