"""Extract objects, colours, numbers and positions from free English, and report the words left unread.

This is the third reader, for prompts that the other two cannot parse: "One cat and two dogs sitting on the grass" has a
cat and two dogs, and "sitting on the grass" is left over. A prompt is refused unless each noun phrase can be read as a
whole, or if it has a word that could reverse the meaning. The formula is written in English and parsed back as a check.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from functools import cache
from typing import NamedTuple

from formalimg.language.description import to_formula
from formalimg.language.free_nouns import FreeNouns, free_words
from formalimg.language.lexicon import NONE, PRONOUNS, WordingError, number_of, plural_of, singular_of, word_table
from formalimg.language.phrase_parser import phrase_words
from formalimg.language.prose_draft import TOP, ProseObject
from formalimg.language.prose_lexicon import RelationPhrase, prose_lexicon
from formalimg.language.prose_phrases import BE
from formalimg.language.realization import has_wording
from formalimg.logic.syntax import Formula

_FUNCTION_WORDS = (
    "a an the this that these those who which where while with of and or but not no is are has have to at by for from "
    "as into over behind near around between through every each all both some many several few any other another its "
    "their"
)


class FreeReading(NamedTuple):
    """The formula of a prompt and the phrases that it does not cover."""

    formula: Formula
    unread: tuple[str, ...]


def read_free_english(
    text: str,
    suite: str,
    classes: tuple[str, ...] = (),
    *,
    any_noun: bool = False,
    looked_for: Collection[str] = (),
) -> FreeReading:
    """Read the objects of a prompt and the unambiguous claims about them.

    Args:
        text: the prompt.
        suite: `knolling` or `natural`.
        classes: further classes, which are their own nouns.
        any_noun: whether any noun may name a class.
        looked_for: the classes that can be detected; an object of any other class after left-over words is left over,
            too. Empty if every class can be detected.

    Raises:
        WordingError: if a noun phrase cannot be read, or a word may change the meaning; the message names the words.
    """
    reader = _FreeEnglish(text, prose_lexicon(suite, classes), any_noun=any_noun)
    reader.searchable = looked_for
    reader.read_text()
    formula = to_formula(reader.draft.description())
    if not has_wording(formula, suite, (*classes, *reader.open_nouns)):
        raise WordingError("what was read cannot be said in a sentence that reads back the same")
    return FreeReading(formula, reader.unread)


class _FreeEnglish(FreeNouns):
    """Reads noun phrases from left to right and interprets the words between them as lists or relations."""

    searchable: Collection[str] = ()
    _subject: ProseObject | None = None  # of a relation that may come next: the only object so far
    _has_relation = False

    def read_text(self) -> None:
        refused = next((word for word in self.reader.words if word in free_words("refused")), None)
        if refused is not None:
            raise WordingError(f"{refused!r} is not understood here")
        frame = self.reader.take_one_of(sorted(free_words("frames"), key=len, reverse=True))
        style = phrase_words(frame)[-2:][0] if frame else ""
        if style in self.prose.styles:
            self.draft.set_style(style)
        if not self.starts_free_noun():
            raise WordingError(
                f"{' '.join(self.reader.words[self.reader.position :][:4])!r} names no object that is known"
            )
        first = self.read_free_noun()
        self._subject = None if first.amount else first
        while not self.reader.sees("."):
            if not (self._read_list_item() or self._read_relation()):
                self._skip_link()
        self.reader.expect(".")
        if not self.reader.done:
            raise WordingError(f"more than one sentence: {self.reader.next!r} begins another")

    def _read_list_item(self) -> bool:
        """Read a list item such as ", two dogs" or "and a cat"."""
        position = self.reader.position
        is_list = bool(self.take_any("lists"))
        if not (is_list or self.reader.take("with")) or not self.starts_free_noun():
            self.reader.position = position
            return False
        if self._has_relation and is_list:
            raise WordingError("it is not clear whether the relation is to one object or to several")
        if not is_list:
            self.leave_over(position, self.reader.position)
        self.read_free_noun()
        self._subject, self._has_relation = None, False
        return True

    def _read_relation(self) -> bool:
        """Read a relation such as "to the left of a dog", if the first object is its only possible subject."""
        start, subject = self.reader.position, self._subject
        self.reader.take_one_of(("that is", "which is", *BE))
        posture = self.reader.position
        has_posture = self.reader.next in free_words("postures")
        self.reader.position += has_posture
        self.skip_adverbs()
        phrase = self.reader.take_meaning(_relations(self.prose.suite))
        if subject is None or phrase is None or self.starts_counted() or not self.starts_free_noun():
            self.reader.position = start
            return False
        mark = self.draft.mark(), len(self.skipped)
        obj = self.read_free_noun()
        if obj.amount:
            self.forget(*mark)
            self.reader.position = start
            return False
        if has_posture:
            self.leave_over(posture, posture + 1)
        self.draft.add(TOP, subject.variable, phrase.predicate, obj.variable)
        self._subject, self._has_relation = None, True
        return True

    def _skip_link(self) -> None:
        """Skip words up to the next object, and also that object if it cannot be looked for."""
        start, self._subject = self.reader.position, None
        self.reader.position += 1
        while not self.reader.sees(".") and not self.starts_free_noun(among_words=True):
            self.reader.position += 1
        link = self.reader.words[start : self.reader.position]
        if link[0] == "of":  # which may change the noun before it
            raise WordingError(f"{' '.join(self.reader.words[start - 1 :][:3])!r} is not understood")
        if NONE in link:
            raise WordingError(f"{NONE!r} is not understood here")
        self.leave_over(start, self.reader.position)
        if self.reader.sees("."):
            return
        mark, end = (self.draft.mark(), len(self.skipped)), self.reader.position
        obj = self.read_free_noun()
        doubt = next((word for word in _without_places(link) if word in free_words("doubtful")), None)
        is_setting = link[-1] in free_words("settings") and not (obj.amount or obj.core.adjectives)
        if is_setting and self.searchable and obj.noun.word not in self.searchable:
            self.forget(*mark)
            self.leave_over(end, self.reader.position)
        elif doubt is not None:
            raise WordingError(
                f"{doubt!r} before {' '.join(self.reader.words[end : self.reader.position])!r} is not clear"
            )
        self._has_relation = False


def _without_places(link: list[str]) -> list[str]:
    """Return the words between two objects, excluding phrases of place."""
    text = f" {' '.join(link)} "
    for phrase in sorted((*free_words("places"), *_relations("natural")), key=len, reverse=True):
        text = text.replace(f" {phrase} ", " ")
    return text.split()


@cache
def _relations(suite: str) -> Mapping[str, RelationPhrase]:
    """Return the meanings of relation phrases, excluding those that apply only to living beings."""
    relations = prose_lexicon(suite).relations.items()
    table = word_table("free.toml")["relations"]
    return {
        **{text: meaning for text, meaning in relations if meaning.living is None and meaning.predicate != "In"},
        **{phrase: RelationPhrase(name) for name, phrases in table.items() for phrase in phrases},
    }


# --- nouns that are missing from the lexicon


def find_unknown_nouns(text: str, suite: str, classes: tuple[str, ...] = ()) -> tuple[str, ...]:
    """Return the unknown nouns in a prompt as class names, in the singular.

    A single unknown word after "a" or a number, and after any known adjectives, names a class: "seven black pigs". Two
    unknown words in a row stay unknown, because the first may or may not be an adjective.
    """
    prose = prose_lexicon(suite, classes)
    nouns = {*prose.words.singulars, *prose.words.plurals}
    # Not a state: a swimming pool does not swim.
    adjectives = {word for word, entry in prose.words.before.items() if entry.predicate != "HasState"}
    words = prose.reader(text).words
    unknown: dict[str, None] = {}
    for position, word in enumerate(words[:-1]):
        number = 1 if word in ("a", "an", "no") else number_of(word)
        if number is None:
            continue
        end = start = position + 1
        while re.fullmatch(r"[a-z]{3,}(-[a-z]+)*", words[end]) and words[end] not in _boundaries(suite):
            end += 1
        while start < end - 1 and words[start] in adjectives:
            start += 1
        if end - start != 1 or words[start] in nouns or words[start] in adjectives:
            continue
        noun = words[start] if number == 1 else singular_of(words[start])
        if noun is not None and not {noun, plural_of(noun)} & nouns:
            unknown[noun] = None
    return tuple(unknown)


@cache
def _boundaries(suite: str) -> frozenset[str]:
    """Return the words that end a noun phrase, including relations, verbs and other words with a known use."""
    prose = prose_lexicon(suite)
    phrases = [*prose.relations, *prose.alignments, *prose.verbs, *prose.words.after, *prose.words.predicate_phrases]
    phrases += [phrase for phrase_list in prose.phrases.values() for phrase in phrase_list]
    phrases += [_FUNCTION_WORDS, *PRONOUNS, *prose.styles]
    return frozenset({word for phrase in phrases for word in phrase_words(phrase)} - {*prose.words.before})
