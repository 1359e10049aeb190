"""Lexicon of prose: synonyms and phrases beyond the grammar of `realize`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from formalimg.language.lexicon import Noun, SuiteLexicon, class_noun, lexicon, plural_of, with_classes, word_table
from formalimg.language.ontology.knowledge import COVERED, ontology
from formalimg.language.phrase_parser import TokenReader, phrase_words
from formalimg.logic.syntax import CountBound
from formalimg.logic.vocabulary import vocabulary

_SHARED_RELATIONS = ("Above", "Below")  # Used in texts and formulas of both suites, whatever their vocabularies
_AMOUNTS: dict[str, tuple[CountBound, int]] = {  # bound, and offset to the number
    "exactly": ("exactly", 0),
    "at-least": ("at-least", 0),
    "at-most": ("at-most", 0),
    "more-than": ("at-least", 1),
    "fewer-than": ("at-most", -1),
}


class RelationPhrase(NamedTuple):
    """The meaning of a relation phrase between two objects.

    If `reverse`, the second object is the subject of the predicate. `living` is True for phrases that only apply to
    living beings ("wearing"), and False for those that only apply to things ("containing").
    """

    predicate: str
    reverse: bool = False
    living: bool | None = None


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
    amounts: Mapping[str, tuple[CountBound, int]]
    phrases: Mapping[str, tuple[str, ...]]

    @property
    def colors(self) -> tuple[str, ...]:
        """Adjectives for colours, including synonyms."""
        colors = {word for word, entry in self.words.before.items() if entry.predicate == "HasColor"}
        return (*sorted(colors), *(synonym for synonym, word in self.synonyms.items() if word in colors))

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
        words: list[str] = []
        while not reader.done:
            synonym = max((phrase for phrase in self.synonyms if reader.sees(phrase)), key=len, default=None)
            words += phrase_words(self.synonyms[synonym]) if synonym else [reader.next]
            reader.position += len(phrase_words(synonym)) if synonym else 1
        if words[-1:] != ["."]:  # prompts often have no full stop at the end
            words.append(".")
        reader.words, reader.position = [*words, ""], 0
        return reader


@lru_cache(maxsize=64)
def prose_lexicon(suite: str, classes: tuple[str, ...] = ()) -> ProseLexicon:
    """Return the prose lexicon of a suite (`knolling` or `natural`), with nouns for additional classes."""
    words, table = lexicon(suite), word_table("prose.toml")
    if classes:
        words = with_classes(words, classes)
    predicates = {*vocabulary(suite).predicates, *_SHARED_RELATIONS}
    relations = {
        phrase: RelationPhrase(name) for name, relation in words.relations.items() for phrase in relation.phrases
    }
    kinds = (("relations", False, None), ("actions", False, True), ("worn", True, True), ("borne", True, False))
    for kind, reverse, living in kinds:
        by_phrase = _by_phrase(table[kind], predicates)
        relations |= {phrase: RelationPhrase(name, reverse, living) for phrase, name in by_phrase.items()}
    # Incorrect regular plurals, such as "benchs"; and the nouns of classes, no part of which is to be replaced.
    plurals = {
        f"{noun.text}s": noun.plural
        for noun in words.nouns.values()
        if noun.measure is None and f"{noun.text}s" not in (noun.plural, *words.singulars, *words.plurals)
    }
    own_nouns = {text: text for noun in map(class_noun, classes) for text in (noun, plural_of(noun))}
    amounts = word_table("counting.toml")["amounts"]
    return ProseLexicon(
        suite,
        words,
        relations,
        alignments=_by_phrase(table["alignments"], predicates),
        sides=_by_phrase(table["sides"], predicates),
        styles={style: style for style in vocabulary(suite).words.get("style", ())},
        verbs=table["verbs"],
        synonyms={**plurals, **table["synonyms"], **own_nouns},
        amounts={phrase: _AMOUNTS[name] for name, phrases in amounts.items() for phrase in phrases},
        phrases={name: tuple(phrases) for name, phrases in table.items() if isinstance(phrases, list)},
    )


def _by_phrase(table: Mapping[str, list[str]], names: set[str]) -> dict[str, str]:
    return {phrase: name for name, phrases in table.items() if name in names for phrase in phrases}
