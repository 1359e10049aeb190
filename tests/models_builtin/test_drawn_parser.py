"""The reader finds in a prompt of Natural or ConceptMix what the item asks for, from its words alone."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from formalimg import load
from formalimg.models.builtin.drawn_parser import read_facts
from tests.models_builtin.drawn_reading import Stated, as_asked, as_stated
from tests.support.sizes import tries

WORDS = [
    "a",
    "the",
    "every",
    "two",
    "red",
    "orange",
    "cat",
    "glasses",
    "is",
    "has",
    "it",
    "that",
    "and",
    ",",
    ".",
    "on",
]
PUBLISHED = Path(__file__).parents[3] / "shared" / "official"


@pytest.mark.parametrize("version", [None, "@2"], ids=["newest", "second"])
@pytest.mark.parametrize("world", ["natural", "conceptmix"])
def test_nearly_every_item_is_read_exactly(world: str, version: str | None) -> None:
    items = load(world, version)[:: tries(10, 1)]
    misread = [item.id for item in items if as_stated(read_facts(item.prompt, world)) != as_asked(item)]
    assert len(misread) <= 0.005 * len(items), misread


@pytest.mark.parametrize(
    ("prompt", "stated"),
    [
        ("a fluffy red cat", {("material", "fluffy", "cat"), ("color", "red", "cat")}),
        ("a cat made of glass", {("material", "glass", "cat")}),
        ("The cat is made of glass and red.", {("material", "glass", "cat"), ("color", "red", "cat")}),
        ("two dogs shaped like hearts", {("number", "2", "dog"), ("shape", "heart", "dog")}),
        ("a small, wooden bed", {("size", "tiny", "bed"), ("material", "wooden", "bed")}),
        ("a knife that is lying down", {("state", "lying", "knife")}),
        ("a pair of oval glasses", {("shape", "oval", "glasses")}),
        ("a pair of cats", {("number", "2", "cat")}),
        ("an orange orange", {("color", "orange", "orange")}),
        ("All books are orange.", {("color", "orange", "book")}),
        ("four orange heads of broccoli", {("number", "4", "broccoli"), ("color", "orange", "broccoli")}),
        ("an ink drawing of a cat", {("style", "ink")}),
        ("A cat. The picture is in the style of cubism.", {("style", "cubism")}),
    ],
)  # fmt: skip
def test_what_is_said_of_one_object_is_read(prompt: str, stated: set[Stated]) -> None:
    facts = as_stated(read_facts(prompt))
    assert {fact for fact in facts if fact[0] != "object"} == stated
    assert sum(fact[0] == "object" for fact in facts) == 1


@pytest.mark.parametrize(
    ("prompt", "relations"),
    [
        ("A cat is to the left of a dog and a tree.", {("LeftOf", "cat", "dog"), ("LeftOf", "cat", "tree")}),
        ("A cat is on a bed, and the bed is beside a tree.", {("On", "cat", "bed"), ("NextTo", "bed", "tree")}),
        ("A cat is on a bed, which is beside a tree.", {("On", "cat", "bed"), ("NextTo", "bed", "tree")}),
        ("Inside a car is a dog.", {("In", "dog", "car")}),
        ("Above a car, without touching it, are two birds.", {("Above", "bird", "car")}),
        ("A bed directly underneath a cat, touching it.", {("Underneath", "bed", "cat")}),
        ("A man has a cup to his left and a hat on him.", {("LeftOf", "cup", "man"), ("On", "hat", "man")}),
        ("Every cup is red and has a spoon inside it.", {("In", "spoon", "cup")}),
        ("For every cup there is a dog holding it.", {("Holding", "dog", "cup")}),
        ("A lion holding a cup and on a bed", {("Holding", "lion", "cup"), ("On", "lion", "bed")}),
        ("A doll with a rose on it.", {("On", "rose", "doll")}),
        ("A bowl containing an apple.", {("In", "apple", "bowl")}),
        ("A cat is red. It is on a bed.", {("On", "cat", "bed")}),
        ("A cat is on a bed. It is also beside a tree.", {("On", "cat", "bed"), ("NextTo", "cat", "tree")}),
        ("A bed has a cat on it. It is also beside a tree.", {("On", "cat", "bed"), ("NextTo", "bed", "tree")}),
        ("A cat is on a bed, and on the bed is a hat.", {("On", "cat", "bed"), ("On", "hat", "bed")}),
        (
            "A cat is beside a bed and a tree, while a dog is holding a hat.",
            {("NextTo", "cat", "bed"), ("NextTo", "cat", "tree"), ("Holding", "dog", "hat")},
        ),
        (
            "A cat is beside a lion, which is inside a car and is holding a hat.",
            {("NextTo", "cat", "lion"), ("In", "lion", "car"), ("Holding", "lion", "hat")},
        ),
        (
            "A cat, a dog and a cow are arranged from right to left.",
            {("RightOf", "cat", "dog"), ("RightOf", "dog", "cow")},
        ),
        ("Directly beneath a cat, which stands on it, rests a book.", {("Underneath", "book", "cat")}),
        ("In back of a cat sits a dog.", {("Behind", "dog", "cat")}),
        (
            "A cat, a dog and a cow are arranged in this order, each to the left of the next.",
            {("LeftOf", "cat", "dog"), ("LeftOf", "dog", "cow")},
        ),
    ],
)  # fmt: skip
def test_relations_are_read_with_their_objects(prompt: str, relations: set[Stated]) -> None:
    assert {fact[1:] for fact in as_stated(read_facts(prompt)) if fact[0] == "relation"} == relations


def test_an_object_goes_by_another_name_once_it_is_named() -> None:
    assert as_stated(read_facts("A dirt road. The road is red.")) == {
        ("object", "dirt road"),
        ("color", "red", "dirt road"),
    }
    assert read_facts("A road") == []


def test_each_world_has_its_own_words() -> None:
    prompt = "A metallic rectangular cup to the left of a bed."
    assert ("material", "metal", "cup") in as_stated(read_facts(prompt, "natural"))
    assert as_stated(read_facts(prompt, "conceptmix")) == {
        ("object", "cup"),
        ("object", "bed"),
        ("material", "metallic", "cup"),
        ("shape", "rectangle", "cup"),
        ("relation", "left", "cup", "bed"),
    }


@given(st.lists(st.sampled_from(WORDS)))
@settings(max_examples=tries(40, 2000), deadline=None)
def test_any_sequence_of_words_is_read(words: list[str]) -> None:
    facts = read_facts(" ".join(words))
    named = [fact.objects for fact in facts if fact.kind == "object"]
    assert named == [(number,) for number in range(len(named))]
    assert all((number,) in named for fact in facts for number in fact.objects)


def test_the_concepts_of_published_prompts_are_mostly_read() -> None:
    folder = PUBLISHED / "conceptmix" / "sentence_collection"
    if not folder.is_dir():
        pytest.skip("the published prompts are not here")
    kinds = {"texture": "material", "spatial": "relation"}
    read = []
    for path in sorted(folder.glob("300_sentences_k=*.json")):
        for record in json.loads(path.read_text(encoding="utf-8"))[:: tries(5, 1)]:
            found = {fact[:2] for fact in as_stated(read_facts(record["sentence"], "conceptmix"))}
            asked = zip(record["categories"], record["skills"], strict=True)
            read += [(kinds.get(kind, kind), value) in found for kind, value in asked]
    assert sum(read) / len(read) > 0.95
