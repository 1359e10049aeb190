"""Words and grammar for prompts: lexicon entries, sentence templates, plurals, articles, lists and noun phrases."""

from __future__ import annotations

import re
import tomllib
import unicodedata
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from formalimg.benchmarks.conceptmix.spec import ATTRIBUTES, Binding, Category


@cache
def word_tables() -> dict[str, Any]:
    """Return the tables of words.toml."""
    return tomllib.loads((files(__package__) / "words.toml").read_text(encoding="utf-8"))


def lexicon_entry(category: Category, value: str) -> dict[str, Any]:
    """Return the lexicon entry of a concept, which is empty for user-defined concepts."""
    table = word_tables()["nouns" if category == "object" else category]
    return dict(table.get(value, {}))


def is_person(item: str) -> bool:
    """Return whether an item is a person; False for unknown items."""
    return bool(lexicon_entry("object", item).get("person", False))


def converse_of(relation: str) -> str | None:
    """Return the converse of a relation, or None if it has no name."""
    return lexicon_entry("spatial", relation).get("converse")


def function_words(group: str) -> frozenset[str]:
    """Return a group of function words."""
    return frozenset(word_tables()["reading"][group])


PLACEHOLDER = re.compile(r"(?:\b(?P<article>the|an?) )?\{(?P<name>\w+)\}", re.IGNORECASE)
"""A placeholder in a sentence template, with the article before it."""

_VALUE = ("value", "values")
_PLACES: Mapping[Category, tuple[str, ...]] = {
    "object": (*_VALUE, "object", "objects"),
    **dict.fromkeys(ATTRIBUTES, (*_VALUE, "object", "objects")),
    "spatial": (*_VALUE, "ObjectA", "ObjectB"),
    "style": _VALUE,
}
_RELATION = re.compile(r"the \{ObjectA\} is (?P<phrase>[^{},.;:!?]+) the \{ObjectB\}", re.IGNORECASE)


def check_statement(category: Category, statement: str) -> None:
    """Raise an error if a category's sentence template is invalid or lacks the value."""
    if not set(_VALUE) & set(_names_in(statement)):
        raise ValueError(f"the statement {statement!r} does not say the concept: put {{value}} into it")
    check_sentence(category, statement)


def check_sentence(category: Category, sentence: str) -> None:
    """Raise an error if a sentence template of a category or value is invalid."""
    names, allowed_names = _names_in(sentence), _PLACES[category]
    allowed = ", ".join(f"{{{name}}}" for name in allowed_names)
    strange = [name for name in names if name not in allowed_names]
    if strange or set("{}") & set(PLACEHOLDER.sub("", sentence)):
        problem = f"{{{strange[0]}}}" if strange else "a brace that is not a placeholder"
        raise ValueError(f"the sentence {sentence!r} has {problem}: it may have {allowed}")
    if category in ATTRIBUTES and not {"object", "objects"} & set(names):
        raise ValueError(f"the sentence {sentence!r} does not say of what: put {{object}} or {{objects}} into it")
    if category == "spatial" and not {"ObjectA", "ObjectB"} <= set(names):
        raise ValueError(f"the sentence {sentence!r} does not say of what: put {{ObjectA}} and {{ObjectB}} into it")


def check_relation_sentence(name: str, sentence: str) -> None:
    """Raise an error if a user-defined relation cannot be phrased with its sentence."""
    phrase = _phrase_in(name, sentence)
    if "phrase" not in lexicon_entry("spatial", name) and (phrase is None or name.lower() not in phrase.lower()):
        raise ValueError(
            f"the sentence {sentence!r} of the relation {name!r} cannot be used in prompts: "
            f"write it as 'the {{ObjectA}} is {name} the {{ObjectB}}'"
        )


def relation_phrase(name: str, sentence: str) -> str:
    """Return the phrase between the two objects of a relation, from the lexicon or its own sentence."""
    return str(lexicon_entry("spatial", name).get("phrase") or _phrase_in(name, sentence) or name)


def _phrase_in(name: str, sentence: str) -> str | None:
    match = _RELATION.fullmatch(sentence.replace("{value}", name))
    return None if match is None else match["phrase"]


def _names_in(sentence: str) -> list[str]:
    return [match["name"] for match in PLACEHOLDER.finditer(sentence)]


_SPELT = re.compile(r"[A-Za-z](?![^\W\d_])|[A-Z]{2,3}(?![^\W\d_])")
"""Words that are pronounced letter by letter: an L-shaped sofa, a T-shirt, an SUV."""


def plural_of(item: str) -> str:
    """Return the plural of an object: "cats", "oak trees", "pieces of sushi"."""
    plural = lexicon_entry("object", item).get("many")
    if plural is not None:
        return str(plural)
    head, separator, rest = item.partition(" of ")
    before, _, last = head.rpartition(" ")
    return f"{before} {_pluralize(last)}{separator}{rest}".lstrip()


def singular_of(item: str) -> str:
    """Return the singular of an object, without an article: "cat", "piece of sushi"."""
    return str(lexicon_entry("object", item).get("one", item))


def noun_forms(item: str) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
    """Return the singular, plural and alternative names of an object, including variants that other writers use."""
    entry = lexicon_entry("object", item)
    synonyms = entry.get("said", ())
    singular = (item, singular_of(item), *(text for text in synonyms if not text.endswith("s")))
    plural = (plural_of(item), *(text for text in synonyms if text.endswith("s")))
    return singular, plural, tuple(entry.get("also", ()))


def with_article(item: str) -> str:
    """Return an object with its indefinite article: "an apple", "a piece of sushi"."""
    return with_a(singular_of(item))


def with_a(phrase: str) -> str:
    """Return a phrase with "a" or "an", depending on the sound of its first word."""
    # An éclair sounds like an eclair.
    plain = unicodedata.normalize("NFD", phrase)
    sounds = [
        (len(start), article)
        for article in ("a", "an")
        for start in word_tables()["articles"][article]
        if plain.lower().startswith(start)
    ]
    if _SPELT.match(plain):
        article = "an" if plain[0].lower() in word_tables()["articles"]["letters"] else "a"
    elif sounds:
        article = max(sounds)[1]
    else:
        article = "an" if plain[:1].lower() in set("aeiou") else "a"
    return f"{article} {phrase}"


def number_word(number: str) -> str:
    """Return a number as a word, "three" for 3, or as digits if it is large."""
    words = word_tables()["counts"]
    is_small = number.isascii() and number.isdigit() and int(number) < len(words)
    return str(words[int(number)]) if is_small else number


def join_list(phrases: Sequence[str]) -> str:
    """Join phrases into a list: "a, b, and c"."""
    if len(phrases) < 3:
        return " and ".join(phrases)
    return ", ".join(phrases[:-1]) + f", and {phrases[-1]}"


def _pluralize(word: str) -> str:
    irregular = word_tables()["plurals"].get(word.lower())
    if irregular is not None:
        return str(irregular)
    if word.endswith("man"):
        return f"{word[:-3]}men"
    if word.endswith(("s", "x", "z", "ch", "sh")):
        return f"{word}es"
    if word.endswith("y") and word[-2:-1] not in set("aeiou"):
        return f"{word[:-1]}ies"
    return f"{word}s"


_ATTRIBUTE_ORDER: tuple[Category, ...] = ("size", "texture", "shape", "color")
_AFTER_COLOR = len(_ATTRIBUTE_ORDER)


@dataclass(frozen=True)
class AttributePhrase:
    """The wording of one attribute."""

    category: Category  # what sort of attribute it is
    value: str  # the concept
    before: str | None  # the text before a noun; None if it never stands there
    after: str | None  # the text after a noun; None if it never stands there
    predicate: str  # the text after "is", in a statement
    question: str  # the same, in a question
    rank: int  # its position among others


@dataclass(frozen=True)
class ObjectPhrase:
    """The noun phrase for an object of a binding."""

    id: int  # its place in the binding, counted from 1
    item: str  # what it is
    count: str | None  # the number as a word; None if there is no number
    adjectives: tuple[AttributePhrase, ...]  # its other attributes, in order

    @property
    def is_plural(self) -> bool:
        """Whether the noun phrase is plural."""
        return self.count not in (None, "one")

    @property
    def noun(self) -> str:
        """The noun, singular or plural according to its count."""
        return plural_of(self.item) if self.is_plural else singular_of(self.item)

    @property
    def are(self) -> str:
        """The form of "be" that agrees with the noun."""
        return "are" if self.is_plural else "is"

    @property
    def they(self) -> str:
        """The subject pronoun for the noun."""
        return "they" if self.is_plural else str(lexicon_entry("object", self.item).get("they", "it"))

    @property
    def it(self) -> str:
        """The object pronoun for the noun."""
        return "them" if self.is_plural else str(lexicon_entry("object", self.item).get("it", "it"))

    @property
    def has_postmodifier(self) -> bool:
        """Whether some attributes can only follow the noun."""
        return any(adjective.before is None for adjective in self.adjectives)

    def introduce(
        self, *, after: Category | None = None, without: Collection[Category] = (), another: bool = False
    ) -> str:
        """Return the noun phrase for the first mention of the object."""
        before, behind = [], []
        for adjective in self.adjectives:
            if adjective.category in without:
                continue
            if adjective.before and adjective.category != after:
                before.append(adjective.before)
            elif adjective.after:
                behind.append(adjective.after)
        text = " ".join([*before, self.noun, *([join_list(behind)] if behind else [])])
        if self.count is not None:
            return f"{self.count} {text}"
        # Another red cat would make the first one red.
        return f"another {text}" if another and text == self.noun else with_a(text)


def object_phrases(binding: Binding) -> dict[int, ObjectPhrase]:
    """Return the noun phrases of a binding, by object id."""
    return {number: _noun_phrase(number, obj.item, obj.attributes) for number, obj in enumerate(binding.objects, 1)}


def _noun_phrase(number: int, item: str, attributes: Mapping[str, str]) -> ObjectPhrase:
    count = number_word(attributes["number"]) if "number" in attributes else None
    plural = count not in (None, "one")
    phrases = [
        _attribute_phrase(category, attributes[category], item, plural)
        for category in _ATTRIBUTE_ORDER
        if category in attributes
    ]
    return ObjectPhrase(number, item, count, tuple(sorted(phrases, key=lambda phrase: phrase.rank)))


def _attribute_phrase(category: Category, value: str, item: str, plural: bool) -> AttributePhrase:
    entry = lexicon_entry(category, value)
    rank = _AFTER_COLOR if entry.get("late") else _ATTRIBUTE_ORDER.index(category)
    if category == "color":
        colored = {kind: text.format(color=value) for kind, text in word_tables()["colored"].items()}
        if is_person(item):
            return AttributePhrase(
                category, value, None, colored["people"], colored["people"], colored["question"], rank
            )
        if lexicon_entry("object", item).get("color") == "behind" or value == item:
            return AttributePhrase(category, value, None, colored["behind"], value, value, rank)
    if category == "shape":
        like = f"shaped like {plural_of(value) if plural else with_a(value)}"
        return AttributePhrase(category, value, entry.get("before", f"{value}-shaped"), like, like, like, rank)
    if category == "texture":
        being = entry.get("being", f"{value} in texture")
        textured = f"with {with_a(value)} texture"
        return AttributePhrase(category, value, entry.get("before"), entry.get("after", textured), being, being, rank)
    return AttributePhrase(category, value, value, None, value, value, rank)
