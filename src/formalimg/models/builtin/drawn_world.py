"""Differences between drawn worlds: nouns, phrases and misread rates of the reader."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields
from math import sqrt
from random import Random
from typing import NamedTuple, TypeAlias

from formalimg.benchmarks.registry import suite

ATTRIBUTE_FACTS = ("color", "material", "shape", "size", "state")  # the kinds of facts that are attributes of an object


class ReadFact(NamedTuple):
    """A fact that a prompt states."""

    # "object", "number", "style", "relation", the kind of an attribute, or "every" for objects that a prompt speaks
    # of as "every cup" or "cups"
    kind: str
    value: str  # the class, the number, the style, the relation or the attribute
    objects: tuple[int, ...] = ()  # the objects that it is about, counted from 0; two for a relation, none for a style


@dataclass(frozen=True)
class MisreadRates:
    """Probability of each failure per fact, for a prompt with as many facts as the memory holds."""

    lose_objects: float  # an object is left out, with everything that is said of it
    lose_attributes: float  # a colour, material, shape, size or state is forgotten
    swap_attributes: float  # two objects exchange their colours, materials, shapes, sizes or states
    miscount: float  # there is one object more or less than the number says
    lose_relations: float  # a relation is forgotten
    lose_style: float  # the style is forgotten


MISREAD_OPTIONS = tuple(rate.name for rate in fields(MisreadRates))  # the names of all rates: options of the reader


def misread(facts: Sequence[ReadFact], rates: MisreadRates, memory: int, rng: Random) -> list[ReadFact]:
    """Return the facts that remain after random memory failures.

    For every fact the same random numbers are drawn, whatever the rates: to change one rate leaves other failures as
    they are. One object is always left: if all would be lost, the first.
    """
    chance_of_loss = {
        **dict.fromkeys(ATTRIBUTE_FACTS, rates.lose_attributes),
        "object": rates.lose_objects,
        "relation": rates.lose_relations,
        "style": rates.lose_style,
    }
    load = sqrt(sum(fact.kind != "every" for fact in facts) / memory)
    chances = [(rng.random(), rng.random(), rng.random()) for _ in facts]
    remembered = dict(enumerate(facts))
    for number, (fact, (lost, swapped, choice)) in enumerate(zip(facts, chances, strict=True)):
        kind = fact.kind
        if lost < chance_of_loss.get(kind, 0.0) * load:
            del remembered[number]
        elif kind in ATTRIBUTE_FACTS and swapped < rates.swap_attributes * load:
            _swap_attribute(remembered, number, choice)
        elif kind == "number" and swapped < rates.miscount * load:
            count = int(fact.value)
            remembered[number] = fact._replace(value=str(count + 1 if choice < 0.5 or count == 1 else count - 1))
    named = [number for number, fact in enumerate(facts) if fact.kind == "object"]
    if named and not any(number in remembered for number in named):
        remembered[named[0]] = facts[named[0]]
    remaining = {fact.objects for fact in remembered.values() if fact.kind == "object"}
    return [
        remembered[number]
        for number in sorted(remembered)
        if all((obj,) in remaining for obj in remembered[number].objects)
    ]


def _swap_attribute(remembered: dict[int, ReadFact], number: int, choice: float) -> None:
    """Swap an attribute with another object, or move it if the other object has no such attribute."""
    fact = remembered[number]
    partners = [
        other_fact.objects
        for other_fact in remembered.values()
        if other_fact.kind == "object" and other_fact.objects != fact.objects
    ]
    if not partners:
        return
    target = partners[int(choice * len(partners))]
    for position, candidate in list(remembered.items()):
        if candidate.kind == fact.kind and candidate.objects == target:
            remembered[position] = candidate._replace(objects=fact.objects)
    remembered[number] = fact._replace(objects=target)


Meaning: TypeAlias = tuple[str, str]  # what a phrase means: a kind of word, such as class or color, and the word


class WorldNoun(NamedTuple):
    """The words for an object: its class, singular, plural, and alternative names for later mentions."""

    label: str
    one: tuple[str, ...]
    many: tuple[str, ...]
    also: tuple[str, ...]


@dataclass(frozen=True)
class DrawnWorld:
    """Configuration of built-in models for a suite with drawn images."""

    rates: MisreadRates  # the chances of the reader's failures
    nouns: Callable[[], Iterable[WorldNoun]] = tuple  # its nouns besides those of the vocabulary `natural`
    # the words that scatter looks for; None: those of the suite's vocabulary
    phrases: Callable[[], Iterable[tuple[str, Meaning]]] | None = None


def drawn_world(suite_name: str) -> DrawnWorld:
    """Return the drawn world of a suite; the suite must have one."""
    world = suite(suite_name).drawn_world()
    assert world is not None, f"{suite_name} has no drawn world"
    return world
