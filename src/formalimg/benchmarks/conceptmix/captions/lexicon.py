"""The lexicon of visual concepts: loads `words/*.toml` and indexes its phrases for lookup."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from itertools import chain
from typing import Any, Literal, NamedTuple, TypeAlias

from formalimg.benchmarks.conceptmix.captions.categories import Category

Rule: TypeAlias = Literal["always", "count", "count before objects", "describing", "between objects", "into containers"]
"""The context in which an entry counts."""


class LexiconEntry(NamedTuple):
    """A word or phrase of the lexicon."""

    words: tuple[str, ...]  # the words of the phrase, split at blanks and hyphens
    # its category; None for phrases that only look like a mention, such as "behind the scenes"
    category: Category | None
    rule: Rule = "always"  # the context in which it counts
    by_itself: Category | None = None  # the category of a possible adjective where it does not describe an object


@dataclass(frozen=True)
class CaptionLexicon:
    """All entries, and the word classes that rules need."""

    entries: Mapping[tuple[str, ...], LexiconEntry]  # by their words
    # for the first words of entries, how many words these have, the longest first
    lengths: Mapping[str, tuple[int, ...]]
    always: Mapping[str, Category]  # the category of single words that always count
    things: frozenset[str]  # nouns of objects, in singular and plural
    plurals: frozenset[str]  # those in the plural
    placeable: frozenset[str]  # those that can be on one another: all but places and surfaces
    containers: frozenset[str]  # those that hold other objects
    articles: frozenset[str]  # words with which a noun phrase may begin
    breaks: frozenset[str]  # words that end a noun phrase
    describing_follows: frozenset[str]  # words and pairs of words after which a possible adjective is one
    units: frozenset[str]  # words that make a measure of the number before them
    size_units: frozenset[str]  # those of length
    names: frozenset[str]  # words that make a name of the number after them
    counted: frozenset[str]  # words that are counted, besides objects
    groups: frozenset[str]  # pairs of words after which a number counts


@cache
def load_lexicon() -> CaptionLexicon:
    """Return the lexicon of visual concepts."""
    objects, numbers, spatial, grammar = (_read(name) for name in ("objects", "numbers", "spatial", "grammar"))
    nouns = _nouns(objects)
    entries = list(_entries(nouns.every, numbers, spatial, grammar["articles"]))
    either = {entry.words[0] for entry in entries if entry.by_itself == "object"}
    things = _heads({*nouns.every, *either})
    return CaptionLexicon(
        entries={entry.words: entry for entry in reversed(entries)},
        lengths=_lengths(entries),
        always={entry.words[0]: entry.category for entry in reversed(entries) if _is_plain(entry) and entry.category},
        things=things,
        plurals=_heads(nouns.plurals),
        placeable=things - _heads(nouns.settings),
        containers=_heads(nouns.containers),
        articles=frozenset(grammar["articles"]),
        breaks=frozenset({*grammar["articles"], *grammar["little_words"], *grammar["verbs"]}),
        describing_follows=frozenset(grammar["describing_follows"]),
        units=frozenset(numbers["units"]),
        size_units=frozenset(_read("sizes")["units"]),
        names=frozenset(numbers["names"]),
        counted=frozenset(numbers["counted"]),
        groups=frozenset(numbers["after"]),
    )


class _Nouns(NamedTuple):
    every: frozenset[str]
    plurals: frozenset[str]
    settings: frozenset[str]
    containers: frozenset[str]


def _nouns(objects: Mapping[str, Any]) -> _Nouns:
    irregular: dict[str, str] = objects["plurals"]

    def plurals(names: Iterable[str]) -> frozenset[str]:
        return frozenset(pluralize(name, irregular) for name in names)

    settings = frozenset(chain.from_iterable(objects["settings"].values()))
    containers = frozenset(objects["things"]["containers"])
    singular = settings.union(*objects["things"].values())
    plural = plurals(singular).union(objects["plural_only"]["values"])
    return _Nouns(singular | plural, plural, settings | plurals(settings), containers | plurals(containers))


def pluralize(name: str, irregular: Mapping[str, str]) -> str:
    """Return the plural of a noun; of several words, that of the last."""
    *before, last = name.split(" ")
    if name in irregular:
        return irregular[name]
    return " ".join([*before, irregular.get(last) or _regular_plural(last)])


def _regular_plural(word: str) -> str:
    if word.endswith(("s", "x", "z", "ch", "sh")):
        return f"{word}es"
    if word.endswith("y") and word[-2:-1] not in "aeiou":
        return f"{word[:-1]}ies"
    return f"{word}s"


def _entries(
    objects: Iterable[str], numbers: Mapping[str, Any], spatial: Mapping[str, Any], articles: Iterable[str]
) -> Iterator[LexiconEntry]:
    """Yield every phrase with its meaning. Where two files have the same phrase, the first one here is right."""
    colors, shapes, sizes, textures, styles = (
        _read(name) for name in ("colors", "shapes", "sizes", "textures", "styles")
    )
    for group in (colors, shapes, sizes, textures, spatial, styles):
        yield from (LexiconEntry(_words(phrase), None) for phrase in group["nothing"])
    for group in _read("ambiguous")["words"]:
        for word in group["values"]:
            yield LexiconEntry(_words(word), group["describing"], "describing", group["by_itself"])
            if group["by_itself"] == "object":
                yield LexiconEntry(_words(_regular_plural(word)), "object")
    determiners = [*articles, *numbers["values"], "one"]
    for phrase in spatial["values"]:
        for word in determiners if "{the}" in phrase else [""]:
            yield LexiconEntry(_words(phrase.replace("{the}", word)), "spatial")
    for words, category, rule in _ruled(numbers, spatial):
        yield from (LexiconEntry(_words(word), category, rule) for word in words)
    plain: tuple[tuple[Category, list[str]], ...] = (
        ("color", colors["values"]),
        ("style", [*styles["media"], *styles["manners"]]),
        ("texture", [*textures["surfaces"], *textures["materials"], *textures["patterns"]]),
        ("shape", shapes["values"]),
        ("size", sizes["values"]),
        ("object", sorted(objects)),
    )
    for category, phrases in plain:
        yield from (LexiconEntry(_words(phrase), category) for phrase in phrases)


def _ruled(numbers: Mapping[str, Any], spatial: Mapping[str, Any]) -> tuple[tuple[list[str], Category, Rule], ...]:
    return (
        (numbers["groups"], "number", "always"),
        (numbers["values"], "number", "count"),
        (numbers["before_things"], "number", "count before objects"),
        (spatial["between_things"], "spatial", "between objects"),
        (spatial["into_containers"], "spatial", "into containers"),
    )


def _lengths(entries: Iterable[LexiconEntry]) -> dict[str, tuple[int, ...]]:
    found: dict[str, set[int]] = {}
    for entry in entries:
        found.setdefault(entry.words[0], set()).add(len(entry.words))
    return {word: tuple(sorted(lengths, reverse=True)) for word, lengths in found.items()}


def _is_plain(entry: LexiconEntry) -> bool:
    return entry.rule == "always" and len(entry.words) == 1


def _heads(names: Iterable[str]) -> frozenset[str]:
    """Return the last words of nouns."""
    return frozenset(_words(name)[-1] for name in names)


def _words(phrase: str) -> tuple[str, ...]:
    return tuple(re.split(r"[ -]", phrase))


def _read(name: str) -> dict[str, Any]:
    path = files("formalimg.benchmarks.conceptmix.captions") / "words" / f"{name}.toml"
    return tomllib.loads(path.read_text(encoding="utf-8"))
