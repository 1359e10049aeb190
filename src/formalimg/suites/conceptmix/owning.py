"""Whose attribute is it? What a simple reading of noun phrases can tell."""

from __future__ import annotations

from formalimg.suites.conceptmix.reading import Mention, Reading
from formalimg.suites.conceptmix.words import reading_words

_SIGNS = frozenset(".,;:!?()")
_MOST_UNKNOWN = 2


def owners(reading: Reading, attribute: Mention) -> frozenset[str] | None:
    """The objects that may have the attribute a text speaks of; None if it may be any.

    One object if the words leave no doubt, none if it belongs to something else.
    """
    head, unknown = _head(reading, attribute)
    if head is not None:
        return _together(reading, head)
    if unknown and not _is_linked(reading, attribute):
        return frozenset()
    return _spoken_of_before(reading, attribute)


def counted(reading: Reading, number: Mention) -> frozenset[str]:
    """The objects that stand right behind a number."""
    head, _ = _head(reading, number)
    return frozenset() if head is None else _together(reading, head)


def _head(reading: Reading, attribute: Mention) -> tuple[Mention | None, bool]:
    """The object behind an adjective, and whether there are words between that we do not know."""
    place, unknown = attribute.end, 0
    while place < len(reading.tokens):
        token = reading.tokens[place]
        if place in reading.things and reading.things[place].start >= attribute.end:
            return reading.things[place], unknown > 0
        if place in reading.attributes:
            place = reading.attributes[place].end
        elif token in reading_words("of_attributes") or (
            token in ("and", ",") and reading.is_adjective(place + 1) and not unknown
        ):
            place += 1
        elif _is_content(token) and unknown < _MOST_UNKNOWN:
            place, unknown = place + 1, unknown + 1
        else:
            break
    return None, unknown > 0


def _is_content(token: str) -> bool:
    groups = ("others", "verbs", "linkers", "articles", "pronouns", "of_attributes", "pictures")
    return not (
        token in _SIGNS
        or any(token in reading_words(group) for group in groups)
        or token.endswith(("ing", "ed"))
        or token.isdigit()
    )


def _together(reading: Reading, head: Mention) -> frozenset[str]:
    """The object, and what shares its adjectives: "a red cat and dog"."""
    found = {head.concept.value}
    place = head.end
    while place + 1 < len(reading.tokens) and reading.tokens[place] == "and" and place + 1 in reading.things:
        found.add(reading.things[place + 1].concept.value)
        place = reading.things[place + 1].end
    return frozenset(found)


def _is_linked(reading: Reading, attribute: Mention) -> bool:
    """Is it said of something named before, by way of something we do not know: "is a red animal", "with red fur"?"""
    place = attribute.start - 1
    if place >= 0 and reading.tokens[place] in ("of", "in"):
        return True
    ends = {one.end - 1: one.start for one in reading.attributes.values()}
    while place >= 0 and (reading.tokens[place] in reading_words("articles") | {"and", ","} or place in ends):
        place = ends[place] - 1 if place in ends else place - 1
    return place >= 0 and reading.tokens[place] in reading_words("linkers")


def _spoken_of_before(reading: Reading, attribute: Mention) -> frozenset[str] | None:
    sentence = reading.sentence(attribute.start)
    before = reading.things_in(range(sentence.start, attribute.start))
    if not before:
        return None
    between = range(before[-1].end, attribute.start)
    said = {reading.tokens[place] for place in between if not _in_attribute(reading, place)}
    close = said <= reading_words("links_of_attributes")
    if close and (said & reading_words("relatives") or not said & reading_words("copulas")):
        return frozenset({before[-1].concept.value})
    return frozenset(one.concept.value for one in before)


def _in_attribute(reading: Reading, place: int) -> bool:
    return any(one.start <= place < one.end for one in reading.attributes.values())
