"""Mentions of objects in a prompt: a lexicon (`mentions.toml`), a tokenizer, and coreference resolution."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from random import Random
from typing import Generic, NamedTuple, TypeAlias, TypeVar

from formalimg.language.lexicon import lexicon
from formalimg.logic.vocabulary import vocabulary
from formalimg.scenes.objects import Box, SceneObject
from formalimg.scenes.scene import Scene

MAX_WORDS = 2_000  # the rest of a longer prompt is ignored, as in models with a context window of so many words
MAX_OBJECTS = 40  # further objects are ignored: the canvas has no room for more

Meaning = TypeVar("Meaning")

_WORD = re.compile(r"[a-z]+|[0-9]+|[,.;:!?]")
JOINTS = ("comma", "joint")
_SENTENCE_ENDS = frozenset(".;:!?")
_MAX_WORDS_BEFORE_NOUN = 8


class TextCue(NamedTuple):
    """A phrase that describes or relates objects: its kind in the lexicon, and its meaning."""

    kind: str
    meaning: tuple[str, ...] = ()


class ObjectMention(NamedTuple):
    """A mention of one or more objects: "a pair of red scissors", "every fork", "two cups"."""

    label: str  # the class of the object
    color: str | None = None  # the colour before the noun
    mark: str | None = None  # what distinguishes it from others of its class: "first", "particular"
    number: int = 1  # how many there are, if a number is given
    several: bool = False  # whether it is every such object, or a plural without a number


PromptToken: TypeAlias = ObjectMention | TextCue

# --- the lexicon


class NounForm(NamedTuple):
    """A noun form of a class."""

    label: str
    plural: bool


class PhraseIndex(Generic[Meaning]):
    """An index of phrases and their meanings for lookup in a sequence of words."""

    def __init__(self, meanings: Mapping[str, Meaning]) -> None:
        self._by_first_word: dict[str, list[tuple[list[str], Meaning]]] = {}
        for phrase in sorted(meanings, key=len, reverse=True):
            words = phrase.split()
            self._by_first_word.setdefault(words[0], []).append((words, meanings[phrase]))

    def longest_at(self, words: Sequence[str], index: int) -> tuple[Meaning, int] | None:
        """Return the meaning of the longest phrase that starts at an index, and its length in words."""
        if index >= len(words):
            return None
        for phrase, meaning in self._by_first_word.get(words[index], ()):
            if list(words[index : index + len(phrase)]) == phrase:
                return meaning, len(phrase)
        return None


class PromptLexicon(NamedTuple):
    """All known words, grouped by purpose."""

    nouns: PhraseIndex[NounForm]
    cues: PhraseIndex[TextCue]
    colors: frozenset[str]
    before_nouns: frozenset[str]
    universal: frozenset[str]
    marks: frozenset[str]
    numbers: Mapping[str, int]


@cache
def prompt_lexicon() -> PromptLexicon:
    """Load the nouns and colours of the drawable objects and the phrases in the data file."""
    table = tomllib.loads((files("formalimg.models.builtin") / "mentions.toml").read_text(encoding="utf-8"))
    colors, before = vocabulary("knolling").words["color"], table["before_nouns"]
    numbers = {text: n for n, word in enumerate(before["numbers"], start=2) for text in (word, str(n))}
    return PromptLexicon(
        nouns=PhraseIndex(_noun_forms()),
        cues=PhraseIndex(_build_cues(table, colors)),
        colors=frozenset(colors),
        before_nouns=frozenset([*colors, *numbers, *(word for words in before.values() for word in words)]),
        universal=frozenset(before["every"]),
        marks=frozenset(before["marks"]),
        numbers=numbers,
    )


def _noun_forms() -> dict[str, NounForm]:
    forms: dict[str, NounForm] = {}
    for label in vocabulary("knolling").words["class"]:
        noun, plain = lexicon("knolling").nouns[label], label.replace("_", " ")
        for text in (plain, noun.text):
            forms[text] = NounForm(label, plural=False)
        for text in (f"{plain}s", noun.plural):
            forms.setdefault(text, NounForm(label, plural=True))  # one pair of glasses is in the plural too
    return forms


def _build_cues(table: Mapping[str, Mapping[str, Sequence[str]]], colors: Sequence[str]) -> dict[str, TextCue]:
    cues = {",": TextCue("comma"), **{color: TextCue("color", (color,)) for color in colors}}
    for kind in ("place", "relation", "relation_to_it", "alignment", "sequence"):
        for phrase, meaning in table[kind].items():
            cues[phrase] = TextCue(kind, (meaning,) if isinstance(meaning, str) else tuple(meaning))
    for kind, phrases in table["sign"].items():
        cues.update((phrase, TextCue(kind)) for phrase in phrases)
    return cues


# --- the tokenizer


def find_tokens(text: str) -> Iterator[list[PromptToken]]:
    """Yield the mentions and cues of each sentence. Other words are ignored."""
    return map(_sentence_tokens, split_sentences(text))


def split_sentences(text: str) -> Iterator[list[str]]:
    """Yield the lower-case words, numbers and commas of each sentence, up to `MAX_WORDS` in total."""
    sentence: list[str] = []
    for word in _WORD.findall(text.lower())[:MAX_WORDS]:
        if word in _SENTENCE_ENDS:
            yield sentence
            sentence = []
        else:
            sentence.append(word)
    yield sentence


def _sentence_tokens(words: Sequence[str]) -> list[PromptToken]:
    phrases = prompt_lexicon()
    tokens: list[PromptToken] = []
    index = 0
    while index < len(words):
        token, length = _mention_at(words, index) or phrases.cues.longest_at(words, index) or (None, 1)
        if token:
            tokens.append(token)
        index += length
    return tokens


def _mention_at(words: Sequence[str], index: int) -> tuple[ObjectMention, int] | None:
    phrases = prompt_lexicon()
    end = index
    while end < min(len(words), index + _MAX_WORDS_BEFORE_NOUN) and words[end] in phrases.before_nouns:
        end += 1
    noun = phrases.nouns.longest_at(words, end)
    if noun is None:
        return None
    (label, plural), length = noun
    before = words[index:end]
    number = max([1, *(phrases.numbers[word] for word in before if word in phrases.numbers)])
    return ObjectMention(
        label,
        color=next((word for word in before if word in phrases.colors), None),
        mark=next((word for word in before if word in phrases.marks), None),
        number=number,
        several=number == 1 and (plural or any(word in phrases.universal for word in before)),
    ), end + length - index


class TokenParser:
    """Base class of sentence parsers, with a position in the list of tokens."""

    def __init__(self, tokens: Sequence[object]) -> None:
        self.tokens = tokens
        self.position = 0

    def parse(self) -> None:
        """Parse the sentence from left to right."""
        while self.position < len(self.tokens):
            token = self.tokens[self.position]
            if isinstance(token, TextCue):
                self.position += 1
                self.parse_cue(token)
            else:
                self.parse_objects()

    def parse_cue(self, cue: TextCue) -> None:
        """Parse a cue; the position is already after it."""
        raise NotImplementedError

    def parse_objects(self) -> None:
        """Parse the noun phrase at the current position."""
        raise NotImplementedError

    def kind_at(self, index: int) -> str:
        """Return the kind of the token at an index."""
        if not 0 <= index < len(self.tokens):
            return "end"
        token = self.tokens[index]
        return token.kind if isinstance(token, TextCue) else "object"

    def after_joints(self, index: int) -> int:
        """Return the index after any commas and "and"."""
        while self.kind_at(index) in JOINTS:
            index += 1
        return index


# --- the tracker

ObjectGroup: TypeAlias = tuple[int, ...]
"""The indices of objects that are mentioned together, such as two cups; mostly a single one."""


@dataclass
class Entity:
    """A mentioned group of objects with its class, colour and mark."""

    label: str
    color: str | None
    mark: str | None
    group: ObjectGroup


@dataclass
class EntityTracker:
    """Tracks the objects that have been mentioned."""

    several: int = 1  # how many "every cup" or "cups" are taken to be
    entities: list[Entity] = field(default_factory=list)  # what has been mentioned, in order
    # the subjects of the latest clause, which a sentence that begins with "it" is about
    topic: list[ObjectGroup] = field(default_factory=list)

    def __iter__(self) -> Iterator[tuple[int, Entity]]:
        return ((obj, entity) for entity in self.entities for obj in entity.group)

    def resolve(self, mention: ObjectMention) -> ObjectGroup:
        """Return the objects that a mention refers to, adding new objects if no earlier ones match.

        "A cup" and "the cup" are the same cup: where an instruction has two, a colour or "first" and "second"
        distinguish them.
        """
        entity = self._antecedent(mention)
        if entity:
            entity.color = entity.color or mention.color
            return entity.group
        first = sum(len(entity.group) for entity in self.entities)
        count = self.several if mention.several else mention.number
        group = tuple(range(first, min(first + count, MAX_OBJECTS)))
        self.entities.append(Entity(mention.label, mention.color, mention.mark, group))
        return group

    def _antecedent(self, mention: ObjectMention) -> Entity | None:
        """Return the latest matching entity; a mention without a mark also matches marked ones, except for "every"."""
        fitting = [
            entity
            for entity in self.entities
            if entity.label == mention.label and len({entity.color, mention.color} - {None}) < 2
        ]
        same = [entity for entity in fitting if entity.mark == mention.mark]
        if not same and mention.mark is None and not mention.several:
            same = fitting
        return same[-1] if same else None

    def paint(self, group: ObjectGroup, color: str) -> None:
        """Set the colour of objects that have no colour yet."""
        for entity in self.entities:
            if entity.group == group:
                entity.color = entity.color or color

    def scene(self, boxes: Mapping[int, Box], rng: Random) -> Scene:
        """Return a scene of all objects with a box; objects without a colour get a random one."""
        colors = vocabulary("knolling").words["color"]
        painted = [(entity, entity.color or rng.choice(colors)) for entity in self.entities]
        return Scene.of(
            SceneObject(entity.label, boxes[obj], color)
            for entity, color in painted
            for obj in entity.group
            if obj in boxes
        )
