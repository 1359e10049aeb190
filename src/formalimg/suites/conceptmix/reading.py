"""Finding words for concepts in a text that anybody may have written."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import NamedTuple, TypeAlias, TypeVar

from formalimg.suites.conceptmix.grammar import count_word, plural_of, singular_of
from formalimg.suites.conceptmix.spec import ATTRIBUTES, Concept
from formalimg.suites.conceptmix.words import entry, reading_words

_Found = TypeVar("_Found")

_WORD = re.compile(r"[^\W_]+|[.,;:!?()]")
_ENDS = frozenset(".!?")
_SIGNS = frozenset(".,;:!?()")
_GLUE = ("and", ",")
_OF_COLOUR = {"color", "colour", "colored", "coloured", "painted"}
_PARTING = str.maketrans(dict.fromkeys("-‐‑‒–—_/’'\"“”‘", " "))


class Meaning(NamedTuple):
    """What words may mean: a concept, and whether they say it or only hint at it."""

    concept: Concept
    hinted: bool = False


Phrasebook: TypeAlias = Mapping[tuple[str, ...], tuple[Meaning, ...]]
"""What phrases may mean, each as its words."""


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

    def is_adjective(self, place: int) -> bool:
        """Is an attribute said there, and no number, which begins a thing of its own?"""
        return place in self.attributes and self.attributes[place].concept.category != "number"

    def sentence(self, place: int) -> range:
        """The words of the sentence around a place."""
        ends = [number for number, token in enumerate(self.tokens) if token in _ENDS]
        start = max((number + 1 for number in ends if number < place), default=0)
        return range(start, min((number for number in ends if number >= place), default=len(self.tokens)))

    def things_in(self, words: range) -> list[Mention]:
        """The objects that some of the words speak of, in their order."""
        return [self.things[place] for place in words if place in self.things]


def read(text: str, asked: Iterable[Concept], others: Iterable[Concept] = ()) -> Reading:
    """Where a text speaks of which concepts, other than spatial ones.

    Args:
        text: the text.
        asked: what it should speak of.
        others: what it may speak of too; words that can mean something asked for are taken for that.
    """
    tokens = tokens_of(text)
    book = _phrasebook(set(asked), set(others))
    mentions = tuple(
        Mention(meaning.concept, meaning.hinted, start, end)
        for start, end, meanings in find(tokens, book)
        for meaning in meanings
    )
    return Reading(tokens, tuple(_sorted_out(Reading(tokens, mentions))))


def tokens_of(text: str) -> tuple[str, ...]:
    """The words and signs of a text, in small letters; hyphens part words."""
    return tuple(_WORD.findall(unicodedata.normalize("NFKC", text).translate(_PARTING).lower()))


def find(tokens: Sequence[str], book: Mapping[tuple[str, ...], _Found]) -> Iterator[tuple[int, int, _Found]]:
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


def _phrasebook(asked: set[Concept], others: set[Concept]) -> Phrasebook:
    found: dict[tuple[str, ...], list[Meaning]] = {}
    for concept in sorted(asked):
        for words, hinted in _forms(concept):
            found.setdefault(words, []).append(Meaning(concept, hinted))
    taken = {(words, meaning.concept.category) for words, meanings in found.items() for meaning in meanings}
    for concept in sorted(others - asked):
        for words, hinted in _forms(concept):
            # What something may be called once it is named says nothing of things that were never named.
            if (words, concept.category) not in taken and not (hinted and concept.category == "object"):
                found.setdefault(words, []).append(Meaning(concept, hinted))
    return {words: _clearest(meanings) for words, meanings in found.items()}


def _clearest(meanings: Sequence[Meaning]) -> tuple[Meaning, ...]:
    """One meaning of each category: a name before what something may also be called."""
    best: dict[str, Meaning] = {}
    for one in sorted(meanings, key=lambda meaning: meaning.hinted):
        best.setdefault(one.concept.category, one)
    return tuple(best.values())


@cache
def _forms(concept: Concept) -> tuple[tuple[tuple[str, ...], bool], ...]:
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
    ended = after in _SIGNS or any(after in reading_words(group) for group in groups)
    return (described or before in reading_words("articles")) and ended and not _is_adjective(reading, one)
