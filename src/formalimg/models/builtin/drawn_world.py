"""Drawn worlds: their nouns and misread rates, and the words of all (`drawn_words.toml`) with a tokenizer."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cache
from importlib.resources import files
from math import sqrt
from random import Random
from typing import Any, NamedTuple, TypeAlias

from formalimg.benchmarks.registry import suite, suite_names
from formalimg.language.lexicon import lexicon
from formalimg.logic.vocabulary import vocabulary
from formalimg.models.builtin.mentions import PhraseIndex, TextCue, split_sentences

Meaning: TypeAlias = tuple[str, str]  # what a phrase means: a kind of word, such as class or color, and the word
NAMED_BEFORE = ""  # the class of a noun that only refers back: "the road" where a dirt road was named
_MAX_WORDS_BEFORE_NOUN = 12
_WORD_JOINTS = (",", "and")
ATTRIBUTE_FACTS = ("color", "material", "shape", "size", "state")  # the kinds of facts that are attributes of an object


class ReadFact(NamedTuple):
    """A fact that a prompt states."""

    # "object", "number", "style", "relation", the kind of an attribute, or "every" for objects that a prompt speaks
    # of as "every cup" or "cups"
    kind: str
    value: str  # the class, the number, the style, the relation or the attribute
    objects: tuple[int, ...] = ()  # the objects that it is about, counted from 0; two for a relation, none for a style


@dataclass(frozen=True)
class MisreadRates:
    """Probability of each failure per fact, for a prompt with as many facts as the memory holds."""

    lose_objects: float  # an object is left out, with everything that is said of it
    lose_attributes: float  # a colour, material, shape, size or state is forgotten
    swap_attributes: float  # two objects exchange their colours, materials, shapes, sizes or states
    miscount: float  # there is one object more or less than the number says
    lose_relations: float  # a relation is forgotten
    lose_style: float  # the style is forgotten


MISREAD_OPTIONS = tuple(rate.name for rate in fields(MisreadRates))  # the names of all rates: options of the reader


def misread(facts: Sequence[ReadFact], rates: MisreadRates, memory: int, rng: Random) -> list[ReadFact]:
    """Return the facts that remain after random memory failures.

    Each fact uses the same random numbers whatever the rates, so that changing one rate leaves other failures
    unchanged. At least one object always remains: the first one if all would be lost.
    """
    chance_of_loss = {
        **dict.fromkeys(ATTRIBUTE_FACTS, rates.lose_attributes),
        "object": rates.lose_objects,
        "relation": rates.lose_relations,
        "style": rates.lose_style,
    }
    load = sqrt(sum(fact.kind != "every" for fact in facts) / memory)
    chances = [(rng.random(), rng.random(), rng.random()) for _ in facts]
    remembered = dict(enumerate(facts))
    for number, (fact, (lost, swapped, choice)) in enumerate(zip(facts, chances, strict=True)):
        kind = fact.kind
        if lost < chance_of_loss.get(kind, 0.0) * load:
            del remembered[number]
        elif kind in ATTRIBUTE_FACTS and swapped < rates.swap_attributes * load:
            _swap_attribute(remembered, number, choice)
        elif kind == "number" and swapped < rates.miscount * load:
            count = int(fact.value)
            remembered[number] = fact._replace(value=str(count + 1 if choice < 0.5 or count == 1 else count - 1))
    named = [number for number, fact in enumerate(facts) if fact.kind == "object"]
    if named and not any(number in remembered for number in named):
        remembered[named[0]] = facts[named[0]]
    remaining = {fact.objects for fact in remembered.values() if fact.kind == "object"}
    return [
        remembered[number]
        for number in sorted(remembered)
        if all((obj,) in remaining for obj in remembered[number].objects)
    ]


def _swap_attribute(remembered: dict[int, ReadFact], number: int, choice: float) -> None:
    """Swap an attribute with another object, or move it if the other object has no such attribute."""
    fact = remembered[number]
    named = [candidate.objects for candidate in remembered.values() if candidate.kind == "object"]
    partners = [objects for objects in named if objects != fact.objects]
    if not partners:
        return
    target = partners[int(choice * len(partners))]
    for position, candidate in list(remembered.items()):
        if candidate.kind == fact.kind and candidate.objects == target:
            remembered[position] = candidate._replace(objects=fact.objects)
    remembered[number] = fact._replace(objects=target)


class WorldNoun(NamedTuple):
    """The words for an object: its class, singular, plural, and alternative names for later mentions."""

    label: str
    one: tuple[str, ...]
    many: tuple[str, ...]
    also: tuple[str, ...]


@dataclass(frozen=True)
class DrawnWorld:
    """Configuration of built-in models for a suite with drawn images."""

    rates: MisreadRates  # the chances of the reader's failures
    nouns: Callable[[], Iterable[WorldNoun]] = tuple  # its nouns besides those of the vocabulary `natural`
    # the words that scatter looks for; None: those of the suite's vocabulary
    phrases: Callable[[], Iterable[tuple[str, Meaning]]] | None = None


def drawn_world(suite_name: str) -> DrawnWorld:
    """Return the drawn world of a suite; the suite must have one."""
    world = suite(suite_name).drawn_world()
    assert world is not None, f"{suite_name} has no drawn world"
    return world


# --- words


class DrawnNoun(NamedTuple):
    """A noun form: its class, whether it is plural, and whether "a pair of" it denotes a single object."""

    label: str
    plural: bool
    paired: bool


class DrawnLexicon(NamedTuple):
    """All known words, grouped by purpose."""

    nouns: PhraseIndex[DrawnNoun]  # the forms of all nouns
    also: Mapping[str, frozenset[str]]  # what else an object may be called once it is named, by its class
    adjectives: PhraseIndex[Meaning]  # attributes before a noun
    # everything that is no noun phrase; attributes behind a noun are of the kind "attribute"
    cues: PhraseIndex[TextCue]
    universal: frozenset[str]  # what may stand before a noun, by what it says
    definite: frozenset[str]
    pairs: frozenset[str]
    marks: frozenset[str]
    before_nouns: frozenset[str]  # all of these, numbers and fillers
    numbers: Mapping[str, int]  # the numbers, as words and digits
    # what suites call the words of the vocabulary `natural`, where that is something else
    names: Mapping[str, Mapping[str, str]]


@cache
def drawn_lexicon() -> DrawnLexicon:
    """Load the nouns of all drawn worlds and the phrases in the data file."""
    table = tomllib.loads((files("formalimg.models.builtin") / "drawn_words.toml").read_text(encoding="utf-8"))
    before = table["before_nouns"]
    worlds = [world for name in suite_names() if (world := suite(name).drawn_world()) is not None]
    # the nouns of suites that have others than those of the vocabulary `natural`
    named = {noun.label: noun for world in worlds for noun in world.nouns()}
    numbers = {text: n for n, word in enumerate(before["numbers"], start=2) for text in (word, str(n))}
    return DrawnLexicon(
        nouns=PhraseIndex(_noun_forms(named)),
        also={label: frozenset(noun.also) for label, noun in named.items() if noun.also},
        adjectives=PhraseIndex(dict(_attribute_phrases(table["attributes"], "before"))),
        cues=PhraseIndex(_build_cues(table)),
        universal=frozenset(before["every"]),
        definite=frozenset(before["known"]),
        pairs=frozenset(before["pairs"]),
        marks=frozenset(before["marks"]),
        before_nouns=frozenset([*numbers, *(word for words in before.values() for word in words)]),
        numbers=numbers,
        names=table["names"],
    )


def _noun_forms(named: Mapping[str, WorldNoun]) -> dict[str, DrawnNoun]:
    forms: dict[str, DrawnNoun] = {}
    for texts in named.values():
        for text in texts.also:
            forms[text] = DrawnNoun(NAMED_BEFORE, text.endswith("s"), paired=False)
    for label, texts in named.items():
        forms.update((text, DrawnNoun(label, plural=True, paired=False)) for text in texts.many)
        forms.update((text, DrawnNoun(label, plural=False, paired=False)) for text in texts.one)
    for label in vocabulary("natural").words["class"]:
        noun = lexicon("natural").nouns[label]
        forms[noun.plural] = DrawnNoun(label, plural=True, paired=noun.measure is not None)
        forms[noun.text] = DrawnNoun(label, plural=False, paired=noun.measure is not None)
    for text, form in list(forms.items()):  # as some write: "two sheeps"
        if not form.plural:
            forms.setdefault(f"{text}s", form._replace(plural=True))
    return forms


def _attribute_phrases(tables: Mapping[str, Any], position: str) -> Iterator[tuple[str, Meaning]]:
    natural = vocabulary("natural").words
    values = {
        "color": natural["color"],
        "material": natural["material"],
        "shape": [*natural["shape"], "heart"],
        "size": [*tables["size"]["words"]],
        "state": natural["state"],
    }
    for kind in ATTRIBUTE_FACTS:
        table = tables[kind]
        for value in values[kind]:
            for pattern in table[position]:
                name = table.get("nouns", {}).get(value, value)
                words = table["words"].get(value, [value]) if "{word}" in pattern else [value]
                for word in words:
                    yield pattern.format(word=word, name=name), (kind, value)


def _build_cues(table: Mapping[str, Any]) -> dict[str, TextCue]:
    cues = {",": TextCue("comma")}
    cues.update(
        (phrase, TextCue("attribute", attribute))
        for phrase, attribute in _attribute_phrases(table["attributes"], "behind")
    )
    for kind in ("relation", "relation_to_it", "sequence", "style"):
        cues.update((phrase, TextCue(kind, (meaning,))) for phrase, meaning in table[kind].items())
    for kind, phrases in table["sign"].items():
        for phrase in phrases:
            verbs = table["sign"]["verb"] if "{verb}" in phrase else ("",)
            cues.update((phrase.format(verb=verb), TextCue(kind)) for verb in verbs)
    return cues


class SceneMention(NamedTuple):
    """A noun phrase: "a heart-shaped red cup", "every pair of wooden glasses", "two cups"."""

    label: str  # the class of the object
    text: str  # the noun as it is written
    attributes: tuple[Meaning, ...] = ()  # what is said of it before the noun
    number: int | None = None  # how many there are; None if no number is given
    several: bool = False  # whether it is every such object, or a plural without a number
    definite: bool = False  # whether it has been named before: "the cup"
    mark: str | None = None  # what distinguishes it from others of its class: "first", "other"


SceneToken: TypeAlias = SceneMention | TextCue


def find_scene_tokens(text: str) -> Iterator[list[SceneToken]]:
    """Yield the noun phrases and cues of each sentence. Other words are ignored."""
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
    """Return the noun phrase that starts at `start`, and its length in words.

    Attributes take precedence over nouns, so that "an orange cup" is a cup; nouns that could be attributes come last.
    """
    lexicon = drawn_lexicon()
    before: list[tuple[str, int, Meaning | None]] = []
    index = start
    while index < min(len(words), start + _MAX_WORDS_BEFORE_NOUN):
        adjective = lexicon.adjectives.longest_at(words, index)
        if adjective is not None:
            before.append((words[index], index, adjective[0]))
            index += adjective[1]
        elif words[index] in lexicon.before_nouns:
            before.append((words[index], index, None))
            index += 1
        elif (
            words[index] in _WORD_JOINTS
            and before
            and before[-1][2]
            and lexicon.adjectives.longest_at(words, index + 1)
        ):
            index += 1
        else:
            break
    for count in range(len(before), -1, -1):
        at = index if count == len(before) else before[count][1]
        noun = lexicon.nouns.longest_at(words, at)
        # Without an article, an attribute that is a noun too is the attribute: "square and orange".
        if noun is not None and (count == len(before) or any(attribute is None for *_, attribute in before[:count])):
            return _noun_phrase(before[:count], noun[0], " ".join(words[at : at + noun[1]])), at + noun[1] - start
    return None


def _noun_phrase(
    before: Sequence[tuple[str, int, Meaning | None]], noun: tuple[str, bool, bool], text: str
) -> SceneMention:
    lexicon = drawn_lexicon()
    label, plural, paired = noun
    words = [word for word, _, attribute in before if attribute is None]
    numbers = [lexicon.numbers[word] for word in words if word in lexicon.numbers]
    if not paired and not numbers and any(word in lexicon.pairs for word in words):
        numbers = [2]
    is_definite = any(word in lexicon.definite for word in words)
    is_universal = any(word in lexicon.universal for word in words)
    return SceneMention(
        label,
        text,
        tuple(attribute for *_, attribute in before if attribute is not None),
        number=numbers[0] if numbers else None,
        several=not numbers and (is_universal or (plural and not paired and not is_definite)),
        definite=is_definite,
        mark=next((word for word in words if word in lexicon.marks), None),
    )
