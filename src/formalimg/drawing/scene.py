"""Drawn scenes: a scene with its painting order and style, the relations that it shows, and briefs."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.resources import files
from itertools import product
from typing import Any, NamedTuple

from formalimg.errors import FormalimgError
from formalimg.scenes.objects import SceneError
from formalimg.scenes.scene import Scene, SceneRelation
from formalimg.scenes.spatial_relations import AXIOMS, carrier_chains, fits_axiom, occludes

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


OCCLUSION = "InFrontOf"  # The relation of the object in front to the one that it hides a part of
RECORD_OF = {"On": "On", "OnTopOf": "On", "In": "In", "Holding": "Holding"}
"""The relations that hold only where they are recorded, and the predicate of the record."""

DRAWN_RELATIONS = (*AXIOMS, OCCLUSION)  # All relations that can hold in a drawn scene


class RelationWord(NamedTuple):
    """The meaning of a concept relation in drawn scenes."""

    predicate: str  # the relation of the axioms
    converse: bool  # whether the two objects are exchanged
    every: bool  # whether it holds between all objects of two groups; else each has a partner in the other group

    def pairs(self, firsts: list[int], seconds: list[int]) -> Iterator[tuple[int, int]]:
        """Yield pairs of objects that together make the relation hold, in the argument order of the predicate."""
        if self.converse:
            firsts, seconds = seconds, firsts
        if self.every:
            yield from product(firsts, seconds)
            return
        for number in range(max(len(firsts), len(seconds))):
            yield firsts[number % len(firsts)], seconds[number % len(seconds)]

    def holds(self, firsts: list[int], seconds: list[int], related: Callable[[str, int, int], bool]) -> bool:
        """Return whether the relation holds between two groups, using `related` to test pairs of objects."""
        if not firsts or not seconds:
            return False
        if self.converse:
            firsts, seconds = seconds, firsts
        if self.every:
            return all(related(self.predicate, a, b) for a, b in product(firsts, seconds))
        return all(any(related(self.predicate, a, b) for b in seconds) for a in firsts) and all(
            any(related(self.predicate, a, b) for a in firsts) for b in seconds
        )


@cache
def _load_concepts() -> dict[str, dict[str, object]]:
    return tomllib.loads((files("formalimg.drawing") / "concepts.toml").read_text(encoding="utf-8"))


@cache
def relation_word(name: str) -> RelationWord | None:
    """Return the meaning of a relation, given its concept name or predicate; None if it is unknown."""
    row = _load_concepts()["relations"].get(name)
    if isinstance(row, dict):
        return RelationWord(row["predicate"], row.get("converse", False), row["pairs"] == "all")
    if name in DRAWN_RELATIONS:
        return RelationWord(name, False, name not in RECORD_OF and name not in (OCCLUSION, "NextTo"))
    return None


def material_word(texture: str) -> str:
    """Return the material of a concept texture, or the word itself if it is not a texture."""
    return str(_load_concepts()["textures"].get(texture, texture))


class DrawnSpace:
    """The relations between the objects of a drawn scene."""

    def __init__(self, drawn: DrawnScene) -> None:
        self.drawn = drawn
        self._boxes = [obj.box for obj in drawn.scene.objects]

    def holds(self, predicate: str, first: int, second: int) -> bool:
        """Return whether a relation holds between two objects."""
        if first == second:
            return False
        one, other = self._boxes[first], self._boxes[second]
        if predicate == OCCLUSION:
            return occludes(one, other) and self._rank[first] > self._rank[second] and not self.carries(first, second)
        if predicate in RECORD_OF:
            recorded = SceneRelation(RECORD_OF[predicate], first, second) in (self.drawn.scene.relations or ())
            return recorded and fits_axiom(predicate, one, other)
        if predicate in ("NextTo", "Outside") and self.carries(first, second):
            return False
        return fits_axiom(predicate, one, other)

    def carries(self, first: int, second: int) -> bool:
        """Return whether either object carries the other, directly or through others."""
        return second in self._chains[first] or first in self._chains[second]

    def shown_relations(self) -> frozenset[SceneRelation]:
        """Return all Natural relations that hold, except directions."""
        count = range(len(self._boxes))
        recorded = [record for record in self.drawn.scene.relations or () if record.predicate in RECORD_OF]
        beside = [SceneRelation("NextTo", a, b) for a, b in product(count, count)]
        return frozenset(record for record in [*recorded, *beside] if self.holds(*record))

    @cached_property
    def _rank(self) -> dict[int, int]:
        return {obj: rank for rank, obj in enumerate(self.drawn.order)}

    @cached_property
    def _chains(self) -> list[list[int]]:
        return carrier_chains(self.drawn.scene)
