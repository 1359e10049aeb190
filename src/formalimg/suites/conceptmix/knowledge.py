"""What the objects of ConceptMix are like: how large, what they hold and carry, which outlines they can be given.

Of an object that is not in `things.toml`, such as one of a user's own pool, nothing is known. Then nothing is held
against it: it can have any shape, be of any size and hold anything. Only what is known not to hold anything still holds
nothing: whatever a gizmo is, it is not inside a fork.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

from formalimg.suites.conceptmix.spec import BoundObject

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
