"""Specs of GenEval's items: which objects an image must show, how many, in which colour and place, and which not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from formalimg._util.strict_json import is_text
from formalimg.errors import FormalimgError

TAGS = ("single_object", "two_object", "counting", "colors", "position", "color_attr")
"""The six tasks, in the order of the paper's tables; the level of an item is the place of its tag, from 1."""

OBJECT_COLORS = ("red", "orange", "yellow", "green", "blue", "purple", "pink", "brown", "black", "white")

RELATIONS = ("left of", "right of", "above", "below")

MAX_COUNT = 100
"""More objects than this are asked for by a slip only."""

MAX_REQUIREMENTS = 50


@dataclass(frozen=True)
class IncludedObjects:
    """Objects that an image must show.

    Attributes:
        label: their class.
        count: how many; more are no fault, unless they are excluded.
        color: the colour of all of them; empty if any will do.
        relation: where they are, as seen from the target; empty if anywhere.
        target: the place of the target among the included objects, before their own; None without a relation.
    """

    label: str
    count: int
    color: str = ""
    relation: str = ""
    target: int | None = None


@dataclass(frozen=True)
class ExcludedObjects:
    """Objects that an image must not show: `count` of a class, or more."""

    label: str
    count: int


@dataclass(frozen=True)
class ObjectSpec:
    """What an image must show and must not show.

    Attributes:
        tag: the task, usually one of `TAGS`; `counting` has a higher threshold for detections.
        include: what must be there, all of it.
        exclude: what must not be there, none of it.
    """

    tag: str
    include: tuple[IncludedObjects, ...]
    exclude: tuple[ExcludedObjects, ...] = ()

    @property
    def object_classes(self) -> tuple[str, ...]:
        """The classes to look for, each once."""
        included, excluded = (one.label for one in self.include), (one.label for one in self.exclude)
        return tuple(dict.fromkeys((*included, *excluded)))

    def to_metadata(self) -> dict[str, Any]:
        """Return the spec as the fields of a published line, without the prompt."""
        include = []
        for one in self.include:
            entry: dict[str, Any] = {"class": one.label, "count": one.count}
            if one.color:
                entry["color"] = one.color
            if one.target is not None:
                entry["position"] = [one.relation, one.target]
            include.append(entry)
        fields: dict[str, Any] = {"tag": self.tag, "include": include}
        if self.exclude:
            fields["exclude"] = [{"class": one.label, "count": one.count} for one in self.exclude]
        return fields


def parse_metadata(metadata: Mapping[str, Any]) -> ObjectSpec:
    """Return the spec in a line of published metadata; fields that it does not need are ignored.

    Raises:
        FormalimgError: naming the field that is wrong.
    """
    tag = metadata.get("tag", "")
    if not isinstance(tag, str):
        raise FormalimgError("tag must be text: give one of " + ", ".join(TAGS))
    included = _entries(metadata, "include")
    excluded = _entries(metadata, "exclude")
    if not included and not excluded:
        raise FormalimgError("include names no objects: give at least one, as in {'class': 'cup', 'count': 1}")
    include = tuple(_included(entry, place) for place, entry in enumerate(included))
    exclude = tuple(
        ExcludedObjects(_label(entry, "exclude", place), _count(entry, "exclude", place))
        for place, entry in enumerate(excluded)
    )
    return ObjectSpec(tag, include, exclude)


def _entries(metadata: Mapping[str, Any], name: str) -> list[Mapping[str, Any]]:
    found = metadata.get(name, ())
    if not isinstance(found, list | tuple) or not all(isinstance(entry, Mapping) for entry in found):
        raise FormalimgError(f"{name} must be a list of objects with class and count")
    if len(found) > MAX_REQUIREMENTS:
        raise FormalimgError(f"{name} has {len(found)} entries: {MAX_REQUIREMENTS} are the most")
    return list(found)


def _included(entry: Mapping[str, Any], place: int) -> IncludedObjects:
    label, count = _label(entry, "include", place), _count(entry, "include", place)
    color = entry.get("color", "")
    if color != "" and not _is_word(color):
        raise FormalimgError(f"include[{place}]: color must be a word, such as red")
    if "position" not in entry:
        return IncludedObjects(label, count, color)
    position = entry["position"]
    if (
        not isinstance(position, list | tuple)
        or len(position) != 2
        or position[0] not in RELATIONS
        or type(position[1]) is not int
        or not 0 <= position[1] < place
    ):
        raise FormalimgError(
            f"include[{place}]: position must be one of {', '.join(RELATIONS)} and the place of an entry before it"
        )
    return IncludedObjects(label, count, color, position[0], position[1])


def _label(entry: Mapping[str, Any], name: str, place: int) -> str:
    label = entry.get("class")
    if not _is_word(label):
        raise FormalimgError(f"{name}[{place}]: class must be the name of a class, such as cup")
    return str(label)


def _count(entry: Mapping[str, Any], name: str, place: int) -> int:
    count = entry.get("count")
    if type(count) is not int or not 1 <= count <= MAX_COUNT:
        raise FormalimgError(f"{name}[{place}]: count must be a whole number from 1 to {MAX_COUNT}")
    return count


def _is_word(given: object) -> bool:
    """Return whether something is a word that formulas can quote."""
    return is_text(given) and bool(str(given).strip()) and str(given).isprintable() and "'" not in str(given)
