"""Drawn scenes: a scene together with its painting order and style."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from formalimg.errors import FormalimgError
from formalimg.scenes.objects import SceneError
from formalimg.scenes.scene import Scene

_KEYS = ("scene", "style", "depth")


@dataclass(frozen=True)
class DrawnScene:
    """A scene with all the data needed to render it."""

    scene: Scene  # the objects, and the recorded relations: what is drawn as on, in or held by something
    style: str | None = None  # the style of the whole image; None for a plain drawing
    depth: tuple[int, ...] = ()  # the numbers of the objects from back to front; empty: as they are listed

    def __post_init__(self) -> None:
        """Check that the painting order contains each object once."""
        if self.depth and sorted(self.depth) != list(range(len(self.scene))):
            raise SceneError([f"depth must name each of the {len(self.scene)} objects once"])

    @property
    def order(self) -> tuple[int, ...]:
        """The indices of all objects, from back to front."""
        return self.depth or tuple(range(len(self.scene)))

    def to_json(self) -> dict[str, object]:
        """Return the scene as plain data."""
        return {"scene": self.scene.to_json(), "style": self.style, "depth": list(self.order)}

    @classmethod
    def from_json(cls, data: object) -> DrawnScene:
        """Parse a drawn scene. A SceneError lists what is wrong with the data."""
        if not isinstance(data, Mapping) or set(data) != set(_KEYS):
            raise SceneError([f"a drawn scene has exactly {', '.join(_KEYS)}"])
        style, depth = data["style"], data["depth"]
        if not (style is None or (isinstance(style, str) and style)):
            raise SceneError(["the style of a drawn scene must be a word or null"])
        if not isinstance(depth, list) or not all(type(number) is int for number in depth):
            raise SceneError(["the depth of a drawn scene must be a list of numbers of objects"])
        scene = Scene.from_json(data["scene"])
        if scene.relations is None:
            raise SceneError(["a drawn scene records its relations, also if there are none"])
        if len(depth) != len(scene):
            raise SceneError([f"depth must name each of the {len(scene)} objects once"])
        return cls(scene, style, tuple(depth))


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
    """The required content of a drawing."""

    objects: tuple[BriefObject, ...]  # entries that have the same class are different objects
    relations: tuple[BriefRelation, ...] = ()  # by names of concepts ("in front of") or predicates ("Holding")
    style: str | None = None  # the style of the image; None if any will do

    @classmethod
    def from_json(cls, data: object) -> SceneBrief:
        """Parse a brief from the JSON of a binding of concepts."""
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
