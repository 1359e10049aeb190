"""What the words around a word say about it: does it describe, is it a count, does it relate two things?"""

from __future__ import annotations

import re
from typing import NamedTuple

from formalimg.analysis.captions.categories import Category
from formalimg.analysis.captions.lexicon import CaptionLexicon, LexiconEntry, load_lexicon

_TOKEN = re.compile(r"'s\b|-?[^\W\d_]+|\d+(?:[.,:/]\d+)*(?:[x×]\d+(?:\.\d+)?)?[^\W\d_]*|[^\w\s]")
_MEASURE = re.compile(r"\d+(?:\.\d+)?(?:[x×]\d{1,3}(?:\.\d+)?)?(?:cm|ft|in|inch|inches)|\d{1,3}(?:\.\d+)?[x×]\d{1,3}")
_COUNT = re.compile(r"[1-9]\d{0,2}")
_IN_A_ROW = frozenset({",", "and", "or", "&", "/"})
_BEFORE_NAMES = frozenset({"#", "$", "€", "£", "-", "№", "."})
_REACH = 4
"""How many words a noun may be away from what is said of it: "two very small red cats"."""


class CaptionTokens(NamedTuple):
    """A caption, word by word.

    Attributes:
        words: in lower case; punctuation marks are words too.
        joined: whether a hyphen joins each word to the one before.
    """

    words: list[str]
    joined: list[bool]

    def at(self, place: int) -> str:
        """The word at a place; an empty one before the first and after the last."""
        return self.words[place] if 0 <= place < len(self.words) else ""


def tokenize(caption: str) -> CaptionTokens:
    """A caption, word by word."""
    tokens = _TOKEN.findall(caption.lower().replace("’", "'"))
    joined = [len(token) > 1 and token[0] == "-" for token in tokens]
    return CaptionTokens(
        [token[1:] if is_joined else token for token, is_joined in zip(tokens, joined, strict=True)], joined
    )


def entry_meaning(
    entry: LexiconEntry, text: CaptionTokens, start: int, after_a_thing: bool, load_lexicon: CaptionLexicon
) -> Category | None:
    """What an entry that stands at a place speaks of, if anything.

    Args:
        entry: the entry.
        text: the caption.
        start: where its first word stands.
        after_a_thing: whether a thing was named before.
        lexicon: the kinds of words.
    """
    end = start + len(entry.words)
    match entry.rule:
        case "always":
            return entry.category
        case "describing":
            return entry.category if _describes(text, start, end, entry.category, load_lexicon) else entry.by_itself
        case "count":
            return entry.category if _is_count(text, start, end, load_lexicon) else None
        case "count before things":
            return entry.category if _thing_after(text, end, load_lexicon.things, load_lexicon) else None
        case "between things":
            there = after_a_thing and _thing_after(text, end, load_lexicon.placeable, load_lexicon)
            return entry.category if there else None
        case "into containers":
            return entry.category if _thing_after(text, end, load_lexicon.containers, load_lexicon) else None


class PhraseMeaning(NamedTuple):
    """What words at a place speak of, if anything, and how many they are: "6 feet" are two."""

    category: Category | None
    length: int = 1


def digits_meaning(text: CaptionTokens, place: int, load_lexicon: CaptionLexicon) -> PhraseMeaning:
    """What digits at a place speak of: a number of things, a size, or nothing of the kind."""
    word, following, before = text.at(place), text.at(place + 1), text.at(place - 1)
    if _MEASURE.fullmatch(word):
        return PhraseMeaning("size")
    if following in load_lexicon.size_units:
        return PhraseMeaning("size", 2)
    if following in ("x", "×") and text.at(place + 2)[:1].isdigit():
        return PhraseMeaning("size", 3)
    if not _COUNT.fullmatch(word) or before in _BEFORE_NAMES or not _is_count(text, place, place + 1, load_lexicon):
        return PhraseMeaning(None)
    grouped = before in load_lexicon.groups or f"{text.at(place - 2)} {before}" in load_lexicon.groups
    counted = following in load_lexicon.counted or _thing_after(text, place + 1, load_lexicon.plurals, load_lexicon)
    return PhraseMeaning("number" if grouped or counted else None)


def _describes(
    text: CaptionTokens, start: int, end: int, category: Category | None, load_lexicon: CaptionLexicon
) -> bool:
    """Does a word say how something is, as in "an orange cat", or is it the thing itself?"""
    following = text.at(end)
    if _may_be_noun(following, load_lexicon):
        return True
    if following in _IN_A_ROW and load_lexicon.always.get(text.at(end + 1)) == category:
        return True
    before = text.at(start - 1)
    if before in _IN_A_ROW and load_lexicon.always.get(text.at(start - 2)) == category:
        return True
    return (
        before in load_lexicon.describing_follows or f"{text.at(start - 2)} {before}" in load_lexicon.describing_follows
    )


def _is_count(text: CaptionTokens, start: int, end: int, load_lexicon: CaptionLexicon) -> bool:
    following = text.at(end)
    if end < len(text.words) and text.joined[end]:
        return following in load_lexicon.counted
    return following not in load_lexicon.units and text.at(start - 1) not in load_lexicon.names


def _thing_after(text: CaptionTokens, place: int, wanted: frozenset[str], load_lexicon: CaptionLexicon) -> bool:
    """Does the noun phrase that begins here name something wanted? The last noun of the phrase decides."""
    found = False
    for away in range(_REACH + 1):
        word = text.at(place + away)
        if away == 0 and word in load_lexicon.articles:
            continue
        if word == "'s":  # so far it was somebody whose thing is meant
            found = False
        elif word in load_lexicon.things:
            found = word in wanted
        elif found or not _may_be_noun(word, load_lexicon):
            break
    return found


def _may_be_noun(word: str, load_lexicon: CaptionLexicon) -> bool:
    """May this word belong to a noun phrase? Verbs in -ing do not: "an orange lying on a table"."""
    if not word.isalpha() or word in load_lexicon.breaks:
        return False
    return not word.endswith("ing") or word in load_lexicon.things


VERSION = 1
"""Raised with every change of the words or the rules."""


_NOTHING = PhraseMeaning(None)


class CategoryMention(NamedTuple):
    """A place in a caption that speaks of a visual concept.

    Attributes:
        category: the concept's category.
        words: the words that do, in lower case.
    """

    category: Category
    words: str


def find_mentions(caption: str) -> list[CategoryMention]:
    """What a caption speaks of, in the order of its words.

    Words count once, for one category; what words mean may depend on their neighbours. Nouns that are not in the
    lexicon are not found, nor are other languages than English.
    """
    known = load_lexicon()
    text = tokenize(caption)
    words = text.words
    mentions: list[CategoryMention] = []
    after_a_thing = False
    place = 0
    while place < len(words):
        word = words[place]
        reading = digits_meaning(text, place, known) if word[0].isdigit() else _NOTHING
        for length in known.lengths.get(word, ()):
            entry = known.entries.get(tuple(words[place : place + length]))
            if entry is not None:
                reading = PhraseMeaning(entry_meaning(entry, text, place, after_a_thing, known), length)
                break
        if reading.category is not None:
            mentions.append(CategoryMention(reading.category, " ".join(words[place : place + reading.length])))
            after_a_thing = after_a_thing or reading.category == "object"
        place += reading.length
    return mentions


def find_categories(caption: str) -> frozenset[Category]:
    """The categories that a caption speaks of."""
    return frozenset(mention.category for mention in find_mentions(caption))
