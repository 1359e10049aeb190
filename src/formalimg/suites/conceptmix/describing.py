"""Objects in words: "two tiny red apples" when they come in, "the apples" from then on."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from formalimg.suites.conceptmix.grammar import count_word, listed, plural_of, singular_of, with_a
from formalimg.suites.conceptmix.spec import Binding, Category
from formalimg.suites.conceptmix.words import entry, is_person, words

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
