"""Closing a binding: whether something in it is open, and whether somebody who filled it kept to what was given."""

from __future__ import annotations

from formalimg._util.text import truncate
from formalimg.authoring.concepts.answers import BindingAnswer
from formalimg.authoring.rejection import Rejection
from formalimg.suites import Binding, BindingError, BoundObject, Pools, lacks_measure, tampering, unasked

_LONGEST_ITEM = 60


def is_incomplete(binding: Binding) -> bool:
    """Is a relation open, or a size without anything of the usual size to measure it by?"""
    return binding.is_open or lacks_measure(binding)


def closed(given: Binding, answer: BindingAnswer, pools: Pools) -> Binding | Rejection:
    """The binding that an answer gives, if it fills what was open and leaves all else as it was."""
    try:
        after = Binding.from_json(answer.model_dump(by_alias=True, exclude_none=True))
    except BindingError as error:
        return Rejection("binding unfit", truncate(str(error), 250, 50))
    if is_incomplete(after):
        return left_open()
    changes = tampering(given, after) or _needless(given, after)
    if changes:
        return Rejection("binding changed", truncate(changes, 250, 50))
    for thing in after.objects[len(given.objects) :]:
        objection = _objection_to(thing, given, pools)
        if objection is not None:
            return objection
    return after


def left_open() -> Rejection:
    """What is said of a binding that nobody completed."""
    return Rejection("binding left open", "a relation whose objects are not said, or a size with nothing beside it")


def _needless(given: Binding, after: Binding) -> str | None:
    """An object that was added though neither a relation nor a size needs it."""
    related = {end for relation in after.relations for end in (relation.first, relation.second)}
    spared = 1 if lacks_measure(given) else 0
    for number in range(len(given.objects) + 1, len(after.objects) + 1):
        if number in related:
            continue
        if spared == 0:
            return f"object {number} ({after.objects[number - 1].item}) was added for nothing"
        spared -= 1
    return None


def _objection_to(added: BoundObject, given: Binding, pools: Pools) -> Rejection | None:
    item = added.item
    if not item.isprintable() or item.strip() != item or len(item) > _LONGEST_ITEM:
        return Rejection("binding unfit", f"an added object must be one or two words: {truncate(item, 50, 20)}")
    if any(thing.item == item and "number" in thing.attributes for thing in given.objects):
        return Rejection("binding changed", f"another {item} was added to a given number of them")
    more = [concept for concept in unasked(item, (), given, pools) if concept.category != "object"]
    if more:
        return Rejection("binding changed", f"the added {item} brings the {more[0].category} {more[0].value}")
    return None
