"""What prompts say and fail to say: captions in all sorts of words, and what is wrong with them."""

from __future__ import annotations

import random

import pytest

from formalimg.benchmarks.conceptmix.pools import load_pools
from formalimg.benchmarks.conceptmix.prompt_check import extra_concepts, missing_concepts
from formalimg.benchmarks.conceptmix.realization import write_prompt
from formalimg.benchmarks.conceptmix.spec import Binding, BoundConcept, BoundObject, Concept
from formalimg.benchmarks.conceptmix.words import noun_forms
from tests.benchmarks.conceptmix.captions import SOUND, UNSOUND
from tests.benchmarks.conceptmix.given import Given, given

POOLS = load_pools(profile="official-code")

# Captions that say all that is asked for and nothing else, in words that are not ours.
RIGHT = [
    ("cat", "There's one cat, alone."),
    ("cat", "A single CAT sits."),
    ("gray cat", "The cat's fur is grey."),
    ("gray cat", "The image displays a cat that is gray in color."),
    ("red cat | blue dog", "A cat and a dog sit side by side; the cat is red while the dog is blue."),
    ("red cat | red dog", "Both the cat and the dog are red."),
    ("red cat | red dog", "A red cat and dog are sitting together."),
    ("red cat", "A cat with red fur sleeps."),
    ("red cat", "A cat sleeps. It is completely red."),
    ("3 tiny white sheep", "Exactly three tiny, white sheep stand together."),
    ("2 woman", "A pair of women talk to each other."),
    ("4 sushi", "The picture has 4 pieces of sushi."),
    ("glass broccoli", "A glass-textured head of broccoli is shown."),
    ("glass fork", "A fork that looks like it is made out of glass."),
    ("fluffy cactus", "A cactus whose surface has a fluffy texture."),
    ("metallic spider", "A spider with a metal body."),
    ("circle pizza", "A round pizza."),
    ("rectangle smartphone", "A rectangle-shaped smart phone is shown."),
    ("heart house", "A house built in the shape of a heart."),
    ("tiny elephant | +plate", "A very small elephant and a plate."),
    ("huge rose | +bench", "A giant rose, far bigger than the bench."),
    ("orange", "An orange sits in the middle."),
    ("orange cat", "The cat has orange fur."),
    ("orange orange", "There is an orange that is orange in color."),
    ("orange truck | orange", "An orange-colored truck is parked by an orange."),
    ("corgi | 3 carrot", "A corgi looks at three carrots. The dog is calm."),
    ("oak tree | pine tree", "An oak and a pine grow there."),
    ("cat | table | 1 top 2", "A cat is sitting on the table."),
    ("cat | table | 1 top 2", "A table with a cat perched atop it."),
    ("cat | truck | 1 inside 2", "The truck contains a cat."),
    ("cat | truck | 1 inside 2", "A cat sits in a truck."),
    ("cat | dog | 1 left 2", "A dog stands to the right of a cat."),
    ("cat | dog | 1 left 2", "On the left there is a cat, and on the right there is a dog."),
    ("cat | dog | 1 behind 2", "The dog is in front of the cat."),
    ("cat | dog | 1 in front of 2", "A cat is nearer to the viewer than a dog."),
    ("bee | red table | 1 above 2", "A bee hovers over a red table; the two do not touch."),
    ("rose | fluffy hill | 1 bottom 2", "At the base of a fluffy hill, touching it, there is a rose."),
    ("cat | dog | duck | 1 left 2 | 1 behind 3", "A cat is to the left of a dog and behind a duck."),
    ("cat | dog | duck | 1 left 2 | 1 left 3", "The cat is to the left of the dog and the duck."),
    ("cat | house | 1 outside 2", "The cat is outside the house."),
    ("dog | style photorealism", "A photo-realistic image of a dog."),
    ("dog | style watercolor", "A dog, painted in watercolours."),
    ("dog | style oil painting", "A dog painted with oil paint on canvas."),
    ("dog | style cubism", "A cubist dog."),
]

# Captions with a fault: what is unsaid, and what is unasked.
WRONG = [
    ("cat", "A dog.", ["cat"], ["dog"]),
    ("corgi", "A dog.", ["corgi"], []),
    ("cat", "A red cat.", [], ["red"]),
    ("red cat", "A cat.", ["red"], []),
    ("red cat", "A green cat.", ["red"], ["green"]),
    ("blue cat | red dog", "A red cat and a blue dog.", ["blue", "red"], ["red", "blue"]),
    ("red cat | +plate", "A cat lies on a red plate.", ["red"], ["red"]),
    ("red cat", "A cat lies on a red blanket.", ["red"], ["red"]),
    ("3 cat", "Two cats.", ["3"], ["2"]),
    ("3 cat", "Several cats.", ["3"], []),
    ("3 cat | dog", "A cat and three dogs.", ["3"], ["3"]),
    ("cat", "Five cats.", [], ["5"]),
    ("tiny cat | +plate", "A cat beside a plate.", ["tiny"], []),
    ("tiny cat | +plate", "A tiny cat beside a large plate.", [], ["huge"]),
    ("tiny cat | +plate", "A huge cat beside a plate.", ["tiny"], ["huge"]),
    ("glass fork | spoon", "A fork and a spoon made of glass.", ["glass"], ["glass"]),
    ("fork", "A fork beside a metal box.", [], ["metallic"]),
    ("square pizza", "A pizza in a square box.", ["square"], ["square"]),
    ("heart house", "A triangular house.", ["heart"], ["triangle"]),
    ("orange", "An orange cat.", ["orange"], ["orange", "cat"]),
    ("orange cat", "A cat and an orange.", ["orange"], ["orange"]),
    ("cat | table | 1 top 2", "A cat and a table.", ["top"], []),
    ("cat | table | 1 top 2", "A table is on top of a cat.", ["top"], []),
    ("cat | table | 1 top 2", "A cat is above a table.", ["top"], []),
    ("cat | table | 1 top 2", "A cat is above a table, without touching it.", ["cat", "table", "top"], []),
    ("cat | dog | 1 left 2", "A cat is to the right of a dog.", ["left"], []),
    ("cat | dog | 1 behind 2", "A cat is to the left of a dog.", ["behind"], ["left"]),
    (
        "cat | dog | +table | 1 below 2 | 3 bottom 2",
        "A cat is below a dog, without touching it. A table is directly underneath the dog, touching it.",
        [],
        [],
    ),
    ("cat | dog | 1 inside 2", "A cat is outside of a dog.", ["inside"], []),
    ("cat | dog | duck | 1 left 2", "A duck is to the left of a dog. There is a cat too.", ["left"], ["left"]),
    ("cat | dog", "A cat is in front of a dog.", [], ["in front of"]),
    ("cat | style manga", "A cat.", ["manga"], []),
    ("cat", "A cartoon of a cat.", [], ["cartoon"]),
    ("cat | style ink", "A watercolor cat.", ["ink"], ["watercolor"]),
]


@pytest.mark.parametrize(("asked", "caption"), RIGHT)
def test_sensible_captions_say_all_and_no_more(asked: str, caption: str) -> None:
    concepts, binding = given(asked)
    assert missing_concepts(caption, concepts, binding) == ()
    assert extra_concepts(caption, concepts, binding, POOLS) == ()


@pytest.mark.parametrize(("asked", "caption", "missing", "extra"), WRONG)
def test_faults_are_named(asked: str, caption: str, missing: list[str], extra: list[str]) -> None:
    concepts, binding = given(asked)
    assert [one.value for one in missing_concepts(caption, concepts, binding)] == missing
    assert [one.value for one in extra_concepts(caption, concepts, binding, POOLS)] == extra


@pytest.mark.parametrize(("asked", "caption"), SOUND)
def test_captions_in_free_style_are_understood(asked: str, caption: str) -> None:
    concepts, binding = given(asked)
    assert (missing_concepts(caption, concepts, binding), extra_concepts(caption, concepts, binding, POOLS)) == ((), ())


@pytest.mark.parametrize(("asked", "caption"), UNSOUND)
def test_nothing_wrong_is_taken_for_sound(asked: str, caption: str) -> None:
    concepts, binding = given(asked)
    assert missing_concepts(caption, concepts, binding) or extra_concepts(caption, concepts, binding, POOLS)


@pytest.mark.parametrize("taken_back", ["not ", "hardly ", "perhaps ", "never ", "blue or "])
def test_what_is_taken_back_is_not_said(taken_back: str) -> None:
    rng = random.Random(14)
    for _ in range(30):
        cat, dog = rng.sample(POOLS["object"].values, 2)
        found = _two(cat, "red", dog, "green")
        prompt = write_prompt(*found, rng)
        assert missing_concepts(prompt.replace("red", f"{taken_back}red"), *found), prompt


def test_the_text_may_be_anything() -> None:
    concepts, binding = given("2 red cat | dog | 1 left 2 | style ink")
    for nonsense in ("", "…", "of of of", "orange", "and and", "left of", "WRONG", "red, red, and", "two", "猫"):
        assert len(missing_concepts(nonsense, concepts, binding)) >= 3
        extra_concepts(nonsense, concepts, binding, POOLS)


def test_attributes_that_change_places_are_noticed() -> None:
    rng = random.Random(12)
    colours = [colour for colour in POOLS["color"].values if colour != "orange"]
    for _ in range(100):
        one, other = rng.sample(colours, 2)
        cat, dog = rng.sample([item for item in POOLS["object"].values if item != "orange"], 2)
        swapped = write_prompt(*_two(cat, one, dog, other), rng)
        found = _two(cat, other, dog, one)
        assert {there.value for there in missing_concepts(swapped, *found)} == {one, other}, swapped
        assert {there.value for there in extra_concepts(swapped, *found, POOLS)} == {one, other}, swapped


def test_a_relation_that_is_turned_round_is_noticed() -> None:
    rng = random.Random(13)
    for name in sorted(set(POOLS["spatial"].values) - {"outside"}):  # which is the same from both sides
        for _ in range(20):
            one, other = rng.sample(POOLS["object"].values, 2)
            turned = write_prompt(*given(f"{one} | {other} | 2 {name} 1"), rng)
            assert [there.value for there in missing_concepts(turned, *given(f"{one} | {other} | 1 {name} 2"))] == [
                name
            ], turned


def _two(cat: str, one: str, dog: str, other: str) -> Given:
    binding = Binding((BoundObject(cat, {"color": one}), BoundObject(dog, {"color": other})))
    concepts = [Concept("object", cat), Concept("object", dog), Concept("color", one), Concept("color", other)]
    return Given(tuple(map(BoundConcept, concepts, ((1,), (2,), (1,), (2,)))), binding)


def test_all_words_for_an_object_are_known_by_how_many_they_name() -> None:
    singular, plural, _ = noun_forms("sushi")
    assert {"sushi", "piece of sushi", "sushi roll"} <= set(singular)
    assert {"pieces of sushi", "sushi rolls"} <= set(plural)
    _, plural, also = noun_forms("dirt road")
    assert (plural, set(also)) == (("dirt roads",), {"road", "roads", "dirt path"})
    assert noun_forms("gizmo") == (("gizmo", "gizmo"), ("gizmos",), ())
