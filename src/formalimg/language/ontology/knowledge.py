"""Check which attributes suit a class and which relations are possible between two classes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Literal

from formalimg.language.ontology.entries import Clashes, ClassEntry, OntologyError, class_with_article, load_ontology
from formalimg.logic.vocabulary import closest_match, vocabulary
from formalimg.scenes.objects import ATTRIBUTE_KINDS

RELATIONS = ("LeftOf", "RightOf", "On", "In", "Holding", "NextTo")  # The predicates between two objects
COVERED = ("natural",)  # The vocabularies whose words the ontology knows


@dataclass(frozen=True)
class Ontology:
    """Knowledge about the classes of natural scenes, with one entry per class."""

    entries: Mapping[str, ClassEntry]
    clashes: Clashes

    def entry(self, cls: str) -> ClassEntry:
        """Return the entry of a class."""
        _require("class", cls, self.entries)
        return self.entries[cls]

    def suits(self, cls: str, kind: str, word: str) -> bool:
        """Return whether an attribute suits a class. For example, ("lion", "shape", "rectangular") does not."""
        _require(kind, word, vocabulary("natural").words[_kind(kind)])
        return word in self.entry(cls).words[kind]

    def words_for(self, cls: str, kind: str) -> tuple[str, ...]:
        """Return the words of the given kind that suit a class, in vocabulary order."""
        return self.entry(cls).words[_kind(kind)]

    def agree(self, one: tuple[str, str], other: tuple[str, str]) -> bool:
        """Return whether an object can have both words. For example, an object cannot be both open and closed."""
        for kind, word in (one, other):
            _require(kind, word, vocabulary("natural").words[_kind(kind)])
        return self.clashes.agree(one, other)

    def can(self, predicate: str, cls_a: str, cls_b: str) -> bool:
        """Return whether the relation is possible between an object of the first class and one of the second."""
        return self.why_not(predicate, cls_a, cls_b) is None

    def partners(self, predicate: str, cls: str, role: Literal["first", "second"] = "first") -> tuple[str, ...]:
        """Return the classes that can be related to a class. `partners("In", "key")` returns what can contain a key.

        If `role` is "second", the class is the second argument: `partners("In", "cup", "second")` returns what fits in
        a cup.
        """
        is_first = role == "first"
        return tuple(name for name in self.entries if self.can(predicate, *((cls, name) if is_first else (name, cls))))

    def why_not(self, predicate: str, cls_a: str, cls_b: str) -> str | None:
        """Return the reason why a relation is impossible between two classes, or None if it is possible."""
        _require("predicate", predicate, RELATIONS)
        first, second = self.entry(cls_a), self.entry(cls_b)
        if predicate == "In":
            return _why_not_in(first, second)
        if predicate == "On":
            return _why_not_on(first, second)
        return _why_not_holding(first, second) if predicate == "Holding" else None  # any two can stand side by side

    def wears(self, wearer: str, garment: str) -> bool:
        """Return whether one class can wear the other. If so, `(On garment wearer)` means that it is worn."""
        worn = self.entry(garment).worn
        return worn is not None and wearer in worn.by

    def is_also(self, cls: str, other: str) -> bool:
        """Return whether a class is equal to or a subclass of another. For example, every man is a person."""
        return cls == other or other in self.entry(cls).broader

    def fits(self, cls_a: str, cls_b: str) -> bool:
        """Return whether a typical object of the first class fits inside one of the second."""
        inside, size = self.entry(cls_b).inside, self.entry(cls_a).size
        return inside is not None and size.across <= inside.across and size.length <= inside.length


def _why_not_in(obj: ClassEntry, container: ClassEntry) -> str | None:
    if container.worn is not None and container.worn.within and obj.name in container.worn.by:
        return None
    if container.inside is None:
        return f"nothing goes inside {class_with_article(container.name)}"
    if obj.size.across > container.inside.across or obj.size.length > container.inside.length:
        return f"{class_with_article(obj.name)} would be too big"
    return None if obj.name in container.inside.admits else f"that is no place for {class_with_article(obj.name)}"


def _why_not_on(obj: ClassEntry, support: ClassEntry) -> str | None:
    if obj.worn is not None and support.name in obj.worn.by:
        return None
    if support.top is None:
        return f"nothing rests on {class_with_article(support.name)}"
    if obj.size.length > support.top.length:
        return f"{class_with_article(obj.name)} would be too big"
    if obj.size.weight > support.top.weight:
        return f"{class_with_article(obj.name)} would be too heavy"
    return None if obj.name in support.top.admits else f"that is no support for {class_with_article(obj.name)}"


def _why_not_holding(holder: ClassEntry, obj: ClassEntry) -> str | None:
    if holder.holds is None:
        return "there is no hand, paw or mouth to hold with"
    if obj.size.weight > holder.holds.weight:
        return f"{class_with_article(obj.name)} would be too heavy"
    if obj.size.length > holder.holds.length:
        return f"{class_with_article(obj.name)} would be too big"
    if obj.name not in holder.holds.admits:
        return f"{holder.holds.limb} would not hold {class_with_article(obj.name)}"
    return None


def _kind(kind: str) -> str:
    _require("kind of word", kind, ATTRIBUTE_KINDS)
    return kind


def _require(kind: str, word: str, choices: Mapping[str, object] | tuple[str, ...]) -> None:
    if word not in choices:
        near = closest_match(word, choices)
        advice = f"did you mean {near!r}?" if near else f"use one of {', '.join(choices)}"
        raise OntologyError(f"the ontology knows no {kind} {word!r}: {advice}")


@cache
def ontology() -> Ontology:
    """Return the ontology of the natural vocabulary, loaded from the data files of this package."""
    return Ontology(*load_ontology(files("formalimg.language.ontology") / "data", vocabulary("natural")))
