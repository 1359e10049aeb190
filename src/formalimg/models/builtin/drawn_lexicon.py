"""Words of the drawn worlds: the nouns of their suites, and the phrases of `drawn_words.toml`."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple, TypeAlias

from formalimg.benchmarks.registry import suite, suite_names
from formalimg.language.lexicon import lexicon
from formalimg.logic.vocabulary import vocabulary
from formalimg.models.builtin.drawn_world import WorldNoun
from formalimg.models.builtin.mentions import PhraseIndex, TextCue
from formalimg.models.builtin.misreading import ATTRIBUTE_FACTS

Attribute: TypeAlias = tuple[str, str]
"""The kind and the value of an attribute."""


NAMED_BEFORE = ""
"""The class of a noun that only refers back: "the road" where a dirt road was named."""


class DrawnNoun(NamedTuple):
    """A form of a noun: the class, whether it is a plural, and whether one of it is "a pair of" them."""

    label: str
    plural: bool
    paired: bool


class DrawnLexicon(NamedTuple):
    """All known words, by what they are looked up for."""

    nouns: PhraseIndex[DrawnNoun]  # the forms of all nouns
    also: Mapping[str, frozenset[str]]  # what else an object may be called once it is named, by its class
    adjectives: PhraseIndex[Attribute]  # attributes before a noun
    # everything that is no noun phrase; attributes behind a noun are of the kind "attribute"
    cues: PhraseIndex[TextCue]
    every: frozenset[str]  # what may stand before a noun, by what it says
    known: frozenset[str]
    pairs: frozenset[str]
    marks: frozenset[str]
    fillers: frozenset[str]
    numbers: Mapping[str, int]  # the numbers, as words and digits
    # what suites call the words of the vocabulary `natural`, where that is something else
    names: Mapping[str, Mapping[str, str]]


@cache
def drawn_lexicon() -> DrawnLexicon:
    """Load the nouns of all drawn worlds, and the phrases of the data file."""
    table = tomllib.loads((files("formalimg.models.builtin") / "drawn_words.toml").read_text(encoding="utf-8"))
    before = table["before_nouns"]
    named = {noun.label: noun for noun in _world_nouns()}
    return DrawnLexicon(
        nouns=PhraseIndex(_nouns(named)),
        also={label: frozenset(noun.also) for label, noun in named.items() if noun.also},
        adjectives=PhraseIndex(dict(_attributes(table["attributes"], "before"))),
        cues=PhraseIndex(_cues(table)),
        every=frozenset(before["every"]),
        known=frozenset(before["known"]),
        pairs=frozenset(before["pairs"]),
        marks=frozenset(before["marks"]),
        fillers=frozenset([*before["new"], *before["between"]]),
        numbers={text: n for n, word in enumerate(before["numbers"], start=2) for text in (word, str(n))},
        names=table["names"],
    )


def _world_nouns() -> Iterator[WorldNoun]:
    """Yield the nouns of suites that have others than those of the vocabulary `natural`."""
    for name in suite_names():
        world = suite(name).drawn_world()
        yield from world.nouns() if world is not None else ()


def _nouns(named: Mapping[str, WorldNoun]) -> dict[str, DrawnNoun]:
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


def _attributes(tables: Mapping[str, Any], place: str) -> Iterator[tuple[str, Attribute]]:
    """Yield the phrases for attributes before or behind a noun."""
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
            for pattern in table[place]:
                name = table.get("nouns", {}).get(value, value)
                words = table["words"].get(value, [value]) if "{word}" in pattern else [value]
                for word in words:
                    yield pattern.format(word=word, name=name), (kind, value)


def _cues(table: Mapping[str, Any]) -> dict[str, TextCue]:
    found = {",": TextCue("comma")}
    found.update((phrase, TextCue("attribute", of)) for phrase, of in _attributes(table["attributes"], "behind"))
    for kind in ("relation", "relation_to_it", "sequence", "style"):
        found.update((phrase, TextCue(kind, (meaning,))) for phrase, meaning in table[kind].items())
    for kind, phrases in table["sign"].items():
        for phrase in phrases:
            verbs = table["sign"]["verb"] if "{verb}" in phrase else ("",)
            found.update((phrase.format(verb=verb), TextCue(kind)) for verb in verbs)
    return found
