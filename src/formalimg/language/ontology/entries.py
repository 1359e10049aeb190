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

FIELDS = ("category", "broader", "size", "holds", "inside", "top", "worn", *ATTRIBUTE_KINDS)
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
    """The properties and abilities of a class.

    `broader` lists the superclasses. For example, every man is a person.
    """

    name: str
    category: str
    broader: tuple[str, ...]
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
    if cls in _PLURAL:
        return cls
    return f"{'an' if cls[0] in 'aeiou' else 'a'} {cls}"


class OntologyError(FormalimgError):
    """Raised if the ontology data is inconsistent or a word is unknown."""


class OntologyData(NamedTuple):
    """The contents of the ontology data files."""

    entries: dict[str, ClassEntry]
    clashes: Clashes


def load_ontology(folder: Traversable, vocabulary: Vocabulary) -> OntologyData:
    """Load the ontology from a folder of TOML files with groups, clashes, rules and classes."""
    tables = {entry.name: _table(entry) for entry in folder.iterdir() if entry.name.endswith(".toml")}
    for name in ("groups.toml", "clashes.toml", "rules.toml"):
        if name not in tables:
            raise OntologyError(f"the ontology in {folder} has no {name}")
    groups, clashes, rules = (tables.pop(name) for name in ("groups.toml", "clashes.toml", "rules.toml"))
    classes: dict[str, dict[str, Any]] = {}
    for file in sorted(tables):
        for name, fields in tables[file].items():
            if name in classes:
                raise OntologyError(f"{file}: {name} is described twice")
            if not isinstance(fields, dict):
                raise OntologyError(f"{file}: {name} must be a table, [{name}]")
            classes[name] = fields
    _same_names("classes", classes, vocabulary.words["class"])
    reader = _EntryReader(vocabulary, groups, classes, rules)
    entries = {name: reader.entry(name, classes[name]) for name in vocabulary.words["class"]}
    return OntologyData(entries, reader.clashes(clashes))


def _table(file: Traversable) -> dict[str, Any]:
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise OntologyError(f"{file.name} is not valid TOML: {error}") from error


def _same_names(where: str, found: Iterable[str], expected: Iterable[str]) -> None:
    found, expected = list(found), list(expected)
    missing = [name for name in expected if name not in found]
    unknown = [name for name in found if name not in expected]
    if missing or unknown:
        errors = [f"missing {', '.join(missing)}"] * bool(missing) + [f"unknown {', '.join(unknown)}"] * bool(unknown)
        raise OntologyError(f"{where}: {'; '.join(errors)}")


class _EntryReader:
    """Converts tables into class entries, expanding references to groups."""

    def __init__(
        self, vocabulary: Vocabulary, groups: Mapping[str, Any], classes: Mapping[str, Any], rules: Mapping[str, Any]
    ) -> None:
        self.vocabulary = vocabulary
        _same_names("groups.toml", groups, ("class", *ATTRIBUTE_KINDS))
        self.groups: dict[str, dict[str, list[str]]] = {kind: dict(lists) for kind, lists in groups.items()}
        class_with_article = self.groups["class"]
        for name, fields in classes.items():
            category = fields.get("category")
            if not isinstance(category, str) or not category:
                raise OntologyError(f"{name}: category must be a word")
            if category in groups["class"]:
                raise OntologyError(f"{name}: the category {category} is also the name of a group")
            class_with_article.setdefault(category, []).append(name)
        class_with_article["anything"] = list(vocabulary.words["class"])
        _same_names("rules.toml", rules, ("shapeless", "immovable", "solid"))
        self.shapeless, self.immovable, self.solid = (
            self.words(f"rules.toml: {rule}", rules[rule], "class") for rule in ("shapeless", "immovable", "solid")
        )

    def entry(self, name: str, fields: Mapping[str, Any]) -> ClassEntry:
        """Convert the fields of a class to an entry."""
        _same_names(name, fields, FIELDS)
        entry = ClassEntry(
            name=name,
            category=fields["category"],
            broader=self.words(f"{name}.broader", fields["broader"], "class"),
            size=_usual_size(f"{name}.size", fields["size"]),
            holds=self.grip(f"{name}.holds", fields["holds"]),
            inside=self.inside(f"{name}.inside", fields["inside"]),
            top=self.top(f"{name}.top", fields["top"]),
            worn=self.worn(f"{name}.worn", fields["worn"]),
            words={kind: self.words(f"{name}.{kind}", fields[kind], kind) for kind in ATTRIBUTE_KINDS},
        )
        if name in self.shapeless and entry.words["shape"]:
            raise OntologyError(f"{name}.shape: rules.toml says that it has none")
        if name in self.solid and entry.inside is not None:
            raise OntologyError(f"{name}.inside: rules.toml says that it is solid")
        return entry

    def words(self, where: str, written: object, kind: str, trail: tuple[str, ...] = ()) -> tuple[str, ...]:
        """Expand the groups in a list of words and return the words in vocabulary order."""
        if not isinstance(written, list) or not all(isinstance(word, str) for word in written):
            raise OntologyError(f"{where} must be a list of words")
        found: set[str] = set()
        for word in written:
            group = word.removeprefix("@")
            if word == group:
                self.known(where, word, kind, self.vocabulary.words[kind])
                found.add(word)
            elif group in trail:
                raise OntologyError(f"{where}: the group @{group} contains itself")
            else:
                self.known(where, group, f"{kind} group", tuple(self.groups[kind]))
                found.update(self.words(f"@{group}", self.groups[kind][group], kind, (*trail, group)))
        return tuple(word for word in self.vocabulary.words[kind] if word in found)

    @staticmethod
    def known(where: str, word: str, kind: str, known: tuple[str, ...]) -> None:
        """Raise an error if the word is unknown."""
        if word not in known:
            near = closest_match(word, known)
            raise OntologyError(f"{where}: unknown {kind} {word!r}" + (f", did you mean {near!r}?" if near else ""))

    def admitted(self, where: str, table: Mapping[str, Any]) -> frozenset[str]:
        """Return the classes in the `of` list without those in the `except` list."""
        excepted = self.words(f"{where}.except", table.get("except", []), "class")
        return frozenset(self.words(f"{where}.of", table["of"], "class")) - frozenset(excepted)

    def grip(self, where: str, written: object) -> Grip | None:
        """Parse the field `holds`."""
        table = _optional(where, written, ("with", "of", "length", "weight"), ("except",))
        if table is None:
            return None
        limits = _number(f"{where}.length", table["length"]), _number(f"{where}.weight", table["weight"])
        return Grip(str(table["with"]), self.admitted(where, table) - frozenset(self.immovable), *limits)

    def inside(self, where: str, written: object) -> Inside | None:
        """Parse the field `inside`."""
        table = _optional(where, written, ("of", "across", "length"), ("except", "shallow"))
        if table is None:
            return None
        lengths = _number(f"{where}.across", table["across"]), _number(f"{where}.length", table["length"])
        shallow = _flag(f"{where}.shallow", table.get("shallow", False))
        return Inside(self.admitted(where, table), *lengths, shallow)

    def top(self, where: str, written: object) -> Top | None:
        """Parse the field `top`."""
        table = _optional(where, written, ("of", "length", "weight"), ("except",))
        if table is None:
            return None
        limits = _number(f"{where}.length", table["length"]), _number(f"{where}.weight", table["weight"])
        return Top(self.admitted(where, table), *limits)

    def worn(self, where: str, written: object) -> Worn | None:
        """Parse the field `worn`."""
        table = _optional(where, written, ("by", "within"))
        if table is None:
            return None
        wearers = frozenset(self.words(f"{where}.by", table["by"], "class"))
        return Worn(wearers, _flag(f"{where}.within", table["within"]))

    def clashes(self, table: Mapping[str, Any]) -> Clashes:
        """Parse the contents of `clashes.toml`."""
        _same_names("clashes.toml", table, ("exclusive", "afloat", "needs_material", "never_material"))

        def materials(field: str) -> dict[str, frozenset[str]]:
            self.words(f"clashes.toml: {field}", list(table[field]), "state")
            return {
                state: frozenset(self.words(f"clashes.toml: {field}.{state}", words, "material"))
                for state, words in table[field].items()
            }

        return Clashes(
            exclusive=tuple(self.words("clashes.toml: exclusive", words, "state") for words in table["exclusive"]),
            afloat=frozenset(self.words("clashes.toml: afloat", table["afloat"], "state")),
            needs_material=materials("needs_material"),
            never_material=materials("never_material"),
        )


def _number(where: str, written: object) -> float:
    if isinstance(written, bool) or not isinstance(written, int | float) or not 0 < written < float("inf"):
        raise OntologyError(f"{where} must be a number above 0")
    return float(written)


def _flag(where: str, written: object) -> bool:
    if not isinstance(written, bool):
        raise OntologyError(f"{where} must be true or false")
    return written


def _usual_size(where: str, written: object) -> UsualSize:
    if not isinstance(written, list) or len(written) != 3:
        raise OntologyError(f"{where} must be three numbers, [length, across, weight]")
    size = UsualSize(*(_number(where, number) for number in written))
    if size.across > size.length:
        raise OntologyError(f"{where}: the second side, {size.across:g}, is above the longest, {size.length:g}")
    return size


def _optional(
    where: str, written: object, required: tuple[str, ...], allowed: tuple[str, ...] = ()
) -> Mapping[str, Any] | None:
    """Return the table in an optional field, or None if the field is `false`."""
    if written is False:
        return None
    if not isinstance(written, dict):
        raise OntologyError(f"{where} must be false, or a table with {', '.join(required)}")
    _same_names(where, [key for key in written if key not in allowed], required)
    return written
