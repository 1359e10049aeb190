"""Questions: one for each concept, and each can stand alone."""

from __future__ import annotations

import random
import re
from collections.abc import Iterable
from dataclasses import replace

import pytest
from hypothesis import given as for_all
from hypothesis import settings
from hypothesis import strategies as st

from formalimg import load
from formalimg.benchmarks.conceptmix.pools import Pool, load_pools
from formalimg.benchmarks.conceptmix.questions import (
    concept_statements,
    pair_questions,
    split_lines,
    template_questions,
)
from formalimg.benchmarks.conceptmix.sampling import bind_attributes
from formalimg.benchmarks.conceptmix.spec import (
    Binding,
    BindingError,
    BoundConcept,
    BoundObject,
    Category,
    Concept,
    ConceptSpec,
    bound_concepts,
)
from formalimg.benchmarks.conceptmix.words import number_word, plural_of, singular_of
from formalimg.errors import FormalimgError
from formalimg.types import Item
from tests.benchmarks.conceptmix.given import drawn, given
from tests.support.published import published_concept_items
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


PAPER_POOLS = load_pools()
BINDING = Binding((BoundObject("cat"), BoundObject("dog"), BoundObject("cat")))


def said(category: Category, value: str, *ids: int) -> str:
    (sentence,) = concept_statements([BoundConcept(Concept(category, value), ids)], BINDING, PAPER_POOLS)
    return sentence


def test_statements_name_the_objects() -> None:
    assert said("object", "cat", 1) == "the image contains one or more cats"
    assert said("number", "3", 2) == "the number of dogs is exactly 3"
    assert said("size", "tiny", 2) == "the dog is tiny for a dog"
    assert said("shape", "circle", 1) == "the cat has the shape of a circle"
    assert said("style", "pop art") == "the style of the image is pop art"
    assert said("spatial", "left", 2, 3) == "the dog is on the left side of the cat"
    assert said("spatial", "left", 3, 1) == "the cat is on the left side of another cat"


def test_colours_of_people_are_paint() -> None:
    people = Binding((BoundObject("man"), BoundObject("cat")))
    black, red = (BoundConcept(Concept("color", color), (place,)) for place, color in ((1, "black"), (2, "red")))
    assert concept_statements([black, red], people, PAPER_POOLS) == (
        "the man is painted black all over",
        "the color of the cat is red",
    )
    own = {**PAPER_POOLS, "color": Pool("color", ("black",), "the {object} is {value}")}
    assert concept_statements([black], people, own) == ("the man is black",)


def test_no_sentence_calls_a_woman_it() -> None:
    people = Binding((BoundObject("woman"), BoundObject("man")))
    for category in ("color", "number", "shape", "size", "texture", "spatial"):
        for value in PAPER_POOLS[category].values:
            bound = BoundConcept(Concept(category, value), (1, 2) if category == "spatial" else (1,))
            assert not re.search(r"\b(it|its)\b", concept_statements([bound], people, PAPER_POOLS)[0])


def test_statements_fit_the_pools_of_the_user() -> None:
    own = {
        **PAPER_POOLS,
        "shape": Pool("shape", ("oval",), "A {value} is what the {objects} are like"),
        "spatial": Pool("spatial", ("facing",), "The {ObjectB} is {value} {ObjectA}"),
        "color": Pool("color", ("red",), "the {thing} is {value}"),
    }
    oval, facing = BoundConcept(Concept("shape", "oval"), (2,)), BoundConcept(Concept("spatial", "facing"), (1, 3))
    assert concept_statements([oval, facing], BINDING, own) == (
        "An oval is what the dogs are like",
        "Another cat is facing cat",
    )
    with pytest.raises(FormalimgError, match=r"'red' has \{thing\}: it may have \{value\}, \{values\}, \{object\}"):
        concept_statements([BoundConcept(Concept("color", "red"), (1,))], BINDING, own)
    with pytest.raises(BindingError, match="objects are 1 to 3"):
        concept_statements([BoundConcept(Concept("color", "red"), (4,))], BINDING, PAPER_POOLS)
    (relation,) = bind_attributes([Concept("object", "cat"), facing.concept], own, random.Random(0)).relations
    assert relation.description == "The {ObjectB} is facing {ObjectA}"


def _bound(concepts: Iterable[Concept], binding: Binding | None) -> list[BoundConcept]:
    if binding is None:
        return [BoundConcept(concept, ()) for concept in concepts]
    return list(bound_concepts(list(concepts), binding))


def _lost(items: Iterable[Item[ConceptSpec]], seed: int) -> list[str]:
    """Shuffle the questions of each item, and name what is then paired with another question.

    Questions that differ in blanks at their end are one: k6-132 asks it twice, for two equal concepts.
    """
    rng = random.Random(seed)
    lost = []
    for item in items:
        asked = [one for one in item.spec.concepts if one.value]
        bound = [BoundConcept(one.concept, one.objects) for one in asked]
        questions = [one.question for one in asked]
        shuffled = rng.sample(questions, len(questions))
        found = pair_questions(bound, shuffled, item.spec.binding)
        for one, question, place in zip(bound, questions, found.questions, strict=True):
            now = None if place is None else shuffled[place]
            if now is None or now.strip() != question.strip():
                lost.append(f"{item.id} {one.concept}: {question!r}, now {now!r}")
    return lost


def test_shuffled_questions_of_our_suite_find_their_concepts() -> None:
    assert not _lost(load("conceptmix")[::5], seed=5)


def test_shuffled_questions_of_the_published_records_find_their_concepts() -> None:
    assert not _lost(published_concept_items()[:: tries(25, 1)], seed=7)


def test_lines_are_told_from_questions() -> None:
    lines = ["Sure, here they are:", "", "1. Is there a cat?", "- Are there two dogs", "* Note: none", "Is this right:"]
    assert split_lines(lines) == (
        ("1. Is there a cat?", "- Are there two dogs"),
        ("Sure, here they are:", "* Note: none", "Is this right:"),
    )


def test_equal_concepts_are_told_apart_by_their_objects_and_not_called_moved() -> None:
    binding = Binding((BoundObject("cat", {"size": "tiny"}), BoundObject("dog", {"size": "tiny"})))
    concepts = [Concept("object", "cat"), Concept("object", "dog"), Concept("size", "tiny"), Concept("size", "tiny")]
    questions = ["Is there a cat?", "Is there a dog?", "Is the dog tiny?", "Is the cat tiny?"]
    found = pair_questions(_bound(concepts, binding), questions, binding)
    assert (found.questions, found.moved) == ((0, 1, 3, 2), ())


def test_a_question_about_the_task_belongs_to_no_concept() -> None:
    concepts = _bound([Concept("object", "cat"), Concept("style", "ink")], None)
    questions = ["Is there a cat?", "Is the style ink?", "Is there nothing that the JSON does not have?"]
    found = pair_questions(concepts, questions, None)
    assert (found.questions, found.unpaired) == ((0, 1), (2,))


@pytest.mark.parametrize(("concepts", "questions"), [(0, 0), (0, 3), (3, 0), (300, 299), (2, 400)])
def test_any_number_of_questions_is_paired(concepts: int, questions: int) -> None:
    found = pair_questions(
        [BoundConcept(Concept("object", f"thing {number}"), ()) for number in range(concepts)],
        [f"Is there a thing {number}?" for number in range(questions)],
        None,
    )
    both = min(concepts, questions)
    assert found.questions == (*range(both), *[None] * (concepts - both))
    assert found.unpaired == tuple(range(both, questions))
