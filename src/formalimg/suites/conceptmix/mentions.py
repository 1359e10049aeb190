"""Which phrases may mean which concepts, in a text that anybody may have written."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cache, cached_property
from typing import NamedTuple, TypeAlias, TypeVar

from formalimg.suites.conceptmix.spec import ATTRIBUTES, Concept
from formalimg.suites.conceptmix.vocabulary import count_word, entry, plural_of, reading_words, singular_of

_Found = TypeVar("_Found")

Phrase: TypeAlias = tuple[str, ...]
"""A phrase as its words."""

_WORD = re.compile(r"[^\W_]+|[.,;:!?()]")
_PARTING = str.maketrans(dict.fromkeys("-‐‑‒–—_/’'\"“”‘", " "))


class Meaning(NamedTuple):
    """What words may mean: a concept, and whether they say it or only hint at it."""

    concept: Concept
    hinted: bool = False


Meanings: TypeAlias = tuple[Meaning, ...]
"""All that words may mean; nothing if they name something else."""


def tokens_of(text: str) -> Phrase:
    """The words and signs of a text, in small letters; hyphens part words."""
    return tuple(_WORD.findall(unicodedata.normalize("NFKC", text).translate(_PARTING).lower()))


def find(tokens: Sequence[str], book: Mapping[Phrase, _Found]) -> Iterator[tuple[int, int, _Found]]:
    """Where the phrases of a book stand, the longest first: start, end and what the book says."""
    longest = max(map(len, book), default=0)
    place = 0
    while place < len(tokens):
        for length in range(min(longest, len(tokens) - place), 0, -1):
            found = book.get(tuple(tokens[place : place + length]))
            if found is not None:
                yield place, place + length, found
                place += length
                break
        else:
            place += 1


@cache
def phrases(group: str) -> Mapping[Phrase, bool]:
    """A group of the words that hold sentences together, as a book to find them by."""
    return dict.fromkeys(map(tokens_of, sorted(reading_words(group))), True)


def phrasebook(asked: Set[Concept], others: Set[Concept]) -> Mapping[Phrase, Meanings]:
    """What phrases may mean; words that can mean something asked for are taken for that."""
    mine: dict[Phrase, list[Meaning]] = {}
    for concept in sorted(asked):
        for words, hinted in _forms(concept):
            mine.setdefault(words, []).append(Meaning(concept, hinted))
    book = dict(_book_of(frozenset(others)))
    for words, meanings in mine.items():
        taken = {meaning.concept.category for meaning in meanings}
        others_of_it = (meaning for meaning in book.get(words, ()) if meaning.concept.category not in taken)
        book[words] = _clearest([*meanings, *others_of_it])
    return book


@cache
def _book_of(concepts: frozenset[Concept]) -> Mapping[Phrase, Meanings]:
    found: dict[Phrase, list[Meaning]] = {words: [] for words in phrases("something_else")}
    for concept in sorted(concepts):
        for words, hinted in _forms(concept):
            # What something may be called once it is named says nothing of things that were never named.
            if not (hinted and concept.category == "object"):
                found.setdefault(words, []).append(Meaning(concept, hinted))
    return {words: _clearest(meanings) for words, meanings in found.items()}


def _clearest(meanings: Sequence[Meaning]) -> Meanings:
    """One meaning of each category: a name before what something may also be called."""
    best: dict[str, Meaning] = {}
    for one in sorted(meanings, key=lambda meaning: meaning.hinted):
        best.setdefault(one.concept.category, one)
    return tuple(best.values())


@cache
def _forms(concept: Concept) -> tuple[tuple[Phrase, bool], ...]:
    """The phrases for a concept, and whether they only hint at it."""
    category, value = concept
    known = entry(category, value)
    texts = [value, *known.get("said", ()), *([known["before"]] if "before" in known else ())]
    if category in ("object", "shape"):
        texts += [singular_of(value), plural_of(value)]
    elif category == "number":
        texts.append(count_word(value))
    elif category == "style" and "picture" in known:
        texts.append(known["picture"])
    hints = (*known.get("hinted", ()), *known.get("also", ()))
    return tuple((tokens_of(text), False) for text in texts) + tuple((tokens_of(text), True) for text in hints)


SIGNS = frozenset(".,;:!?()")
"""What a text has besides words."""

_ENDS = frozenset(".!?")
_GLUE = ("and", ",")
_OF_COLOUR = {"color", "colour", "colored", "coloured", "painted"}
_KNOWN = ("others", "verbs", "linkers", "articles", "pronouns", "of_attributes", "pictures")


class Mention(NamedTuple):
    """A place in a text that speaks of a concept: the words from `start` up to, but not including, `end`."""

    concept: Concept
    hinted: bool
    start: int
    end: int


@dataclass(frozen=True)
class Reading:
    """A text as words, and where it speaks of which concepts."""

    tokens: tuple[str, ...]
    mentions: tuple[Mention, ...]

    @cached_property
    def things(self) -> dict[int, Mention]:
        """What it says of objects, by the place where it begins."""
        return {one.start: one for one in self.mentions if one.concept.category == "object"}

    @cached_property
    def attributes(self) -> dict[int, Mention]:
        """What it says of attributes, by the place where it begins."""
        return {one.start: one for one in self.mentions if one.concept.category in ATTRIBUTES}

    @cached_property
    def spans(self) -> dict[int, Mention]:
        """What it says of objects and attributes, by each place where it does."""
        held = [*self.attributes.values(), *self.things.values()]
        return {place: one for one in held for place in range(one.start, one.end)}

    def is_adjective(self, place: int) -> bool:
        """Is an attribute said there, and no number, which begins a thing of its own?"""
        return place in self.attributes and self.attributes[place].concept.category != "number"

    def is_unknown(self, place: int) -> bool:
        """Is there a noun or an adjective, as far as can be told, that is no concept?"""
        token = self.tokens[place] if 0 <= place < len(self.tokens) else "."
        return not (
            place in self.spans
            or token in SIGNS
            or any(token in reading_words(group) for group in _KNOWN)
            or token.endswith(("ing", "ed", "ly"))
            or token.isdigit()
        )

    def sentence(self, place: int) -> range:
        """The words of the sentence around a place."""
        ends = [number for number, token in enumerate(self.tokens) if token in _ENDS]
        start = max((number + 1 for number in ends if number < place), default=0)
        return range(start, min((number for number in ends if number >= place), default=len(self.tokens)))

    def things_in(self, words: range) -> list[Mention]:
        """The objects that some of the words speak of, in their order."""
        return [self.things[place] for place in words if place in self.things]

    def subject_before(self, place: int) -> Mention | None:
        """What the sentence before speaks of: its only object, or the one it begins with."""
        before = self.sentence(place).start - 1
        while before > 0:
            words = self.sentence(before - 1)
            things = self.things_in(words)
            if things:
                begins = self.is_close(words.start, things[0].start, reading_words("openings"))
                return things[0] if begins or len({one.concept for one in things}) == 1 else None
            before = words.start - 1
        return None

    def is_close(self, start: int, end: int, also: frozenset[str] = frozenset()) -> bool:
        """Are there only articles and attributes between two places, and words that may be there also?"""
        known = reading_words("articles") | reading_words("of_attributes") | reading_words("ordinals") | also
        return all(
            self.tokens[place] in known or (place in self.spans and self.spans[place].concept.category in ATTRIBUTES)
            for place in range(start, end)
        )


def read(text: str, asked: Iterable[Concept], others: Iterable[Concept] = ()) -> Reading:
    """Where a text speaks of which concepts, other than spatial ones.

    Args:
        text: the text.
        asked: what it should speak of.
        others: what it may speak of too; words that can mean something asked for are taken for that.
    """
    tokens = tokens_of(text)
    found = list(find(tokens, phrasebook(set(asked), set(others))))
    mentions = [
        Mention(meaning.concept, meaning.hinted, start, end) for start, end, meanings in found for meaning in meanings
    ]
    covered = {place for start, end, _ in found for place in range(start, end)}
    mentions += [
        Mention(Concept("number", token), False, place, place + 1)
        for place, token in enumerate(tokens)
        if place not in covered and (token.isdigit() or token in reading_words("large_numbers"))
    ]
    rough = Reading(tokens, tuple(sorted(mentions, key=lambda one: one.start)))
    clear = Reading(tokens, tuple(_sorted_out(rough)))
    return Reading(
        tokens,
        tuple(
            one._replace(hinted=True) if _is_part(clear, one) or _is_absent(clear, one) else one
            for one in clear.mentions
        ),
    )


def _sorted_out(reading: Reading) -> Iterator[Mention]:
    """The mentions without those that the words around them rule out: an orange is a fruit or a colour."""
    spans = [(one.start, one.end) for one in reading.mentions]
    for one in reading.mentions:
        if spans.count((one.start, one.end)) == 1:
            yield one
        elif one.concept.category == "object":
            if not _is_adjective(reading, one):
                yield one
        elif not _is_noun(reading, one):
            yield one


def _is_adjective(reading: Reading, one: Mention) -> bool:
    """Does it surely describe something else?"""
    return _is_predicate(reading, one.start) or _stands_before_a_noun(reading, one.end)


def _is_predicate(reading: Reading, place: int) -> bool:
    """Do only attributes and a verb come before it: "is orange", "is tiny and orange"?"""
    starts = {one.end: one.start for one in reading.attributes.values()}
    place = _before_glue(reading, place, starts)
    while place in starts:
        place = _before_glue(reading, starts[place], starts)
    return place > 0 and reading.tokens[place - 1] in reading_words("copulas") | _OF_COLOUR | {"in"}


def _before_glue(reading: Reading, place: int, ends: Mapping[int, int]) -> int:
    while (
        place > 1 and reading.tokens[place - 1] in _GLUE and (place - 1 in ends or reading.tokens[place - 2] in _GLUE)
    ):
        place -= 1
    return place


def _stands_before_a_noun(reading: Reading, place: int) -> bool:
    while place < len(reading.tokens):
        if place in reading.things or reading.tokens[place] in _OF_COLOUR:
            return True
        if place in reading.attributes:
            place = reading.attributes[place].end
        elif reading.tokens[place] in _GLUE and reading.is_adjective(place + 1):
            place += 1
        else:
            return False
    return False


def _is_noun(reading: Reading, one: Mention) -> bool:
    """Does it surely name a thing?"""
    before = reading.tokens[one.start - 1] if one.start else ""
    after = reading.tokens[one.end] if one.end < len(reading.tokens) else "."
    described = any(other.end == one.start for other in reading.attributes.values()) or before == "shaped"
    groups = ("others", "verbs", "linkers", "links_of_attributes")
    ended = after in SIGNS or any(after in reading_words(group) for group in groups)
    return (described or before in reading_words("articles")) and ended and not _is_adjective(reading, one)


def _is_part(reading: Reading, one: Mention) -> bool:
    """Is an object only a part of another one's name: a cat statue, a robot dog?"""
    category, value = one.concept
    if category != "object" or reading.tokens[one.start : one.end] != tokens_of(singular_of(value)):
        return False
    if one.end in reading.things:
        return one.end not in reading.attributes  # which may be a colour after all: "is the apple orange"
    after = reading.tokens[one.end] if one.end < len(reading.tokens) else "."
    counted = reading.spans.get(one.start - 1)
    if counted is not None and counted.concept.category == "number" and plural_of(value) != singular_of(value):
        return reading.is_unknown(one.end)
    is_verb = after.endswith("s") or after in reading_words("behind_nouns")
    return reading.is_unknown(one.end) and not is_verb


def _is_absent(reading: Reading, one: Mention) -> bool:
    """Is an object named that need not be there: a cat's bowl, or a bowl for a cat?"""
    if one.concept.category != "object":
        return False
    place = one.start - 1
    while place >= 0 and reading.is_close(place, place + 1) and reading.tokens[place] != "like":
        place -= 1
    before = reading.tokens[place] if place >= 0 else ""
    if before in reading_words("of_no_presence"):
        return True
    sentence = reading.sentence(one.start)
    in_an_image = before == "of" and place > 0 and reading.tokens[place - 1] in reading_words("pictures")
    if in_an_image and reading.things_in(range(sentence.start, place)):
        return True
    owned = reading.tokens[one.end + 1] if one.end + 1 < len(reading.tokens) else "."
    return reading.tokens[one.end : one.end + 1] == ("s",) and owned not in reading_words("wholes")
