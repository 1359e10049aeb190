"""Counting images item by item: the first step to every number."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import NamedTuple, TypeAlias

from formalimg.errors import FormalimgError
from formalimg.stats.summary import Missing, Observation


class ItemTally(NamedTuple):
    """How the images of one item fared."""

    passed: int
    scored: int
    expected: int

    def counted(self, missing: Missing) -> int:
        """How many images the rate is taken of."""
        return self.expected if missing == "fail" else self.scored


class Outcome(NamedTuple):
    """What an item adds to a rate: so many passed of so many counted."""

    passed: int
    counted: int


Outcomes: TypeAlias = Mapping[Outcome, int]
"""How many items had which outcome. Items of the same outcome are all the same to a rate."""


def tally(observations: Iterable[Observation]) -> dict[int, dict[str, ItemTally]]:
    """How the images of each item fared, by level and item; levels in their order.

    Raises:
        FormalimgError: if an item is at two levels, a level is not 1 or more, or a verdict is neither yes, no nor None.
    """
    level_of: dict[str, int] = {}
    tallies: dict[str, ItemTally] = {}
    for item, level, passed in observations:
        if level < 1:
            raise FormalimgError(f"item {item!r} is at level {level}: levels are counted from 1")
        if level_of.setdefault(item, level) != level:
            raise FormalimgError(
                f"item {item!r} is at level {level_of[item]} and at level {level}: give each item one level"
            )
        if passed not in (True, False, None):  # what merely counts as true, such as "false", is no verdict
            raise FormalimgError(f"the verdict on item {item!r} is {passed!r}: give True, False or None for unscored")
        before = tallies.get(item, ItemTally(0, 0, 0))
        tallies[item] = ItemTally(
            before.passed + bool(passed), before.scored + (passed is not None), before.expected + 1
        )
    levels: dict[int, dict[str, ItemTally]] = {level: {} for level in sorted(set(level_of.values()))}
    for item, counts in tallies.items():
        levels[level_of[item]][item] = counts
    return levels


def outcomes(tallies: Iterable[ItemTally], missing: Missing) -> Outcomes:
    """How many items had which outcome, in an order that does not depend on the items'."""
    counts = Counter(Outcome(each.passed, each.counted(missing)) for each in tallies if each.counted(missing))
    return dict(sorted(counts.items()))


def total(kinds: Outcomes) -> Outcome:
    """All outcomes added up."""
    return Outcome(
        sum(kind.passed * items for kind, items in kinds.items()),
        sum(kind.counted * items for kind, items in kinds.items()),
    )
