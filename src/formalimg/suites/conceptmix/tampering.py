"""What somebody who was asked to complete a binding changed in it."""

from __future__ import annotations

from collections.abc import Iterator

from formalimg.suites.conceptmix.spec import OPEN, Binding, BoundObject, Relation


def tampering(given: Binding, after: Binding) -> str | None:
    """How a completed binding changes what was given, in words.

    To complete a binding is to fill in the open ids of its relations, each with two different objects, and to add
    objects that have an item and nothing else. Anything more is a change, and so is anything left open.

    Returns:
        All changes, one after the other; None if there is none.
    """
    return "; ".join((*_of_objects(given, after), *_of_style(given, after), *_of_relations(given, after))) or None


def _of_objects(given: Binding, after: Binding) -> Iterator[str]:
    for number, thing in enumerate(given.objects, 1):
        if number > len(after.objects):
            yield f"object {number} ({thing.item}) is missing"
        else:
            yield from _of_object(f"object {number}", thing, after.objects[number - 1])
    for number, thing in enumerate(after.objects[len(given.objects) :], len(given.objects) + 1):
        if thing.attributes:
            held = ", ".join(f"{category} {value}" for category, value in thing.attributes.items())
            yield f"object {number} ({thing.item}) was added and may have an item only, but it has {held}"


def _of_object(name: str, given: BoundObject, after: BoundObject) -> Iterator[str]:
    if given.item != after.item:
        yield f"the item of {name} was {given.item!r} and is now {after.item!r}"
    for category in {**given.attributes, **after.attributes}:
        old, new = given.attributes.get(category), after.attributes.get(category)
        if old is None:
            yield f"{name} ({given.item}) had no {category} and is now given {new!r}"
        elif new is None:
            yield f"{name} ({given.item}) has lost its {category} {old!r}"
        elif old != new:
            yield f"the {category} of {name} ({given.item}) was {old!r} and is now {new!r}"


def _of_style(given: Binding, after: Binding) -> Iterator[str]:
    if given.style is None and after.style is not None:
        yield f"there was no style and now there is {after.style!r}"
    elif given.style is not None and after.style is None:
        yield f"the style {given.style!r} is missing"
    elif given.style != after.style:
        yield f"the style was {given.style!r} and is now {after.style!r}"


def _of_relations(given: Binding, after: Binding) -> Iterator[str]:
    for number, relation in enumerate(given.relations, 1):
        if number > len(after.relations):
            yield f"relation {number} ({relation.name}) is missing"
        else:
            yield from _of_relation(f"relation {number}", relation, after.relations[number - 1], len(after.objects))
    for number, relation in enumerate(after.relations[len(given.relations) :], len(given.relations) + 1):
        yield f"relation {number} ({relation.name}) was added, but only objects may be"


def _of_relation(name: str, given: Relation, after: Relation, objects: int) -> Iterator[str]:
    if given.name != after.name:
        yield f"{name} was {given.name!r} and is now {after.name!r}; names and order must stay"
    elif given.description != after.description:
        yield f"the description of {name} ({given.name}) was {given.description!r} and is now {after.description!r}"
    ends = (("ObjectA_id", given.first, after.first), ("ObjectB_id", given.second, after.second))
    for key, old, new in ends:
        if old is not None and old != new:
            yield f"{key} of {name} ({given.name}) was {old} and is now {OPEN if new is None else new}"
        elif new is None:
            yield f"{key} of {name} ({given.name}) is still {OPEN!r}; fill in the id of an object"
        elif not 1 <= new <= objects:
            yield f"{key} of {name} ({given.name}) is {new}, but objects are 1 to {objects}"
    if after.first is not None and after.first == after.second:
        yield f"{name} ({given.name}) is between object {after.first} and itself; it needs two objects"
