"""Mentions of visual-concept categories in captions, found by a lexicon (`words/*.toml`) and context rules."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from itertools import chain
from typing import Any, Literal, NamedTuple, TypeAlias

from formalimg.benchmarks.conceptmix.spec import Category

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
    """All lexicon entries, and the word classes that the context rules use."""

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
    objects, numbers, spatial, grammar = (_read_words(name) for name in ("objects", "numbers", "spatial", "grammar"))

    def plurals(names: Iterable[str]) -> set[str]:
        return {pluralize_noun(name, objects["plurals"]) for name in names}

    settings = set(chain.from_iterable(objects["settings"].values()))
    containers = set(objects["things"]["containers"])
    singular = settings.union(*objects["things"].values())
    plural = plurals(singular).union(objects["plural_only"]["values"])
    entries = list(_build_entries(singular | plural, numbers, spatial, grammar["articles"]))
    lengths: dict[str, set[int]] = {}
    for entry in entries:
        lengths.setdefault(entry.words[0], set()).add(len(entry.words))
    plain = [entry for entry in reversed(entries) if entry.rule == "always" and len(entry.words) == 1]
    things = _last_words(singular | plural | {entry.words[0] for entry in entries if entry.by_itself == "object"})
    return CaptionLexicon(
        entries={entry.words: entry for entry in reversed(entries)},
        lengths={word: tuple(sorted(counts, reverse=True)) for word, counts in lengths.items()},
        always={entry.words[0]: entry.category for entry in plain if entry.category},
        things=things,
        plurals=_last_words(plural),
        placeable=things - _last_words(settings | plurals(settings)),
        containers=_last_words(containers | plurals(containers)),
        articles=frozenset(grammar["articles"]),
        breaks=frozenset({*grammar["articles"], *grammar["little_words"], *grammar["verbs"]}),
        describing_follows=frozenset(grammar["describing_follows"]),
        units=frozenset(numbers["units"]),
        size_units=frozenset(_read_words("sizes")["units"]),
        names=frozenset(numbers["names"]),
        counted=frozenset(numbers["counted"]),
        groups=frozenset(numbers["after"]),
    )


def pluralize_noun(name: str, irregular: Mapping[str, str]) -> str:
    """Return the plural of a noun; for a multi-word name, inflect the last word."""
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


def _build_entries(
    objects: Iterable[str], numbers: Mapping[str, Any], spatial: Mapping[str, Any], articles: Iterable[str]
) -> Iterator[LexiconEntry]:
    """Yield every phrase with its meaning; for duplicate phrases, the first entry takes precedence."""
    colors, shapes, sizes, textures, styles = (
        _read_words(name) for name in ("colors", "shapes", "sizes", "textures", "styles")
    )
    for group in (colors, shapes, sizes, textures, spatial, styles):
        yield from (LexiconEntry(_split_phrase(phrase), None) for phrase in group["nothing"])
    for group in _read_words("ambiguous")["words"]:
        for word in group["values"]:
            yield LexiconEntry(_split_phrase(word), group["describing"], "describing", group["by_itself"])
            if group["by_itself"] == "object":
                yield LexiconEntry(_split_phrase(_regular_plural(word)), "object")
    determiners = [*articles, *numbers["values"], "one"]
    for phrase in spatial["values"]:
        for word in determiners if "{the}" in phrase else [""]:
            yield LexiconEntry(_split_phrase(phrase.replace("{the}", word)), "spatial")
    in_context: tuple[tuple[list[str], Category, Rule], ...] = (
        (numbers["groups"], "number", "always"),
        (numbers["values"], "number", "count"),
        (numbers["before_things"], "number", "count before objects"),
        (spatial["between_things"], "spatial", "between objects"),
        (spatial["into_containers"], "spatial", "into containers"),
    )
    for words, category, rule in in_context:
        yield from (LexiconEntry(_split_phrase(word), category, rule) for word in words)
    plain: tuple[tuple[Category, list[str]], ...] = (
        ("color", colors["values"]),
        ("style", [*styles["media"], *styles["manners"]]),
        ("texture", [*textures["surfaces"], *textures["materials"], *textures["patterns"]]),
        ("shape", shapes["values"]),
        ("size", sizes["values"]),
        ("object", sorted(objects)),
    )
    for category, phrases in plain:
        yield from (LexiconEntry(_split_phrase(phrase), category) for phrase in phrases)


def _last_words(names: Iterable[str]) -> frozenset[str]:
    return frozenset(_split_phrase(name)[-1] for name in names)


def _split_phrase(phrase: str) -> tuple[str, ...]:
    return tuple(re.split(r"[ -]", phrase))


def _read_words(name: str) -> dict[str, Any]:
    return tomllib.loads((files(__package__) / "words" / f"{name}.toml").read_text(encoding="utf-8"))


VERSION = 1  # Raised with every change of the lexicon or the rules
_TOKEN = re.compile(r"'s\b|-?[^\W\d_]+|\d+(?:[.,:/]\d+)*(?:[x×]\d+(?:\.\d+)?)?[^\W\d_]*|[^\w\s]")
_MEASURE = re.compile(r"\d+(?:\.\d+)?(?:[x×]\d{1,3}(?:\.\d+)?)?(?:cm|ft|in|inch|inches)|\d{1,3}(?:\.\d+)?[x×]\d{1,3}")
_COUNT = re.compile(r"[1-9]\d{0,2}")
_CONJUNCTIONS = frozenset({",", "and", "or", "&", "/"})
_BEFORE_NAMES = frozenset({"#", "$", "€", "£", "-", "№", "."})
_MAX_DISTANCE = 4  # How many words a noun may be away from its adjective or number: "two very small red cats"


class CategoryMention(NamedTuple):
    """A mention of a visual concept in a caption."""

    category: Category  # the concept's category
    words: str  # the words of the caption, in lower case


def find_mentions(caption: str) -> list[CategoryMention]:
    """Return the mentions of visual concepts in a caption, in the order of its words.

    Each word counts once, for one category; its meaning may depend on its neighbours. Nouns outside the lexicon and
    languages other than English are not recognized.
    """
    lexicon = load_lexicon()
    text = split_words(caption)
    words = text.words
    mentions: list[CategoryMention] = []
    after_object = False
    start = 0
    while start < len(words):
        word = words[start]
        category, length = _digits_meaning(text, start, lexicon) if word[0].isdigit() else (None, 1)
        for entry_length in lexicon.lengths.get(word, ()):
            entry = lexicon.entries.get(tuple(words[start : start + entry_length]))
            if entry is not None:
                category, length = _entry_meaning(entry, text, start, after_object, lexicon), entry_length
                break
        if category is not None:
            mentions.append(CategoryMention(category, " ".join(words[start : start + length])))
            after_object = after_object or category == "object"
        start += length
    return mentions


def find_categories(caption: str) -> frozenset[Category]:
    """Return the categories that a caption mentions."""
    return frozenset(mention.category for mention in find_mentions(caption))


class CaptionTokens(NamedTuple):
    """The words of a caption."""

    words: list[str]  # in lower case; punctuation marks are words too
    joined: list[bool]  # whether a hyphen joins each word to the one before

    def at(self, index: int) -> str:
        """Return the word at an index, or an empty string if the index is out of range."""
        return self.words[index] if 0 <= index < len(self.words) else ""


def split_words(caption: str) -> CaptionTokens:
    """Split a caption into words."""
    tokens = _TOKEN.findall(caption.lower().replace("’", "'"))
    joined = [len(token) > 1 and token[0] == "-" for token in tokens]
    words = [token[1:] if is_joined else token for token, is_joined in zip(tokens, joined, strict=True)]
    return CaptionTokens(words, joined)


def _entry_meaning(
    entry: LexiconEntry, text: CaptionTokens, start: int, after_object: bool, lexicon: CaptionLexicon
) -> Category | None:
    """Return the category of a lexicon entry at index `start`, or None if its context rule does not match."""
    end = start + len(entry.words)
    match entry.rule:
        case "always":
            return entry.category
        case "describing":
            return entry.category if _is_describing(text, start, end, entry.category, lexicon) else entry.by_itself
        case "count":
            applies = _is_count(text, start, end, lexicon)
        case "count before objects":
            applies = _object_follows(text, end, lexicon.things, lexicon)
        case "between objects":
            applies = after_object and _object_follows(text, end, lexicon.placeable, lexicon)
        case "into containers":
            applies = _object_follows(text, end, lexicon.containers, lexicon)
    return entry.category if applies else None


def _digits_meaning(text: CaptionTokens, start: int, lexicon: CaptionLexicon) -> tuple[Category | None, int]:
    """Return the category of a digit token (a count of objects, a size, or neither) and its words: "6 feet" has two."""
    word, following, before = text.at(start), text.at(start + 1), text.at(start - 1)
    if _MEASURE.fullmatch(word):
        return "size", 1
    if following in lexicon.size_units:
        return "size", 2
    if following in ("x", "×") and text.at(start + 2)[:1].isdigit():
        return "size", 3
    if not _COUNT.fullmatch(word) or before in _BEFORE_NAMES or not _is_count(text, start, start + 1, lexicon):
        return None, 1
    grouped = before in lexicon.groups or f"{text.at(start - 2)} {before}" in lexicon.groups
    counted = following in lexicon.counted or _object_follows(text, start + 1, lexicon.plurals, lexicon)
    return "number" if grouped or counted else None, 1


def _is_describing(
    text: CaptionTokens, start: int, end: int, category: Category | None, lexicon: CaptionLexicon
) -> bool:
    """Return whether a word is an adjective, as in "an orange cat", rather than the object itself."""
    following = text.at(end)
    if _may_be_noun(following, lexicon):
        return True
    if following in _CONJUNCTIONS and lexicon.always.get(text.at(end + 1)) == category:
        return True
    before = text.at(start - 1)
    if before in _CONJUNCTIONS and lexicon.always.get(text.at(start - 2)) == category:
        return True
    return before in lexicon.describing_follows or f"{text.at(start - 2)} {before}" in lexicon.describing_follows


def _is_count(text: CaptionTokens, start: int, end: int, lexicon: CaptionLexicon) -> bool:
    following = text.at(end)
    if end < len(text.words) and text.joined[end]:
        return following in lexicon.counted
    return following not in lexicon.units and text.at(start - 1) not in lexicon.names


def _object_follows(text: CaptionTokens, start: int, nouns: frozenset[str], lexicon: CaptionLexicon) -> bool:
    """Return whether the head noun of the noun phrase at `start` is in `nouns`."""
    matches = False
    for distance in range(_MAX_DISTANCE + 1):
        word = text.at(start + distance)
        if distance == 0 and word in lexicon.articles:
            continue
        if word == "'s":  # so far it was the owner of the object
            matches = False
        elif word in lexicon.things:
            matches = word in nouns
        elif matches or not _may_be_noun(word, lexicon):
            break
    return matches


def _may_be_noun(word: str, lexicon: CaptionLexicon) -> bool:
    """Return whether a word can belong to a noun phrase; verbs in -ing cannot: "an orange lying on a table"."""
    if not word.isalpha() or word in lexicon.breaks:
        return False
    return not word.endswith("ing") or word in lexicon.things
