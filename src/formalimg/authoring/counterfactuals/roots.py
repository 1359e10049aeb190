"""What words of two texts have in common, whatever their endings."""

from __future__ import annotations

import re
from functools import lru_cache

_WORD = re.compile(r"[a-z]+")
_SHORTEST, _KEPT = 4, 4
"""Shorter words carry little, and no ending reaches into the first letters."""


@lru_cache(maxsize=8192)
def roots(text: str) -> frozenset[str]:
    """The beginnings of the longer words of a text."""
    return frozenset(word[:_KEPT] for word in _WORD.findall(text.lower()) if len(word) >= _SHORTEST)


def shared(text: str, inside: str) -> float:
    """The part of a text's roots that another text has; 1 for a text without any."""
    own = roots(text)
    return len(own & roots(inside)) / len(own) if own else 1.0


def likeness(one: str, other: str) -> float:
    """The part of all roots of two texts that both have."""
    together = roots(one) | roots(other)
    return len(roots(one) & roots(other)) / len(together) if together else 1.0
