"""The words of the language: nouns, adjectives and phrases."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, TypeVar

from formalimg.suites.wording.problem import WordingError

_Meaning = TypeVar("_Meaning")

PARTICULAR = "particular"
"""Marks a thing where a rule speaks of every thing of its class: "that particular fork"."""

UNNAMED = "object"
"""The noun of a thing whose class is not said."""


class Pronoun(NamedTuple):
    """The forms of a pronoun that are used: as an object, and before a noun."""

    it: str
    its: str


PRONOUNS = {
    "it": Pronoun("it", "its"),
    "he": Pronoun("him", "his"),
    "she": Pronoun("her", "her"),
    "they": Pronoun("them", "their"),
}


@dataclass(frozen=True)
class Noun:
    """How a class is named."""

    word: str | None
    text: str
    plural: str
    measure: str | None
    many: bool
    pronoun: str

    @property
    def who(self) -> str:
        """The word that begins a relative clause."""
        return "that" if self.pronoun == "it" else "who"


@dataclass(frozen=True)
class Adjective:
    """How an attribute is said before a noun (None: never) and behind a verb."""

    predicate: str
    word: str
    before: str | None
    after: str
    rank: tuple[int, int]


@dataclass(frozen=True)
class Relation:
    """How a relation is said.

    `near` is the form with a pronoun, `group` what things so related form, `ordered` says whether each thing of a list
    can be so to the next, and `back` whether it reads better as said of the one before. `kind` sorts what is said.
    """

    predicate: str
    phrases: tuple[str, ...]
    near: str | None
    group: str | None
    ordered: bool
    back: bool
    kind: str


class Corner(NamedTuple):
    """Two places in one phrase."""

    places: tuple[str, str]
    phrase: str


@dataclass(frozen=True)
class Lexicon:
    """All words of a suite."""

    nouns: Mapping[str, Noun]
    adjectives: Mapping[tuple[str, str], Adjective]
    relations: Mapping[str, Relation]
    places: Mapping[str, tuple[str, ...]]
    corners: tuple[Corner, ...]
    styles: Mapping[str, str]
    openings: Mapping[str, str]
    ordinals: tuple[str, ...]

    @property
    def unnamed(self) -> Noun:
        """The noun of a thing whose class is not said."""
        return self.nouns[UNNAMED]

    # --- from words back to meanings

    @cached_property
    def said(self) -> Mapping[str, str]:
        """The predicate of each phrase of a relation or place."""
        phrases = [(phrase, name) for name, relation in self.relations.items() for phrase in relation.phrases]
        return _inverse(phrases + [(phrase, name) for name, places in self.places.items() for phrase in places])

    @cached_property
    def corner_phrases(self) -> Mapping[str, tuple[str, str]]:
        """The two places of each phrase for a corner."""
        return {corner.phrase: corner.places for corner in self.corners}

    @cached_property
    def style_phrases(self) -> Mapping[str, str]:
        """The style of each phrase for one."""
        return _inverse((phrase, style) for style, phrase in self.styles.items())

    @cached_property
    def before(self) -> Mapping[str, Adjective]:
        """The adjectives by the word that stands before a noun."""
        return _inverse((a.before, a) for a in self.adjectives.values() if a.before)

    @cached_property
    def after(self) -> Mapping[str, Adjective]:
        """The adjectives by the words that stand behind a verb."""
        return _inverse((a.after, a) for a in self.adjectives.values())

    @cached_property
    def singulars(self) -> Mapping[str, Noun]:
        """The nouns by their singular."""
        return _inverse((noun.text, noun) for noun in self.nouns.values())

    @cached_property
    def plurals(self) -> Mapping[str, Noun]:
        """The nouns by their plural."""
        return _inverse((noun.plural, noun) for noun in self.nouns.values())

    @cached_property
    def measures(self) -> tuple[str, ...]:
        """The words that make nouns countable: "pair of"."""
        return tuple(sorted({noun.measure for noun in self.nouns.values() if noun.measure}))


def many_of(measure: str) -> str:
    """Several of a measure: "pairs of"."""
    head, rest = measure.split(" ", 1)
    return f"{head}{'es' if head.endswith('ch') else 's'} {rest}"


def _inverse(pairs: Iterable[tuple[str, _Meaning]]) -> dict[str, _Meaning]:
    """The meaning of each phrase; the words must lead back, so that no phrase may have two."""
    meanings: dict[str, _Meaning] = {}
    for phrase, meaning in pairs:
        if meanings.setdefault(phrase, meaning) != meaning:
            raise WordingError(f"the data files of the wording give {phrase!r} two meanings: change one")
    return meanings
