"""The words that the readers among the built-in models know."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Generic, NamedTuple, TypeVar

from formalimg.logic import vocabulary
from formalimg.suites import lexicon

Meaning = TypeVar("Meaning")


class Cue(NamedTuple):
    """Words that say something of objects: their kind, as in the data file, and what they stand for."""

    kind: str
    meaning: tuple[str, ...] = ()


class NounForm(NamedTuple):
    """A form of the noun of a class."""

    label: str
    plural: bool


class Phrases(Generic[Meaning]):
    """Phrases with their meanings, to be found in a list of words."""

    def __init__(self, meanings: Mapping[str, Meaning]) -> None:
        self._by_first_word: dict[str, list[tuple[list[str], Meaning]]] = {}
        for phrase in sorted(meanings, key=len, reverse=True):
            words = phrase.split()
            self._by_first_word.setdefault(words[0], []).append((words, meanings[phrase]))

    def longest_at(self, words: Sequence[str], place: int) -> tuple[Meaning, int] | None:
        """The meaning of the longest phrase that stands at a place, and its number of words."""
        if place >= len(words):
            return None
        for phrase, meaning in self._by_first_word.get(words[place], ()):
            if list(words[place : place + len(phrase)]) == phrase:
                return meaning, len(phrase)
        return None


class KnownWords(NamedTuple):
    """All words that are known, by what they are looked up for."""

    nouns: Phrases[NounForm]
    cues: Phrases[Cue]
    colors: frozenset[str]
    before_nouns: frozenset[str]
    every: frozenset[str]
    marks: frozenset[str]
    numbers: Mapping[str, int]


@cache
def known_words() -> KnownWords:
    """The nouns and colours of the drawable objects, and the words of the data file."""
    table = tomllib.loads((files("formalimg.baselines") / "words.toml").read_text(encoding="utf-8"))
    colors, before = vocabulary("knolling").words["color"], table["before_nouns"]
    numbers = {text: n for n, word in enumerate(before["numbers"], start=2) for text in (word, str(n))}
    return KnownWords(
        nouns=Phrases(_noun_forms()),
        cues=Phrases(_cues(table, colors)),
        colors=frozenset(colors),
        before_nouns=frozenset([*colors, *numbers, *(word for words in before.values() for word in words)]),
        every=frozenset(before["every"]),
        marks=frozenset(before["marks"]),
        numbers=numbers,
    )


def _noun_forms() -> dict[str, NounForm]:
    """Nouns as the suite words them, and classes as they are written: people say both "computer mouse" and "mouse"."""
    forms: dict[str, NounForm] = {}
    for label in vocabulary("knolling").words["class"]:
        noun, plain = lexicon("knolling").nouns[label], label.replace("_", " ")
        for text in (plain, noun.text):
            forms[text] = NounForm(label, plural=False)
        for text in (f"{plain}s", noun.plural):
            forms.setdefault(text, NounForm(label, plural=True))  # one pair of glasses is in the plural too
    return forms


def _cues(table: Mapping[str, Mapping[str, Sequence[str]]], colors: Sequence[str]) -> dict[str, Cue]:
    found = {",": Cue("comma"), **{color: Cue("color", (color,)) for color in colors}}
    for kind in ("place", "relation", "relation_to_it", "alignment", "sequence"):
        for phrase, meaning in table[kind].items():
            found[phrase] = Cue(kind, (meaning,) if isinstance(meaning, str) else tuple(meaning))
    for kind, phrases in table["sign"].items():
        found.update((phrase, Cue(kind)) for phrase in phrases)
    return found
