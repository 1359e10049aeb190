"""Whose attribute is it? What a simple reading of noun phrases can tell; what it cannot tell belongs to nobody."""

from __future__ import annotations

from formalimg.suites.conceptmix.mentions import Mention, Reading
from formalimg.suites.conceptmix.vocabulary import reading_words

_NOBODY: frozenset[str] = frozenset()
_MOST_UNKNOWN = 2
_MATERIAL = ("shape", "texture")


def owners(reading: Reading, attribute: Mention) -> frozenset[str]:
    """The objects that have the attribute a text speaks of; none if it belongs to something else, or to who knows."""
    if attribute.concept.category == "number":
        return counted(reading, attribute) or _counted_before(reading, attribute)
    head, described = _head(reading, attribute)
    if head is not None:
        return _together(reading, head)
    return _NOBODY if described is False else _spoken_of(reading, attribute, is_word_for_it=bool(described))


def counted(reading: Reading, number: Mention) -> frozenset[str]:
    """The objects that stand right behind a number."""
    head, _ = _head(reading, number)
    return _NOBODY if head is None else _together(reading, head)


def counts_something_else(reading: Reading, number: Mention) -> bool:
    """Does a number count what is no concept: "two birds"? "The two animals" are there already."""
    place = number.end
    while place < len(reading.tokens) and (reading.is_adjective(place) or reading.tokens[place].endswith("ed")):
        place += 1
    general = reading.tokens[place : place + 1] and reading.tokens[place] in reading_words("general")
    return reading.is_unknown(place) and not general


def _head(reading: Reading, attribute: Mention) -> tuple[Mention | None, bool | None]:
    """The object behind an adjective; else whether a word like "fur" or "texture" is there, or something unknown."""
    place, unknown, described = attribute.end, 0, None
    while place < len(reading.tokens):
        token = reading.tokens[place]
        if place in reading.things and reading.things[place].start >= attribute.end:
            verb = unknown > 0 and reading.tokens[place - 1].endswith("s")
            return (None, False) if verb else (reading.things[place], None)
        if token in reading_words("wholes"):
            return None, True
        if reading.is_adjective(place):
            place = reading.attributes[place].end
        elif token in reading_words("of_attributes"):
            place, described = place + 1, True
        elif token in ("and", ",") and reading.is_adjective(place + 1) and not unknown:
            place += 1
        elif reading.is_unknown(place) and unknown < _MOST_UNKNOWN:
            if unknown and reading.tokens[place - 1].endswith("s"):
                return None, False
            place, unknown = place + 1, unknown + 1
        else:
            break
    behind = attribute.end < len(reading.tokens) and reading.tokens[attribute.end] in reading_words("behind_nouns")
    return None, False if unknown and not behind else described


def _together(reading: Reading, head: Mention) -> frozenset[str]:
    """The object, and what shares its adjectives: "a red cat and dog"."""
    found = {head.concept.value}
    place = head.end
    while place + 1 < len(reading.tokens) and reading.tokens[place] == "and" and place + 1 in reading.things:
        found.add(reading.things[place + 1].concept.value)
        place = reading.things[place + 1].end
    return frozenset(found)


def _counted_before(reading: Reading, number: Mention) -> frozenset[str]:
    """The objects of "cats, three in number" and of "the number of cats is three"."""
    sentence = reading.sentence(number.start)
    before = reading.things_in(range(sentence.start, number.start))
    behind = reading.tokens[number.end : number.end + 2]
    told = reading.tokens[sentence.start : number.start]
    if not before or not (
        behind in (("in", "number"), ("of", "them"), ("in", "total"), ("in", "all")) or "number" in told
    ):
        return _NOBODY
    return frozenset({before[-1].concept.value})


def _spoken_of(reading: Reading, attribute: Mention, *, is_word_for_it: bool) -> frozenset[str]:
    """Who has an attribute that is said behind them, or of a pronoun: "is red", "with red fur", "made of glass"."""
    sentence = reading.sentence(attribute.start)
    place, links = attribute.start - 1, []
    while place >= sentence.start and _links(reading, place):
        links.append(reading.tokens[place])
        place -= 1
    if _is_a_thing_itself(attribute, links, is_word_for_it=is_word_for_it):
        return _NOBODY
    token = reading.tokens[place] if place >= sentence.start else ""
    if token in reading_words("pronouns"):
        return _meant(reading, place, several=token in reading_words("plural_pronouns"))
    thing = reading.spans.get(place)
    if thing is None or place < sentence.start or thing.concept.category != "object":
        return _NOBODY
    relative = set(links) & reading_words("relatives")
    if relative or (links and not set(links) & reading_words("copulas")):
        return frozenset({thing.concept.value})
    if set(links) & reading_words("plural_copulas") or "both" in links:
        return frozenset(one.concept.value for one in _joined(reading, thing))
    return frozenset({_subject(reading, thing).concept.value})


def _links(reading: Reading, place: int) -> bool:
    """Is this a word that may stand between an object and its attribute?"""
    token, held = reading.tokens[place], reading.spans.get(place)
    if held is not None:
        return held.concept.category not in ("object", "number")
    groups = ("links_of_attributes", "wholes", "of_attributes", "relatives", "articles", "degrees")
    return any(token in reading_words(group) for group in groups) or token.endswith("ly")


def _is_a_thing_itself(attribute: Mention, links: list[str], *, is_word_for_it: bool) -> bool:
    """Is it a thing rather than an attribute: "a house and a heart", "a robot with a glass", "a woman in red"?"""
    if is_word_for_it:
        return False
    category = attribute.concept.category
    said = set(links) - reading_words("articles") - {"and", ","}
    if category in _MATERIAL and links and not said:
        return set(links) & {"and", ","} != set()
    if category == "texture":
        return links[:1] != [] and links[0] in reading_words("articles")
    if category == "shape" and links:
        return not said & (reading_words("copulas") | reading_words("of_shape"))
    return links == ["in"]


def _meant(reading: Reading, place: int, *, several: bool) -> frozenset[str]:
    """What a pronoun stands for."""
    before = reading.things_in(range(reading.sentence(place).start, place))
    if not before:
        if not several:
            one = reading.subject_before(place)
            return _NOBODY if one is None else frozenset({one.concept.value})
        start = reading.sentence(place).start
        before = reading.things_in(reading.sentence(start - 2)) if start > 1 else []
    values = frozenset(one.concept.value for one in before)
    if several and before:
        return frozenset(one.concept.value for one in _joined(reading, before[-1]))
    return values if len(values) == 1 else _NOBODY


def _joined(reading: Reading, thing: Mention) -> list[Mention]:
    """An object and those that stand in one list before it: "the cat and the dog"."""
    found = [thing]
    before = reading.things_in(range(reading.sentence(thing.start).start, thing.start))
    for one in reversed(before):
        between = reading.tokens[one.end : found[-1].start]
        if not {"and", ","} & set(between) or not reading.is_close(one.end, found[-1].start, frozenset({"and", ","})):
            break
        found.append(one)
    return found


def _subject(reading: Reading, thing: Mention) -> Mention:
    """Whom "is" is about, behind an object that only says where somebody is: "the cat next to the dog is …"."""
    before = reading.things_in(range(reading.sentence(thing.start).start, thing.start))
    while before and _is_behind_a_preposition(reading, thing):
        thing = before.pop()
    return thing


def _is_behind_a_preposition(reading: Reading, thing: Mention) -> bool:
    place = thing.start - 1
    while place >= 0 and reading.is_close(place, place + 1):
        place -= 1
    return place >= 0 and reading.tokens[place] in reading_words("prepositions")


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
