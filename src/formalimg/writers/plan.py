"""What is to be written: how many items of which levels, and which of them are which."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from formalimg.errors import FormalimgError

VERSION = 1
"""Raised with every change after which other assignments are given, or answers are accepted differently."""

MOST_ATTEMPTS = 100


class Slot(NamedTuple):
    """A place for one item: its id, and the level it must have."""

    id: int
    level: int


@dataclass(frozen=True)
class WritingPlan:
    """Which items a chat model is to write.

    Attributes:
        suite: `knolling` or `natural`.
        levels: the levels (K) to write items of.
        per_level: how many items of each level.
        seed: another seed, other assignments.
        attempts: how often each item is tried.
        version: the version that the items carry.
    """

    suite: str
    levels: tuple[int, ...] = tuple(range(1, 11))
    per_level: int = 200
    seed: int = 1
    attempts: int = 6
    version: str = ""

    def __post_init__(self) -> None:
        if self.suite not in ("knolling", "natural"):
            raise FormalimgError(f"unknown suite {self.suite!r}: items can be written of knolling and natural")
        if not self.levels or any(not 1 <= level <= 10 for level in self.levels):
            raise FormalimgError("levels must lie between 1 and 10, as in --levels 1-10")
        if self.per_level < 1:
            raise FormalimgError("at least one item per level must be asked for")
        if not 1 <= self.attempts <= MOST_ATTEMPTS:
            raise FormalimgError(f"attempts must lie between 1 and {MOST_ATTEMPTS}")

    @property
    def slots(self) -> tuple[Slot, ...]:
        """The places for all items, in the order of their ids."""
        return tuple(
            Slot(number * self.per_level + index, level)
            for number, level in enumerate(self.levels)
            for index in range(self.per_level)
        )
