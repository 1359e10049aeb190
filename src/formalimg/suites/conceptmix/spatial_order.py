"""Spatial relations as orders along three axes, and whether a set of them can be true in one image.

Only what every reading of a relation has in common is used. An object has a middle, and on the axis of height also a
foot and a head. What is left of something has its middle farther left; what is above something has all three higher up;
what is on top of something has its foot and its middle higher up, while the head of an elephant may well rise above the
man on its back. What is inside has its foot and its head between those of its container. All of these are strict, so
relations contradict each other exactly if they run in a circle.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Literal, NamedTuple, TypeAlias

from formalimg.suites.conceptmix.spec import Relation

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
