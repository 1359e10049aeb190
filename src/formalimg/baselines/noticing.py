"""What stands out in a text: objects that are named, and the words that say where they are and what they are like."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple, TypeAlias

from formalimg.baselines.known_words import Cue, known_words

MOST_WORDS = 2_000
"""The rest of a longer text is not read, as in models with a window of so many words."""

_WORD = re.compile(r"[a-z]+|[0-9]+|[,.;:!?]")
_ENDS = frozenset(".;:!?")
_MOST_WORDS_BEFORE = 8


class Mention(NamedTuple):
    """An object that is named: "a pair of red scissors", "every fork", "two cups".

    Attributes:
        label: its class.
        color: the colour that stands before the noun.
        mark: what tells it from others of its class: "first", "particular".
        number: how many are asked for, if a number is said.
        several: whether it is said of every such object, or in the plural, without a number.
    """

    label: str
    color: str | None = None
    mark: str | None = None
    number: int = 1
    several: bool = False


Noticed: TypeAlias = Mention | Cue


def notice(text: str) -> Iterator[list[Noticed]]:
    """What stands out in each sentence of a text. Other words are passed over."""
    sentence: list[str] = []
    for word in _WORD.findall(text.lower())[:MOST_WORDS]:
        if word in _ENDS:
            yield _noticed(sentence)
            sentence = []
        else:
            sentence.append(word)
    yield _noticed(sentence)


def _noticed(words: Sequence[str]) -> list[Noticed]:
    known = known_words()
    found: list[Noticed] = []
    place = 0
    while place < len(words):
        seen, length = _mention(words, place) or known.cues.longest_at(words, place) or (None, 1)
        if seen:
            found.append(seen)
        place += length
    return found


def _mention(words: Sequence[str], place: int) -> tuple[Mention, int] | None:
    """The object that is named here, with all words before its noun, and how many words that takes."""
    known = known_words()
    end = place
    while end < min(len(words), place + _MOST_WORDS_BEFORE) and words[end] in known.before_nouns:
        end += 1
    noun = known.nouns.longest_at(words, end)
    if noun is None:
        return None
    (label, plural), length = noun
    before = words[place:end]
    number = max([1, *(known.numbers[word] for word in before if word in known.numbers)])
    return Mention(
        label,
        color=next((word for word in before if word in known.colors), None),
        mark=next((word for word in before if word in known.marks), None),
        number=number,
        several=number == 1 and (plural or any(word in known.every for word in before)),
    ), end + length - place
