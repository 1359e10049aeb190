"""How far-fetched a relation between two objects is: 0 is what one expects to see, each point is one raised eyebrow.

Far-fetched is not wrong. It only decides which pair of objects a relation goes to when there is a choice.
"""

from __future__ import annotations

from formalimg.suites.conceptmix.knowledge import Thing, can_be_inside, thing_of, usual_length
from formalimg.suites.conceptmix.spec import BoundObject


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
