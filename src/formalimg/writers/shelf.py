"""The items accepted so far, and whether a new one is really new."""

from __future__ import annotations

import re
from collections import defaultdict
from itertools import pairwise

from formalimg.logic import Formula, Value, atoms
from formalimg.suites import FormulaSpec, Item, same_meaning_as_written
from formalimg.writers.rejection import Rejection

NEAR = 0.8
"""Two instructions of a level are near duplicates if they share this part of their pairs of neighbouring words."""


class Shelf:
    """Accepted items, each unlike all others."""

    def __init__(self) -> None:
        self.items: dict[int, Item[FormulaSpec]] = {}
        self._formulas: dict[object, list[tuple[int, Formula]]] = defaultdict(list)
        self._words: dict[str, int] = {}
        self._pairs: dict[int, list[tuple[int, frozenset[tuple[str, str]]]]] = defaultdict(list)

    def add(self, number: int, item: Item[FormulaSpec]) -> None:
        """Put an item on the shelf, under the number that is its id."""
        self.items[number] = item
        self._formulas[_signature(item.spec.formula)].append((number, item.spec.formula))
        words = _words(item.prompt)
        self._words[" ".join(words)] = number
        self._pairs[item.level].append((number, _pairs(words)))

    def objection(self, prompt: str, formula: Formula, level: int) -> Rejection | None:
        """Which item of the shelf says the same, in logic or in words, or nearly the same words; None if none does."""
        for number, other in self._formulas.get(_signature(formula), ()):
            if same_meaning_as_written(formula, other):
                return Rejection("duplicate formula", f"says the same as item {number}")
        words = _words(prompt)
        if (known := self._words.get(" ".join(words))) is not None:
            return Rejection("duplicate words", f"the words of item {known}")
        pairs = _pairs(words)
        for number, others in self._pairs.get(level, ()):
            shared = len(pairs & others) / len(pairs | others) if pairs | others else 0.0
            if shared >= NEAR:
                return Rejection("near duplicate", f"{shared:.0%} of its pairs of words are those of item {number}")
        return None


def _signature(formula: Formula) -> object:
    """What formulas that say the same have in common, quickly told."""
    return tuple(
        sorted(
            (atom.predicate, *(word.text for word in atom.arguments if isinstance(word, Value)))
            for atom in atoms(formula)
        )
    )


def _words(prompt: str) -> list[str]:
    return re.findall(r"\w+", prompt.lower())


def _pairs(words: list[str]) -> frozenset[tuple[str, str]]:
    return frozenset(pairwise(words))
