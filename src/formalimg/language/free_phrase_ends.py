"""Find the ends of noun phrases in free English, using word lists and word endings."""

from __future__ import annotations

import re
from functools import cache

from formalimg.language.counts import number_of
from formalimg.language.lexicon import singular_of, word_table
from formalimg.language.prose_nouns import ProseNouns

_WORD = re.compile(r"[a-z]{2,}(?:[-'][a-z]+)*")
_NO_PLURAL = ("ss", "us", "is")


class FreePhraseEnds(ProseNouns):
    """Finds the ends of noun phrases in free English."""

    def phrase_end(self, *, plural: bool) -> int:
        """Return the end of the noun phrase at the current position."""
        start = end = self.reader.place
        while self._belongs(start, end, plural=plural):
            end += 1
        return end

    def _belongs(self, start: int, place: int, *, plural: bool) -> bool:
        """Return whether the word at `place` belongs to the noun phrase that begins at `start`."""
        words = self.reader.words
        word, before = words[place], words[place - 1]
        if word == "," and place > start and self.is_adjective(before) and self.is_adjective(words[place + 1]):
            return True
        if not _WORD.fullmatch(word) or word in free_words("boundaries") or number_of(word) is not None:
            return False
        if place == start or self.is_adjective(before) or before == ",":
            return True
        if self._known_end(start, place + 1) > place:
            return True
        if word in free_words("verbs"):
            return False
        if plural:
            return not is_plural(before) or is_plural(word)
        if is_plural(word):
            return not self.ends_clause(place + 1)  # "a dog chases a cat" has a verb behind the noun
        return not (is_participle(word) and self.ends_clause(place + 1))

    def ends_clause(self, place: int) -> bool:
        """Return whether the word at `place` ends the clause, so that a participle before it has no noun."""
        word = self.reader.words[place]
        if word == "of":
            return False
        return not _WORD.fullmatch(word) or word in free_words("boundaries")

    def _known_end(self, start: int, end: int) -> int:
        """Return the end of the longest known noun that spans `end`, or 0 if there is none."""
        found = 0
        nouns = (self.prose.words.singulars, self.prose.words.plurals)
        words = self.reader.words
        for first in range(max(start, end - 3), end):
            for last in range(end, min(first + 4, len(words)) + 1):
                text = " ".join(words[first:last])
                if last - first > 1 and any(text in known for known in nouns):
                    found = max(found, last)
        return found

    def bare_end(self) -> int | None:
        """Return the end of a plural without an article, such as "red bananas", or None if there is none."""
        end = self.phrase_end(plural=True)
        words = self.reader.words[self.reader.place : end]
        if not words or words[-1] in free_words("plural_only"):
            return None
        after = self.reader.words[end]
        is_whole = self.ends_clause(end) or is_participle(after) or after in free_words("verbs")
        is_known = any(" ".join(words[place:]) in self.prose.words.plurals for place in range(len(words)))
        return end if is_whole and (is_known or (self._has_color(words) and is_plural(words[-1]))) else None

    def _has_color(self, words: list[str]) -> bool:
        return any(word in self.prose.colors for word in words)

    def is_adjective(self, word: str) -> bool:
        """Return whether the word can only be an adjective."""
        entry = self.prose.words.before.get(word)
        is_noun = word in self.prose.words.singulars
        return (entry is not None and not is_noun) or word in free_words("adjectives")


def is_plural(word: str) -> bool:
    """Return whether a word looks like a plural."""
    return not word.endswith(_NO_PLURAL) and singular_of(word) is not None


def is_participle(word: str) -> bool:
    """Return whether a word looks like a participle."""
    return re.fullmatch(r"\w{2,}(?:ed|ing)", word) is not None


@cache
def free_words(name: str) -> frozenset[str]:
    """Return a named word list for free English."""
    listed = word_table("free.toml")[name]
    return frozenset(listed.split() if isinstance(listed, str) else listed)
