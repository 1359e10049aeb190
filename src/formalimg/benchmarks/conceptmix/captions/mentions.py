"""Find the categories that a caption mentions with a lexicon and rules of context: no model, and deterministic."""

from __future__ import annotations

import re
from typing import NamedTuple

from formalimg.benchmarks.conceptmix.captions.categories import Category
from formalimg.benchmarks.conceptmix.captions.lexicon import CaptionLexicon, LexiconEntry, load_lexicon

VERSION = 1
"""Raised with every change of the lexicon or the rules."""

_TOKEN = re.compile(r"'s\b|-?[^\W\d_]+|\d+(?:[.,:/]\d+)*(?:[x×]\d+(?:\.\d+)?)?[^\W\d_]*|[^\w\s]")
_MEASURE = re.compile(r"\d+(?:\.\d+)?(?:[x×]\d{1,3}(?:\.\d+)?)?(?:cm|ft|in|inch|inches)|\d{1,3}(?:\.\d+)?[x×]\d{1,3}")
_COUNT = re.compile(r"[1-9]\d{0,2}")
_CONJUNCTIONS = frozenset({",", "and", "or", "&", "/"})
_BEFORE_NAMES = frozenset({"#", "$", "€", "£", "-", "№", "."})
_MAX_DISTANCE = 4
"""How many words a noun may be away from its adjective or number: "two very small red cats"."""


class CategoryMention(NamedTuple):
    """A mention of a visual concept in a caption."""

    category: Category  # the concept's category
    words: str  # the words of the caption, in lower case


def find_mentions(caption: str) -> list[CategoryMention]:
    """Return the mentions of visual concepts in a caption, in the order of its words.

    Words count once, for one category; their meaning may depend on their neighbours. Nouns outside the lexicon are
    not found, nor are other languages than English.
    """
    lexicon = load_lexicon()
    text = tokenize(caption)
    words = text.words
    mentions: list[CategoryMention] = []
    after_object = False
    start = 0
    while start < len(words):
        word = words[start]
        meaning = _digits_meaning(text, start, lexicon) if word[0].isdigit() else _UNKNOWN
        for length in lexicon.lengths.get(word, ()):
            entry = lexicon.entries.get(tuple(words[start : start + length]))
            if entry is not None:
                meaning = CaptionPhrase(_entry_meaning(entry, text, start, after_object, lexicon), length)
                break
        if meaning.category is not None:
            mentions.append(CategoryMention(meaning.category, " ".join(words[start : start + meaning.length])))
            after_object = after_object or meaning.category == "object"
        start += meaning.length
    return mentions


def find_categories(caption: str) -> frozenset[Category]:
    """Return the categories that a caption mentions."""
    return frozenset(mention.category for mention in find_mentions(caption))


class CaptionTokens(NamedTuple):
    """The words of a caption."""

    words: list[str]  # in lower case; punctuation marks are words too
    joined: list[bool]  # whether a hyphen joins each word to the one before

    def at(self, index: int) -> str:
        """Return the word at an index; an empty one before the first and after the last."""
        return self.words[index] if 0 <= index < len(self.words) else ""


def tokenize(caption: str) -> CaptionTokens:
    """Split a caption into words."""
    tokens = _TOKEN.findall(caption.lower().replace("’", "'"))
    joined = [len(token) > 1 and token[0] == "-" for token in tokens]
    words = [token[1:] if is_joined else token for token, is_joined in zip(tokens, joined, strict=True)]
    return CaptionTokens(words, joined)


class CaptionPhrase(NamedTuple):
    """The category of a phrase, if any, and its number of words: "6 feet" has two."""

    category: Category | None
    length: int = 1


_UNKNOWN = CaptionPhrase(None)


def _entry_meaning(
    entry: LexiconEntry, text: CaptionTokens, start: int, after_object: bool, lexicon: CaptionLexicon
) -> Category | None:
    """Return the category of a lexicon entry that starts at an index of a caption, if its context allows it."""
    end = start + len(entry.words)
    match entry.rule:
        case "always":
            return entry.category
        case "describing":
            return entry.category if _describes(text, start, end, entry.category, lexicon) else entry.by_itself
        case "count":
            applies = _is_count(text, start, end, lexicon)
        case "count before objects":
            applies = _object_follows(text, end, lexicon.things, lexicon)
        case "between objects":
            applies = after_object and _object_follows(text, end, lexicon.placeable, lexicon)
        case "into containers":
            applies = _object_follows(text, end, lexicon.containers, lexicon)
    return entry.category if applies else None


def _digits_meaning(text: CaptionTokens, start: int, lexicon: CaptionLexicon) -> CaptionPhrase:
    """Return the meaning of digits: a number of objects, a size, or neither."""
    word, following, before = text.at(start), text.at(start + 1), text.at(start - 1)
    if _MEASURE.fullmatch(word):
        return CaptionPhrase("size")
    if following in lexicon.size_units:
        return CaptionPhrase("size", 2)
    if following in ("x", "×") and text.at(start + 2)[:1].isdigit():
        return CaptionPhrase("size", 3)
    if not _COUNT.fullmatch(word) or before in _BEFORE_NAMES or not _is_count(text, start, start + 1, lexicon):
        return _UNKNOWN
    grouped = before in lexicon.groups or f"{text.at(start - 2)} {before}" in lexicon.groups
    counted = following in lexicon.counted or _object_follows(text, start + 1, lexicon.plurals, lexicon)
    return CaptionPhrase("number") if grouped or counted else _UNKNOWN


def _describes(text: CaptionTokens, start: int, end: int, category: Category | None, lexicon: CaptionLexicon) -> bool:
    """Return whether a word is an adjective, as in "an orange cat", rather than the object itself."""
    following = text.at(end)
    if _may_be_noun(following, lexicon):
        return True
    if following in _CONJUNCTIONS and lexicon.always.get(text.at(end + 1)) == category:
        return True
    before = text.at(start - 1)
    if before in _CONJUNCTIONS and lexicon.always.get(text.at(start - 2)) == category:
        return True
    return before in lexicon.describing_follows or f"{text.at(start - 2)} {before}" in lexicon.describing_follows


def _is_count(text: CaptionTokens, start: int, end: int, lexicon: CaptionLexicon) -> bool:
    following = text.at(end)
    if end < len(text.words) and text.joined[end]:
        return following in lexicon.counted
    return following not in lexicon.units and text.at(start - 1) not in lexicon.names


def _object_follows(text: CaptionTokens, start: int, nouns: frozenset[str], lexicon: CaptionLexicon) -> bool:
    """Return whether the noun phrase that begins here names one of these nouns. Its last noun decides."""
    found = False
    for distance in range(_MAX_DISTANCE + 1):
        word = text.at(start + distance)
        if distance == 0 and word in lexicon.articles:
            continue
        if word == "'s":  # so far it was the owner of the object
            found = False
        elif word in lexicon.things:
            found = word in nouns
        elif found or not _may_be_noun(word, lexicon):
            break
    return found


def _may_be_noun(word: str, lexicon: CaptionLexicon) -> bool:
    """Return whether a word may belong to a noun phrase. Verbs in -ing do not: "an orange lying on a table"."""
    if not word.isalpha() or word in lexicon.breaks:
        return False
    return not word.endswith("ing") or word in lexicon.things
