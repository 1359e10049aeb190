"""Classes in the words of a sentence."""

from __future__ import annotations

_PLURAL = frozenset({"shoes", "glasses", "headphones"})


def named(cls: str) -> str:
    """A class with its article: "a cup", "an apple", "shoes"."""
    if cls in _PLURAL:
        return cls
    return f"{'an' if cls[0] in 'aeiou' else 'a'} {cls}"
