"""Which phrases may mean which concepts, in a text that anybody may have written."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence, Set
from functools import cache
from typing import NamedTuple, TypeAlias, TypeVar

from formalimg.suites.conceptmix.grammar import count_word, plural_of, singular_of
from formalimg.suites.conceptmix.spec import Concept
from formalimg.suites.conceptmix.words import entry, reading_words

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
