"""Finding out of a text where things are to each other."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Literal, NamedTuple, TypeAlias

from formalimg.suites.conceptmix.reading import Mention, Reading, find, tokens_of
from formalimg.suites.conceptmix.words import entry, reading_words

Manner: TypeAlias = Literal["said", "hinted", "backwards", "places"]


class Placing(NamedTuple):
    """Words that say where something is; they stand from `start` up to, but not including, `end`."""

    value: str
    manner: Manner
    start: int
    end: int


def placings(reading: Reading, values: Iterable[str]) -> list[Placing]:
    """All words of a text that speak of these spatial concepts."""
    book: dict[tuple[str, ...], list[tuple[str, Manner]]] = {}
    for value in sorted(set(values)):
        for text, manner in _forms(value):
            book.setdefault(tokens_of(text), []).append((value, manner))
    return [
        Placing(value, manner, start, end)
        for start, end, found in find(reading.tokens, book)
        for value, manner in found
    ]


def converse(value: str) -> str | None:
    """The same, seen from the other object; None if there is no word for it."""
    found = entry("spatial", value).get("converse")
    return None if found is None else str(found)


def axis(value: str) -> str:
    """Where a spatial concept speaks of: left and right of the same, say."""
    return str(entry("spatial", value).get("axis", value))


def says(reading: Reading, value: str, who: str, whom: str) -> bool:
    """Does a text say that one object is so to another, as far as can be told?"""
    turned = converse(value)
    for one in placings(reading, (value,) if turned is None else (value, turned)):
        direct = (one.value == value) == (one.manner != "backwards")
        first, second = (who, whom) if direct else (whom, who)
        if one.manner == "places" or _fits(reading, one, first, second):
            return True
    return False


def _fits(reading: Reading, placing: Placing, first: str, second: str) -> bool:
    sentence = reading.sentence(placing.start)
    behind = reading.things_in(range(placing.end, sentence.stop))
    between = reading.tokens[placing.end : behind[0].start if behind else sentence.stop]
    if any(token in reading_words("pronouns") | reading_words("pictures") for token in between):
        return placing.manner != "hinted"
    if not behind:
        return placing.manner == "said"
    if placing.manner == "hinted" and not _is_close(reading, placing.end, behind[0]):
        return False
    if second not in _listed(reading, behind):
        return False
    others = {one.concept.value for one in reading.things_in(sentence)} - {second}
    spoken_of = any(reading.tokens[place] in reading_words("pronouns") for place in sentence)
    return first == second or not others or first in others or spoken_of


def _is_close(reading: Reading, place: int, thing: Mention) -> bool:
    """Are there only an article and attributes before a thing?"""
    attributes = [range(one.start, one.end) for one in reading.attributes.values()]
    left = [number for number in range(place, thing.start) if not any(number in one for one in attributes)]
    known = reading_words("articles") | reading_words("of_attributes") | {",", "and"}
    return all(reading.tokens[number] in known for number in left)


def _listed(reading: Reading, things: list[Mention]) -> set[str]:
    """The first of some things, and those that stand with it in one list: "the dog and the cat"."""
    found = {things[0].concept.value}
    for one, other in pairwise(things):
        if not set(reading.tokens[one.end : other.start]) & {"and", ","} or not _is_close(reading, one.end, other):
            break
        found.add(other.concept.value)
    return found


def _forms(value: str) -> Iterator[tuple[str, Manner]]:
    known = entry("spatial", value)
    yield known.get("phrase", value), "said"
    manners: tuple[Manner, ...] = ("said", "hinted", "backwards", "places")
    for manner in manners:
        for text in known.get(manner, ()):
            yield text, manner
