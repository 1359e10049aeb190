"""The words that the readers among the built-in models know."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from random import Random
from typing import Generic, NamedTuple, TypeAlias, TypeVar

from formalimg.logic import vocabulary
from formalimg.scenes import Box, Scene, SceneObject
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
    table = tomllib.loads((files("formalimg.baselines") / "mentions.toml").read_text(encoding="utf-8"))
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


MAX_OBJECTS = 40
"""No more objects are taken in: the canvas has no room for more."""

Unit: TypeAlias = tuple[int, ...]
"""The numbers of objects that are spoken of together, such as two cups. Mostly it is one object."""


@dataclass
class Name:
    """What objects are called, and their numbers."""

    label: str
    color: str | None
    mark: str | None
    unit: Unit


@dataclass
class Cast:
    """Keeps in mind which objects have been named. `several` is how many "every cup" or "cups" are taken to be."""

    several: int = 1
    names: list[Name] = field(default_factory=list)

    def __iter__(self) -> Iterator[tuple[int, Name]]:
        return ((obj, name) for name in self.names for obj in name.unit)

    def called(self, mention: Mention) -> Unit:
        """The objects that a mention means: those that were named so before, or else new ones.

        "A cup" and "the cup" are the same cup: where an instruction speaks of two, a colour or "first" and "second"
        tell them apart.
        """
        name = self._answering(mention)
        if name:
            name.color = name.color or mention.color
            return name.unit
        first = sum(len(name.unit) for name in self.names)
        wanted = self.several if mention.several else mention.number
        unit = tuple(range(first, min(first + wanted, MAX_OBJECTS)))
        self.names.append(Name(mention.label, mention.color, mention.mark, unit))
        return unit

    def _answering(self, mention: Mention) -> Name | None:
        """The latest name that fits; one with a mark also answers without it, but is not meant by "every"."""
        fitting = [name for name in self.names if name.label == mention.label and _may_be(name.color, mention.color)]
        same = [name for name in fitting if name.mark == mention.mark]
        if not same and mention.mark is None and not mention.several:
            same = fitting
        return same[-1] if same else None

    def paint(self, unit: Unit, color: str) -> None:
        """Objects get the colour that is said of them, unless they have one."""
        for name in self.names:
            if name.unit == unit:
                name.color = name.color or color

    def scene(self, boxes: Mapping[int, Box], chance: Random) -> Scene:
        """The scene of all objects that have a box; those of no colour get any."""
        colors = vocabulary("knolling").words["color"]
        painted = [(name, name.color or chance.choice(colors)) for name in self.names]
        return Scene.of(
            SceneObject(name.label, boxes[obj], color) for name, color in painted for obj in name.unit if obj in boxes
        )


def _may_be(one: str | None, other: str | None) -> bool:
    return one is None or other is None or one == other
