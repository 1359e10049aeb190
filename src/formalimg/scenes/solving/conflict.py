"""Which pieces of a formula already contradict each other: a set of which none can be left out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

Impossible: TypeAlias = Callable[[frozenset[int]], bool]
"""Is it proven that these pieces cannot all be true?"""


def smallest_conflict(count: int, impossible: Impossible) -> list[int]:
    """Pieces (out of `count`) that contradict each other, such that any of them left out would end the contradiction.

    All pieces together must be impossible. Halves are left out before single pieces, since most pieces have no part
    in the conflict.
    """
    return sorted(_needed((), False, tuple(range(count)), impossible))


def _needed(given: Sequence[int], is_new: bool, pieces: Sequence[int], impossible: Impossible) -> Sequence[int]:
    """The pieces needed to contradict what is given."""
    if is_new and impossible(frozenset(given)):
        return ()
    if len(pieces) == 1:
        return pieces
    middle = len(pieces) // 2
    first, second = pieces[:middle], pieces[middle:]
    from_second = _needed((*given, *first), bool(first), second, impossible)
    from_first = _needed((*given, *from_second), bool(from_second), first, impossible)
    return (*from_first, *from_second)
