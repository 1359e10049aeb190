"""Whether a text can be a prompt at all."""

from __future__ import annotations

from formalimg.authoring.rejection import Rejection

_LONGEST_WORDS = 3000
"""The most characters of a prompt; the longest published one has about a thousand."""


def fit_words(words: str) -> str | Rejection:
    """The words on one line, if they can be a prompt."""
    line = " ".join(words.split())
    if not line:
        return Rejection("unfit words", "there are none")
    if len(line) > _LONGEST_WORDS:
        return Rejection("unfit words", f"{len(line):,} characters, the limit is {_LONGEST_WORDS:,}")
    if not line.isprintable():
        return Rejection("unfit words", "characters that cannot be printed")
    return line
