"""Lexicon of prose: synonyms and phrases beyond the grammar of `realize`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from formalimg.language.lexicon import Noun, SuiteLexicon, class_noun, lexicon, plural_of, with_classes, word_table
from formalimg.language.ontology.knowledge import COVERED, ontology
from formalimg.language.phrase_parser import TokenReader, phrase_words
from formalimg.logic.syntax import CountBound
from formalimg.logic.vocabulary import vocabulary

_OUTSIDE_CONFIG = ("Above", "Below")
"""Relations that texts and formulas of both suites use, whether or not the vocabulary of the suite has them."""


class RelationPhrase(NamedTuple):
    """The meaning of a relation phrase between two objects.

    If `reverse`, the second object is the subject of the predicate. `living` is True for phrases that only apply to
    living beings ("wearing"), and False for those that only apply to things ("containing").
    """

    predicate: str
    reverse: bool = False
    living: bool | None = None


class AmountWords(NamedTuple):
    """The meaning of words before a number. For example, "more than two" means at least three."""

    bound: CountBound
    offset: int = 0


@dataclass(frozen=True)
class ProseLexicon:
    """The prose lexicon of a suite, in addition to its base lexicon `words`."""

    suite: str
    words: SuiteLexicon
    relations: Mapping[str, RelationPhrase]
    alignments: Mapping[str, str]
    sides: Mapping[str, str]
    styles: Mapping[str, str]
    verbs: Mapping[str, str]
    synonyms: Mapping[str, str]
    amounts: Mapping[str, AmountWords]
    phrases: Mapping[str, tuple[str, ...]]

    @property
    def colors(self) -> tuple[str, ...]:
        """Adjectives for colours, including synonyms."""
        known = {word for word, entry in self.words.before.items() if entry.predicate == "HasColor"}
        return (*sorted(known), *(other for other, word in self.synonyms.items() if word in known))

    def is_living(self, noun: Noun) -> bool:
        """Return whether the noun denotes living beings, which can hold things, sit or lie."""
        return noun.word in self.words.living

    def wears(self, wearer: Noun, garment: Noun) -> bool:
        """Return whether one class can wear the other, so that "a man in a hat" means that he wears it."""
        if self.suite not in COVERED or wearer.word is None or garment.word is None:
            return False
        if not {wearer.word, garment.word} <= {*vocabulary(self.suite).words["class"]}:
            return False
        return ontology().wears(wearer.word, garment.word)

    def reader(self, text: str) -> TokenReader:
        """Return a reader of the text with synonyms replaced by words of the lexicon."""
        reader = TokenReader(re.sub(r"(?i)-style\b", " style", text))
        reader.words[:] = _replaced(reader.words, self.synonyms)
        if reader.words[-2:-1] != ["."]:  # prompts often have no full stop at the end
            reader.words.insert(-1, ".")
        return reader


def _replaced(words: list[str], synonyms: Mapping[str, str]) -> list[str]:
    found: list[str] = []
    place = 0
    while place < len(words):
        known = (phrase for phrase in synonyms if _begins(words, place, phrase_words(phrase)))
        longest = max(known, key=len, default=None)
        found += phrase_words(synonyms[longest]) if longest else [words[place]]
        place += len(phrase_words(longest)) if longest else 1
    return found


def _begins(words: list[str], place: int, phrase: list[str]) -> bool:
    return words[place] == phrase[0] and words[place : place + len(phrase)] == phrase


_AMOUNTS = {
    "exactly": AmountWords("exactly"),
    "at-least": AmountWords("at-least"),
    "at-most": AmountWords("at-most"),
    "more-than": AmountWords("at-least", 1),
    "fewer-than": AmountWords("at-most", -1),
}


@lru_cache(maxsize=64)
def prose_lexicon(suite: str, classes: tuple[str, ...] = ()) -> ProseLexicon:
    """Return the prose lexicon of a suite (`knolling` or `natural`), with nouns for additional classes."""
    words, table = lexicon(suite), word_table("prose.toml")
    if classes:
        words = with_classes(words, classes)
    known = {*vocabulary(suite).predicates, *_OUTSIDE_CONFIG}
    relations = {
        phrase: RelationPhrase(name) for name, relation in words.relations.items() for phrase in relation.phrases
    }
    more = [(RelationPhrase(name), phrases) for name, phrases in table["relations"].items()]
    more += [(RelationPhrase(name, living=True), phrases) for name, phrases in table["actions"].items()]
    more += [(RelationPhrase(name, True, living=True), phrases) for name, phrases in table["worn"].items()]
    more += [(RelationPhrase(name, True, living=False), phrases) for name, phrases in table["borne"].items()]
    relations |= {phrase: meaning for meaning, phrases in more if meaning.predicate in known for phrase in phrases}
    return ProseLexicon(
        suite,
        words,
        relations,
        _by_phrase(table["alignments"], known),
        _by_phrase(table["sides"], known),
        {style: style for style in vocabulary(suite).words.get("style", ())},
        table["verbs"],
        {**_regular_plurals(words), **table["synonyms"], **_as_they_are(classes)},
        {
            phrase: _AMOUNTS[name]
            for name, phrases in word_table("counting.toml")["amounts"].items()
            for phrase in phrases
        },
        {name: tuple(phrases) for name, phrases in table.items() if isinstance(phrases, list)},
    )


def _as_they_are(classes: Iterable[str]) -> dict[str, str]:
    """Map class nouns to themselves, so that no part of them is replaced by a synonym."""
    nouns = [class_noun(name) for name in classes]
    return {text: text for noun in nouns for text in (noun, plural_of(noun))}


def _regular_plurals(words: SuiteLexicon) -> dict[str, str]:
    """Map incorrect regular plurals, such as "benchs", to the correct ones."""
    nouns = [noun for noun in words.nouns.values() if noun.measure is None and noun.plural != f"{noun.text}s"]
    known = {*words.singulars, *words.plurals}
    return {f"{noun.text}s": noun.plural for noun in nouns if f"{noun.text}s" not in known}


def _by_phrase(table: Mapping[str, list[str]], known: set[str]) -> dict[str, str]:
    return {phrase: name for name, phrases in table.items() if name in known for phrase in phrases}
