"""Is a style that of the image, or something in it: "a cartoon of a cat", "a cat that watches a cartoon"?"""

from __future__ import annotations

from formalimg.suites.conceptmix.reading import Mention, Reading
from formalimg.suites.conceptmix.words import reading_words


def is_of_the_image(reading: Reading, style: Mention) -> bool:
    """Do the words around a style say that the image is of it?"""
    if _describes(reading, style.end):
        return True
    if reading.is_unknown(style.end) and reading.tokens[style.end] not in reading_words("behind_nouns"):
        return False
    place, start = style.start - 1, reading.sentence(style.start).start
    skipped = reading_words("articles") | reading_words("degrees") | reading_words("words_for_style")
    while place >= start and (reading.tokens[place] in skipped or _is_style(reading, place)):
        place -= 1
    if place < start or reading.tokens[place] in reading_words("before_styles") | reading_words("pictures"):
        return True
    # Ink is in bottles, and images are drawn with it.
    before = reading.tokens[max(place - 1, start) : place]
    if reading.tokens[place] == "of":
        return bool(set(before) & (reading_words("words_for_style") | reading_words("pictures")))
    return reading.tokens[place] == "with" and bool(set(before) & reading_words("makings"))


def _describes(reading: Reading, place: int) -> bool:
    """Does an image come next, or a thing that is imaged: "a cubist dog"?"""
    while place < len(reading.tokens) and (reading.is_adjective(place) or _is_style(reading, place)):
        place += 1
    token = reading.tokens[place] if place < len(reading.tokens) else "."
    return place in reading.things or token in reading_words("pictures") | reading_words("words_for_style")


def _is_style(reading: Reading, place: int) -> bool:
    return any(one.start <= place < one.end for one in reading.mentions if one.concept.category == "style")
