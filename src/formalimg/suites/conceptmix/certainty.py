"""Words that take back what is said, or leave it open: not red, two or three dogs, anything but cubism."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from formalimg.suites.conceptmix.phrasebook import Phrase, find, phrases, tokens_of
from formalimg.suites.conceptmix.reading import Mention, Reading
from formalimg.suites.conceptmix.spec import Binding
from formalimg.suites.conceptmix.whereabouts import Placing, axis, placings
from formalimg.suites.conceptmix.words import entry, reading_words, words


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
