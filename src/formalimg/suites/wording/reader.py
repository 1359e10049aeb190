"""Reading a text word by word."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import NoReturn, TypeVar

from formalimg.suites.wording.problem import WordingError

_Meaning = TypeVar("_Meaning")

_TOKEN = re.compile(r"[A-Za-z]+(?:[-'][A-Za-z]+)*|[.,;]|\S")

MAX_CHARACTERS = 20_000
"""The longest text that is read; the longest of ours have about 2,000 characters."""


class Reader:
    """The words of a text and the place that has been reached. Capitals make no difference."""

    def __init__(self, text: str) -> None:
        if len(text) > MAX_CHARACTERS:
            raise WordingError(f"the text has {len(text):,} characters, the limit is {MAX_CHARACTERS:,}: shorten it")
        self.words: list[str] = [*(word.lower() for word in _TOKEN.findall(text)), ""]  # the empty word is the end
        self.place = 0

    @property
    def done(self) -> bool:
        """Has everything been read?"""
        return not self.words[self.place]

    @property
    def next(self) -> str:
        """The next word, empty at the end."""
        return self.words[self.place]

    def sees(self, phrase: str) -> bool:
        """Do the next words spell the phrase?"""
        words = phrase_words(phrase)
        return self.words[self.place] == words[0] and self.words[self.place : self.place + len(words)] == words

    def take(self, phrase: str) -> bool:
        """Go past the phrase if it comes next."""
        if not self.sees(phrase):
            return False
        self.place += len(phrase_words(phrase))
        return True

    def take_one_of(self, phrases: Iterable[str]) -> str | None:
        """Go past the first of the phrases that comes next."""
        return next((phrase for phrase in phrases if self.take(phrase)), None)

    def take_meaning(self, meanings: Mapping[str, _Meaning]) -> _Meaning | None:
        """Go past the longest phrase that comes next and has a meaning here."""
        longest = max((phrase for phrase in meanings if self.sees(phrase)), key=len, default=None)
        if longest is None:
            return None
        self.take(longest)
        return meanings[longest]

    def expect(self, *phrases: str) -> str:
        """Go past one of the phrases, or fail."""
        taken = self.take_one_of(phrases)
        if taken is None:
            self.fail(" or ".join(repr(phrase) for phrase in phrases))
        return taken

    def fail(self, expected: str) -> NoReturn:
        """Say what should have come here."""
        before = " ".join(self.words[max(self.place - 6, 0) : self.place])
        found = repr(" ".join(self.words[self.place : self.place + 4]).strip()) if not self.done else "the end"
        raise WordingError(f"cannot read the words: behind {before!r} comes {found}, expected was {expected}")


_SPLIT: dict[str, list[str]] = {}


def phrase_words(phrase: str) -> list[str]:
    """The words of a phrase, as a reader sees them."""
    if phrase not in _SPLIT:
        _SPLIT[phrase] = [word.lower() for word in _TOKEN.findall(phrase)]
    return _SPLIT[phrase]
