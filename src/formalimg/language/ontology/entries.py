"""Entries of the ontology (sizes, weights, attributes and abilities of classes), loaded from data files."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib.resources.abc import Traversable
from typing import Any, NamedTuple

from formalimg.errors import FormalimgError
from formalimg.logic.vocabulary import Vocabulary, closest_match
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
        """Return whether an object can have both words. Each word is given with its kind, as in `("state", "open")`."""
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
