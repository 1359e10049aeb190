"""Choices that are the same on every machine."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256
from typing import TypeVar

_Choice = TypeVar("_Choice")


class Chance:
    """A stream of choices drawn from a text: a hash of the text and a counter, so that no generator can change it."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._drawn = 0

    def below(self, bound: int) -> int:
        """A number from 0 up to, but not including, the bound."""
        self._drawn += 1
        digest = sha256(f"{self._drawn}:{self._source}".encode()).digest()
        return int.from_bytes(digest[:8], "big") % bound

    def likely(self, percent: int) -> bool:
        """True in so many cases of a hundred."""
        return self.below(100) < percent

    def one_of(self, choices: Sequence[_Choice]) -> _Choice:
        """One of the choices, all alike likely."""
        return choices[self.below(len(choices))]
