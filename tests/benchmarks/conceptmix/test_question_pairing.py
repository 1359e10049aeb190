"""Questions find their concepts by what they say, wherever they stand."""

from __future__ import annotations

import random
from collections.abc import Iterable

import pytest

from formalimg import load
from formalimg.benchmarks.conceptmix.questions import pair_questions, split_lines
from formalimg.benchmarks.conceptmix.spec import (
    Binding,
    BoundConcept,
    BoundObject,
    Concept,
    ConceptSpec,
    bound_concepts,
)
from formalimg.types import Item
from tests.support.published import published_concept_items
from tests.support.sizes import tries


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
