"""Which concepts a prompt fails to say, and which it says though nobody asked for them.

Both read words, not minds: what a simple reading cannot tell is taken to be right.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from formalimg.suites.conceptmix.owning import counted, owners
from formalimg.suites.conceptmix.pools import Pools, load_pools
from formalimg.suites.conceptmix.reading import Mention, Reading, read
from formalimg.suites.conceptmix.spec import ATTRIBUTES, Binding, BoundConcept, Concept
from formalimg.suites.conceptmix.whereabouts import axis, placings, says
from formalimg.suites.conceptmix.words import words

_CLEAR = ("said", "places")


def unsaid(prompt: str, concepts: Sequence[BoundConcept], binding: Binding) -> tuple[Concept, ...]:
    """The concepts that a prompt does not say, or says of another object, in the order of the concepts.

    Args:
        prompt: the words.
        concepts: what they should say.
        binding: what belongs to what.
    """
    reading = read(prompt, _asked(concepts, binding), _concepts_in(load_pools(profile="official-code")))
    return tuple(one.concept for one in concepts if not _is_said(reading, one, binding))


def unasked(prompt: str, concepts: Sequence[BoundConcept], binding: Binding, pools: Pools) -> tuple[Concept, ...]:
    """The concepts that a prompt speaks of though nobody asked for them, in the order in which it does.

    Args:
        prompt: the words.
        concepts: what they should say.
        binding: what belongs to what; what somebody added may be named.
        pools: the concepts to look for. Numbers are found up to twelve.
    """
    asked = _asked(concepts, binding)
    reading = read(prompt, asked, _concepts_in(pools))
    found: dict[int, Concept] = {}
    for one in reading.mentions:
        in_doubt = any(
            other.start == one.start and other.concept in asked for other in reading.mentions if other != one
        )
        if not in_doubt and not _is_asked(reading, one, asked, binding):
            found[one.start] = one.concept
    axes = {axis(relation.name) for relation in binding.relations}
    for place in placings(reading, pools["spatial"].values):
        if place.manner in _CLEAR and axis(place.value) not in axes:
            found.setdefault(place.start, Concept("spatial", place.value))
    return tuple(dict.fromkeys(found[start] for start in sorted(found)))


def _asked(concepts: Sequence[BoundConcept], binding: Binding) -> set[Concept]:
    drawn = {one.concept for one in concepts if one.concept.category != "spatial"}
    return drawn | {Concept("object", thing.item) for thing in binding.objects}


def _concepts_in(pools: Pools) -> set[Concept]:
    found = {Concept(category, value) for category, pool in pools.items() for value in pool.values}
    counts = {Concept("number", str(number)) for number in range(2, len(words()["counts"]))}
    return {one for one in found if one.category != "spatial"} | counts


def _is_said(reading: Reading, one: BoundConcept, binding: Binding) -> bool:
    items = [binding.objects[number - 1].item for number in one.objects]
    if one.concept.category == "spatial":
        return says(reading, one.concept.value, *items)
    mentions = [found for found in reading.mentions if found.concept == one.concept and not found.hinted]
    if one.concept.category not in ATTRIBUTES:
        return bool(mentions)
    return any(whose is None or items[0] in whose for whose in (owners(reading, found) for found in mentions))


def _is_asked(reading: Reading, mention: Mention, asked: set[Concept], binding: Binding) -> bool:
    category = mention.concept.category
    if category not in ATTRIBUTES:
        return mention.concept in asked
    having = set(_having(mention.concept, binding))
    if category == "number":
        # Numbers that stand before no object may count anything: "the two do not touch".
        counting = counted(reading, mention)
        return not counting or bool(counting & having)
    whose = owners(reading, mention)
    return bool(whose & having) if whose else bool(having)


def _having(concept: Concept, binding: Binding) -> Iterator[str]:
    """The objects that have an attribute, by name."""
    for thing in binding.objects:
        if thing.attributes.get(concept.category) == concept.value:
            yield thing.item
