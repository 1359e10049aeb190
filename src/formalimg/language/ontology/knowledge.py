"""Check which attributes suit a class and which relations are possible between two classes."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any, Literal, NamedTuple

from formalimg.errors import FormalimgError
from formalimg.logic.vocabulary import Vocabulary, closest_match, vocabulary
from formalimg.scenes.objects import ATTRIBUTE_KINDS

_FIELDS = ("category", "broader", "size", "holds", "inside", "top", "worn", *ATTRIBUTE_KINDS)
_PLURAL = frozenset({"shoes", "glasses", "headphones"})


class UsualSize(NamedTuple):
    """Typical dimensions of an object: longest side, second longest side (cm) and weight (kg)."""

    length: float
    across: float
    weight: float


class Grip(NamedTuple):
    """How a class holds objects: the limb, the classes it can hold and their maximum length (cm) and weight (kg)."""

    limb: str
    admits: frozenset[str]
    length: float
    weight: float


class Inside(NamedTuple):
    """The interior of a class: the classes that fit, and the width of the opening and the available length (cm).

    If `shallow`, objects inside are also on it, as in a boat or on a plate.
    """

    admits: frozenset[str]
    across: float
    length: float
    shallow: bool


class Top(NamedTuple):
    """The classes that can rest on a class, with their maximum length (cm) and weight (kg)."""

    admits: frozenset[str]
    length: float
    weight: float


class Worn(NamedTuple):
    """The classes that can wear a garment, and whether the wearer is inside it ("a woman in a jacket")."""

    by: frozenset[str]
    within: bool


@dataclass(frozen=True)
class ClassEntry:
    """The properties and abilities of a class."""

    name: str
    category: str
    broader: tuple[str, ...]  # the superclasses: every man is a person
    size: UsualSize
    holds: Grip | None
    inside: Inside | None
    top: Top | None
    worn: Worn | None
    words: Mapping[str, tuple[str, ...]]


@dataclass(frozen=True)
class Clashes:
    """States that exclude each other, and states that require or exclude a material."""

    exclusive: tuple[tuple[str, ...], ...]
    afloat: frozenset[str]
    needs_material: Mapping[str, frozenset[str]]
    never_material: Mapping[str, frozenset[str]]

    def agree(self, one: tuple[str, str], other: tuple[str, str]) -> bool:
        """Return whether both words can describe one object. Each has its kind, as in `("state", "open")`."""
        (kind, word), (other_kind, other_word) = one, other
        if one == other:
            return True
        if kind == other_kind:
            return kind == "state" and not any(word in group and other_word in group for group in self.exclusive)
        if (kind, other_kind) == ("material", "state"):
            return self.agree(other, one)
        if (kind, other_kind) == ("state", "material"):
            allowed = self.needs_material.get(word, {other_word})
            return other_word in allowed and other_word not in self.never_material.get(word, ())
        return True


def class_with_article(cls: str) -> str:
    """Return the class name with an article if needed: "a cup", "an apple", "shoes"."""
    return cls if cls in _PLURAL else f"{'an' if cls[0] in 'aeiou' else 'a'} {cls}"


class OntologyError(FormalimgError):
    """Raised if the ontology data is inconsistent or a word is unknown."""


def load_ontology(folder: Traversable, vocabulary: Vocabulary) -> tuple[dict[str, ClassEntry], Clashes]:
    """Load the ontology from a folder of TOML files with groups, clashes, rules and classes."""
    tables = {
        file.name: tomllib.loads(file.read_text(encoding="utf-8"))
        for file in sorted(folder.iterdir(), key=lambda file: file.name)
        if file.name.endswith(".toml")
    }
    groups, clashes, rules = (tables.pop(name) for name in ("groups.toml", "clashes.toml", "rules.toml"))
    classes: dict[str, dict[str, Any]] = {}
    for table in tables.values():
        _require_same("classes described twice", classes.keys() & table.keys(), ())
        classes |= table
    _require_same("classes", classes, vocabulary.words["class"])
    reader = _EntryReader(vocabulary, groups, classes, rules)
    entries = {name: reader.entry(name, classes[name]) for name in vocabulary.words["class"]}
    return entries, reader.clashes(clashes)


def _require_same(subject: str, names: Iterable[str], expected: Iterable[str]) -> None:
    missing, unknown = sorted(set(expected) - set(names)), sorted(set(names) - set(expected))
    if missing or unknown:
        errors = [f"missing {', '.join(missing)}"] * bool(missing) + [f"unknown {', '.join(unknown)}"] * bool(unknown)
        raise OntologyError(f"{subject}: {'; '.join(errors)}")


class _EntryReader:
    """Converts tables into class entries, expanding references to groups."""

    def __init__(
        self, vocabulary: Vocabulary, groups: Mapping[str, Any], classes: Mapping[str, Any], rules: Mapping[str, Any]
    ) -> None:
        self.vocabulary = vocabulary
        self.groups: dict[str, dict[str, list[str]]] = {kind: dict(lists) for kind, lists in groups.items()}
        categories = self.groups["class"]
        for name, fields in classes.items():
            categories.setdefault(fields["category"], []).append(name)
        categories["anything"] = list(vocabulary.words["class"])
        self.immovable = self.class_set(rules["immovable"])

    def entry(self, name: str, fields: Mapping[str, Any]) -> ClassEntry:
        _require_same(name, fields, _FIELDS)
        holds, inside, top, worn = (fields[ability] for ability in ("holds", "inside", "top", "worn"))
        return ClassEntry(
            name,
            fields["category"],
            self.words(fields["broader"], "class"),
            UsualSize(*fields["size"]),
            Grip(holds["with"], self.admitted(holds) - self.immovable, holds["length"], holds["weight"])
            if holds
            else None,
            Inside(self.admitted(inside), inside["across"], inside["length"], inside.get("shallow", False))
            if inside
            else None,
            Top(self.admitted(top), top["length"], top["weight"]) if top else None,
            Worn(self.class_set(worn["by"]), worn["within"]) if worn else None,
            {kind: self.words(fields[kind], kind) for kind in ATTRIBUTE_KINDS},
        )

    def words(self, entries: list[str], kind: str) -> tuple[str, ...]:
        """Expand the groups in a list of words and return the words in vocabulary order."""
        expanded: set[str] = set()
        for entry in entries:
            group = entry.removeprefix("@")
            choices = self.vocabulary.words[kind] if group == entry else tuple(self.groups[kind])
            if group not in choices:
                near = closest_match(group, choices)
                raise OntologyError(f"unknown {kind} {entry!r}" + (f", did you mean {near!r}?" if near else ""))
            expanded.update((entry,) if group == entry else self.words(self.groups[kind][group], kind))
        return tuple(word for word in self.vocabulary.words[kind] if word in expanded)

    def class_set(self, entries: list[str]) -> frozenset[str]:
        return frozenset(self.words(entries, "class"))

    def admitted(self, table: Mapping[str, Any]) -> frozenset[str]:
        """Return the classes in the `of` list without those in the `except` list."""
        return self.class_set(table["of"]) - self.class_set(table.get("except", []))

    def clashes(self, table: Mapping[str, Any]) -> Clashes:
        needs, never = (
            {state: frozenset(self.words(words, "material")) for state, words in table[name].items()}
            for name in ("needs_material", "never_material")
        )
        self.words([*needs, *never], "state")
        exclusive = tuple(self.words(words, "state") for words in table["exclusive"])
        return Clashes(exclusive, frozenset(self.words(table["afloat"], "state")), needs, never)


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
        """Return whether both words can describe one object. For example, no object is both open and closed."""
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
