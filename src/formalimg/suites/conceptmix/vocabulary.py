"""The words for concepts, from the data file."""

from __future__ import annotations

import re
import tomllib
import unicodedata
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from formalimg.suites.conceptmix.spec import ATTRIBUTES, Binding, Category


@cache
def words() -> dict[str, Any]:
    """All words, by the tables of words.toml."""
    text = (files("formalimg.suites.conceptmix") / "words.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


def entry(category: Category, value: str) -> dict[str, Any]:
    """What the data say of a concept; nothing for one of the user's own."""
    table = words()["nouns" if category == "object" else category]
    return dict(table.get(value, {}))


def is_person(item: str) -> bool:
    """Is it a human being? Of what is not in our data nothing of the kind is said."""
    return bool(entry("object", item).get("person", False))


def converse_of(relation: str) -> str | None:
    """The same relation, seen from the other object; None if there is no word for it."""
    found = entry("spatial", relation).get("converse")
    return None if found is None else str(found)


def reading_words(group: str) -> frozenset[str]:
    """A group of the words that hold sentences together."""
    return frozenset(words()["reading"][group])


PLACE = re.compile(r"(?:\b(?P<article>the|an?) )?\{(?P<name>\w+)\}", re.IGNORECASE)
"""A place for a name in a sentence, with the article before it."""

_VALUE = ("value", "values")
_PLACES: Mapping[Category, tuple[str, ...]] = {
    "object": (*_VALUE, "object", "objects"),
    **dict.fromkeys(ATTRIBUTES, (*_VALUE, "object", "objects")),
    "spatial": (*_VALUE, "ObjectA", "ObjectB"),
    "style": _VALUE,
}
_RELATION = re.compile(r"the \{ObjectA\} is (?P<phrase>[^{},.;:!?]+) the \{ObjectB\}", re.IGNORECASE)


def check_statement(category: Category, statement: str) -> None:
    """Check the sentence of a whole category, which must also say the value.

    Raises:
        ValueError: if it does not, or has places that it may not have.
    """
    if not set(_VALUE) & set(_names_in(statement)):
        raise ValueError(f"the statement {statement!r} does not say the concept: put {{value}} into it")
    check_sentence(category, statement)


def check_sentence(category: Category, sentence: str) -> None:
    """Check the sentence of a category or of a single value.

    Raises:
        ValueError: if it has places that it may not have, or lacks the objects that it is about.
    """
    names, known = _names_in(sentence), _PLACES[category]
    told = ", ".join(f"{{{name}}}" for name in known)
    strange = [name for name in names if name not in known]
    if strange or set("{}") & set(PLACE.sub("", sentence)):
        found = f"{{{strange[0]}}}" if strange else "a brace that is no place for a name"
        raise ValueError(f"the sentence {sentence!r} has {found}: it may have {told}")
    if category in ATTRIBUTES and not {"object", "objects"} & set(names):
        raise ValueError(f"the sentence {sentence!r} does not say of what: put {{object}} or {{objects}} into it")
    if category == "spatial" and not {"ObjectA", "ObjectB"} <= set(names):
        raise ValueError(f"the sentence {sentence!r} does not say of what: put {{ObjectA}} and {{ObjectB}} into it")


def says_relation(name: str, sentence: str) -> None:
    """Check that a relation that is not one of ours can be said and asked for in the words of its sentence.

    Raises:
        ValueError: if the sentence is not of the form that this takes.
    """
    phrase = _phrase_in(name, sentence)
    if "phrase" not in entry("spatial", name) and (phrase is None or name.lower() not in phrase.lower()):
        raise ValueError(
            f"the sentence {sentence!r} of the relation {name!r} cannot be used in prompts: "
            f"write it as 'the {{ObjectA}} is {name} the {{ObjectB}}'"
        )


def phrase_of(name: str, sentence: str) -> str:
    """How a relation is said between its two objects: in our words, or else in those of its own sentence."""
    return str(entry("spatial", name).get("phrase") or _phrase_in(name, sentence) or name)


def _phrase_in(name: str, sentence: str) -> str | None:
    found = _RELATION.fullmatch(sentence.replace("{value}", name))
    return None if found is None else found["phrase"]


def _names_in(sentence: str) -> list[str]:
    return [place["name"] for place in PLACE.finditer(sentence)]


_SPELT = re.compile(r"[A-Za-z](?![^\W\d_])|[A-Z]{2,3}(?![^\W\d_])")
"""What is said letter by letter: an L-shaped sofa, a T-shirt, an SUV."""


def plural_of(item: str) -> str:
    """Several of an object: "cats", "oak trees", "pieces of sushi"."""
    known = entry("object", item).get("many")
    if known is not None:
        return str(known)
    head, of, rest = item.partition(" of ")
    before, _, last = head.rpartition(" ")
    return f"{before} {_plural(last)}{of}{rest}".lstrip()


def singular_of(item: str) -> str:
    """One of an object, without an article: "cat", "piece of sushi"."""
    return str(entry("object", item).get("one", item))


def with_article(item: str) -> str:
    """An object behind "a" or "an": "an apple", "a piece of sushi"."""
    return with_a(singular_of(item))


def with_a(phrase: str) -> str:
    """A phrase behind "a" or "an", by the sound of its first word."""
    # An éclair sounds like an eclair.
    plain = unicodedata.normalize("NFD", phrase)
    sounds = [
        (len(start), article)
        for article in ("a", "an")
        for start in words()["articles"][article]
        if plain.lower().startswith(start)
    ]
    if _SPELT.match(plain):
        article = "an" if plain[0].lower() in words()["articles"]["letters"] else "a"
    elif sounds:
        article = max(sounds)[1]
    else:
        article = "an" if plain[:1].lower() in set("aeiou") else "a"
    return f"{article} {phrase}"


def count_word(number: str) -> str:
    """A number in words: "three" for 3; large ones stay as they are."""
    known = words()["counts"]
    return str(known[int(number)]) if number.isascii() and number.isdigit() and int(number) < len(known) else number


def listed(phrases: Sequence[str]) -> str:
    """Phrases as one list: "a, b, and c"."""
    if len(phrases) < 3:
        return " and ".join(phrases)
    return ", ".join(phrases[:-1]) + f", and {phrases[-1]}"


def _plural(word: str) -> str:
    known = words()["plurals"].get(word.lower())
    if known is not None:
        return str(known)
    if word.endswith("man"):
        return f"{word[:-3]}men"
    if word.endswith(("s", "x", "z", "ch", "sh")):
        return f"{word}es"
    if word.endswith("y") and word[-2:-1] not in set("aeiou"):
        return f"{word[:-1]}ies"
    return f"{word}s"


_ORDER: tuple[Category, ...] = ("size", "texture", "shape", "color")
_BEHIND_THE_COLOUR = len(_ORDER)


@dataclass(frozen=True)
class Adjective:
    """One attribute in words.

    Attributes:
        category: what sort of attribute it is.
        before: the words before a noun; None if it is never said there.
        after: the words behind a noun; None if it is never said there.
        being: the words behind "is", in a statement.
        asked: the same, in a question.
        rank: its place among others.
    """

    category: Category
    before: str | None
    after: str | None
    being: str
    asked: str
    rank: int


@dataclass(frozen=True)
class SpokenThing:
    """An object of a binding, and what is needed to speak of it.

    Attributes:
        id: its place in the binding, counted from 1.
        item: what it is.
        count: how many there are, in words; None if it is just one, and nobody asked for that.
        adjectives: its other attributes, in the order in which they are said.
    """

    id: int
    item: str
    count: str | None
    adjectives: tuple[Adjective, ...]

    @property
    def many(self) -> bool:
        """Is it said in the plural?"""
        return self.count not in (None, "one")

    @property
    def noun(self) -> str:
        """The noun, in the plural if there are many."""
        return plural_of(self.item) if self.many else singular_of(self.item)

    @property
    def are(self) -> str:
        """The verb that goes with it."""
        return "are" if self.many else "is"

    @property
    def they(self) -> str:
        """The pronoun for it, where it is the subject."""
        return "they" if self.many else str(entry("object", self.item).get("they", "it"))

    @property
    def it(self) -> str:
        """The pronoun for it, where it is not the subject."""
        return "them" if self.many else str(entry("object", self.item).get("it", "it"))

    @property
    def its(self) -> str:
        """The pronoun for what belongs to it."""
        return "their" if self.many else str(entry("object", self.item).get("its", "its"))

    @property
    def trails(self) -> bool:
        """Has it attributes that are always said behind its name?"""
        return any(one.before is None for one in self.adjectives)

    def new(self, *, after: Category | None = None, without: Collection[Category] = (), another: bool = False) -> str:
        """How it is brought in.

        Args:
            after: the attribute that is said behind the noun, if there is a choice.
            without: attributes that are said elsewhere.
            another: whether something of the same name is there already.
        """
        said = [one for one in self.adjectives if one.category not in without]
        before = [one.before for one in said if one.before and one.category != after]
        behind = [one.after for one in said if one.after and (one.category == after or not one.before)]
        text = " ".join([*before, self.noun, *([listed(behind)] if behind else [])])
        if self.count is not None:
            return f"{self.count} {text}"
        # Another red cat would make the first one red.
        return f"another {text}" if another and text == self.noun else with_a(text)


def things_of(binding: Binding) -> dict[int, SpokenThing]:
    """The objects of a binding as things to speak of, by id."""
    return {number: _thing(number, one.item, one.attributes) for number, one in enumerate(binding.objects, 1)}


def _thing(number: int, item: str, attributes: Mapping[str, str]) -> SpokenThing:
    count = count_word(attributes["number"]) if "number" in attributes else None
    many = count not in (None, "one")
    found = [_adjective(category, attributes[category], item, many) for category in _ORDER if category in attributes]
    return SpokenThing(number, item, count, tuple(sorted(found, key=lambda one: one.rank)))


def _adjective(category: Category, value: str, item: str, many: bool) -> Adjective:
    known = entry(category, value)
    rank = _BEHIND_THE_COLOUR if known.get("late") else _ORDER.index(category)
    if category == "color":
        return _colour(value, item, rank)
    if category == "shape":
        like = f"shaped like {plural_of(value) if many else with_a(value)}"
        return Adjective(category, known.get("before", f"{value}-shaped"), like, like, like, rank)
    if category == "texture":
        being = known.get("being", f"{value} in texture")
        textured = f"with {with_a(value)} texture"
        return Adjective(category, known.get("before"), known.get("after", textured), being, being, rank)
    return Adjective(category, value, None, value, value, rank)


def _colour(value: str, item: str, rank: int) -> Adjective:
    said = {manner: text.format(color=value) for manner, text in words()["colored"].items()}
    if is_person(item):
        return Adjective("color", None, said["people"], said["people"], said["question"], rank)
    if entry("object", item).get("color") == "behind" or value == item:
        return Adjective("color", None, said["behind"], value, value, rank)
    return Adjective("color", value, None, value, value, rank)
