"""Texts of an answer, each on one line."""

from __future__ import annotations

from collections.abc import Mapping

from formalimg._util.text import truncate
from formalimg.authoring.fitting import fit_words
from formalimg.authoring.rejection import Rejection


def fit_fields(given: Mapping[str, str]) -> dict[str, str] | Rejection:
    """The texts, if each of them can be in a prompt."""
    found: dict[str, str] = {}
    for name, text in given.items():
        words = fit_words(text)
        if isinstance(words, Rejection):
            return Rejection(words.reason, f"{name}: {words.detail}")
        found[name] = words
    return found


def in_one_line(text: str) -> str:
    """What somebody says of an answer, short enough to be kept."""
    return truncate(" ".join(text.split()), 250, 50) or "no reason given"
