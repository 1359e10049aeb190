"""Briefs: the required content of a drawing as a list of objects with attributes, their relations, and a style.

The format is that of bindings of concepts, so that one reads as the other: `SceneBrief.from_json(binding.to_json())`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from formalimg.errors import FormalimgError

BRIEF_ATTRIBUTES = ("color", "number", "shape", "size", "texture", "material", "state")
"""What a brief can say of an object; `texture` is another name of a material, for concepts."""


class BriefError(FormalimgError, ValueError):
    """A brief that cannot be parsed."""


@dataclass(frozen=True)
class BriefObject:
    """A group of `number` identical objects of one class."""

    item: str
    number: int = 1
    color: str | None = None
    shape: str | None = None
    size: str | None = None
    material: str | None = None
    states: tuple[str, ...] = ()


@dataclass(frozen=True)
class BriefRelation:
    """A relation between all objects of two brief entries, identified by 0-based index."""

    name: str
    first: int
    second: int


@dataclass(frozen=True)
class SceneBrief:
    """The required content of a drawing.

    Attributes:
        objects: the objects; entries that have the same class are different objects.
        relations: by the names of concepts ("left", "in front of") or predicates ("LeftOf", "Holding").
        style: the style of the image; None if any will do.
    """

    objects: tuple[BriefObject, ...]
    relations: tuple[BriefRelation, ...] = ()
    style: str | None = None

    @classmethod
    def from_json(cls, data: object) -> SceneBrief:
        """Parse a brief from the JSON of a binding of concepts.

        Raises:
            BriefError: saying what is wrong with it.
        """
        if not isinstance(data, Mapping) or not isinstance(data.get("objects"), list) or not data["objects"]:
            raise BriefError('a brief has "objects": [{"id": 1, "item": "cat"}, …]')
        objects = tuple(_object(entry) for entry in data["objects"])
        relations = tuple(_relation(entry, len(objects)) for entry in data.get("relation", ()))
        return cls(objects, relations, data.get("style"))


def _object(entry: Mapping[str, Any]) -> BriefObject:
    unknown = sorted(set(entry).difference(("id", "item", *BRIEF_ATTRIBUTES)))
    if unknown or not isinstance(entry.get("item"), str):
        raise BriefError(f"an object of a brief has an item and {', '.join(BRIEF_ATTRIBUTES)}: not {dict(entry)!r}")
    number = str(entry.get("number", "1"))
    if not number.isdecimal() or not 1 <= int(number) <= 99:
        raise BriefError(f"the number of {entry['item']!r} must be 1 to 99, not {number!r}")
    state = entry.get("state")
    return BriefObject(
        entry["item"],
        int(number),
        entry.get("color"),
        entry.get("shape"),
        entry.get("size"),
        entry.get("texture", entry.get("material")),
        () if state is None else (state,),
    )


def _relation(entry: Mapping[str, Any], count: int) -> BriefRelation:
    ends = [entry.get("ObjectA_id"), entry.get("ObjectB_id")]
    if not all(type(end) is int and 1 <= end <= count for end in ends):
        raise BriefError(f"the relation {entry.get('name')!r} must name two of the {count} objects, not {ends}")
    return BriefRelation(str(entry["name"]), int(ends[0] or 0) - 1, int(ends[1] or 0) - 1)
