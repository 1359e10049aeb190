"""Lexicon of nouns, adjectives, numbers and phrases for the English of each suite."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache, cached_property
from importlib.resources import files
from typing import Any, NamedTuple, TypeVar

from formalimg.errors import FormalimgError
from formalimg.logic.syntax import DISTINCT, Atom, CountBound, Formula, Value, Variable, atoms
from formalimg.logic.vocabulary import Vocabulary, vocabulary

T = TypeVar("T")
SUITES = ("knolling", "natural")
MIXED = ("natural",)  # Suites whose published formulas use predicates of the other suite: their texts are readable too
PARTICULAR = "particular"  # Marks an object where a rule speaks of every object of its class: "that particular fork"
UNNAMED = "object"  # The noun of an object whose class is not stated

_UNITS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
_TEENS = ("thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen", "twenty")
_NUMBERS = (*_UNITS, *_TEENS)  # Larger numbers are written in digits
BOUNDS: dict[str, CountBound] = {"exactly": "exactly", "at least": "at-least", "at most": "at-most"}
NONE = "no"  # The word for exactly zero: "there is no cup"


class WordingError(FormalimgError):
    """Raised if a formula cannot be expressed in English or a text cannot be parsed into a formula."""


class Pronoun(NamedTuple):
    """The object and possessive forms of a pronoun."""

    objective: str
    possessive: str


PRONOUNS = {
    "it": Pronoun("it", "its"),
    "he": Pronoun("him", "his"),
    "she": Pronoun("her", "her"),
    "they": Pronoun("them", "their"),
}


@dataclass(frozen=True)
class Noun:
    """The noun for a class, with its plural, measure word and pronoun."""

    word: str | None
    text: str
    plural: str
    measure: str | None = None
    many: bool = False
    pronoun: str = "it"

    @property
    def who(self) -> str:
        """The relative pronoun for the noun ("that" or "who")."""
        return "that" if self.pronoun == "it" else "who"


@dataclass(frozen=True)
class AdjectiveEntry:
    """The forms of an attribute before a noun (None if not allowed) and after a verb."""

    predicate: str
    word: str
    before: str | None
    after: str
    rank: tuple[int, int]


@dataclass(frozen=True)
class RelationEntry:
    """The phrases for a relation."""

    predicate: str
    phrases: tuple[str, ...]
    near: str | None = None  # the form with a pronoun
    group: str | None = None  # the noun for objects so related
    ordered: bool = False  # whether each object of a list can have it to the next
    back: bool = False  # whether it reads better from the next to the previous
    sweep: str | None = None  # the phrase for a list in which each object has it to the next
    verb: str | None = None  # the verb that may replace "is"
    kind: str = "where"  # sorts properties


@dataclass(frozen=True)
class SuiteLexicon:
    """The nouns, adjectives, relations and other phrases of a suite."""

    suite: str
    nouns: Mapping[str, Noun]
    adjectives: Mapping[tuple[str, str], AdjectiveEntry]
    relations: Mapping[str, RelationEntry]
    places: Mapping[str, tuple[str, ...]]
    corners: Mapping[str, tuple[str, str]]  # phrases for two positions, such as "in the upper left corner"
    styles: Mapping[str, str]
    openings: Mapping[str, str]
    earlier_openings: tuple[str, ...]
    connectives: tuple[str, ...]
    each_case: str
    ordinals: tuple[str, ...]
    verbs: Mapping[str, str]  # verbs for "is" before a place, with their plurals

    def has_phrase(self, atom: Atom) -> bool:
        """Return whether the lexicon has a phrase for the predicate and argument kinds of an atom."""
        match atom.arguments:
            case (Variable(), Variable()):
                return atom.predicate in self.relations
            case (Variable(),):
                return atom.predicate in self.places
            case (Variable(), Value(word)):
                return (atom.predicate, word) in self.adjectives
        return False

    def verbs_of(self, predicate: str) -> list[str]:
        """Return the verbs that can replace "is" before a place or relation."""
        allowed = self.relations[predicate].verb if predicate in self.relations else None
        special = {relation.verb for relation in self.relations.values()} - {allowed}
        return [verb for verb in self.verbs if verb not in special]

    @cached_property
    def living(self) -> frozenset[str]:
        """The classes of people, animals and other objects for which verbs such as "sit" may describe a state."""
        from formalimg.language.ontology.knowledge import COVERED, ontology  # here, so that a run need not load it

        entries = [ontology().entry(word) for word in vocabulary(self.suite).words["class"] if self.suite in COVERED]
        return frozenset(entry.name for entry in entries if entry.category in ("people", "animals") or entry.holds)

    # --- from words back to meanings

    @cached_property
    def predicate_phrases(self) -> Mapping[str, str]:
        """Mapping from relation and place phrases to predicates."""
        relations = [(phrase, name) for name, relation in self.relations.items() for phrase in relation.phrases]
        places = [(phrase, name) for name, phrases in self.places.items() for phrase in phrases]
        return _unambiguous([*relations, *places, *((shorten_place(phrase), name) for phrase, name in places)])

    @cached_property
    def corner_phrases(self) -> Mapping[str, tuple[str, str]]:
        """Mapping from corner phrases to pairs of positions."""
        shortened = ((shorten_place(phrase), places) for phrase, places in self.corners.items())
        return _unambiguous([*self.corners.items(), *shortened])

    @cached_property
    def sweeps(self) -> Mapping[str, str]:
        """Mapping from phrases about an ordered list to the relation between consecutive objects."""
        return _unambiguous((relation.sweep, name) for name, relation in self.relations.items() if relation.sweep)

    @cached_property
    def style_phrases(self) -> Mapping[str, str]:
        """Mapping from style phrases to styles."""
        return _unambiguous((phrase, style) for style, phrase in self.styles.items())

    @cached_property
    def before(self) -> Mapping[str, AdjectiveEntry]:
        """Mapping from adjective forms used before a noun to adjectives."""
        return _unambiguous((entry.before, entry) for entry in self.adjectives.values() if entry.before)

    @cached_property
    def after(self) -> Mapping[str, AdjectiveEntry]:
        """Mapping from adjective forms used after a verb to adjectives."""
        return _unambiguous((entry.after, entry) for entry in self.adjectives.values())

    @cached_property
    def singulars(self) -> Mapping[str, Noun]:
        """Mapping from singular forms to nouns."""
        return _unambiguous((noun.text, noun) for noun in self.nouns.values())

    @cached_property
    def plurals(self) -> Mapping[str, Noun]:
        """Mapping from plural forms to nouns."""
        return _unambiguous((noun.plural, noun) for noun in self.nouns.values())

    @cached_property
    def measures(self) -> tuple[str, ...]:
        """The measure words for uncountable nouns, such as "pair of"."""
        return tuple(sorted({noun.measure for noun in self.nouns.values() if noun.measure}))


def shorten_place(phrase: str) -> str:
    """Remove "of the image" from the end of a place phrase."""
    return phrase.removesuffix(" of the image")


def plural_measure(measure: str) -> str:
    """Return the plural of a measure word, such as "pairs of"."""
    head, rest = measure.split(" ", 1)
    return f"{head}{'es' if head.endswith('ch') else 's'} {rest}"


def _unambiguous(pairs: Iterable[tuple[str, T]]) -> dict[str, T]:
    meanings: dict[str, T] = {}
    for phrase, meaning in pairs:
        if meanings.setdefault(phrase, meaning) != meaning:
            raise WordingError(f"the data files of the wording give {phrase!r} two meanings: change one")
    return meanings


@cache
def lexicon(suite: str) -> SuiteLexicon:
    """Return the lexicon of a suite, `knolling` or `natural`."""
    if suite not in SUITES:
        raise WordingError(f"no words for the suite {suite!r}: use {' or '.join(SUITES)}")
    words, nouns, phrases = vocabulary(suite), word_table("nouns.toml"), word_table("phrases.toml")
    predicates = {*phrases["relations"], *phrases["places"]}
    if suite not in MIXED:
        predicates &= set(words.predicates)
    missing = [word for word in (*words.words["class"], UNNAMED) if word not in nouns]
    if missing:
        raise WordingError(f"nouns.toml: add an entry for {missing[0]!r}")
    result = SuiteLexicon(
        suite=suite,
        nouns={word: _noun(word, nouns[word]) for word in (*words.words["class"], UNNAMED)},
        adjectives=_adjectives(words, phrases["adjectives"]),
        relations={
            **{name: _relation(name, entry) for name, entry in phrases["relations"].items() if name in predicates},
            DISTINCT: _relation(DISTINCT, word_table("counting.toml")["relations"][DISTINCT]),
        },
        places={name: tuple(texts) for name, texts in phrases["places"].items() if name in predicates},
        corners={text: (a, b) for text, (a, b) in phrases["corners"].items() if predicates >= {a, b}},
        styles={word: phrases["styles"][word] for word in words.words.get("style", ())},
        openings=phrases["openings"],
        earlier_openings=tuple(phrases["earlier_openings"]),
        connectives=tuple(phrases["connectives"]),
        each_case=phrases["each_case"],
        ordinals=tuple(phrases["ordinals"]),
        verbs=phrases["verbs"][suite],
    )
    phrased = {"Is", "IsStyle", *(predicate for predicate, _ in result.adjectives), *result.predicate_phrases.values()}
    if not_phrased := set(words.predicates) - phrased:
        raise WordingError(f"phrases.toml: add a phrase for {min(not_phrased)}")
    return result


def with_classes(words: SuiteLexicon, classes: Iterable[str]) -> SuiteLexicon:
    """Return the lexicon with nouns added for further classes. Existing nouns take precedence."""
    nouns = dict(words.nouns)
    texts = {*words.singulars, *words.plurals}
    for word in classes:
        text = class_noun(word)
        noun = Noun(word, text, plural_of(text))
        if not {noun.text, noun.plural} & texts and word not in nouns:
            nouns[word] = noun
            texts |= {noun.text, noun.plural}
    return replace(words, nouns=nouns)


def class_noun(name: str) -> str:
    """Return the noun for a class that is missing from the data files."""
    return name.replace("_", " ").lower()


def plural_of(text: str) -> str:
    """Return the plural of a noun that is missing from the data files."""
    for ending, plural in word_table("counting.toml")["plurals"].items():
        if text == ending or text.endswith(f" {ending}"):
            return f"{text.removesuffix(ending)}{plural}"
    if re.search(r"[^aeiou]y$", text):
        return f"{text[:-1]}ies"
    return f"{text}es" if re.search(r"(s|x|z|ch|sh)$", text) else f"{text}s"


def singular_of(plural: str) -> str | None:
    """Return the singular of a plural noun, or None if the word is not a plural."""
    likely = plural[:-2] if plural.endswith(("sses", "uses", "ches", "shes", "xes")) else f"{plural[:-3]}y"
    candidates = [*word_table("counting.toml")["plurals"], likely, plural[:-1]]
    return next((singular for singular in candidates if len(singular) > 1 and plural_of(singular) == plural), None)


def lexicon_of(formula: Formula, suite: str) -> SuiteLexicon:
    """Return the lexicon of a suite, extended with phrases for unknown predicates in the formula.

    They get the phrases that another suite has for them, or else their own names: `StandsBehind` is "stands behind".
    """
    words = lexicon(suite)
    vocabulary_predicates = {*vocabulary(suite).predicates, DISTINCT}
    unknown = [a for a in atoms(formula) if a.predicate not in vocabulary_predicates and not words.has_phrase(a)]
    if not unknown:
        return words
    relations, places, adjectives = dict(words.relations), dict(words.places), dict(words.adjectives)
    table = word_table("phrases.toml")["relations"]
    for name, arguments in dict.fromkeys((atom.predicate, atom.arguments) for atom in unknown):
        phrase = " ".join(re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+", name)).lower().removeprefix("is ") or name
        is_ambiguous = phrase in words.predicate_phrases or phrase in words.after
        match arguments:
            case (Variable(), Variable()):
                default = {"phrases": [f"in the relation {phrase} to" if is_ambiguous else phrase]}
                relations[name] = _relation(name, table.get(name, default))
            case (Variable(),):
                places[name] = (f"marked as {phrase}" if is_ambiguous else phrase,)
            case (Variable(), Value(word)):
                after = f"of the {phrase.removeprefix('has').strip() or 'quality'} {word}"
                adjectives[name, word] = AdjectiveEntry(name, word, None, after, (1, 0))
            case _:
                raise WordingError(f"no words for {name}: a predicate must be about one object or two")
    return replace(words, relations=relations, places=places, adjectives=adjectives)


@cache
def word_table(name: str) -> dict[str, Any]:
    """Load a data file of the lexicon."""
    return tomllib.loads((files("formalimg.language") / "words" / name).read_text(encoding="utf-8"))


def _relation(name: str, entry: Mapping[str, Any]) -> RelationEntry:
    return RelationEntry(name, **{**entry, "phrases": tuple(entry["phrases"])})


def _noun(word: str, entry: Mapping[str, Any]) -> Noun:
    text = entry.get("text", word)
    return Noun(None if word == UNNAMED else word, **{"text": text, "plural": f"{text}s", **entry})


def _adjectives(words: Vocabulary, table: Mapping[str, Any]) -> dict[tuple[str, str], AdjectiveEntry]:
    order = list(table["order"])
    adjectives = {}
    for predicate in words.predicates.values():
        if predicate.name == "Is" or len(predicate.arguments) != 2 or predicate.arguments[1] not in order:
            continue
        kind = predicate.arguments[1]
        for word in words.words[kind]:
            entry = table["words"].get(word, {})
            before, after = entry.get("before", word) or None, entry.get("after", word)
            rank = (0 if entry.get("early") else 1, order.index(kind))
            adjectives[predicate.name, word] = AdjectiveEntry(predicate.name, word, before, after, rank)
    return adjectives


# --- numbers


def amount_text(bound: CountBound, number: int) -> str:
    """Return the words for an amount, such as "exactly three", "at most 30" or "no"."""
    if bound == "exactly" and number == 0:
        return NONE
    words = next(text for text, meaning in BOUNDS.items() if meaning == bound)
    return f"{words} {_NUMBERS[number] if number < len(_NUMBERS) else number}"


def is_singular(bound: CountBound, number: int) -> bool:
    """Return whether the noun after an amount is singular, as in "exactly one cup" or "no cup"."""
    return number == 1 or (bound == "exactly" and number == 0)


def number_of(word: str) -> int | None:
    """Parse a number word or digits, or return None if the word is not a number."""
    if word in _NUMBERS:
        return _NUMBERS.index(word)
    return int(word) if word.isascii() and word.isdigit() and len(word) < 5 else None
