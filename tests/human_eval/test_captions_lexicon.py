"""What captions speak of, by the lexicon: against captions read by hand, and against every concept of ConceptMix."""

from __future__ import annotations

import string
import tomllib
from importlib.resources import files
from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from formalimg.benchmarks.conceptmix.captions.mentions import find_categories, find_mentions
from formalimg.benchmarks.conceptmix.pools import load_pools
from formalimg.benchmarks.conceptmix.spec import CATEGORIES, Category

BY_HAND = tomllib.loads((Path(__file__).parent / "captions_by_hand.toml").read_text(encoding="utf-8"))
LETTERS: dict[str, Category] = dict(zip("ocnhstpy", CATEGORIES, strict=True))


class Quality(NamedTuple):
    precision: float
    recall: float


def quality(part: str) -> Quality:
    right = found = wanted = 0
    for caption, letters in BY_HAND[part]:
        expected = {LETTERS[letter] for letter in letters.removesuffix("-")}
        given_back = find_categories(caption)
        right += len(expected & given_back)
        found += len(given_back)
        wanted += len(expected)
    return Quality(right / found, right / wanted)


def test_captions_read_by_hand_are_read_the_same() -> None:
    assert len(BY_HAND["seen"]) + len(BY_HAND["unseen"]) >= 90
    for part, least in (("seen", 0.98), ("unseen", 0.95)):
        assert min(quality(part)) >= least, (part, quality(part))


@pytest.mark.parametrize(
    ("caption", "expected"),
    [
        ("an orange", "o"),
        ("an orange lying there", "o"),
        ("a ripe orange and a cat", "o"),
        ("the cat is orange.", "oc"),
        ("an orange and blue parrot", "oc"),
        ("an orange car", "oc"),
        ("orange and red", "c"),
        ("red, orange", "c"),
        ("Max 90 men's shoe", "o"),
        ("ORANGES", "o"),
        ("a rose", "o"),
        ("a rose dress", "oc"),
        ("a glass of milk", "o"),
        ("a glass bowl", "ot"),
        ("a bowl made of glass", "ot"),
        ("red", "c"),
        ("redo, predator, hundred", "-"),
        ("a dark-red car", "oc"),
        ("the car’s red door", "oc"),
        ("3 cats", "on"),
        ("3 small black cats", "oncs"),
        ("pack of 6", "n"),
        ("in 2019, 4K, $3, #2, 3.5", "-"),
        ("chapter 3 cats", "o"),
        ("2-year warranty", "-"),
        ("three-piece suit", "on"),
        ("four-legged friend", "o"),
        ("5 x 7 print", "s"),
        ("6 ft ladder", "os"),
        ("a couple of dogs", "on"),
        ("a couple of a kind", "n"),
        ("a happy couple", "o"),
        ("a cat on a table", "op"),
        ("a cat on the beach", "o"),
        ("on a table", "o"),
        ("apples in a bowl", "op"),
        ("a man in a coat", "o"),
        ("over 50 models", "on"),
        ("a long-sleeve shirt", "o"),
        ("wolves, knives, geese", "o"),
        # In the manner of ConceptMix.
        ("Two tiny robots stand to the left of a glass house in a pixel art image.", "onstpy"),
        ("A triangle-shaped pizza is behind three purple spiders.", "ohnpc"),
        ("In a watercolor picture, a huge metallic bee hovers above an orange.", "ostpy"),
        ("The image shows a fluffy heart-shaped cactus inside a green truck.", "othpc"),
        ("Four brown corgis sit at the bottom of a rectangle-shaped hill, drawn with graffiti.", "oncphy"),
    ],
)
def test_neighbours_decide(caption: str, expected: str) -> None:
    assert find_categories(caption) == {LETTERS[letter] for letter in expected.removesuffix("-")}


SAID = {
    "object": ["a {}", "the {} is there"],
    "color": ["the car is {}", "a {} car", "a {} orange"],
    "number": ["{} cars", "there are exactly {} cars"],
    "shape": ["a {}-shaped rug", "a rug in the shape of a {}"],
    "size": ["a {} rug", "the rug is {}"],
    "texture": ["a {} fork", "the fork has a {} texture"],
    "style": ["a fork in {} style", "{} style"],
}
WHERE = {
    "above": "above",
    "behind": "behind",
    "below": "below",
    "bottom": "at the bottom of",
    "in front of": "in front of",
    "inside": "inside",
    "left": "on the left side of",
    "outside": "outside of",
    "right": "to the right of",
    "top": "on top of",
}


def test_every_concept_of_conceptmix_is_found() -> None:
    pools = load_pools(profile="official-code")
    for category in CATEGORIES:
        for value in pools[category].values:
            for pattern in SAID.get(category, [f"a fork {WHERE.get(value)} a house"]):
                caption = pattern.format(value)
                assert category in find_categories(caption), caption


def test_no_phrase_means_two_objects() -> None:
    folder = files("formalimg.benchmarks.conceptmix.captions") / "words"
    tables = {name: tomllib.loads((folder / f"{name}.toml").read_text(encoding="utf-8")) for name in _LISTS}
    owner: dict[str, str] = {}
    for name, keys in _LISTS.items():
        lists = [tables[name][key] for key in keys]
        for phrases in lists[0].values() if isinstance(lists[0], dict) else lists:
            for phrase in phrases:
                assert phrase == phrase.lower().strip()
                assert owner.setdefault(phrase, name) == name, phrase


_LISTS = {
    "objects": ["things"],
    "colors": ["values", "nothing"],
    "shapes": ["values", "nothing"],
    "sizes": ["values", "nothing"],
    "textures": ["surfaces", "materials", "patterns", "nothing"],
    "styles": ["media", "manners", "nothing"],
    "spatial": ["values", "nothing"],
}


@given(st.text())
def test_any_text_is_read_and_what_is_said_to_be_there_is_there(text: str) -> None:
    for mention in find_mentions(text):
        assert mention.category in CATEGORIES
        assert set(mention.words) <= set(text.lower().replace("’", "'")) | {" "}


_SOME_WORDS = ["red", "orange", "cat", "Cats", "two", "3", "on", "a", "glass", "in", "in front of"]
_SOME_WORDS += ["-", ",", "'s", "round", "4k"]


@given(st.lists(st.sampled_from(_SOME_WORDS)).map(" ".join))
def test_case_does_not_matter_and_readings_do_not_change(caption: str) -> None:
    assert find_mentions(caption) == find_mentions(caption.upper()) == find_mentions(string.capwords(caption))
