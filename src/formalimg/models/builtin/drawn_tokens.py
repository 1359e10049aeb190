"""Tokenizer of the drawn worlds: noun phrases with their attributes, and the phrases that say something of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple, TypeAlias

from formalimg.models.builtin.drawn_lexicon import Attribute, drawn_lexicon
from formalimg.models.builtin.mentions import TextCue, split_sentences

_MAX_WORDS_BEFORE_NOUN = 12
_JOINTS = (",", "and")


class SceneMention(NamedTuple):
    """A noun phrase: "a heart-shaped red cup", "every pair of wooden glasses", "two cups"."""

    label: str  # the class of the object
    text: str  # the noun as it is written
    attributes: tuple[Attribute, ...] = ()  # what is said of it before the noun
    number: int | None = None  # how many there are; None if no number is given
    several: bool = False  # whether it is every such object, or a plural without a number
    known: bool = False  # whether it has been named before: "the cup"
    mark: str | None = None  # what distinguishes it from others of its class: "first", "other"


SceneToken: TypeAlias = SceneMention | TextCue


def find_scene_tokens(text: str) -> Iterator[list[SceneToken]]:
    """Return the noun phrases and cues of each sentence. Other words are ignored."""
    return map(_sentence_tokens, split_sentences(text))


def _sentence_tokens(words: Sequence[str]) -> list[SceneToken]:
    cues = drawn_lexicon().cues
    tokens: list[SceneToken] = []
    index = 0
    while index < len(words):
        cue = cues.longest_at(words, index)
        phrase = None if cue is not None and cue[0].kind == "other" else _noun_phrase_at(words, index)
        token, length = phrase or cue or (None, 1)
        if token is not None:
            tokens.append(token)
        index += length
    return tokens


def _noun_phrase_at(words: Sequence[str], start: int) -> tuple[SceneMention, int] | None:
    """Return the noun phrase that starts here, and its number of words.

    Attributes are taken before nouns, so that "an orange cup" is a cup; a noun that could be one is the last resort.
    """
    known = drawn_lexicon()
    before: list[tuple[str, int, Attribute | None]] = []
    index = start
    while index < min(len(words), start + _MAX_WORDS_BEFORE_NOUN):
        adjective = known.adjectives.longest_at(words, index)
        if adjective is not None:
            before.append((words[index], index, adjective[0]))
            index += adjective[1]
        elif _may_precede_noun(words[index]):
            before.append((words[index], index, None))
            index += 1
        elif words[index] in _JOINTS and before and before[-1][2] and known.adjectives.longest_at(words, index + 1):
            index += 1
        else:
            break
    for count in range(len(before), -1, -1):
        at = index if count == len(before) else before[count][1]
        noun = known.nouns.longest_at(words, at)
        # Without an article, an attribute that is a noun too is the attribute: "square and orange".
        if noun is not None and (count == len(before) or any(of is None for *_, of in before[:count])):
            return _noun_phrase(before[:count], noun[0], " ".join(words[at : at + noun[1]])), at + noun[1] - start
    return None


def _may_precede_noun(word: str) -> bool:
    known = drawn_lexicon()
    return word in known.numbers or any(
        word in group for group in (known.every, known.known, known.pairs, known.marks, known.fillers)
    )


def _noun_phrase(
    before: Sequence[tuple[str, int, Attribute | None]], noun: tuple[str, bool, bool], text: str
) -> SceneMention:
    known = drawn_lexicon()
    label, plural, paired = noun
    words = [word for word, _, attribute in before if attribute is None]
    numbers = [known.numbers[word] for word in words if word in known.numbers]
    if not paired and not numbers and any(word in known.pairs for word in words):
        numbers = [2]
    is_known = any(word in known.known for word in words)
    every = any(word in known.every for word in words)
    return SceneMention(
        label,
        text,
        tuple(attribute for *_, attribute in before if attribute is not None),
        number=numbers[0] if numbers else None,
        several=not numbers and (every or (plural and not paired and not is_known)),
        known=is_known,
        mark=next((word for word in words if word in known.marks), None),
    )
