"""Concepts become sentences that name their objects."""

from __future__ import annotations

import random
import re

import pytest

from formalimg.benchmarks.conceptmix.pools import Pool, load_pools
from formalimg.benchmarks.conceptmix.questions import concept_statements
from formalimg.benchmarks.conceptmix.sampling import bind_attributes
from formalimg.benchmarks.conceptmix.spec import Binding, BindingError, BoundConcept, BoundObject, Category, Concept
from formalimg.errors import FormalimgError

POOLS = load_pools()
BINDING = Binding((BoundObject("cat"), BoundObject("dog"), BoundObject("cat")))


def said(category: Category, value: str, *ids: int) -> str:
    (sentence,) = concept_statements([BoundConcept(Concept(category, value), ids)], BINDING, POOLS)
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
    assert concept_statements([black, red], people, POOLS) == (
        "the man is painted black all over",
        "the color of the cat is red",
    )
    own = {**POOLS, "color": Pool("color", ("black",), "the {object} is {value}")}
    assert concept_statements([black], people, own) == ("the man is black",)


def test_no_sentence_calls_a_woman_it() -> None:
    people = Binding((BoundObject("woman"), BoundObject("man")))
    for category in ("color", "number", "shape", "size", "texture", "spatial"):
        for value in POOLS[category].values:
            bound = BoundConcept(Concept(category, value), (1, 2) if category == "spatial" else (1,))
            assert not re.search(r"\b(it|its)\b", concept_statements([bound], people, POOLS)[0])


def test_statements_fit_the_pools_of_the_user() -> None:
    own = {
        **POOLS,
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
        concept_statements([BoundConcept(Concept("color", "red"), (4,))], BINDING, POOLS)
    (relation,) = bind_attributes([Concept("object", "cat"), facing.concept], own, random.Random(0)).relations
    assert relation.description == "The {ObjectB} is facing {ObjectA}"
