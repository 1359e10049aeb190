"""Read noun phrases in free English, including open nouns and unknown adjectives."""

from __future__ import annotations

import re

from formalimg.language.counts import NONE, number_of
from formalimg.language.free_phrase_ends import FreePhraseEnds, free_words, is_participle, is_plural
from formalimg.language.lexicon import AdjectiveEntry, Noun, WordingError, plural_of, singular_of
from formalimg.language.phrase_parser import NounPhraseCore
from formalimg.language.prose_draft import TOP, Amount, ProseObject
from formalimg.language.prose_lexicon import ProseLexicon
from formalimg.language.quoted_text import remove_quoted_texts

_NO_NOUN = ("ly", "ful", "ous", "ish", "ive", "able", "ible", "less")  # How words end that are hardly nouns
_QUOTE = "…"  # What stands for words in quotes
_QUOTED = r"""['"“‘„«「『].+?['"”’“»」』](?!\w)"""

_MAX_WORDS = 3  # The most words of a noun that no vocabulary has


class FreeNouns(FreePhraseEnds):
    """Reads noun phrases that introduce objects and records the words that are left unread."""

    def __init__(self, text: str, prose: ProseLexicon, *, any_noun: bool) -> None:
        self._text = text.replace("’", "'")
        colored = re.sub(rf"(?i)\b({'|'.join(prose.colors)})[- ]colou?r(ed)?\b", r"\1", remove_quoted_texts(self._text))
        super().__init__(colored, prose)
        self.any_noun = any_noun
        self._left: list[tuple[int, int]] = []
        self._open: dict[str, Noun] = {}

    @property
    def open_nouns(self) -> tuple[str, ...]:
        """The nouns read so far that are missing from the vocabulary."""
        return tuple(self._open)

    def leave_over(self, start: int, end: int) -> None:
        """Record words that the formula does not cover, merging adjacent ranges into one phrase."""
        while start < end and not _says(self.reader.words[start]):
            start += 1
        if start == end:
            return
        if self._left and self._left[-1][1] == start:
            start = self._left.pop()[0]
        self._left.append((start, end))

    @property
    def unread(self) -> tuple[str, ...]:
        """The phrases that the formula does not cover, as written in the text."""
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
        """Return whether the next words begin an amount."""
        return self.is_next(self.take_amount)

    def starts_free_noun(self, *, among_words: bool = False) -> bool:
        """Return whether the next words introduce an object. If `among_words`, an article or number is required."""
        word = self.reader.next
        if word in ("a", "an") or word in free_words("several") or self.starts_counted():
            return True
        return not among_words and self.bare_end() is not None

    def read_free_noun(self) -> ProseObject:
        """Read a noun phrase that introduces one or more objects."""
        start = self.reader.place
        amount, plural = self._read_amount()
        end = self.phrase_end(plural=plural)
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
        """Read an article, number or "several". Return the amount and whether the noun is plural."""
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

    # --- what it says

    def _read_core(self, end: int, *, plural: bool) -> NounPhraseCore:
        """Read adjectives and a noun, skipping unknown adjectives, up to the end of the phrase."""
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
        is_verb = noun is not None and left and is_participle(noun.text)  # of "a light shining on a cat"
        if noun is None or is_verb or (noun.text in self._open and self._is_cut_off(end)):
            raise WordingError(f"{' '.join(words)!r} is no noun phrase that is known")
        for number in left:
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
        is_verb = is_participle(after[0]) and self.ends_clause(end + 2)
        return not (is_clear or after[0] in free_words("boundaries") or is_verb)

    def _read_known(self, end: int, *, plural: bool) -> NounPhraseCore | None:
        """Read the phrase with the regular grammar, or return None if it contains unknown words."""
        start = self.reader.place
        core = self.attempt(lambda: self._cores.parse_core(plural=plural))
        is_whole = core is not None and self.reader.place == end
        self.reader.place = start
        says_state = core is not None and any(
            entry.predicate == "HasState" for group in core.adjectives for entry in group
        )
        return core if is_whole and not says_state else None

    def _noun(self, words: list[str], *, plural: bool, is_open: bool) -> Noun | None:
        """Return the vocabulary noun for the words, or an open noun if allowed."""
        text = " ".join(words)
        known = (self.prose.words.plurals if plural else self.prose.words.singulars).get(text)
        if known is not None or not is_open:
            return known
        *before, head = words
        has_odd_word = any(word == "," or self.is_adjective(word) or is_plural(word) for word in before)
        singular = singular_of(head) if plural else head
        if any(re.search(rf"(?<!^)\b{re.escape(word.capitalize())}", self._text) for word in words):
            return None  # a name
        if not self.any_noun or singular is None or has_odd_word or len(words) > _MAX_WORDS:
            return None
        if "'" in text or head.endswith(_NO_NOUN) or self.is_adjective(head) or (is_plural(head) and not plural):
            return None
        if any(word.endswith(_NO_NOUN) for word in before) or (before and any(map(is_participle, words))):
            return None
        name = " ".join([*before, singular])
        if {name, plural_of(name)} & {*self.prose.words.singulars, *self.prose.words.plurals}:
            return None
        if name not in self._open:
            self._open[name] = Noun(name, name, plural_of(name), None, False, "it")
        return self._open[name]


def _says(word: str) -> bool:
    """Return whether a token is a word or a placeholder for quoted text."""
    return word == _QUOTE or any(map(str.isalnum, word))
