"""What the objects of ConceptMix are like: how large, what they hold and carry, which outlines they can be given.

Of an object that is not in `things.toml`, such as one of a user's own pool, nothing is known. Then nothing is held
against it: it can have any shape, be of any size and hold anything. Only what is known not to hold anything still holds
nothing: whatever a gizmo is, it is not inside a fork.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, TypeAlias

from formalimg.suites.conceptmix.spec import BoundObject, Relation

PLACES = frozenset({"table", "room", "outdoors"})


class Scale(NamedTuple):
    """By how much a word for size changes the usual length of an object: at least, at most, and as it is drawn."""

    least: float
    most: float
    drawn: float


SCALES = {None: Scale(0.7, 1.0, 1.0), "tiny": Scale(0.02, 0.5, 0.2), "huge": Scale(1.5, 50.0, 5.0)}
ANY_SCALE = Scale(0.02, 50.0, 1.0)
"""For words of a user's own, such as "miniature"."""


@dataclass(frozen=True)
class Thing:
    """What is known of an object; lengths are in metres, None where nothing is known.

    Attributes:
        name: the object.
        kind: what sort of object it is.
        size: its usual longest side.
        room: the longest thing that can be inside; 0 if nothing can.
        carries: the longest thing that can be on top of it; 0 if nothing can.
        shapes: the outlines it can be given.
        places: where one meets it.
        aloft: does it fly or float?
        flat: does it lie on the ground and hide nothing?
        rooted: does it stay where it stands, so that things can lie at its foot?
        is_a: another object whose name fits it too, as a corgi is a dog.
    """

    name: str
    kind: str | None = None
    size: float | None = None
    room: float | None = None
    carries: float | None = None
    shapes: frozenset[str] | None = None
    places: frozenset[str] = PLACES
    aloft: bool = False
    flat: bool = False
    rooted: bool = False
    is_a: str | None = None


def thing_of(item: str) -> Thing:
    """What is known of an object by its name; of most of the world nothing is."""
    things = _things()
    return things["objects"].get(item) or things["references"].get(item) or Thing(item)


def reference_objects() -> tuple[Thing, ...]:
    """The plain objects that may be added to an image; none of them is in the pool."""
    return tuple(_things()["references"].values())


def pool_objects() -> tuple[Thing, ...]:
    """The objects of the pool, those of the published code among them."""
    return tuple(_things()["objects"].values())


def can_have_shape(item: str, shape: str) -> bool:
    """Can an object be given this outline and still be known for what it is?

    Shapes that are not ours (a user's own) are never refused but to what has no free outline at all.
    """
    shapes = thing_of(item).shapes
    if shapes is None or shape in shapes:
        return True
    return bool(shapes) and shape not in _every_shape()


def is_one_of(item: str, other: str) -> bool:
    """Is every such object also one of the other kind, as every corgi is a dog?"""
    return thing_of(item).is_a == other


def can_be_inside(content: BoundObject, container: BoundObject) -> bool:
    """Is there a specimen of the one, tiny or huge if that is said, that fits into some specimen of the other?"""
    room, size = thing_of(container.item).room, thing_of(content.item).size
    if room is None or size is None:
        return room != 0
    return size * _scale(content).least <= room * _scale(container).most


def usual_length(thing: BoundObject) -> float | None:
    """The longest side of an object as one would draw it, in metres; None if nothing is known of it."""
    size = thing_of(thing.item).size
    return None if size is None else size * _scale(thing).drawn


def _scale(thing: BoundObject) -> Scale:
    return SCALES.get(thing.attributes.get("size"), ANY_SCALE)


@cache
def _things() -> Mapping[str, Mapping[str, Thing]]:
    tables = tomllib.loads((files("formalimg.suites.conceptmix") / "things.toml").read_text(encoding="utf-8"))
    return {
        part: {name: _thing(name, {**tables["kinds"][given["kind"]], **given}) for name, given in tables[part].items()}
        for part in ("objects", "references")
    }


def _thing(name: str, given: Mapping[str, Any]) -> Thing:
    sets = {key: frozenset(given[key]) for key in ("shapes", "places")}
    return Thing(**{**given, **sets, "name": name})


@cache
def _every_shape() -> frozenset[str]:
    return frozenset(shape for thing in pool_objects() for shape in thing.shapes or ())


Axis: TypeAlias = Literal["from left to right", "in height", "in depth"]
Mark: TypeAlias = Literal["foot", "middle", "head"]
Point: TypeAlias = tuple[int, Mark]


class Side(NamedTuple):
    """What a relation says: certain marks of the first object are before (or after) those of the second on an axis."""

    axis: Axis
    first_is_before: bool
    marks: tuple[Mark, ...] = ("middle",)


class Placed(NamedTuple):
    """A relation whose two objects are known, by their ids."""

    name: str
    first: int
    second: int


def placed_relations(relations: Iterable[Relation]) -> tuple[Placed, ...]:
    """The relations of a binding that are not open any more."""
    return tuple(
        Placed(relation.name, relation.first, relation.second)
        for relation in relations
        if relation.first is not None and relation.second is not None
    )


SIDES: Mapping[str, Side] = MappingProxyType(
    {
        "left": Side("from left to right", True),
        "right": Side("from left to right", False),
        "in front of": Side("in depth", True),
        "behind": Side("in depth", False),
        "below": Side("in height", True, ("foot", "middle", "head")),
        "above": Side("in height", False, ("foot", "middle", "head")),
        "bottom": Side("in height", True, ("middle", "head")),
        "top": Side("in height", False, ("foot", "middle")),
    }
)
"""The relations that order things along an axis; height counts from below, depth from the viewer."""


def contradictory_orders(relations: Sequence[Placed]) -> Iterator[tuple[Axis, tuple[int, ...]]]:
    """Each axis along which no image can have all relations at once, with objects that run in a circle."""
    axes: tuple[Axis, ...] = ("from left to right", "in height", "in depth")
    for axis in axes:
        circle = _circle(_steps(axis, relations))
        if circle:
            yield axis, tuple(dict.fromkeys(thing for thing, _ in circle))


def circle_of(pairs: Iterable[tuple[int, int]]) -> tuple[int, ...]:
    """Objects that are before one another in a circle, if each pair is in order; none if there is no circle."""
    return tuple(thing for thing, _ in _circle(((one, "middle"), (other, "middle")) for one, other in pairs))


def _steps(axis: Axis, relations: Sequence[Placed]) -> Iterator[tuple[Point, Point]]:
    """Pairs of points, the first of them before the second."""
    for relation in relations:
        for one in (relation.first, relation.second):
            yield (one, "foot"), (one, "middle")
            yield (one, "middle"), (one, "head")
        side = SIDES.get(relation.name)
        if side is not None and side.axis == axis:
            before, after = (relation.first, relation.second) if side.first_is_before else (relation[2], relation[1])
            yield from (((before, mark), (after, mark)) for mark in side.marks)
        elif relation.name == "inside":
            yield (relation.second, "foot"), (relation.first, "foot")
            yield (relation.first, "head"), (relation.second, "head")


def _circle(steps: Iterable[tuple[Point, Point]]) -> tuple[Point, ...]:
    """Some circle of points, or none."""
    after: dict[Point, list[Point]] = {}
    for before, then in steps:
        after.setdefault(before, []).append(then)
        after.setdefault(then, [])
    # What nothing comes after is in no circle; neither is, then, what only such points come after.
    while True:
        ends = [point for point, following in after.items() if not any(then in after for then in following)]
        if not ends:
            break
        for point in ends:
            del after[point]
    if not after:
        return ()
    way = [next(iter(after))]
    while True:
        point = next(then for then in after[way[-1]] if then in after)
        if point in way:
            return tuple(way[way.index(point) :])
        way.append(point)


def far_fetched(name: str, first: BoundObject, second: BoundObject) -> int:
    """How far-fetched it is that the first object is in the named relation to the second."""
    oddness = strangers(first, second)
    match name:
        case "inside":
            return oddness + _inside(first, second)
        case "outside":
            return oddness + (0 if can_be_inside(first, second) else 4)
        case "top":
            return oddness + (0 if _rests_on(first, second) else 3)
        case "bottom":
            return oddness + (0 if _rests_on(second, first) or _at_the_foot(first, second) else 3)
        case "above":
            return oddness + _above(thing_of(first.item), thing_of(second.item))
        case "below":
            return oddness + _above(thing_of(second.item), thing_of(first.item))
        case "behind":
            return oddness + (2 if _hides(second, first) else 0)
        case "in front of":
            return oddness + (2 if _hides(first, second) else 0)
    return oddness


def strangers(one: BoundObject, other: BoundObject) -> int:
    """How far-fetched it is to see two objects together: do they share a place, and are both large enough to see?"""
    apart = thing_of(one.item).places.isdisjoint(thing_of(other.item).places)
    ratio = _times_as_long(one, other)
    return int(apart) + int(not 1 / 20 <= ratio <= 20) + int(not 1 / 200 <= ratio <= 200)


def poor_measure(reference: BoundObject, measured: BoundObject) -> int:
    """How badly an object shows that another is tiny or huge.

    It should stand beside it, be of about its length, and have a usual size at all: rocks and valleys come in any.
    """
    thing = thing_of(reference.item)
    unfit = 2 * int(thing.aloft) + 2 * int(thing.kind == "ground")
    return unfit + 2 * int(not 1 / 4 <= _times_as_long(reference, measured) <= 4)


def _inside(content: BoundObject, container: BoundObject) -> int:
    one_in_many = "number" in container.attributes and "number" not in content.attributes
    if not can_be_inside(content, container):
        return 4
    return (0 if _goes_inside(content, container) else 2) + int(one_in_many)


def _goes_inside(content: BoundObject, container: BoundObject) -> bool:
    room, length = thing_of(container.item).room, usual_length(content)
    usual_room = None if room is None else room * _enlarged(container)
    return usual_room is not None and length is not None and 0 < length <= usual_room


def _rests_on(load: BoundObject, support: BoundObject) -> bool:
    carries, length = thing_of(support.item).carries, usual_length(load)
    if thing_of(load.item).flat or carries is None or length is None:
        return False
    return length <= carries * _enlarged(support)


def _at_the_foot(small: BoundObject, tall: BoundObject) -> bool:
    return thing_of(tall.item).rooted and not thing_of(tall.item).flat and _times_as_long(small, tall) <= 0.5


def _above(upper: Thing, lower: Thing) -> int:
    if upper.aloft:
        return 0
    if upper.flat or upper.kind == "ground":
        return 4
    if upper.rooted or lower.aloft:
        return 3
    return 1 if upper.size is None or upper.size < 1 else 2


def _hides(nearer: BoundObject, farther: BoundObject) -> bool:
    return not thing_of(nearer.item).flat and _times_as_long(nearer, farther) > 3


def _times_as_long(one: BoundObject, other: BoundObject) -> float:
    length, measure = usual_length(one), usual_length(other)
    return 1.0 if length is None or measure is None else length / measure


def _enlarged(thing: BoundObject) -> float:
    size, length = thing_of(thing.item).size, usual_length(thing)
    return 1.0 if size is None or length is None else length / size
