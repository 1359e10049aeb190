"""Lexicon of nouns, adjectives and phrases for the English of each suite."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache, cached_property
from importlib.resources import files
from typing import Any, NamedTuple, TypeVar

from formalimg.errors import FormalimgError
from formalimg.logic.syntax import DISTINCT, Atom, Formula, Value, Variable, atoms
from formalimg.logic.vocabulary import Vocabulary, vocabulary

_Meaning = TypeVar("_Meaning")
SUITES = ("knolling", "natural")

MIXED = ("natural",)  # Those whose published formulas use predicates of the other one: their texts can be read as well
PARTICULAR = "particular"  # Marks an object where a rule speaks of every object of its class: "that particular fork"
UNNAMED = "object"  # The noun of an object whose class is not said


class WordingError(FormalimgError):
    """Raised if a formula cannot be expressed in English or a text cannot be parsed into a formula."""


class Pronoun(NamedTuple):
    """The object and possessive forms of a pronoun."""

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
    """The noun for a class, with its plural, measure word and pronoun."""

    word: str | None
    text: str
    plural: str
    measure: str | None
    many: bool
    pronoun: str

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
    """The phrases for a relation.

    `near` is the form with a pronoun, `group` the noun for objects so related, `ordered` whether each object of a list
    can have it to the next, `back` whether it reads better from the next to the previous, and `sweep` what is said of a
    list in which each has it to the next. `verb` may stand for "is". `kind` sorts properties.
    """

    predicate: str
    phrases: tuple[str, ...]
    near: str | None
    group: str | None
    ordered: bool
    back: bool
    sweep: str | None
    verb: str | None
    kind: str


class Corner(NamedTuple):
    """A phrase that combines two positions, such as "in the upper left corner"."""

    places: tuple[str, str]
    phrase: str


@dataclass(frozen=True)
class SuiteLexicon:
    """The nouns, adjectives, relations and other phrases of a suite."""

    suite: str
    nouns: Mapping[str, Noun]
    adjectives: Mapping[tuple[str, str], AdjectiveEntry]
    relations: Mapping[str, RelationEntry]
    places: Mapping[str, tuple[str, ...]]
    corners: tuple[Corner, ...]
    styles: Mapping[str, str]
    openings: Mapping[str, str]
    earlier_openings: tuple[str, ...]
    connectives: tuple[str, ...]
    each_case: str
    ordinals: tuple[str, ...]
    verbs: Mapping[str, str]
    """Verbs for "is" before a place, with their plurals."""

    @property
    def unnamed(self) -> Noun:
        """The noun for objects without a stated class."""
        return self.nouns[UNNAMED]

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
        living = ("people", "animals")
        return frozenset(entry.name for entry in entries if entry.category in living or entry.holds is not None)

    # --- from words back to meanings

    @cached_property
    def predicate_phrases(self) -> Mapping[str, str]:
        """Mapping from relation and place phrases to predicates."""
        phrases = [(phrase, name) for name, relation in self.relations.items() for phrase in relation.phrases]
        places = [(phrase, name) for name, places in self.places.items() for phrase in places]
        return _inverse([*phrases, *places, *((shorten_place(phrase), name) for phrase, name in places)])

    @cached_property
    def corner_phrases(self) -> Mapping[str, tuple[str, str]]:
        """Mapping from corner phrases to pairs of positions."""
        phrases = [(corner.phrase, corner.places) for corner in self.corners]
        return _inverse([*phrases, *((shorten_place(phrase), places) for phrase, places in phrases)])

    @cached_property
    def sweeps(self) -> Mapping[str, str]:
        """Mapping from phrases about an ordered list to the relation between consecutive objects."""
        return _inverse((relation.sweep, name) for name, relation in self.relations.items() if relation.sweep)

    @cached_property
    def style_phrases(self) -> Mapping[str, str]:
        """Mapping from style phrases to styles."""
        return _inverse((phrase, style) for style, phrase in self.styles.items())

    @cached_property
    def before(self) -> Mapping[str, AdjectiveEntry]:
        """Mapping from adjective forms used before a noun to adjectives."""
        return _inverse((a.before, a) for a in self.adjectives.values() if a.before)

    @cached_property
    def after(self) -> Mapping[str, AdjectiveEntry]:
        """Mapping from adjective forms used after a verb to adjectives."""
        return _inverse((a.after, a) for a in self.adjectives.values())

    @cached_property
    def singulars(self) -> Mapping[str, Noun]:
        """Mapping from singular forms to nouns."""
        return _inverse((noun.text, noun) for noun in self.nouns.values())

    @cached_property
    def plurals(self) -> Mapping[str, Noun]:
        """Mapping from plural forms to nouns."""
        return _inverse((noun.plural, noun) for noun in self.nouns.values())

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


def _inverse(pairs: Iterable[tuple[str, _Meaning]]) -> dict[str, _Meaning]:
    """Invert pairs of phrase and meaning, raising an error if a phrase is ambiguous."""
    meanings: dict[str, _Meaning] = {}
    for phrase, meaning in pairs:
        if meanings.setdefault(phrase, meaning) != meaning:
            raise WordingError(f"the data files of the wording give {phrase!r} two meanings: change one")
    return meanings


def lexicon(suite: str) -> SuiteLexicon:
    """Return the lexicon of a suite, `knolling` or `natural`."""
    if suite not in SUITES:
        raise WordingError(f"there are no words for the suite {suite!r}: known are {', '.join(SUITES)}")
    return _loaded(suite)


@cache
def _loaded(suite: str) -> SuiteLexicon:
    known, nouns, phrases = vocabulary(suite), word_table("nouns.toml"), word_table("phrases.toml")
    said = {name for table in ("relations", "places") for name in phrases[table]}
    if suite not in MIXED:
        said &= set(known.predicates)
    missing = [word for word in (*known.words["class"], UNNAMED) if word not in nouns]
    if missing:
        raise WordingError(f"nouns.toml: add an entry for {missing[0]!r}")
    found = SuiteLexicon(
        suite=suite,
        nouns={word: _noun(word, nouns[word]) for word in (*known.words["class"], UNNAMED)},
        adjectives=_adjectives(known, phrases["adjectives"]),
        relations={
            **{name: _relation(name, entry) for name, entry in phrases["relations"].items() if name in said},
            DISTINCT: _relation(DISTINCT, word_table("counting.toml")["relations"][DISTINCT]),
        },
        places={name: tuple(texts) for name, texts in phrases["places"].items() if name in said},
        corners=tuple(
            Corner((one, other), phrase)
            for phrase, (one, other) in phrases["corners"].items()
            if one in said and other in said
        ),
        styles={word: phrases["styles"][word] for word in known.words.get("style", ())},
        openings=phrases["openings"],
        earlier_openings=tuple(phrases["earlier_openings"]),
        connectives=tuple(phrases["connectives"]),
        each_case=phrases["each_case"],
        ordinals=tuple(phrases["ordinals"]),
        verbs=phrases["verbs"][suite],
    )
    missing_phrases = (
        set(known.predicates)
        - {"Is", "IsStyle"}
        - {p for p, _ in found.adjectives}
        - set(found.predicate_phrases.values())
    )
    if missing_phrases:
        raise WordingError(f"phrases.toml: add a phrase for {min(missing_phrases)}")
    return found


def with_classes(words: SuiteLexicon, classes: Iterable[str]) -> SuiteLexicon:
    """Return the lexicon with nouns added for further classes. Existing nouns take precedence."""
    nouns = dict(words.nouns)
    taken = {*words.singulars, *words.plurals}
    for word in classes:
        text = class_noun(word)
        noun = Noun(word, text, plural_of(text), None, False, "it")
        if not {noun.text, noun.plural} & taken and word not in nouns:
            nouns[word] = noun
            taken |= {noun.text, noun.plural}
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
    return next((one for one in candidates if len(one) > 1 and plural_of(one) == plural), None)


def lexicon_of(formula: Formula, suite: str) -> SuiteLexicon:
    """Return the lexicon of a suite, extended with phrases for unknown predicates in the formula.

    These are said by the phrases that another suite has for them, else by their own names: `StandsBehind ?x ?y` is
    "stands behind". It cannot be known whether that is good English.
    """
    words = lexicon(suite)
    known = {*vocabulary(suite).predicates, DISTINCT}
    unknown = [atom for atom in atoms(formula) if atom.predicate not in known and not words.has_phrase(atom)]
    if not unknown:
        return words
    relations, places, adjectives = dict(words.relations), dict(words.places), dict(words.adjectives)
    said = word_table("phrases.toml")["relations"]
    for name, arguments in dict.fromkeys((atom.predicate, atom.arguments) for atom in unknown):
        phrase = _phrase_of(name)
        is_taken = phrase in words.predicate_phrases or phrase in words.after
        match arguments:
            case (Variable(), Variable()):
                own = {"phrases": [f"in the relation {phrase} to" if is_taken else phrase]}
                relations[name] = _relation(name, said.get(name, own))
            case (Variable(),):
                places[name] = (f"marked as {phrase}" if is_taken else phrase,)
            case (Variable(), Value(word)):
                after = f"of the {phrase.removeprefix('has').strip() or 'quality'} {word}"
                adjectives[name, word] = AdjectiveEntry(name, word, None, after, (1, 0))
            case _:
                raise WordingError(f"{name} is said of one object or of two: otherwise there are no words for it")
    return replace(words, relations=relations, places=places, adjectives=adjectives)


def _phrase_of(predicate: str) -> str:
    """Split the name of a predicate into words: `StandsBehind` becomes "stands behind"."""
    return (
        " ".join(re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+", predicate)).lower().removeprefix("is ") or predicate
    )


@cache
def word_table(name: str) -> dict[str, Any]:
    """Load a data file of the lexicon."""
    text = (files("formalimg.language") / "words" / name).read_text(encoding="utf-8")
    return tomllib.loads(text)


def _relation(name: str, entry: Mapping[str, Any]) -> RelationEntry:
    return RelationEntry(
        name,
        tuple(entry["phrases"]),
        entry.get("near"),
        entry.get("group"),
        bool(entry.get("ordered")),
        bool(entry.get("back")),
        entry.get("sweep"),
        entry.get("verb"),
        str(entry.get("kind", "where")),
    )


def _noun(word: str, entry: Mapping[str, Any]) -> Noun:
    text = str(entry.get("text", word))
    return Noun(
        None if word == UNNAMED else word,
        text,
        str(entry.get("plural", f"{text}s")),
        entry.get("measure"),
        bool(entry.get("many", False)),
        str(entry.get("pronoun", "it")),
    )


def _adjectives(known: Vocabulary, table: Mapping[str, Any]) -> dict[tuple[str, str], AdjectiveEntry]:
    order, odd = list(table["order"]), table["words"]
    found = {}
    for predicate in known.predicates.values():
        if predicate.name == "Is" or len(predicate.arguments) != 2 or predicate.arguments[1] not in order:
            continue
        kind = predicate.arguments[1]
        for word in known.words[kind]:
            entry = odd.get(word, {})
            before, after = entry.get("before", word) or None, entry.get("after", word)
            rank = (0 if entry.get("early") else 1, order.index(kind))
            found[predicate.name, word] = AdjectiveEntry(predicate.name, word, before, after, rank)
    return found
