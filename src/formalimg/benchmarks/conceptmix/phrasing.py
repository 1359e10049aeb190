"""Phrasing choices for prompts: order and grouping of relations, poses, synonyms, names of images and styles."""

from __future__ import annotations

import random
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

from formalimg.benchmarks.conceptmix.plausibility import BoundRelation, bound_relations, object_facts
from formalimg.benchmarks.conceptmix.spec import Binding
from formalimg.benchmarks.conceptmix.words import (
    AttributePhrase,
    ObjectPhrase,
    lexicon_entry,
    plural_of,
    relation_phrase,
    with_a,
)

_JOINING = 0.8


@dataclass(frozen=True)
class PlacedRelation:
    """A spatial relation with its usual phrase, subject and reference object."""

    name: str
    phrase: str
    subject: int
    reference: int

    @property
    def is_short(self) -> bool:
        """Whether this is a built-in relation whose phrase has no explanation added."""
        entry = lexicon_entry("spatial", self.name)
        return "phrase" in entry and "aside" not in entry


def order_relations(binding: Binding) -> list[PlacedRelation]:
    """Order the relations so that each mentions a known object where possible."""
    phrases = {relation.name: relation_phrase(relation.name, relation.description) for relation in binding.relations}
    remaining = [PlacedRelation(name, phrases[name], *ends) for name, *ends in bound_relations(binding.relations)]
    ordered: list[PlacedRelation] = []
    mentioned: set[int] = set()
    while remaining:
        continued = [relation for relation in remaining if ordered and relation.subject == ordered[-1].subject]
        connected = [relation for relation in remaining if {relation.subject, relation.reference} & mentioned]
        best = (continued or connected or remaining)[0]
        remaining.remove(best)
        ordered.append(best)
        mentioned |= {best.subject, best.reference}
    return ordered


def group_relations(relations: Sequence[PlacedRelation], rng: random.Random) -> list[list[PlacedRelation]]:
    """Group relations into sentences, sometimes combining two short relations with the same subject."""
    groups: list[list[PlacedRelation]] = []
    for relation in relations:
        last = groups[-1] if groups else []
        fits = len(last) == 1 and last[0].subject == relation.subject
        # Not "behind a spoon and to the left of the spoon", nor "to the left of a spoon and to the left of a cup".
        fits = fits and last[0].reference != relation.reference and last[0].name != relation.name
        if fits and last[0].is_short and relation.is_short and rng.random() < _JOINING:
            last.append(relation)
        else:
            groups.append([relation])
    return groups


_LIVING = frozenset({"person", "animal", "insect", "robot"})
_TOUCHING = frozenset({"top", "bottom", "inside"})


@cache
def phrasing_tables() -> dict[str, Any]:
    """Return the tables of phrasing.toml."""
    return tomllib.loads((files(__package__) / "phrasing.toml").read_text(encoding="utf-8"))


class Verb(NamedTuple):
    """The forms of a verb: singular, plural, and participle (empty if unused)."""

    one: str
    many: str
    participle: str

    def agree(self, *, plural: bool) -> str:
        """Return the singular or plural form of the verb."""
        return self.many if plural else self.one

    def continuous(self) -> Verb:
        """Return the continuous form of the verb: "is standing"."""
        return Verb(f"is {self.participle}", f"are {self.participle}", self.participle)

    @property
    def is_one_word(self) -> bool:
        """Whether the verb can precede its subject: "behind a lamp stands a cup"."""
        return " " not in self.one


BE = Verb("is", "are", "")


def find_airborne(relations: Sequence[BoundRelation]) -> frozenset[int]:
    """Return the objects that are above another object and do not rest on anything."""
    upper = {
        relation.first if relation.name == "above" else relation.second
        for relation in relations
        if relation.name in ("above", "below")
    }
    resting = {
        relation.first if relation.name != "bottom" else relation.second
        for relation in relations
        if relation.name in _TOUCHING
    }
    return frozenset(upper - resting)


def find_poses(item: str, relation: str, *, airborne: bool) -> list[Verb]:
    """Return the verbs for an object's pose in a relation, excluding those that would add information."""
    facts = object_facts(item)
    if airborne:
        names: Sequence[str] = () if facts.rooted else facts.aloft_as
    elif facts.aloft and facts.kind == "sky" and facts.name != "cloud" and relation not in _TOUCHING:
        names = ()  # it may fly or stand
    else:
        names = facts.rests
    tables = phrasing_tables()
    return [Verb(*tables["poses"][name]) for name in names if relation in tables["poses_only"].get(name, (relation,))]


def find_placements(item: str) -> list[Verb]:
    """Return the verbs that state an object's position without implying a pose."""
    facts = object_facts(item)
    tables = phrasing_tables()["placements"]
    groups = ["anything"]
    if facts.rooted or facts.kind in ("ground", "building"):
        groups.append("rooted")
    elif facts.kind is not None and facts.kind not in _LIVING:
        groups.append("lifeless")
    return [Verb(*forms) for group in groups for forms in tables[group].values()]


def find_other_name(item: str, other_items: Sequence[str]) -> str | None:
    """Return an unambiguous synonym for an object among other objects, or None if there is none."""
    unavailable = {
        name
        for other_item in other_items
        for name in (other_item, *other_item.split(), *object_facts(other_item).names)
    }
    return next((name for name in object_facts(item).names if name not in unavailable), None)


def vary_attributes(obj: ObjectPhrase, rng: random.Random) -> ObjectPhrase:
    """Return a noun phrase with its attributes reworded, some of them placed after the noun."""
    count = f"exactly {obj.count}" if obj.is_plural and rng.random() < 0.1 else obj.count
    return replace(
        obj, count=count, adjectives=tuple(_vary_attribute(adjective, obj, rng) for adjective in obj.adjectives)
    )


def _vary_attribute(phrase: AttributePhrase, obj: ObjectPhrase, rng: random.Random) -> AttributePhrase:
    table = phrasing_tables()["attributes"][phrase.category]
    special = phrase.category == "color" and phrase.before is None
    wordings = table.get("people" if special and phrase.after == phrase.predicate else phrase.value)
    wordings = {**({} if special else table.get("default", {})), **(wordings or {})}
    shape = plural_of(phrase.value) if obj.is_plural else with_a(phrase.value)

    def pick(key: str, usual: str | None) -> str | None:
        texts = wordings.get(key)
        return rng.choice(texts).format(value=phrase.value, a=shape) if texts else usual

    # What has no words of its own for a place keeps those of words.toml, and what never stands there stays away.
    return replace(
        phrase,
        before=None if phrase.before is None else pick("before", phrase.before),
        after=pick("after", phrase.after) if not special else phrase.after,
        predicate=pick("being", phrase.predicate) or phrase.predicate,
    )


def pick_image(style: str | None, rng: random.Random) -> str:
    """Return a random word for an image, in the given style if any."""
    if style is None:
        return str(rng.choice(phrasing_tables()["openings"]["images"]))
    named = phrasing_tables()["styles"].get(style)
    return str(rng.choice(named["images"]) if named else f"picture in the style of {style}")


def has_image_noun(style: str) -> bool:
    """Return whether a style has its own noun for an image, as in "a watercolour of a car"."""
    return style in phrasing_tables()["styles"]


def pick_manner(style: str, rng: random.Random) -> str:
    """Return a phrase for the manner in which an image of a style is made."""
    named = phrasing_tables()["styles"].get(style)
    return str(rng.choice(named["manners"]) if named else f"in the style of {style}")


def style_predicate(style: str) -> str:
    """Return the predicate for a style, to follow "the image is"."""
    return str(lexicon_entry("style", style).get("being", f"in the style of {style}"))
