"""What cannot be true of one thing at one time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Clashes:
    """States that exclude each other, and states that a material forbids."""

    exclusive: tuple[tuple[str, ...], ...]
    afloat: frozenset[str]
    needs_material: Mapping[str, frozenset[str]]
    never_material: Mapping[str, frozenset[str]]

    def agree(self, one: tuple[str, str], other: tuple[str, str]) -> bool:
        """Can one thing have both words at once? Each word comes with its kind: `("state", "open")`."""
        (kind, word), (other_kind, other_word) = one, other
        if one == other:
            return True
        if kind == other_kind:
            return kind == "state" and not any(word in group and other_word in group for group in self.exclusive)
        if (kind, other_kind) == ("material", "state"):
            return self.agree(other, one)
        if (kind, other_kind) == ("state", "material"):
            wanted = self.needs_material.get(word, {other_word})
            return other_word in wanted and other_word not in self.never_material.get(word, ())
        return True
