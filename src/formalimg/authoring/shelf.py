"""The items accepted so far, and whether a new one is really new."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Hashable, Mapping
from itertools import pairwise
from typing import Any, NamedTuple

from formalimg.authoring.rejection import Reason, Rejection
from formalimg.suites import Item


def _spec(item: Item[Any], notes: Mapping[str, Any]) -> Any:
    return item.spec


class Likeness(NamedTuple):
    """When two items of a suite are the same.

    Attributes:
        signature: what specs that ask for the same have in common, quickly told.
        same: whether two specs of one signature ask for the same.
        reason: what that is called.
        near: two prompts of a level are near duplicates if they share this part of their pairs of neighbouring words;
            None if only the very same words count.
        compared: what is compared in place of the spec, from an item and the notes of its attempt.
    """

    signature: Callable[[Any], Hashable]
    same: Callable[[Any, Any], bool]
    reason: Reason
    near: float | None
    compared: Callable[[Item[Any], Mapping[str, Any]], Any] = _spec


class Shelf:
    """Accepted items, each unlike all others."""

    def __init__(self, likeness: Likeness) -> None:
        self.items: dict[int, Item[Any]] = {}
        self._likeness = likeness
        self._specs: dict[Hashable, list[tuple[int, Any]]] = defaultdict(list)
        self._words: dict[str, int] = {}
        self._pairs: dict[int, list[tuple[int, frozenset[tuple[str, str]]]]] = defaultdict(list)

    def add(self, number: int, item: Item[Any], compared: Any) -> None:
        """Put an item on the shelf, under the number of its place, with what it is compared by."""
        self.items[number] = item
        self._specs[self._likeness.signature(compared)].append((number, compared))
        words = _words(item.prompt)
        self._words[" ".join(words)] = number
        self._pairs[item.level].append((number, _pairs(words)))

    def twin(self, spec: object) -> Rejection | None:
        """Which item of the shelf asks for the same, whatever its words; None if none does."""
        for number, other in self._specs.get(self._likeness.signature(spec), ()):
            if self._likeness.same(spec, other):
                return Rejection(self._likeness.reason, f"says the same as item {number}")
        return None

    def objection(self, prompt: str, spec: object, level: int) -> Rejection | None:
        """Which item of the shelf asks for the same, or has the same words, or nearly the same; None if none does."""
        twin = self.twin(spec)
        if twin is not None:
            return twin
        words = _words(prompt)
        if (known := self._words.get(" ".join(words))) is not None:
            return Rejection("duplicate words", f"the words of item {known}")
        if self._likeness.near is None:
            return None
        pairs = _pairs(words)
        for number, others in self._pairs.get(level, ()):
            shared = len(pairs & others) / len(pairs | others) if pairs | others else 0.0
            if shared >= self._likeness.near:
                return Rejection("near duplicate", f"{shared:.0%} of its pairs of words are those of item {number}")
        return None


def _words(prompt: str) -> list[str]:
    return re.findall(r"\w+", prompt.lower())


def _pairs(words: list[str]) -> frozenset[tuple[str, str]]:
    return frozenset(pairwise(words))
