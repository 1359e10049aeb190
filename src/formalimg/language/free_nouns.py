"""Noun phrases of free English: their ends, known and open nouns, and adjectives that are left over."""

from __future__ import annotations

import re
from functools import cache

from formalimg.language.counts import NONE, number_of
from formalimg.language.lexicon import AdjectiveEntry, Noun, WordingError, plural_of, singular_of, word_table
from formalimg.language.phrase_parser import NounPhraseCore
from formalimg.language.prose_draft import TOP, Amount, ProseObject
from formalimg.language.prose_lexicon import ProseLexicon
from formalimg.language.prose_nouns import ProseNouns
from formalimg.language.quoted_text import remove_quoted_texts

_WORD = re.compile(r"[a-z]{2,}(?:[-'][a-z]+)*")
_PARTICIPLE = re.compile(r"\w{2,}(?:ed|ing)")
_NO_PLURAL = ("ss", "us", "is")
_NO_NOUN = ("ly", "ful", "ous", "ish", "ive", "able", "ible", "less")
"""How words end that are hardly nouns."""

_QUOTE = "…"
"""What stands for words in quotes."""
_QUOTED = r"""['"“‘„«「『].+?['"”’“»」』](?!\w)"""

_MAX_WORDS = 3
"""The most words of a noun that no vocabulary has."""


class FreeNouns(ProseNouns):
    """Reads noun phrases that introduce objects; words that say something else are left over."""

    def __init__(self, text: str, prose: ProseLexicon, *, any_noun: bool) -> None:
        self._text = text.replace("’", "'")
        colored = re.sub(rf"(?i)\b({'|'.join(prose.colors)})[- ]colou?r(ed)?\b", r"\1", remove_quoted_texts(self._text))
        super().__init__(colored, prose)
        self.any_noun = any_noun
        self._left: list[tuple[int, int]] = []
        self._open: dict[str, Noun] = {}

    @property
    def open_nouns(self) -> tuple[str, ...]:
        """The nouns read so far that no vocabulary has."""
        return tuple(self._open)

    def leave_over(self, start: int, end: int) -> None:
        """Note words that the formula does not say; those that touch are one phrase."""
        while start < end and not _says(self.reader.words[start]):
            start += 1
        if start == end:
            return
        if self._left and self._left[-1][1] == start:
            start = self._left.pop()[0]
        self._left.append((start, end))

    @property
    def unread(self) -> tuple[str, ...]:
        """The phrases that the formula does not say, as the text has them."""
        return tuple(self._as_written(self.reader.words[start:end]) for start, end in sorted(self._left))

    def _as_written(self, words: list[str]) -> str:
        text = " ".join(words)
        replaced = [(word, other) for other, word in self.prose.synonyms.items() if re.search(rf"\b{word}\b", text)]
        for spelled in (text, *(re.sub(rf"\b{word}\b", other, text) for word, other in replaced)):
            pattern = r"\s*".join(_QUOTED if word == _QUOTE else re.escape(word) for word in spelled.split())
            if written := re.search(rf"(?<!\w){pattern}(?!\w)", self._text, re.IGNORECASE):
                return written[0].strip(" ,;")
        return text.replace(" ,", ",").strip(" ,;")

    def starts_counted(self) -> bool:
        """Return whether a number comes next."""
        return self.is_next(self.take_amount)

    def starts_free_noun(self, *, among_words: bool = False) -> bool:
        """Return whether an object is introduced here; among words that are left over, only by an article or number."""
        word = self.reader.next
        if word in ("a", "an") or word in free_words("several") or self.starts_counted():
            return True
        return not among_words and self._bare_end() is not None

    def read_free_noun(self) -> ProseObject:
        """Read a noun phrase that introduces an object, or objects.

        Raises:
            WordingError: if a word of it is not known.
        """
        start = self.reader.place
        amount, plural = self._read_amount()
        end = self._phrase_end(plural=plural)
        words = self.reader.words[self.reader.place : end]
        if not words:
            raise WordingError(f"{' '.join(self.reader.words[start : start + 4])!r} names nothing")
        core = self._read_core(end, plural=plural)
        if core.noun.measure and not core.measured:
            raise WordingError(f"{core.noun.text!r} cannot be counted without {core.noun.measure!r}")
        self.reader.place = end
        found = self.draft.introduce(core, TOP, amount)
        self.mentioned.append(found)
        return found

    def _read_amount(self) -> tuple[Amount | None, bool]:
        """Read an article, a number or "several": how many there are, and whether the noun is a plural."""
        if self.reader.take_one_of(("a single", "a", "an")):
            if self.reader.take("few") or self.reader.next in ("pair", "couple", "group", "dozen"):
                raise WordingError(f"'a {self.reader.next}' is no number that is understood")
            return None, False
        place = self.reader.place
        if self.reader.next in free_words("several"):
            self.reader.place += 1
            self.leave_over(place, place + 1)
            return Amount("at-least", 2), True
        amount = self.take_amount()
        if amount is None:
            return Amount("at-least", 2), True
        if amount[1] == 0 or NONE in self.reader.words[place : self.reader.place]:
            raise WordingError(f"{NONE!r} is not understood here")
        return Amount(*amount), amount[1] != 1

    # --- where a noun phrase ends

    def _phrase_end(self, *, plural: bool) -> int:
        """Return where the noun phrase ends that begins here: at a word that cannot belong to it."""
        start = end = self.reader.place
        while self._belongs(start, end, plural=plural):
            end += 1
        return end

    def _belongs(self, start: int, place: int, *, plural: bool) -> bool:
        """Return whether the word at this place belongs to the noun phrase that begins at the start."""
        words = self.reader.words
        word, before = words[place], words[place - 1]
        if word == "," and place > start and self._is_adjective(before) and self._is_adjective(words[place + 1]):
            return True
        if not _WORD.fullmatch(word) or word in free_words("boundaries") or number_of(word) is not None:
            return False
        if place == start or self._is_adjective(before) or before == ",":
            return True
        if self._known_end(start, place + 1) > place:
            return True
        if word in free_words("verbs"):
            return False
        if plural:
            return not _is_plural(before) or _is_plural(word)
        if _is_plural(word):
            return not self._ends_clause(place + 1)  # "a dog chases a cat" has a verb behind the noun
        return not (_PARTICIPLE.fullmatch(word) and self._ends_clause(place + 1))

    def _ends_clause(self, place: int) -> bool:
        """Return whether what comes next cannot be the noun of a participle before it, which is no noun either."""
        word = self.reader.words[place]
        if word == "of":
            return False
        return not _WORD.fullmatch(word) or word in free_words("boundaries") or word in ("a", "an", "the", "his", "her")

    def _known_end(self, start: int, end: int) -> int:
        """Return the end of a longest known noun that spans the place before the given end; 0 if there is none."""
        found = 0
        nouns = (self.prose.words.singulars, self.prose.words.plurals)
        words = self.reader.words
        for first in range(max(start, end - 3), end):
            for last in range(end, min(first + 4, len(words)) + 1):
                text = " ".join(words[first:last])
                if last - first > 1 and any(text in known for known in nouns):
                    found = max(found, last)
        return found

    def _bare_end(self) -> int | None:
        """Return the end of a plural without an article: "red bananas"; None if none comes next."""
        end = self._phrase_end(plural=True)
        words = self.reader.words[self.reader.place : end]
        if not words or words[-1] in free_words("plural_only"):
            return None
        after = self.reader.words[end]
        is_whole = self._ends_clause(end) or _PARTICIPLE.fullmatch(after) or after in free_words("verbs")
        is_known = any(" ".join(words[place:]) in self.prose.words.plurals for place in range(len(words)))
        return end if is_whole and (is_known or (self._has_color(words) and _is_plural(words[-1]))) else None

    # --- what it says

    def _read_core(self, end: int, *, plural: bool) -> NounPhraseCore:
        """Return adjectives and noun of the phrase that begins here: as many adjectives as leave a noun."""
        start = self.reader.place
        words = self.reader.words[start:end]
        known = self._read_known(end, plural=plural)
        if known is not None:
            return known
        adjectives: list[tuple[AdjectiveEntry, ...]] = []
        left: list[int] = []
        place = start
        while place < end - 1:
            noun = self._noun(self.reader.words[place:end], plural=plural, is_open=False)
            word = self.reader.words[place]
            entry = self.prose.words.before.get(word)
            if noun is not None:
                break
            if entry is not None and entry.predicate != "HasState":
                adjectives.append((entry,))
            elif word in free_words("adjectives") or entry is not None:
                left.append(place)
            elif word != ",":
                break
            place += 1
        noun = self._noun(self.reader.words[place:end], plural=plural, is_open=True)
        is_verb = noun is not None and left and _PARTICIPLE.fullmatch(noun.text)  # of "a light shining on a cat"
        if noun is None or is_verb or (noun.text in self._open and self._is_cut_off(end)):
            raise WordingError(f"{' '.join(words)!r} is no noun phrase that is known")
        for number in left:
            self.leave_over(number, number + 1)
        return NounPhraseCore(None, bool(noun.measure), tuple(adjectives), noun)

    def _is_cut_off(self, end: int) -> bool:
        """Return whether what follows a noun may be its head: "an ornate, high-backed chair", "a stairway railing"."""
        word, after = self.reader.words[end], self.reader.words[end + 1 : end + 2]
        if word.endswith("ing"):
            return after == ["."]
        if word != "," or not after:
            return False
        is_clear = number_of(after[0]) is not None or after[0] in (*free_words("several"), "a", "an", "and", "")
        is_verb = _PARTICIPLE.fullmatch(after[0]) and self._ends_clause(end + 2)
        return not (is_clear or after[0] in free_words("boundaries") or is_verb)

    def _read_known(self, end: int, *, plural: bool) -> NounPhraseCore | None:
        """Return the phrase if all its words are known and mean something."""
        start = self.reader.place
        core = self.attempt(lambda: self._cores.parse_core(plural=plural))
        is_whole = core is not None and self.reader.place == end
        self.reader.place = start
        says_state = core is not None and any(
            entry.predicate == "HasState" for group in core.adjectives for entry in group
        )
        return core if is_whole and not says_state else None

    def _noun(self, words: list[str], *, plural: bool, is_open: bool) -> Noun | None:
        """Return the noun that words name: of the vocabulary, or an open one of a few words."""
        text = " ".join(words)
        known = (self.prose.words.plurals if plural else self.prose.words.singulars).get(text)
        if known is not None or not is_open:
            return known
        *before, head = words
        has_odd_word = any(word == "," or self._is_adjective(word) or _is_plural(word) for word in before)
        singular = singular_of(head) if plural else head
        if any(re.search(rf"(?<!^)\b{re.escape(word.capitalize())}", self._text) for word in words):
            return None  # a name
        if not self.any_noun or singular is None or has_odd_word or len(words) > _MAX_WORDS:
            return None
        if "'" in text or head.endswith(_NO_NOUN) or self._is_adjective(head) or (_is_plural(head) and not plural):
            return None
        if any(word.endswith(_NO_NOUN) for word in before) or (before and any(map(_PARTICIPLE.fullmatch, words))):
            return None
        name = " ".join([*before, singular])
        if {name, plural_of(name)} & {*self.prose.words.singulars, *self.prose.words.plurals}:
            return None
        if name not in self._open:
            self._open[name] = Noun(name, name, plural_of(name), None, False, "it")
        return self._open[name]

    def _is_adjective(self, word: str) -> bool:
        entry = self.prose.words.before.get(word)
        is_noun = word in self.prose.words.singulars
        return (entry is not None and not is_noun) or word in free_words("adjectives")

    def _has_color(self, words: list[str]) -> bool:
        return any(word in self.prose.colors for word in words)


def _says(word: str) -> bool:
    """Return whether a token is a word, or stands for words in quotes."""
    return word == _QUOTE or any(map(str.isalnum, word))


def _is_plural(word: str) -> bool:
    """Return whether a word has the form of a plural."""
    return not word.endswith(_NO_PLURAL) and singular_of(word) is not None


@cache
def free_words(name: str) -> frozenset[str]:
    """Return a list of words of free English."""
    listed = word_table("free.toml")[name]
    return frozenset(listed.split() if isinstance(listed, str) else listed)
