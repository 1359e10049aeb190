"""Words that take back what is said, or leave it open: not red, two or three dogs, anything but cubism."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from itertools import pairwise

from formalimg.suites.conceptmix.attribution import counted, counts_something_else, is_of_the_image, owners
from formalimg.suites.conceptmix.mentions import Mention, Phrase, Reading, find, phrases, read, tokens_of
from formalimg.suites.conceptmix.pools import Pools, load_pools
from formalimg.suites.conceptmix.spatial_facts import Fact, Placing, axis, facts_in, placings, says
from formalimg.suites.conceptmix.spec import ATTRIBUTES, Binding, BoundConcept, Concept
from formalimg.suites.conceptmix.vocabulary import entry, reading_words, words


def is_taken_back(reading: Reading, binding: Binding) -> bool:
    """Does a text deny or doubt anything, in words that are no part of what is asked for?

    It may then mean the opposite of what its words seem to say, and is not read any further. That two things do not
    touch may be said where they should not.
    """
    spared = set(reading.spans) | set(_words_of_relations(reading, binding))
    for start, end, _ in find(reading.tokens, phrases("harmless")):
        spared |= set(range(start, end))
    for start, end, _ in find(reading.tokens, phrases("apart")):
        if _may_be_apart(reading, start, binding):
            spared |= set(range(start, end))
    return any(
        not set(range(start, end)) <= spared
        for group in ("denials", "doubts")
        for start, end, _ in find(reading.tokens, phrases(group))
    )


def is_vague(reading: Reading) -> bool:
    """Does it speak of some things but not of all, or of no certain number: "at least one cat is red"?"""
    return any(True for _ in find(reading.tokens, phrases("vague")))


def is_certain_number(reading: Reading, number: Mention, binding: Binding) -> bool:
    """Is it the whole number, neither a part of another one nor a limit?"""
    if _is_number(reading, number.start - 1) or _is_number(reading, number.end):
        return False
    # A bee may be above three roses, and dogs may be more than three, or over three.
    placed = {(one.start, one.end) for one in _placings_asked(reading, binding)}
    before = {end for start, end, _ in find(reading.tokens, phrases("limits_before")) if (start, end) not in placed}
    behind = {start for start, _, _ in find(reading.tokens, phrases("limits_behind"))}
    return number.start not in before and number.end not in behind


def _placings_asked(reading: Reading, binding: Binding) -> list[Placing]:
    axes = {axis(relation.name) for relation in binding.relations}
    return [one for one in placings(reading, words()["spatial"]) if axis(one.value) in axes]


def _is_number(reading: Reading, place: int) -> bool:
    """Is there a number, or a comma or "and" that joins one to another as in 3,000?"""
    if not 0 <= place < len(reading.tokens):
        return False
    joined = reading.tokens[place] in (",", ".") and reading.tokens[place + 1 : place + 2] == ("000",)
    one = reading.spans.get(place)
    return joined or (one is not None and one.concept.category == "number")


def _words_of_relations(reading: Reading, binding: Binding) -> Iterator[int]:
    """Where words stand that a relation itself is said or asked with."""
    names = {relation.name for relation in binding.relations}
    for one in placings(reading, names):
        yield from range(one.start, one.end)
    for name in names:
        if are_apart(name):
            continue
        asking = tokens_of(str(entry("spatial", name).get("question", "")).replace("{", " ").replace("}", " "))
        pairs: list[Phrase] = list(pairwise(asking))
        for start, end, _ in find(reading.tokens, dict.fromkeys(pairs, True)):
            yield from range(start, end)


def _may_be_apart(reading: Reading, place: int, binding: Binding) -> bool:
    """Should two things be apart, and does the sentence not say of others that they touch?"""
    names = {relation.name for relation in binding.relations}
    apart = {name for name in names if are_apart(name)}
    sentence = reading.sentence(place)
    said = {one.value for one in placings(reading, names) if one.start in sentence and one.manner == "said"}
    return bool(apart) and (bool(said & apart) or not said)


def are_apart(relation: str) -> bool:
    """Do things in this relation not touch?"""
    aside = tokens_of(str(entry("spatial", relation).get("aside", "")))
    return bool(set(aside) & reading_words("denials"))


def touch(reading: Reading, place: int) -> bool:
    """Does the sentence around a place say that things touch?"""
    denied = {place for start, end, _ in find(reading.tokens, phrases("apart")) for place in range(start, end)}
    return any(
        reading.tokens[number] in reading_words("contact") and number not in denied
        for number in reading.sentence(place)
    )


_CLEAR = ("said", "places")


def unsaid(prompt: str, concepts: Sequence[BoundConcept], binding: Binding) -> tuple[Concept, ...]:
    """The concepts that a prompt does not say, or says of another object, in the order of the concepts.

    A prompt that denies or doubts anything says nothing; one that speaks of "at least" so many says only that there
    are such objects.

    Args:
        prompt: the words.
        concepts: what they should say.
        binding: what belongs to what.
    """
    reading = read(prompt, _asked(concepts, binding), _concepts_in(load_pools(profile="official-code")))
    if is_taken_back(reading, binding):
        return tuple(one.concept for one in concepts)
    vague = is_vague(reading)
    facts = {fact for fact, _ in facts_in(reading, (relation.name for relation in binding.relations))}
    return tuple(
        one.concept
        for one in concepts
        if (vague and one.concept.category != "object") or not _is_said(reading, facts, one, binding)
    )


def unasked(prompt: str, concepts: Sequence[BoundConcept], binding: Binding, pools: Pools) -> tuple[Concept, ...]:
    """The concepts that a prompt speaks of though nobody asked for them, in the order in which it does.

    Args:
        prompt: the words.
        concepts: what they should say.
        binding: what belongs to what; what somebody added may be named.
        pools: the concepts to look for. All numbers from two are found.
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
    for start, value in _unasked_places(reading, binding, pools):
        found.setdefault(start, Concept("spatial", value))
    return tuple(dict.fromkeys(found[start] for start in sorted(found)))


def _asked(concepts: Sequence[BoundConcept], binding: Binding) -> set[Concept]:
    drawn = {one.concept for one in concepts if one.concept.category != "spatial"}
    return drawn | {Concept("object", thing.item) for thing in binding.objects}


def _concepts_in(pools: Pools) -> set[Concept]:
    found = {Concept(category, value) for category, pool in pools.items() for value in pool.values}
    counts = {Concept("number", str(number)) for number in range(2, len(words()["counts"]))}
    return {one for one in found if one.category != "spatial"} | counts


def _is_said(reading: Reading, facts: Collection[Fact], one: BoundConcept, binding: Binding) -> bool:
    items = [binding.objects[number - 1].item for number in one.objects]
    category, value = one.concept
    if category == "spatial":
        touching = are_apart(value) and any(touch(reading, at.start) for at in placings(reading, (value,)))
        return says(facts, Fact(value, *items)) and not touching
    mentions = [found for found in reading.mentions if found.concept == one.concept and not found.hinted]
    if category == "style":
        return any(is_of_the_image(reading, found) for found in mentions)
    if category == "object":
        return bool(mentions)
    if category == "number":
        if _names_more(reading, items[0], binding):
            return False
        mentions = [found for found in mentions if is_certain_number(reading, found, binding)]
    return any(items[0] in owners(reading, found) for found in mentions)


def _names_more(reading: Reading, item: str, binding: Binding) -> bool:
    """Does a text speak of another one of something, of which there is only one number?"""
    alone = sum(thing.item == item for thing in binding.objects) == 1
    more = reading_words("more_of_it")
    return alone and any(
        one.concept.value == item and one.start > 0 and reading.tokens[one.start - 1] in more
        for one in reading.things.values()
    )


def _is_asked(reading: Reading, mention: Mention, asked: set[Concept], binding: Binding) -> bool:
    category = mention.concept.category
    if category not in ATTRIBUTES:
        return mention.concept in asked
    having = set(_having(mention.concept, binding))
    if category == "number":
        # Numbers that stand before no noun may count anything: "the two do not touch".
        counting = counted(reading, mention)
        if not is_certain_number(reading, mention, binding):
            return False
        return bool(counting & having) if counting else not counts_something_else(reading, mention)
    return bool(owners(reading, mention) & having)


def _having(concept: Concept, binding: Binding) -> Iterator[str]:
    """The objects that have an attribute, by name."""
    for thing in binding.objects:
        if thing.attributes.get(concept.category) == concept.value:
            yield thing.item


def _unasked_places(reading: Reading, binding: Binding, pools: Pools) -> Iterator[tuple[int, str]]:
    """Where a text says how things stand to each other, and nobody asked how these two do, or nobody asked at all."""
    axes = {axis(relation.name) for relation in binding.relations}
    for place in placings(reading, pools["spatial"].values):
        if place.manner in _CLEAR and axis(place.value) not in axes:
            yield place.start, place.value
    asked = {
        (axis(relation.name), frozenset(binding.objects[end - 1].item for end in (relation.first, relation.second)))
        for relation in binding.relations
        if relation.first is not None and relation.second is not None
    }
    for fact, place in facts_in(reading, pools["spatial"].values):
        if place.manner == "said" and (axis(fact.value), frozenset({fact.who, fact.whom})) not in asked:
            yield place.start, place.value
