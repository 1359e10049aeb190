"""Expanding claims over places: quantifiers become finite, and what is certain already falls away."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from formalimg.scenes.solving.claims import AllOf, AnyOf, Claim, Each, Every, Fact, Some, chooses, free_names
from formalimg.scenes.solving.inequalities import holds_of_itself
from formalimg.scenes.solving.places import LOOKS, Binding, Chosen, Places, Shadow, occasion, word_of

_MOST_PIECES = 150_000


class _TooEntangledError(Exception):
    """A claim has too many parts over so many places."""


class Placed(NamedTuple):
    """A fact about places: a predicate (with its word, if it has one) holds or fails of them."""

    predicate: str
    objects: tuple[Chosen, ...]
    word: str | None
    holds: bool


@dataclass(frozen=True, slots=True, eq=False)
class Conjunction:
    """All parts are true."""

    parts: tuple[Piece, ...]


@dataclass(frozen=True, slots=True, eq=False)
class AtLeast:
    """So many of the parts are true."""

    number: int
    parts: tuple[Piece, ...]


Piece: TypeAlias = bool | Placed | Conjunction | AtLeast


def expand(claim: Claim, places: Places, instances: int) -> Piece | None:
    """What a claim says about the places; None if that would be too much to say."""
    try:
        return _Expander(places, instances).expand(claim, {})
    except _TooEntangledError:
        return None


class _Expander:
    def __init__(self, places: Places, instances: int) -> None:
        self.places = places
        self.instances = instances
        self.known: dict[tuple[Claim, tuple[Chosen, ...]], Piece] = {}
        self.pieces = 0

    def expand(self, claim: Claim, binding: Binding) -> Piece:
        if isinstance(claim, Fact):
            return self.fact(claim, binding)
        key = (claim, tuple(binding[name] for name in free_names(claim)))
        if key not in self.known:
            self.known[key] = self.fresh(claim, binding)
        return self.known[key]

    def fresh(self, claim: Claim, binding: Binding) -> Piece:
        match claim:
            case AllOf(parts):
                return self.all_of([self.expand(part, binding) for part in parts])
            case AnyOf(parts):
                return self.at_least(1, [self.expand(part, binding) for part in parts])
            case Each(variable, body):
                return self.all_of(self.for_each(variable, body, binding))
            case Some(variable, body):
                return self.some(claim, variable, body, binding)
            case Every(variable, condition, exception, consequent, wanted):
                rule = [
                    self.at_least(
                        1, [self.expand(part, {**binding, variable: place}) for part in (exception, consequent)]
                    )
                    for place in range(self.places.count)
                ]
                if wanted:
                    rule.append(self.met(claim, variable, condition, binding))
                return self.all_of(rule)
            case Fact():
                raise AssertionError("facts are placed at once")

    def some(self, claim: Claim, variable: str, body: Claim, binding: Binding) -> Piece:
        kept = self.places.kept_for.get(occasion(claim, binding))
        if kept is not None:
            return self.expand(body, {**binding, variable: kept[0]})
        if chooses(body):  # trying each place for each of several variables would be too many
            return self.expand(body, {**binding, variable: Shadow()})
        return self.at_least(1, self.for_each(variable, body, binding))

    def met(self, claim: Claim, variable: str, condition: Claim, binding: Binding) -> Piece:
        """Enough places meet the condition of a `forall`."""
        kept = self.places.kept_for.get(occasion(claim, binding))
        if kept is not None:
            return self.all_of([self.expand(condition, {**binding, variable: place}) for place in kept])
        number = 1 if self.places.may_coincide else self.instances
        return self.at_least(number, self.for_each(variable, condition, binding))

    def for_each(self, variable: str, body: Claim, binding: Binding) -> list[Piece]:
        return [self.expand(body, {**binding, variable: place}) for place in range(self.places.count)]

    def fact(self, fact: Fact, binding: Binding) -> Piece:
        predicate = fact.atom.predicate
        objects = tuple(binding[name] for name in fact.atom.variables)
        if len(objects) == 2:
            if objects[0] is objects[1] or objects[0] == objects[1]:
                return holds_of_itself(predicate) == fact.holds
            return Placed(predicate, objects, None, fact.holds)
        if len(fact.atom.arguments) == 1 and objects:
            return Placed(predicate, objects, None, fact.holds)
        word = word_of(fact)
        if predicate in LOOKS and isinstance(objects[0], int):
            possible = self.places.words[objects[0]][LOOKS[predicate]]
            if word not in possible:
                return not fact.holds
            if len(possible) == 1:
                return fact.holds
        return Placed(predicate, objects, word, fact.holds)

    def all_of(self, parts: list[Piece]) -> Piece:
        left = [part for part in parts if part is not True]
        if any(part is False for part in left):
            return False
        self.count(len(left))
        return (left[0] if len(left) == 1 else Conjunction(tuple(left))) if left else True

    def at_least(self, number: int, parts: list[Piece]) -> Piece:
        number -= sum(part is True for part in parts)
        left = [part for part in parts if not isinstance(part, bool)]
        if number <= 0:
            return True
        if len(left) <= number:
            return self.all_of(list(left)) if len(left) == number else False
        self.count(len(left))
        return AtLeast(number, tuple(left))

    def count(self, pieces: int) -> None:
        self.pieces += pieces
        if self.pieces > _MOST_PIECES:
            raise _TooEntangledError
