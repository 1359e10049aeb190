"""Places: the objects of a scene to come, each kept for a variable that needs one, and what is certain of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from formalimg.logic import Value
from formalimg.scenes.solving.claims import AllOf, AnyOf, Claim, Every, Fact, Some, facts, free_names

OTHER = ""
"""Stands for every word that the formula does not mention."""

LOOKS = {"Is": "class", "Has": "color"}
"""The predicates that are decided by a word on an object, and the kind of the word."""


@dataclass(frozen=True, slots=True, eq=False)
class Shadow:
    """An object that is to be chosen among the places."""


Chosen: TypeAlias = int | Shadow
"""What a variable stands for: a place by its number, or one that is yet to be chosen."""

Binding: TypeAlias = Mapping[str, Chosen]

Occasion: TypeAlias = tuple[Claim, tuple[Chosen, ...]]
"""A claim that wants objects, and what the variables it mentions stand for."""


def occasion(claim: Claim, binding: Binding) -> Occasion:
    """The occasion that a claim meets under a binding."""
    return claim, tuple(binding[name] for name in free_names(claim))


@dataclass
class Places:
    """How many places there are, which of them each occasion has for itself, and the words each may have.

    If they `may_coincide`, several places can turn out to be one object. `names` are the places of the variables that
    an outermost `exists` binds, `certain` all places that are needed whatever the alternatives.
    """

    may_coincide: bool
    count: int = 0
    kept_for: dict[Occasion, tuple[int, ...]] = field(default_factory=dict)
    words: list[dict[str, frozenset[str]]] = field(default_factory=list)
    names: dict[str, int] = field(default_factory=dict)
    certain: set[int] = field(default_factory=set)
    mentioned: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def add(self) -> int:
        """Make one more place, of which nothing is certain."""
        self.words.append({kind: frozenset([*words, OTHER]) for kind, words in self.mentioned.items()})
        self.count += 1
        return self.count - 1

    def say(self, place: int, fact: Fact) -> None:
        """Remember what a fact says of the words of a place."""
        kind, word = LOOKS[fact.atom.predicate], word_of(fact)
        possible = self.words[place][kind]
        self.words[place][kind] = possible & {word} if fact.holds else possible - {word}


def word_of(fact: Fact) -> str:
    """The quoted word of a fact."""
    word = fact.atom.arguments[-1]
    assert isinstance(word, Value)
    return word.text


def mentioned_words(claim: Claim) -> dict[str, tuple[str, ...]]:
    """The words of each kind that a claim mentions, in alphabetical order."""
    found: dict[str, set[str]] = {kind: set() for kind in LOOKS.values()}
    for fact in facts(claim):
        if fact.atom.predicate in LOOKS:
            found[LOOKS[fact.atom.predicate]].add(word_of(fact))
    return {kind: tuple(sorted(words)) for kind, words in found.items()}


def separate_places(claim: Claim, instances: int) -> Places:
    """Places for a neat scene: one for each variable that surely needs an object, all of them different objects."""
    places = Places(False, mentioned=mentioned_words(claim))
    _keep(claim, {}, places, instances, certain=True)
    return places


def shared_places(claim: Claim) -> Places:
    """Places for a proof: one for each variable that may need an object, and any of them may be one object."""
    places = Places(True, mentioned=mentioned_words(claim))
    _keep(claim, {}, places, 1, certain=True)
    return places


def _keep(claim: Claim, binding: dict[str, int], places: Places, instances: int, *, certain: bool) -> None:
    """Keep places for what a claim needs; `certain` if the claim has to be true."""
    match claim:
        case Fact(atom) if certain and atom.predicate in LOOKS:
            places.say(binding[atom.variables[0]], claim)
        case AllOf(parts):
            for part in parts:
                _keep(part, binding, places, instances, certain=certain)
        case AnyOf(parts) if places.may_coincide:  # else a place might be left over
            for part in parts:
                _keep(part, binding, places, instances, certain=False)
        case Some(variable, body):
            (place,) = _kept(claim, binding, places, 1)
            if certain:
                places.certain.add(place)
                if not free_names(claim) or all(name in places.names for name in free_names(claim)):
                    places.names[variable] = place
            _keep(body, {**binding, variable: place}, places, instances, certain=certain)
        case Every(variable, condition, _, consequent, wanted) if wanted:
            for place in _kept(claim, binding, places, instances):
                if certain:
                    places.certain.add(place)
                inner = {**binding, variable: place}
                _keep(condition, inner, places, instances, certain=certain)
                _keep(consequent, inner, places, instances, certain=certain)


def _kept(claim: Claim, binding: Mapping[str, int], places: Places, number: int) -> tuple[int, ...]:
    key = occasion(claim, binding)
    if key not in places.kept_for:
        places.kept_for[key] = tuple(places.add() for _ in range(number))
    return places.kept_for[key]
