"""Which categories a caption speaks of, by the words in it: no model, no network, the same answer every time."""

from __future__ import annotations

from typing import NamedTuple

from formalimg.analysis.captions.category import Category
from formalimg.analysis.captions.context import Reading, meaning, meaning_of_digits, split
from formalimg.analysis.captions.lexicon import lexicon

VERSION = 1
"""Raised with every change of the words or the rules."""


_NOTHING = Reading(None)


class Mention(NamedTuple):
    """A place in a caption that speaks of a visual concept.

    Attributes:
        category: the concept's category.
        words: the words that do, in lower case.
    """

    category: Category
    words: str


def find_mentions(caption: str) -> list[Mention]:
    """What a caption speaks of, in the order of its words.

    Words count once, for one category; what words mean may depend on their neighbours. Nouns that are not in the
    lexicon are not found, nor are other languages than English.
    """
    known = lexicon()
    text = split(caption)
    words = text.words
    mentions: list[Mention] = []
    after_a_thing = False
    place = 0
    while place < len(words):
        word = words[place]
        reading = meaning_of_digits(text, place, known) if word[0].isdigit() else _NOTHING
        for length in known.lengths.get(word, ()):
            entry = known.entries.get(tuple(words[place : place + length]))
            if entry is not None:
                reading = Reading(meaning(entry, text, place, after_a_thing, known), length)
                break
        if reading.category is not None:
            mentions.append(Mention(reading.category, " ".join(words[place : place + reading.length])))
            after_a_thing = after_a_thing or reading.category == "object"
        place += reading.length
    return mentions


def find_categories(caption: str) -> frozenset[Category]:
    """The categories that a caption speaks of."""
    return frozenset(mention.category for mention in find_mentions(caption))
