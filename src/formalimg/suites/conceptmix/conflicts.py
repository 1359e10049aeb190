"""What in a binding contradicts itself, so that no picture can show it and viewers could not agree that one does.

The unrealistic is welcome: a horse of glass, a man on top of a spoon. Refused is only what `RULES` says. These are
logic, but for shapes and for what fits into what: there, what is known of objects decides (`things.toml`), and nothing
is held against objects of which nothing is known.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from types import MappingProxyType
from typing import Literal, NamedTuple, TypeAlias

from formalimg.suites.conceptmix.knowledge import can_be_inside, can_have_shape
from formalimg.suites.conceptmix.spatial_order import SIDES, Placed, circle_of, contradictory_orders, placed_relations
from formalimg.suites.conceptmix.spec import Binding, BoundObject

ConflictReason: TypeAlias = Literal[
    "shape", "itself", "twice", "order", "touch", "nesting", "outside", "beside", "fit", "many"
]

RULES: Mapping[ConflictReason, str] = MappingProxyType(
    {
        "shape": "an object has a shape that it cannot have and still be known for what it is",
        "itself": "a relation holds between an object and itself",
        "twice": "the same relation is asked for twice, between the same objects",
        "order": "relations run in a circle: from left to right, in height or in depth",
        "touch": "two objects must touch (top, bottom) and must not touch (above, below)",
        "nesting": "objects are inside one another in a circle",
        "outside": "an object is outside of another that it is inside of, or with which it shares what is inside",
        "beside": "an object is inside of another and also on one side of it; only its bottom can be inside",
        "fit": "an object is inside of another that nothing, or nothing as large, can be inside of",
        "many": "there are fewer objects than others that each of them must be inside of",
    }
)
"""Why a binding is refused, by reason."""

TOUCHING = frozenset({"top", "bottom"})
APART = frozenset({"above", "below"})


class Conflict(NamedTuple):
    """A contradiction: which rule it breaks, and what is wrong in one line."""

    reason: ConflictReason
    detail: str


def conflicts(binding: Binding) -> tuple[Conflict, ...]:
    """Everything in a binding that no picture can show, or that viewers could not agree on.

    Relations that are still open contradict nothing yet.
    """
    placed = placed_relations(binding.relations)
    return (*_impossible_shapes(binding.objects), *relation_conflicts(binding.objects, placed))


def relation_conflicts(objects: Sequence[BoundObject], placed: Sequence[Placed]) -> tuple[Conflict, ...]:
    """The conflicts that come from relations; no further relation can mend them."""
    names = {number: f"the {thing.item}" for number, thing in enumerate(objects, 1)}
    between = [relation for relation in placed if relation.first != relation.second]
    within = _within(between)
    return (
        *_relations_to_itself(placed, names),
        *_repetitions(between, names),
        *_contradictory_orders(between, names),
        *_contradictory_touches(between, names),
        *_nesting_circles(between, names),
        *_inside_and_outside(between, within, names),
        *_inside_and_beside(between, within, names),
        *_misfits(between, objects, names),
    )


def _impossible_shapes(objects: Sequence[BoundObject]) -> Iterator[Conflict]:
    for thing in objects:
        shape = thing.attributes.get("shape")
        if shape is not None and not can_have_shape(thing.item, shape):
            yield Conflict("shape", f"the {thing.item} cannot have the shape of a {shape}")


def _relations_to_itself(placed: Sequence[Placed], names: Mapping[int, str]) -> Iterator[Conflict]:
    for name, first, second in placed:
        if first == second:
            yield Conflict("itself", f"{names[first]} cannot be in the relation {name!r} to itself")


def _repetitions(placed: Sequence[Placed], names: Mapping[int, str]) -> Iterator[Conflict]:
    for number, relation in enumerate(placed):
        if relation in placed[:number]:
            name, first, second = relation
            yield Conflict("twice", f"{names[first]} and {names[second]} are in the relation {name!r} twice")


def _contradictory_orders(placed: Sequence[Placed], names: Mapping[int, str]) -> Iterator[Conflict]:
    # Circles of what is inside what are told by their own rule.
    sound = [relation for relation in placed if relation.name != "inside"] if _nested(placed) else placed
    for axis, circle in contradictory_orders(sound):
        yield Conflict("order", f"{_listed(circle, names)} cannot be in this order {axis}")


def _contradictory_touches(placed: Sequence[Placed], names: Mapping[int, str]) -> Iterator[Conflict]:
    for one, other in combinations(placed, 2):
        if {one.first, one.second} == {other.first, other.second} and (
            (one.name in TOUCHING and other.name in APART) or (one.name in APART and other.name in TOUCHING)
        ):
            yield Conflict("touch", f"{_listed((one.first, one.second), names)} must touch and must not")


def _nesting_circles(placed: Sequence[Placed], names: Mapping[int, str]) -> Iterator[Conflict]:
    circle = _nested(placed)
    if circle:
        yield Conflict("nesting", f"{_listed(circle, names)} cannot be inside one another")


def _inside_and_outside(
    placed: Sequence[Placed], within: Mapping[int, frozenset[int]], names: Mapping[int, str]
) -> Iterator[Conflict]:
    for name, first, second in placed:
        if name != "outside":
            continue
        if any({first, second} <= {one, *within.get(one, ())} for one in names):
            pair = f"{names[first]} cannot be outside of {names[second]}"
            yield Conflict("outside", f"{pair}: one is inside the other, or something is inside both")


def _inside_and_beside(
    placed: Sequence[Placed], within: Mapping[int, frozenset[int]], names: Mapping[int, str]
) -> Iterator[Conflict]:
    for name, first, second in placed:
        content_first = second in within.get(first, ())
        if name not in SIDES or not (content_first or first in within.get(second, ())):
            continue
        if name == "bottom" and content_first:
            continue  # at the lowest part of it, as a ball that lies at the bottom of a box
        content, container = (first, second) if content_first else (second, first)
        yield Conflict(
            "beside", f"{names[content]} is inside {names[container]}, so it cannot be in the relation {name!r} to it"
        )


def _misfits(placed: Sequence[Placed], objects: Sequence[BoundObject], names: Mapping[int, str]) -> Iterator[Conflict]:
    for name, first, second in placed:
        if name != "inside":
            continue
        content, container = objects[first - 1], objects[second - 1]
        sizes = (content.attributes.get("size"), container.attributes.get("size"))
        if not can_be_inside(content, container):
            yield Conflict("fit", f"{names[first]} cannot be inside {names[second]}")
        elif _count(content) < _count(container):
            yield Conflict("many", f"{names[first]} cannot be inside {_count(container)} of {names[second]} at once")
        elif sizes == ("huge", "tiny"):
            yield Conflict("fit", f"nobody sees a huge {content.item} and a tiny {container.item} with the one inside")


def _count(thing: BoundObject) -> int:
    """How many there are of an object; one, unless a number says more."""
    number = thing.attributes.get("number", "1")
    return int(number) if number.isascii() and number.isdigit() else 1


def _within(placed: Sequence[Placed]) -> dict[int, frozenset[int]]:
    """All that an object is inside of, directly or not."""
    direct: dict[int, set[int]] = {}
    for name, first, second in placed:
        if name == "inside":
            direct.setdefault(first, set()).add(second)
    found: dict[int, frozenset[int]] = {}
    for start in direct:
        reached: set[int] = set()
        ahead = list(direct[start])
        while ahead:
            one = ahead.pop()
            if one not in reached:
                reached.add(one)
                ahead.extend(direct.get(one, ()))
        found[start] = frozenset(reached)
    return found


def _nested(placed: Sequence[Placed]) -> tuple[int, ...]:
    return circle_of((first, second) for name, first, second in placed if name == "inside")


def _listed(things: Sequence[int], names: Mapping[int, str]) -> str:
    told = [names[thing] for thing in things]
    return told[0] if len(told) == 1 else f"{', '.join(told[:-1])} and {told[-1]}"
