"""Parse tokens, noun phrases and the properties after a verb."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple, NoReturn, TypeVar

from formalimg.language.description import ClaimPart, ObjectClaim, is_relation
from formalimg.language.lexicon import (
    PARTICULAR,
    PRONOUNS,
    AdjectiveEntry,
    Noun,
    SuiteLexicon,
    WordingError,
    plural_measure,
)

_Meaning = TypeVar("_Meaning")

_TOKEN = re.compile(r"[A-Za-z]+(?:[-'][A-Za-z]+)*|[0-9]+|[.,;]|\S")

MAX_CHARACTERS = 20_000  # The longest text that is read; the longest of ours have about 2,000 characters
MAX_DEPTH = 20
"""How deep objects may be nested: "a cup that is above a fork that is above a plate" has two inside the first."""

ARTICLES = ("a", "an", "the", "that particular")
_IT = sorted({pronoun.it for pronoun in PRONOUNS.values()})
_ITS = sorted({pronoun.its for pronoun in PRONOUNS.values()})
Properties = list[tuple[ClaimPart, ...]]
_SPLIT: dict[str, list[str]] = {}


class TokenReader:
    """Reads the words of a text in order, ignoring case."""

    def __init__(self, text: str) -> None:
        if len(text) > MAX_CHARACTERS:
            raise WordingError(f"the text has {len(text):,} characters, the limit is {MAX_CHARACTERS:,}: shorten it")
        self.words: list[str] = [*(word.lower() for word in _TOKEN.findall(text)), ""]  # the empty word is the end
        self.place = 0

    @property
    def done(self) -> bool:
        """Whether the end of the text has been reached."""
        return not self.words[self.place]

    @property
    def next(self) -> str:
        """The next word, or an empty string at the end."""
        return self.words[self.place]

    def sees(self, phrase: str) -> bool:
        """Return whether the text continues with the phrase."""
        words = phrase_words(phrase)
        return self.words[self.place] == words[0] and self.words[self.place : self.place + len(words)] == words

    def take(self, phrase: str) -> bool:
        """Consume the phrase if it comes next, and return whether it did."""
        if not self.sees(phrase):
            return False
        self.place += len(phrase_words(phrase))
        return True

    def take_one_of(self, phrases: Iterable[str]) -> str | None:
        """Consume the first of the phrases that comes next, or return None."""
        return next((phrase for phrase in phrases if self.take(phrase)), None)

    def take_meaning(self, meanings: Mapping[str, _Meaning]) -> _Meaning | None:
        """Consume the longest known phrase that comes next and return its meaning."""
        longest = max((phrase for phrase in meanings if self.sees(phrase)), key=len, default=None)
        if longest is None:
            return None
        self.take(longest)
        return meanings[longest]

    def expect(self, *phrases: str) -> str:
        """Consume one of the phrases or raise an error."""
        taken = self.take_one_of(phrases)
        if taken is None:
            self.fail(" or ".join(repr(phrase) for phrase in phrases))
        return taken

    def fail(self, expected: str) -> NoReturn:
        """Raise a WordingError that describes what was expected at the current position."""
        before = " ".join(self.words[max(self.place - 6, 0) : self.place])
        found = repr(" ".join(self.words[self.place : self.place + 4]).strip()) if not self.done else "the end"
        raise WordingError(f"cannot parse the text: after {before!r} comes {found}, expected {expected}")


def phrase_words(phrase: str) -> list[str]:
    """Split a phrase into tokens."""
    if phrase not in _SPLIT:
        _SPLIT[phrase] = [word.lower() for word in _TOKEN.findall(phrase)]
    return _SPLIT[phrase]


class NounPhraseCore(NamedTuple):
    """A noun phrase without its article."""

    mark: str | None
    measured: bool
    adjectives: tuple[tuple[AdjectiveEntry, ...], ...]
    noun: Noun


class KnownObject(NamedTuple):
    """An object that has been introduced, with its noun phrase."""

    variable: str
    core: NounPhraseCore


@dataclass
class NounPhraseParser:
    """Parses noun phrases and tracks the objects that have been introduced."""

    reader: TokenReader
    lexicon: SuiteLexicon
    scope: list[KnownObject]
    names: set[str]

    def starts(self) -> bool:
        """Return whether the next words begin a noun phrase."""
        return any(self.reader.sees(article) for article in ARTICLES)

    def parse_definite(self) -> str:
        """Return the object that a phrase after "the" or "that" refers to."""
        core = self.parse_core()
        adjectives = {adjective for group in core.adjectives for adjective in group}
        matches = [
            known.variable
            for known in self.scope
            if known.core.noun is core.noun
            and known.core.mark == core.mark
            and adjectives <= {group[0] for group in known.core.adjectives if len(group) == 1}
        ]
        if len(matches) != 1:
            whom = "nothing" if not matches else "more than one object"
            raise WordingError(
                f"'the {core.noun.text}' calls {whom} here: introduce each object once, under its own name"
            )
        return matches[0]

    def introduce(self, core: NounPhraseCore) -> tuple[str, list[ObjectClaim]]:
        """Introduce a new object. Return its variable and the claims of its noun phrase."""
        if core.noun.measure and not core.measured:
            raise WordingError(f"say '{core.noun.measure} {core.noun.text}' where the object is introduced")
        variable = self._fresh(core.noun)
        self.scope.append(KnownObject(variable, core))
        claims = [ObjectClaim(variable, (ClaimPart("Is", (core.noun.word,)),))] if core.noun.word else []
        groups = [tuple(ClaimPart(a.predicate, (a.word,)) for a in group) for group in core.adjectives]
        return variable, claims + [ObjectClaim(variable, parts) for parts in groups]

    def parse_core(self, *, plural: bool = False) -> NounPhraseCore:
        """Parse an optional ordinal and measure word, adjectives and a noun."""
        mark = self.reader.take_one_of((PARTICULAR, *self.lexicon.ordinals))
        measured = self._measure(plural)
        cores = (
            NounPhraseCore(mark, bool(measured or inner), adjectives, noun)
            for adjectives, inner, noun in self._readings((), plural)
            if {measured, inner} <= {None, noun.measure} and not (measured and inner)
        )
        found = next(cores, None)
        if found is None:
            self.reader.fail("a noun")
        return found

    def _readings(
        self, before: tuple[tuple[AdjectiveEntry, ...], ...], plural: bool
    ) -> Iterator[tuple[tuple[tuple[AdjectiveEntry, ...], ...], str | None, Noun]]:
        """Yield every reading of the next words as adjectives, an optional measure word and a noun.

        For example, "orange" is both an adjective and a noun. Longer readings come first.
        """
        place = self.reader.place
        group = self._alternatives()
        if group:
            yield from self._readings((*before, group), plural)
            self.reader.place = place
        measure = self._measure(plural) if before else None
        noun = self.reader.take_meaning(self.lexicon.plurals if plural else self.lexicon.singulars)
        if noun:
            yield before, measure, noun

    def _alternatives(self) -> tuple[AdjectiveEntry, ...]:
        """Parse one or more alternative adjectives, such as "red or blue"."""
        found: list[AdjectiveEntry] = []
        place = self.reader.place
        while adjective := self.lexicon.before.get(self.reader.next):
            found.append(adjective)
            place = self.reader.place = self.reader.place + 1
            if not self.reader.take("or"):
                break
        self.reader.place = place
        return tuple(found)

    def _measure(self, plural: bool) -> str | None:
        for measure in self.lexicon.measures:
            if self.reader.take(plural_measure(measure) if plural else measure):
                return measure
        return None

    def _fresh(self, noun: Noun) -> str:
        stem = (noun.word or noun.text).replace(" ", "_")
        number = 1
        while (name := f"?{stem}" if number == 1 else f"?{stem}_{number}") in self.names:
            number += 1
        self.names.add(name)
        return name


@dataclass
class PropertyParser:
    """Parses lists of properties after a verb, using callbacks to parse objects and classes."""

    reader: TokenReader
    lexicon: SuiteLexicon
    parse_object: Callable[[], str]
    parse_class: Callable[[], str]

    def starts(self) -> bool:
        """Return whether the next words begin a property other than a class."""
        place = self.reader.place
        found = self.reader.take("not")
        found = found or (self.reader.take("either") and self.reader.next not in ("the", "that"))
        found = found or self.reader.take_meaning(self.lexicon.corner_phrases) is not None
        found = (
            found
            or self.reader.take_meaning(self.lexicon.predicate_phrases) is not None
            or self._near_form() is not None
        )
        found = found or self.reader.take_meaning(self.lexicon.after) is not None
        self.reader.place = place
        return found

    def starts_place(self) -> bool:
        """Return whether the next words begin a place or a spatial relation."""
        place = self.reader.place
        is_place = self.reader.take_meaning(self.lexicon.corner_phrases) is not None or self._near_form() is not None
        predicate = None if is_place else self.reader.take_meaning(self.lexicon.predicate_phrases)
        self.reader.place = place
        relation = self.lexicon.relations.get(predicate or "")
        return is_place or predicate in self.lexicon.places or (relation is not None and relation.kind == "where")

    def parse_properties(self, it: str | None = None, *, verbs: tuple[str, ...] = ()) -> Properties:
        """Parse a list of properties. "it" refers to the last object, initially `it`.

        If `verbs` are given, they may be repeated in the list ("is red and is above the cup"), and a relation may have
        several objects ("is above the cup and the plate").
        """
        found: Properties = []
        while True:
            corner = self.reader.take_meaning(self.lexicon.corner_phrases)
            if corner:
                found += [(ClaimPart(place, ()),) for place in corner]
            elif self.reader.take("either"):
                found.append(tuple(self._alternatives()))
            else:
                part = self.parse_part(it)
                found.append((part,))
                if is_relation(part):
                    it = part.rest[0]
                    found += self._further_objects(part) if verbs else []
            place = self.reader.place
            joint = self.reader.take_one_of((",", "and"))
            if joint == "and":
                self.reader.take_one_of(verbs)
            if joint is None or not self.starts():
                self.reader.place = place
                return found

    def _further_objects(self, part: ClaimPart) -> Properties:
        """Parse further objects of the same relation, such as "and the plate" or ", the plate and the fork"."""
        found: Properties = []
        while part.positive and any(self.reader.sees(f"{joint} {a}") for joint in ("and", ",") for a in ARTICLES):
            self.reader.place += 1
            found.append((ClaimPart(part.predicate, (self.parse_object(),)),))
        return found

    def parse_part(self, it: str | None) -> ClaimPart:
        """Parse a single part, such as "not red", "above the cup" or "to its left"."""
        positive = not self.reader.take("not")
        if self.reader.take_one_of(("a", "an")):
            return ClaimPart("Is", (self.parse_class(),), positive)
        near = self._near_form()
        if near:
            return ClaimPart(near, (self._called(it),), positive)
        predicate = self.reader.take_meaning(self.lexicon.predicate_phrases)
        if predicate is not None and predicate in self.lexicon.places:
            return ClaimPart(predicate, (), positive)
        if predicate is not None:
            obj = self._called(it) if self.reader.take_one_of(_IT) else self.parse_object()
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

    def _alternatives(self) -> list[ClaimPart]:
        parts = [self.parse_part(None)]
        while self.reader.take("or"):
            parts.append(self.parse_part(None))
        return parts

    def _near_form(self) -> str | None:
        """Parse a form such as "to its left" and return its relation, or None if there is none."""
        for name, relation in self.lexicon.relations.items():
            if relation.near and "{its}" in relation.near:
                forms = [relation.near.format(its=its) for its in _ITS]
                if self.reader.take_one_of(forms):
                    return name
        return None

    def _called(self, it: str | None) -> str:
        if it is None:
            self.reader.fail("an object that the pronoun can stand for")
        return it
