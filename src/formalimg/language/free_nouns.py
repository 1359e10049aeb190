"""Read noun phrases in free English, including open nouns and unknown adjectives."""

from __future__ import annotations

import re
from functools import cache

from formalimg.language.lexicon import (
    NONE,
    AdjectiveEntry,
    Noun,
    WordingError,
    number_of,
    plural_of,
    singular_of,
    word_table,
)
from formalimg.language.phrase_parser import NounPhraseCore
from formalimg.language.prose_draft import TOP, Amount, DraftMark, ProseObject
from formalimg.language.prose_lexicon import ProseLexicon
from formalimg.language.prose_nouns import ProseNouns
from formalimg.language.quoted_text import remove_quoted_texts

_WORD = re.compile(r"[a-z]{2,}(?:[-'][a-z]+)*")
_NO_PLURAL = ("ss", "us", "is")
_NO_NOUN = ("ly", "ful", "ous", "ish", "ive", "able", "ible", "less")  # How words end that are hardly nouns
_QUOTE = "…"  # Stands for words in quotes
_QUOTED = r"""['"“‘„«「『].+?['"”’“»」』](?!\w)"""
_MAX_WORDS = 3  # of a noun that no vocabulary has


@cache
def free_words(name: str) -> frozenset[str]:
    """Return a named word list for free English."""
    words = word_table("free.toml")[name]
    return frozenset(words.split() if isinstance(words, str) else words)


def _is_plural(word: str) -> bool:
    return not word.endswith(_NO_PLURAL) and singular_of(word) is not None


def _is_participle(word: str) -> bool:
    return re.fullmatch(r"\w{2,}(?:ed|ing)", word) is not None


class FreeNouns(ProseNouns):
    """Reads noun phrases that introduce objects and records the words that are left unread."""

    def __init__(self, text: str, prose: ProseLexicon, *, any_noun: bool) -> None:
        self._text = text.replace("’", "'")
        colored = re.sub(rf"(?i)\b({'|'.join(prose.colors)})[- ]colou?r(ed)?\b", r"\1", remove_quoted_texts(self._text))
        super().__init__(colored, prose)
        self.any_noun = any_noun
        self.skipped: list[tuple[int, int]] = []
        self._open: dict[str, Noun] = {}

    @property
    def open_nouns(self) -> tuple[str, ...]:
        return tuple(self._open)

    # --- words that are left over

    def leave_over(self, start: int, end: int) -> None:
        """Record words that the formula does not cover, merging adjacent ranges into one phrase."""
        words = self.reader.words
        while start < end and words[start] != _QUOTE and not any(map(str.isalnum, words[start])):
            start += 1
        if start == end:
            return
        if self.skipped and self.skipped[-1][1] == start:
            start = self.skipped.pop()[0]
        self.skipped.append((start, end))

    def forget(self, mark: DraftMark, skipped: int) -> None:
        """Return to an earlier state of the draft and of the words left over."""
        self.draft.roll_back(mark)
        del self.skipped[skipped:]

    @property
    def unread(self) -> tuple[str, ...]:
        """The phrases that the formula does not cover, as written in the text."""
        return tuple(self._as_written(self.reader.words[start:end]) for start, end in sorted(self.skipped))

    def _as_written(self, words: list[str]) -> str:
        text = " ".join(words)
        spellings = [text]
        for synonym, word in self.prose.synonyms.items():
            if re.search(rf"\b{word}\b", text):
                spellings.append(re.sub(rf"\b{word}\b", synonym, text))
        for spelling in spellings:
            pattern = r"\s*".join(_QUOTED if word == _QUOTE else re.escape(word) for word in spelling.split())
            if written := re.search(rf"(?<!\w){pattern}(?!\w)", self._text, re.IGNORECASE):
                return written[0].strip(" ,;")
        return text.replace(" ,", ",").strip(" ,;")

    # --- the ends of noun phrases

    def _phrase_end(self, *, plural: bool) -> int:
        start = end = self.reader.position
        while self._belongs(start, end, plural=plural):
            end += 1
        return end

    def _belongs(self, start: int, index: int, *, plural: bool) -> bool:
        """Return whether a word belongs to the noun phrase that begins at `start`."""
        words = self.reader.words
        word, before = words[index], words[index - 1]
        if word == "," and index > start and self._is_adjective(before) and self._is_adjective(words[index + 1]):
            return True
        if not _WORD.fullmatch(word) or word in free_words("boundaries") or number_of(word) is not None:
            return False
        if index == start or self._is_adjective(before) or before == ",":
            return True
        if self._is_inside_noun(start, index + 1):
            return True
        if word in free_words("verbs"):
            return False
        if plural:
            return not _is_plural(before) or _is_plural(word)
        if _is_plural(word):
            return not self._ends_clause(index + 1)  # "a dog chases a cat" has a verb behind the noun
        return not (_is_participle(word) and self._ends_clause(index + 1))

    def _ends_clause(self, index: int) -> bool:
        """Return whether a word ends the clause, so that a participle before it has no noun."""
        word = self.reader.words[index]
        return word != "of" and (not _WORD.fullmatch(word) or word in free_words("boundaries"))

    def _is_inside_noun(self, start: int, end: int) -> bool:
        """Return whether a known noun of several words, no earlier than `start`, spans the words before `end`."""
        nouns = (self.prose.words.singulars, self.prose.words.plurals)
        words = self.reader.words
        return any(
            last - first > 1 and any(" ".join(words[first:last]) in texts for texts in nouns)
            for first in range(max(start, end - 3), end)
            for last in range(end, min(first + 4, len(words)) + 1)
        )

    def _starts_bare_plural(self) -> bool:
        """Return whether a plural without an article comes next, such as "red bananas"."""
        end = self._phrase_end(plural=True)
        words = self.reader.words[self.reader.position : end]
        if not words or words[-1] in free_words("plural_only"):
            return False
        after = self.reader.words[end]
        if not (self._ends_clause(end) or _is_participle(after) or after in free_words("verbs")):
            return False
        has_color = any(word in self.prose.colors for word in words)
        is_known = any(" ".join(words[index:]) in self.prose.words.plurals for index in range(len(words)))
        return is_known or (has_color and _is_plural(words[-1]))

    def _is_adjective(self, word: str) -> bool:
        """Return whether the word can only be an adjective."""
        is_known = word in self.prose.words.before and word not in self.prose.words.singulars
        return is_known or word in free_words("adjectives")

    # --- noun phrases

    def starts_counted(self) -> bool:
        return self.is_next(self.take_amount)

    def starts_free_noun(self, *, among_words: bool = False) -> bool:
        """Return whether the next words introduce an object. If `among_words`, an article or number is required."""
        if self.reader.next in ("a", "an") or self.reader.next in free_words("several") or self.starts_counted():
            return True
        return not among_words and self._starts_bare_plural()

    def read_free_noun(self) -> ProseObject:
        start = self.reader.position
        amount, plural = self._read_amount()
        end = self._phrase_end(plural=plural)
        if end == self.reader.position:
            raise WordingError(f"{' '.join(self.reader.words[start : start + 4])!r} names nothing")
        core = self._read_core(end, plural=plural)
        if core.noun.measure and not core.measured:
            raise WordingError(f"{core.noun.text!r} cannot be counted without {core.noun.measure!r}")
        self.reader.position = end
        obj = self.draft.introduce(core, TOP, amount)
        self.mentioned.append(obj)
        return obj

    def _read_amount(self) -> tuple[Amount | None, bool]:
        """Read an article, number or "several". Return the amount and whether the noun is plural."""
        if self.reader.take_one_of(("a single", "a", "an")):
            if self.reader.take("few") or self.reader.next in ("pair", "couple", "group", "dozen"):
                raise WordingError(f"'a {self.reader.next}' is no number that is understood")
            return None, False
        start = self.reader.position
        if self.reader.next in free_words("several"):
            self.reader.position += 1
            self.leave_over(start, start + 1)
            return ("at-least", 2), True
        amount = self.take_amount()
        if amount is None:
            return ("at-least", 2), True
        if amount[1] == 0 or NONE in self.reader.words[start : self.reader.position]:
            raise WordingError(f"{NONE!r} is not understood here")
        return amount, amount[1] != 1

    def _read_core(self, end: int, *, plural: bool) -> NounPhraseCore:
        """Read adjectives and a noun, skipping unknown adjectives, up to the end of the phrase."""
        start = index = self.reader.position
        core = self._read_regular_core(end, plural=plural)
        if core is not None:
            return core
        adjectives: list[tuple[AdjectiveEntry, ...]] = []
        unknown: list[int] = []
        while index < end - 1:
            if self._noun(self.reader.words[index:end], plural=plural, is_open=False) is not None:
                break
            word = self.reader.words[index]
            entry = self.prose.words.before.get(word)
            if entry is not None and entry.predicate != "HasState":
                adjectives.append((entry,))
            elif word in free_words("adjectives") or entry is not None:
                unknown.append(index)
            elif word != ",":
                break
            index += 1
        noun = self._noun(self.reader.words[index:end], plural=plural, is_open=True)
        is_verb = noun is not None and unknown and _is_participle(noun.text)  # of "a light shining on a cat"
        if noun is None or is_verb or (noun.text in self._open and self._is_cut_off(end)):
            raise WordingError(f"{' '.join(self.reader.words[start:end])!r} is no noun phrase that is known")
        for number in unknown:
            self.leave_over(number, number + 1)
        return NounPhraseCore(None, bool(noun.measure), tuple(adjectives), noun)

    def _is_cut_off(self, end: int) -> bool:
        """Return whether the noun may be cut off from its head, as in "an ornate, high-backed chair"."""
        word, after = self.reader.words[end], self.reader.words[end + 1 : end + 2]
        if word.endswith("ing"):
            return after == ["."]
        if word != "," or not after:
            return False
        is_clear = number_of(after[0]) is not None or after[0] in (*free_words("several"), "a", "an", "and", "")
        is_verb = _is_participle(after[0]) and self._ends_clause(end + 2)
        return not (is_clear or after[0] in free_words("boundaries") or is_verb)

    def _read_regular_core(self, end: int, *, plural: bool) -> NounPhraseCore | None:
        """Read the phrase with the regular grammar, or return None if it contains unknown words or states."""
        start = self.reader.position
        core = self.attempt(lambda: self._cores.parse_core(plural=plural))
        is_whole = self.reader.position == end
        self.reader.position = start
        if core is None or not is_whole:
            return None
        has_state = any(entry.predicate == "HasState" for group in core.adjectives for entry in group)
        return None if has_state else core

    def _noun(self, words: list[str], *, plural: bool, is_open: bool) -> Noun | None:
        """Return the vocabulary noun for the words, or an open noun if allowed."""
        lexicon = self.prose.words
        text = " ".join(words)
        noun = (lexicon.plurals if plural else lexicon.singulars).get(text)
        if noun is not None or not is_open or not self.any_noun or len(words) > _MAX_WORDS or "'" in text:
            return noun
        *before, head = words
        singular = singular_of(head) if plural else head
        if (
            singular is None
            or any(re.search(rf"(?<!^)\b{re.escape(word.capitalize())}", self._text) for word in words)  # a name
            or any(word == "," or self._is_adjective(word) or _is_plural(word) for word in before)
            or self._is_adjective(head)
            or (_is_plural(head) and not plural)
            or any(word.endswith(_NO_NOUN) for word in words)
            or (before and any(map(_is_participle, words)))
        ):
            return None
        name = " ".join([*before, singular])
        if {name, plural_of(name)} & {*lexicon.singulars, *lexicon.plurals}:
            return None
        return self._open.setdefault(name, Noun(name, name, plural_of(name)))
