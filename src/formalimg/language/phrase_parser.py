"""Parse tokens, noun phrases and the properties after a verb."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import NamedTuple, NoReturn, TypeVar

from formalimg.language.description import ClaimPart, ObjectClaim, is_relation, phrase_claims
from formalimg.language.lexicon import (
    PARTICULAR,
    PRONOUNS,
    AdjectiveEntry,
    Noun,
    SuiteLexicon,
    WordingError,
    plural_measure,
)

T = TypeVar("T")

MAX_CHARACTERS = 20_000  # The longest text that is read; the longest of ours have about 2,000 characters
MAX_DEPTH = 20  # How deep objects may be nested: "a cup above a fork above a plate" has two inside the first
ARTICLES = ("a", "an", "the", "that particular")

_TOKEN = re.compile(r"[A-Za-z]+(?:[-'][A-Za-z]+)*|[0-9]+|[.,;]|\S")
_IT = sorted({pronoun.objective for pronoun in PRONOUNS.values()})
_ITS = sorted({pronoun.possessive for pronoun in PRONOUNS.values()})


class TokenReader:
    """Reads the words of a text in order, ignoring case."""

    def __init__(self, text: str) -> None:
        if len(text) > MAX_CHARACTERS:
            raise WordingError(f"the text has {len(text):,} characters, the limit is {MAX_CHARACTERS:,}: shorten it")
        self.words: list[str] = [*(word.lower() for word in _TOKEN.findall(text)), ""]  # the empty word is the end
        self.position = 0

    @property
    def done(self) -> bool:
        """Whether the end of the text has been reached."""
        return not self.words[self.position]

    @property
    def next(self) -> str:
        """The next word, or an empty string at the end."""
        return self.words[self.position]

    def sees(self, phrase: str) -> bool:
        """Return whether the text continues with the phrase."""
        words = phrase_words(phrase)
        return self.next == words[0] and self.words[self.position : self.position + len(words)] == words

    def take(self, phrase: str) -> bool:
        """Consume the phrase if it comes next, and return whether it did."""
        if not self.sees(phrase):
            return False
        self.position += len(phrase_words(phrase))
        return True

    def take_one_of(self, phrases: Iterable[str]) -> str | None:
        """Consume the first of the phrases that comes next, or return None."""
        return next((phrase for phrase in phrases if self.take(phrase)), None)

    def take_meaning(self, meanings: Mapping[str, T]) -> T | None:
        """Consume the longest known phrase that comes next and return its meaning."""
        longest = max((phrase for phrase in meanings if self.sees(phrase)), key=len, default=None)
        if longest is None:
            return None
        self.take(longest)
        return meanings[longest]

    def peek(self, read: Callable[[], T]) -> T:
        """Return what `read` returns, without consuming anything."""
        position = self.position
        result = read()
        self.position = position
        return result

    def expect(self, *phrases: str) -> str:
        """Consume one of the phrases or raise an error."""
        phrase = self.take_one_of(phrases)
        if phrase is None:
            self.fail(" or ".join(map(repr, phrases)))
        return phrase

    def fail(self, expected: str) -> NoReturn:
        """Raise a WordingError that describes what was expected at the current position."""
        before = " ".join(self.words[max(self.position - 6, 0) : self.position])
        after = "the end" if self.done else repr(" ".join(self.words[self.position : self.position + 4]).strip())
        raise WordingError(f"cannot parse the text: after {before!r} comes {after}, expected {expected}")


@cache
def phrase_words(phrase: str) -> list[str]:
    """Split a phrase into tokens."""
    return [word.lower() for word in _TOKEN.findall(phrase)]


class NounPhraseCore(NamedTuple):
    """A noun phrase without its article."""

    mark: str | None
    measured: bool
    adjectives: tuple[tuple[AdjectiveEntry, ...], ...]
    noun: Noun

    def claims(self, variable: str) -> list[ObjectClaim]:
        """Return what the noun phrase says of its object: its class, if any, and its attributes."""
        groups = [tuple(ClaimPart(entry.predicate, (entry.word,)) for entry in group) for group in self.adjectives]
        return phrase_claims(variable, self.noun.word, groups)

    def can_refer_to(self, core: NounPhraseCore) -> bool:
        """Return whether this phrase after "the" can refer to an object introduced by the other."""
        adjectives = {entry for group in self.adjectives for entry in group}
        certain = {group[0] for group in core.adjectives if len(group) == 1}
        return self.noun is core.noun and self.mark == core.mark and adjectives <= certain


def only_match(core: NounPhraseCore, matches: list[T]) -> T:
    """Return the only object that a phrase after "the" can refer to."""
    if len(matches) != 1:
        whom = "nothing" if not matches else "more than one object"
        raise WordingError(f"'the {core.noun.text}' calls {whom} here: introduce each object once, under its own name")
    return matches[0]


@dataclass
class NounPhraseParser:
    """Parses noun phrases and tracks the objects that have been introduced."""

    reader: TokenReader
    lexicon: SuiteLexicon
    scope: dict[str, NounPhraseCore] = field(default_factory=dict)  # the objects that "the" can refer to
    names: set[str] = field(default_factory=set)

    def starts(self) -> bool:
        """Return whether the next words begin a noun phrase."""
        return any(self.reader.sees(article) for article in ARTICLES)

    def parse_definite(self) -> str:
        """Return the object that a phrase after "the" or "that" refers to."""
        core = self.parse_core()
        return only_match(core, [obj for obj, introduced in self.scope.items() if core.can_refer_to(introduced)])

    def introduce(self, core: NounPhraseCore) -> tuple[str, list[ObjectClaim]]:
        """Introduce a new object. Return its variable and the claims of its noun phrase."""
        if core.noun.measure and not core.measured:
            raise WordingError(f"say '{core.noun.measure} {core.noun.text}' where the object is introduced")
        stem = variable = f"?{(core.noun.word or core.noun.text).replace(' ', '_')}"
        number = 1
        while variable in self.names:
            number += 1
            variable = f"{stem}_{number}"
        self.names.add(variable)
        self.scope[variable] = core
        return variable, core.claims(variable)

    def parse_core(self, *, plural: bool = False) -> NounPhraseCore:
        """Parse an optional ordinal and measure word, adjectives and a noun."""
        mark = self.reader.take_one_of((PARTICULAR, *self.lexicon.ordinals))
        measure = self._measure(plural)
        cores = (
            NounPhraseCore(mark, bool(measure or inner), adjectives, noun)
            for adjectives, inner, noun in self._readings((), plural)
            if {measure, inner} <= {None, noun.measure} and not (measure and inner)
        )
        core = next(cores, None)
        if core is None:
            self.reader.fail("a noun")
        return core

    def _readings(
        self, before: tuple[tuple[AdjectiveEntry, ...], ...], plural: bool
    ) -> Iterator[tuple[tuple[tuple[AdjectiveEntry, ...], ...], str | None, Noun]]:
        """Yield every reading of the next words as adjectives, an optional measure word and a noun.

        For example, "orange" is both an adjective and a noun. Longer readings come first.
        """
        position = self.reader.position
        group = self._adjectives()
        if group:
            yield from self._readings((*before, group), plural)
            self.reader.position = position
        measure = self._measure(plural) if before else None
        noun = self.reader.take_meaning(self.lexicon.plurals if plural else self.lexicon.singulars)
        if noun:
            yield before, measure, noun

    def _adjectives(self) -> tuple[AdjectiveEntry, ...]:
        """Parse one or more alternative adjectives, such as "red or blue"."""
        alternatives: list[AdjectiveEntry] = []
        position = self.reader.position
        while adjective := self.lexicon.before.get(self.reader.next):
            alternatives.append(adjective)
            position = self.reader.position = self.reader.position + 1
            if not self.reader.take("or"):
                break
        self.reader.position = position
        return tuple(alternatives)

    def _measure(self, plural: bool) -> str | None:
        measures = self.lexicon.measures
        return next((m for m in measures if self.reader.take(plural_measure(m) if plural else m)), None)


@dataclass
class PropertyParser:
    """Parses lists of properties after a verb, using callbacks to parse objects and classes."""

    reader: TokenReader
    lexicon: SuiteLexicon
    parse_object: Callable[[], str]
    parse_class: Callable[[], str]

    def starts(self) -> bool:
        """Return whether the next words begin a property other than a class."""
        return self.reader.peek(
            lambda: (
                self.reader.take("not")
                or (self.reader.take("either") and self.reader.next not in ("the", "that"))
                or self.reader.take_meaning(self.lexicon.corner_phrases) is not None
                or self.reader.take_meaning(self.lexicon.predicate_phrases) is not None
                or self._near_form() is not None
                or self.reader.take_meaning(self.lexicon.after) is not None
            )
        )

    def starts_place(self) -> bool:
        """Return whether the next words begin a place or a spatial relation."""
        if self.reader.peek(lambda: self.reader.take_meaning(self.lexicon.corner_phrases) or self._near_form()):
            return True
        predicate = self.reader.peek(lambda: self.reader.take_meaning(self.lexicon.predicate_phrases))
        relation = self.lexicon.relations.get(predicate or "")
        return predicate in self.lexicon.places or (relation is not None and relation.kind == "where")

    def parse_properties(
        self, referent: str | None = None, *, verbs: tuple[str, ...] = ()
    ) -> list[tuple[ClaimPart, ...]]:
        """Parse a list of properties. "it" refers to the last object, initially `referent`.

        If `verbs` are given, they may be repeated in the list ("is red and is above the cup"), and a relation may have
        several objects ("is above the cup and the plate").
        """
        properties: list[tuple[ClaimPart, ...]] = []
        while True:
            corner = self.reader.take_meaning(self.lexicon.corner_phrases)
            if corner:
                properties += [(ClaimPart(name, ()),) for name in corner]
            elif self.reader.take("either"):
                alternatives = [self.parse_part(None)]
                while self.reader.take("or"):
                    alternatives.append(self.parse_part(None))
                properties.append(tuple(alternatives))
            else:
                part = self.parse_part(referent)
                properties.append((part,))
                if is_relation(part):
                    referent = part.rest[0]
                    properties += self._further_objects(part) if verbs else []
            position = self.reader.position
            joint = self.reader.take_one_of((",", "and"))
            if joint == "and":
                self.reader.take_one_of(verbs)
            if joint is None or not self.starts():
                self.reader.position = position
                return properties

    def _further_objects(self, part: ClaimPart) -> list[tuple[ClaimPart, ...]]:
        """Parse further objects of the same relation, such as "and the plate" or ", the plate and the fork"."""
        properties: list[tuple[ClaimPart, ...]] = []
        while part.positive and any(self.reader.sees(f"{joint} {a}") for joint in ("and", ",") for a in ARTICLES):
            self.reader.position += 1
            properties.append((ClaimPart(part.predicate, (self.parse_object(),)),))
        return properties

    def parse_part(self, referent: str | None) -> ClaimPart:
        """Parse a single part, such as "not red", "above the cup" or "to its left"."""
        positive = not self.reader.take("not")
        if self.reader.take_one_of(("a", "an")):
            return ClaimPart("Is", (self.parse_class(),), positive)
        near = self._near_form()
        if near:
            return ClaimPart(near, (self._pronoun_object(referent),), positive)
        predicate = self.reader.take_meaning(self.lexicon.predicate_phrases)
        if predicate is not None and predicate in self.lexicon.places:
            return ClaimPart(predicate, (), positive)
        if predicate is not None:
            obj = self._pronoun_object(referent) if self.reader.take_one_of(_IT) else self.parse_object()
            return ClaimPart(predicate, (obj,), positive)
        adjective = self.reader.take_meaning(self.lexicon.after)
        if adjective is None:
            self.reader.fail("an attribute, a place or a relation")
        return ClaimPart(adjective.predicate, (adjective.word,), positive)

    def parse_relation(self) -> str:
        """Parse a relation phrase without its object."""
        predicate = self.reader.take_meaning(self.lexicon.predicate_phrases)
        if predicate is None or predicate not in self.lexicon.relations:
            self.reader.fail("a relation")
        return predicate

    def _near_form(self) -> str | None:
        """Parse a form such as "to its left" and return its relation, or None if there is none."""
        for name, relation in self.lexicon.relations.items():
            near = relation.near or ""
            forms = [near.format(its=word) for word in _ITS] if "{its}" in near else []
            if self.reader.take_one_of(forms):
                return name
        return None

    def _pronoun_object(self, referent: str | None) -> str:
        if referent is None:
            self.reader.fail("an object that the pronoun can stand for")
        return referent
