"""Finding out of a text where things are to each other; what can be read in two ways is taken for nothing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Literal, NamedTuple, TypeAlias

from formalimg.suites.conceptmix.phrasebook import Phrase, find, tokens_of
from formalimg.suites.conceptmix.reading import Reading
from formalimg.suites.conceptmix.words import entry

Manner: TypeAlias = Literal["said", "hinted", "backwards", "places"]


class Placing(NamedTuple):
    """Words that say where something is; they stand from `start` up to, but not including, `end`."""

    value: str
    manner: Manner
    start: int
    end: int


def placings(reading: Reading, values: Iterable[str]) -> list[Placing]:
    """All words of a text that speak of these spatial concepts."""
    return [
        Placing(value, manner, start, end)
        for start, end, found in find(reading.tokens, _book(frozenset(values)))
        for value, manner in found
    ]


def axis(value: str) -> str:
    """Where a spatial concept speaks of: left and right of the same, say."""
    return str(entry("spatial", value).get("axis", value))


@cache
def _book(values: frozenset[str]) -> Mapping[Phrase, Sequence[tuple[str, Manner]]]:
    book: dict[Phrase, list[tuple[str, Manner]]] = {}
    for value in sorted(values):
        for text, manner in _forms(value):
            book.setdefault(tokens_of(text), []).append((value, manner))
    return book


def _forms(value: str) -> Iterator[tuple[str, Manner]]:
    known = entry("spatial", value)
    yield known.get("phrase", value), "said"
    retry_policy: tuple[Manner, ...] = ("said", "hinted", "backwards", "places")
    for manner in retry_policy:
        for text in known.get(manner, ()):
            yield text, manner
