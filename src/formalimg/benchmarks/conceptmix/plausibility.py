"""World knowledge about objects: size, containment, spatial order along three axes, and plausibility of relations.

An object that is not in `things.toml`, such as one of a user's own pool, can have any shape and size and contain
anything. It still cannot be inside a known object that contains nothing, such as a fork.

Spatial order uses only what all readings of a relation have in common. An object has a middle, and vertically also a
foot and a head. An object to the left of another has its middle farther left. An object above another has all three
higher up; an object on top of another has its foot and middle higher up, but not necessarily its head, as with a man on
the back of an elephant. An object inside another has its foot and head between those of its container. All of these
orders are strict, so relations contradict each other exactly if they form a cycle.

Implausible relations are not errors: the score only decides which pair of objects gets a relation when there is a
choice. A relation with score 0 is to be expected; from `FAR_FETCHED` on, another object is added instead.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from graphlib import CycleError, TopologicalSorter
from importlib.resources import files
from types import MappingProxyType
from typing import Literal, NamedTuple, TypeAlias

from formalimg.benchmarks.conceptmix.spec import BoundObject, SpatialRelation

FAR_FETCHED = 3  # Implausibility from which a relation should go to other objects
PLACES = frozenset({"table", "room", "outdoors"})


class SizeScale(NamedTuple):
    """Factors by which a size word scales an object's usual length: minimum, maximum, and typical."""

    minimum: float
    maximum: float
    typical: float


SCALES = {None: SizeScale(0.7, 1.0, 1.0), "tiny": SizeScale(0.02, 0.5, 0.2), "huge": SizeScale(2.0, 50.0, 5.0)}
ANY_SCALE = SizeScale(0.02, 50.0, 1.0)  # For size words of a user's own, such as "miniature"


@dataclass(frozen=True)
class ObjectFacts:
    """Facts about an object; lengths are in metres, or None if unknown."""

    name: str  # the object
    kind: str | None = None  # what sort of object it is
    size: float | None = None  # its usual longest side
    room: float | None = None  # the longest object that can be inside; 0 if nothing can
    carries: float | None = None  # the longest object that can be on top of it; 0 if nothing can
    shapes: frozenset[str] | None = None  # the outlines it can be given
    places: frozenset[str] = PLACES  # where one meets it
    aloft: bool = False  # does it fly or float?
    flat: bool = False  # does it lie on the ground and hide nothing?
    rooted: bool = False  # does it stay where it stands, so that nothing else carries it?
    named_after_material: bool = False  # does its name say what it consists of?
    is_a: str | None = None  # another object whose name fits it too, as a corgi is a dog
    rests: tuple[str, ...] = ()  # verbs for how it holds itself on the ground or on something
    aloft_as: tuple[str, ...] = ()  # verbs for how it holds itself in the air
    names: tuple[str, ...] = ()  # what else it may be called, the closest first


def object_facts(item: str) -> ObjectFacts:
    """Return the facts about an object, which are empty for unknown objects."""
    facts = _all_object_facts()
    return facts["objects"].get(item) or facts["references"].get(item) or ObjectFacts(item)


def reference_objects() -> tuple[ObjectFacts, ...]:
    """Return the reference objects that completion may add to a scene, none of which is in the pool."""
    return tuple(_all_object_facts()["references"].values())


def pool_objects() -> tuple[ObjectFacts, ...]:
    """Return the facts about all pool objects, including those in the published code."""
    return tuple(_all_object_facts()["objects"].values())


def can_have_shape(item: str, shape: str) -> bool:
    """Return whether an object can have an outline and remain recognizable; unknown shapes fit any free outline."""
    shapes = object_facts(item).shapes
    if shapes is None or shape in shapes:
        return True
    return bool(shapes) and shape not in _all_shapes()


def is_kind_of(item: str, kind: str) -> bool:
    """Return whether every instance of `item` is also a `kind`, as every corgi is a dog."""
    return object_facts(item).is_a == kind


def can_be_inside(content: BoundObject, container: BoundObject) -> bool:
    """Return whether some instance of `content`, at its stated size, fits into some instance of `container`."""
    room, size = object_facts(container.item).room, object_facts(content.item).size
    if room is None or size is None:
        return room != 0
    return size * _size_scale(content).minimum <= room * _size_scale(container).maximum


def can_be_outside(content: BoundObject, container: BoundObject) -> bool:
    """Return whether "outside" is informative: `container` is a building, or `content` would usually fit into it."""
    facts = object_facts(container.item)
    if facts.room is None or object_facts(content.item).size is None:
        return facts.room != 0
    if _shows_miniatures(facts):
        return False
    return facts.room > 0 and (facts.kind == "building" or _usually_fits_inside(content, container))


def typical_length(obj: BoundObject) -> float | None:
    """Return the typical longest side of an object, in metres, or None if unknown."""
    size = object_facts(obj.item).size
    return None if size is None else size * _size_scale(obj).typical


def _size_scale(obj: BoundObject) -> SizeScale:
    return SCALES.get(obj.attributes.get("size"), ANY_SCALE)


@cache
def _all_object_facts() -> Mapping[str, Mapping[str, ObjectFacts]]:
    tables = tomllib.loads((files(__package__) / "things.toml").read_text(encoding="utf-8"))
    facts: dict[str, dict[str, ObjectFacts]] = {"objects": {}, "references": {}}
    for part, objects in facts.items():
        for name, own_fields in tables[part].items():
            fields = {**tables["kinds"][own_fields["kind"]], **own_fields}
            sets = {key: frozenset(fields[key]) for key in ("shapes", "places")}
            lists = {key: tuple(fields[key]) for key in ("rests", "aloft_as", "names")}
            objects[name] = ObjectFacts(**{**fields, **sets, **lists, "name": name})
    return facts


@cache
def _all_shapes() -> frozenset[str]:
    return frozenset(shape for obj in pool_objects() for shape in obj.shapes or ())


Axis: TypeAlias = Literal["from left to right", "in height", "in depth"]
Mark: TypeAlias = Literal["foot", "middle", "head"]
Point: TypeAlias = tuple[int, Mark]


class AxisConstraint(NamedTuple):
    """The geometric meaning of a relation: the order of the two objects' marks along an axis."""

    axis: Axis
    first_is_before: bool
    marks: tuple[Mark, ...] = ("middle",)


class BoundRelation(NamedTuple):
    """A relation with the ids of its two objects."""

    name: str
    first: int
    second: int


def bound_relations(relations: Iterable[SpatialRelation]) -> tuple[BoundRelation, ...]:
    """Return the relations of a binding whose objects are both chosen."""
    return tuple(
        BoundRelation(relation.name, relation.first, relation.second)
        for relation in relations
        if relation.first is not None and relation.second is not None
    )


AXIS_CONSTRAINTS: Mapping[str, AxisConstraint] = MappingProxyType(
    {
        "left": AxisConstraint("from left to right", True),
        "right": AxisConstraint("from left to right", False),
        "in front of": AxisConstraint("in depth", True),
        "behind": AxisConstraint("in depth", False),
        "below": AxisConstraint("in height", True, ("foot", "middle", "head")),
        "above": AxisConstraint("in height", False, ("foot", "middle", "head")),
        "bottom": AxisConstraint("in height", True, ("middle", "head")),
        "top": AxisConstraint("in height", False, ("foot", "middle")),
    }
)
"""Relations that order objects along an axis; height counts from below, depth from the viewer."""


def contradictory_orders(relations: Sequence[BoundRelation]) -> Iterator[tuple[Axis, tuple[int, ...]]]:
    """Yield each axis with contradictory relations, and the objects in the cycle."""
    axes: tuple[Axis, ...] = ("from left to right", "in height", "in depth")
    for axis in axes:
        circle = _point_cycle(_order_edges(axis, relations))
        if circle:
            yield axis, tuple(dict.fromkeys(obj for obj, _ in circle))


def find_cycle(pairs: Iterable[tuple[int, int]]) -> tuple[int, ...]:
    """Return the objects of a cycle in a precedence relation, or an empty tuple if there is none."""
    return tuple(obj for obj, _ in _point_cycle(((before, "middle"), (after, "middle")) for before, after in pairs))


def _order_edges(axis: Axis, relations: Sequence[BoundRelation]) -> Iterator[tuple[Point, Point]]:
    """Yield pairs of points in which the first precedes the second along an axis."""
    for relation in relations:
        for obj in (relation.first, relation.second):
            yield (obj, "foot"), (obj, "middle")
            yield (obj, "middle"), (obj, "head")
        side = AXIS_CONSTRAINTS.get(relation.name)
        if side is not None and side.axis == axis:
            before, after = (relation.first, relation.second) if side.first_is_before else (relation[2], relation[1])
            yield from (((before, mark), (after, mark)) for mark in side.marks)
        elif relation.name == "inside":
            yield (relation.second, "foot"), (relation.first, "foot")
            yield (relation.first, "head"), (relation.second, "head")


def _point_cycle(steps: Iterable[tuple[Point, Point]]) -> tuple[Point, ...]:
    sorter = TopologicalSorter[Point]()
    for before, after in steps:
        sorter.add(after, before)
    try:
        sorter.prepare()
    except CycleError as error:
        return tuple(error.args[1][1:])
    return ()


def implausibility(name: str, first: BoundObject, second: BoundObject) -> int:
    """Return how implausible relation `name` is from the first object to the second."""
    oddness = scene_mismatch(first, second)
    match name:
        case "inside":
            is_miniature = _shows_miniatures(object_facts(second.item))  # what it shows is never of its size
            return _inside_cost(first, second) + (1 if is_miniature else oddness)
        case "outside":
            cost = 0 if can_be_outside(first, second) else 4
            return oddness + cost + FAR_FETCHED * int("number" in second.attributes)
        case "bottom" | "below" | "behind":
            first, second = second, first
    match name:
        case "top" | "bottom":
            return oddness + _resting_cost(first, second)
        case "above" | "below":
            return oddness + _above_cost(first, second)
        case "in front of" | "behind":
            is_hiding = not object_facts(first.item).flat and _length_ratio(first, second) > 3
            return oddness + FAR_FETCHED * is_hiding
    return oddness


def scene_mismatch(first: BoundObject, second: BoundObject) -> int:
    """Return how poorly two objects match in setting and scale."""
    apart = object_facts(first.item).places.isdisjoint(object_facts(second.item).places)
    ratio = _length_ratio(first, second)
    return int(apart) + int(not 1 / 20 <= ratio <= 20) + int(not 1 / 200 <= ratio <= 200)


def reference_mismatch(reference: BoundObject, measured: BoundObject) -> int:
    """Return how unsuitable a reference object is for showing that another object is tiny or huge."""
    obj = object_facts(reference.item)
    unfit = 2 * int(obj.aloft or obj.kind == "ground" or _shows_miniatures(obj))
    ratio = _length_ratio(reference, measured)
    return unfit + 2 * int(not 1 / 4 <= ratio <= 4) + int(not 1 / 60 <= ratio <= 60)


def _inside_cost(content: BoundObject, container: BoundObject) -> int:
    if not can_be_inside(content, container):
        return 2 * FAR_FETCHED
    inner, outer, size = object_facts(content.item), object_facts(container.item), content.attributes.get("size")
    usual, miniature = _usually_fits_inside(content, container), _shows_miniatures(outer)
    is_scenery = inner.kind in ("building", "ground")
    if miniature:
        is_odd = not usual and (not is_scenery or size == "huge")
    elif is_scenery:  # such as a house in a barn
        is_odd = not (inner.flat and outer.kind == "passage")
    else:  # such as a bush in a car
        is_odd = inner.rooted and outer.kind != "building" and size != "tiny"
    one_in_many = "number" in container.attributes and "number" not in content.attributes
    return (0 if usual or miniature else 2) + FAR_FETCHED * is_odd + one_in_many


def _usually_fits_inside(content: BoundObject, container: BoundObject) -> bool:
    facts, length = object_facts(container.item), typical_length(content)
    if facts.room is None or facts.size is None or length is None:
        return False
    usual_room = facts.size if _shows_miniatures(facts) else facts.room
    return 0 < length <= usual_room * _size_factor(container)


def _shows_miniatures(container: ObjectFacts) -> bool:
    return bool(container.room and container.size and container.room > 2 * container.size)


def _resting_cost(load: BoundObject, support: BoundObject) -> int:
    """Return how implausible it is that `load` rests on `support`, which is low for unknown objects."""
    upper, lower, length = object_facts(load.item), object_facts(support.item), typical_length(load)
    if lower.carries is None or length is None:
        return 1
    if upper.flat or upper.rooted or length > lower.carries * _size_factor(support):
        return FAR_FETCHED
    # A table on a bed; a cup on a sunflower.
    piled = upper.kind == lower.kind == "furniture" and length > 1
    loaded = lower.kind in ("plant", "person") and not upper.aloft and upper.kind not in ("animal", "insect")
    return FAR_FETCHED if piled or loaded else 0


def _above_cost(upper: BoundObject, lower: BoundObject) -> int:
    facts, length = object_facts(upper.item), typical_length(upper)
    if facts.aloft:
        return 0
    if facts.flat or facts.kind == "ground":
        return 4
    if facts.rooted or object_facts(lower.item).aloft:
        return FAR_FETCHED
    return 1 if length is None or length < 1 else FAR_FETCHED


def _length_ratio(first: BoundObject, second: BoundObject) -> float:
    length, measure = typical_length(first), typical_length(second)
    return 1.0 if length is None or measure is None else length / measure


def _size_factor(obj: BoundObject) -> float:
    size, length = object_facts(obj.item).size, typical_length(obj)
    return 1.0 if size is None or length is None else length / size
