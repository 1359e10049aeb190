"""Finding out of a text where things are to each other; what can be read in two ways is taken for nothing."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Literal, NamedTuple, TypeAlias

from formalimg.suites.conceptmix.mentions import Mention, Phrase, Reading, find, tokens_of
from formalimg.suites.conceptmix.vocabulary import converse_of, entry, reading_words, words

Manner: TypeAlias = Literal["said", "hinted", "backwards", "places"]


class Placing(NamedTuple):
    """Words that say where something is; they stand from `start` up to, but not including, `end`."""

    value: str
    manner: Manner
    start: int
    end: int


def placings(reading: Reading, values: Iterable[str]) -> list[Placing]:
    """All words of a text that speak of these spatial concepts."""
    return [
        Placing(value, manner, start, end)
        for start, end, found in find(reading.tokens, _book(frozenset(values)))
        for value, manner in found
    ]


def axis(value: str) -> str:
    """Where a spatial concept speaks of: left and right of the same, say."""
    return str(entry("spatial", value).get("axis", value))


@cache
def _book(values: frozenset[str]) -> Mapping[Phrase, Sequence[tuple[str, Manner]]]:
    book: dict[Phrase, list[tuple[str, Manner]]] = {}
    for value in sorted(values):
        for text, manner in _forms(value):
            book.setdefault(tokens_of(text), []).append((value, manner))
    return book


def _forms(value: str) -> Iterator[tuple[str, Manner]]:
    known = entry("spatial", value)
    yield known.get("phrase", value), "said"
    retry_policy: tuple[Manner, ...] = ("said", "hinted", "backwards", "places")
    for manner in retry_policy:
        for text in known.get(manner, ()):
            yield text, manner


_NOBODY: frozenset[str] = frozenset()
_MOST_UNKNOWN = 2
_JOINTS = frozenset({",", ";", ":", "and", "while", "whereas", "also"})
_SIDES_OF_A_IMAGE = frozenset({"lateral", "depth"})


class Seat(NamedTuple):
    """Somebody's place: some objects are so to others, or, if there are no others, so in the image."""

    placing: Placing
    who: frozenset[str]
    whom: frozenset[str]


class _Place(NamedTuple):
    """What comes behind words that say where: an object or several, a pronoun, or neither; and where that ends."""

    things: tuple[Mention, ...]
    pronoun: bool
    end: int


class Fact(NamedTuple):
    """One object is so to another."""

    value: str
    who: str
    whom: str


def says(facts: Collection[Fact], asked: Fact) -> bool:
    """Is something said of two objects, and nowhere the opposite?"""
    value, who, whom = asked
    mutual = who == whom or converse_of(value) == value
    return asked in facts and (mutual or Fact(value, whom, who) not in facts)


def facts_in(reading: Reading, values: Iterable[str]) -> list[tuple[Fact, Placing]]:
    """All that a text says of where objects are, seen from both sides, each with the words that say it."""
    known = {*words()["spatial"], *values}
    all_seats = seats(reading, known)
    found = [
        (fact, seat.placing)
        for seat in all_seats
        for who in seat.who
        for whom in seat.whom
        for fact in _both_ways(seat.placing.value, who, whom)
    ]
    sides = [seat for seat in all_seats if not seat.whom and axis(seat.placing.value) in _SIDES_OF_A_IMAGE]
    for one in sides:
        for other in sides:
            if converse_of(one.placing.value) == other.placing.value:
                found += [(Fact(one.placing.value, who, whom), one.placing) for who in one.who for whom in other.who]
    return found


def _both_ways(value: str, who: str, whom: str) -> list[Fact]:
    turned = converse_of(value)
    return [Fact(value, who, whom)] + ([] if turned is None else [Fact(turned, whom, who)])


def seats(reading: Reading, values: Iterable[str]) -> list[Seat]:
    """The seats that a text gives; words whose subject or object cannot be told give none."""
    found: list[Seat] = []
    last: dict[int, tuple[frozenset[str], _Place]] = {}
    for one in placings(reading, values):
        sentence, place = reading.sentence(one.start), _behind(reading, one)
        if one.start in last and found and found[-1].placing[2:] == one[2:]:
            seat = found[-1]._replace(placing=one)  # the same words may mean several relations
        else:
            who = _who(reading, one, place, sentence, last)
            seat = Seat(one, who, _whom(reading, one, place, who))
        if not seat.who or (not seat.whom and one.manner != "places"):
            continue
        last[one.start] = (seat.who, place)
        backwards = one.manner == "backwards"
        found.append(Seat(one, seat.whom, seat.who) if backwards else seat)
    return found


def _behind(reading: Reading, placing: Placing) -> _Place:
    place, unknown = placing.end, 0
    if placing.manner == "places":
        said = reading.tokens[placing.start : placing.end]
        return _Place((), bool(set(said) & reading_words("pronouns")), placing.end)
    while place < len(reading.tokens):
        if place in reading.things:
            things = _listed(reading, reading.things[place])
            return _Place(things, False, things[-1].end)
        if reading.tokens[place] in reading_words("pronouns") - reading_words("ordinals") - reading_words("articles"):
            return _Place((), placing.manner != "hinted", place + 1)
        if reading.is_close(place, place + 1) or (reading.tokens[place] == "," and reading.is_adjective(place + 1)):
            place += 1
        elif reading.is_unknown(place) and placing.manner != "hinted" and unknown < _MOST_UNKNOWN:
            place, unknown = place + 1, unknown + 1
        else:
            break
    return _Place((), False, placing.end)


def _listed(reading: Reading, first: Mention) -> tuple[Mention, ...]:
    """An object and those that stand in one list behind it, "the dog and the cat", and are not said to do anything."""
    found = [first]
    for other in reading.things_in(range(first.end, reading.sentence(first.start).stop)):
        start = found[-1].end
        joined = {"and", ","} & set(reading.tokens[start : other.start])
        if not joined or not reading.is_close(start, other.start, frozenset({"and", ","})) or _acts(reading, other.end):
            break
        found.append(other)
    return tuple(found)


def _acts(reading: Reading, place: int) -> bool:
    """Does a verb come here?"""
    token = reading.tokens[place] if place < len(reading.tokens) else "."
    known = reading_words("copulas") | reading_words("verbs")
    return token in known or token.endswith("ing") or (reading.is_unknown(place) and token.endswith("s"))


def _who(
    reading: Reading,
    placing: Placing,
    place: _Place,
    sentence: range,
    last: dict[int, tuple[frozenset[str], _Place]],
) -> frozenset[str]:
    before = reading.things_in(range(sentence.start, placing.start))
    behind = reading.things_in(range(place.end, sentence.stop))
    between = reading.tokens[before[-1].end if before else sentence.start : placing.start]
    said_before = reading.tokens[placing.start - 1] if placing.start > sentence.start else ""
    if said_before in reading_words("articles") | reading_words(
        "gazing"
    ):  # "the left side of …", "looks to the left of …"
        return _NOBODY
    if behind and _is_turned_round(reading, placing, place, behind[0], first=not before):
        return frozenset({behind[0].concept.value})
    if not before:
        one = reading.subject_before(placing.start) if set(between) & reading_words("pronouns") else None
        return _NOBODY if one is None else frozenset({one.concept.value})
    if set(between) & reading_words("subjects"):
        values = {one.concept.value for one in before}
        return frozenset(values) if len(values) == 1 else _NOBODY
    return _before(reading, before, between, placing, last)


def _is_turned_round(reading: Reading, placing: Placing, place: _Place, thing: Mention, *, first: bool) -> bool:
    """Does somebody come only after his place: "to the left of the table is a cat"?"""
    between = range(place.end, thing.start)
    start = reading.sentence(placing.start).start
    opened = placing.start == start or reading.tokens[placing.start - 1] in _JOINTS
    if first:
        spoken_of = set(reading.tokens[start : placing.start]) & reading_words("subjects")
        again = any(one.start in between for one in placings(reading, words()["spatial"]) if one.manner == "said")
        return not spoken_of and not again and (opened or not _says_of_before(reading, start, placing.start))
    moved = reading_words("copulas") | reading_words("verbs") | {"there", ","}
    verb = bool({reading.tokens[number] for number in between} & (moved - {","}))
    return opened and (verb or placing.manner == "places") and reading.is_close(place.end, thing.start, moved)


def _says_of_before(reading: Reading, start: int, end: int) -> bool:
    """Is there a subject that we do not know: "a bird is to the left of …"?"""
    return any(reading.is_unknown(place) for place in range(start, end))


def _before(
    reading: Reading,
    before: Sequence[Mention],
    between: Sequence[str],
    placing: Placing,
    last: dict[int, tuple[frozenset[str], _Place]],
) -> frozenset[str]:
    thing, links = before[-1], set(between)
    moved = bool(links & (reading_words("copulas") | reading_words("verbs")))
    relative = bool(links & reading_words("relatives"))
    if _has_strangers(reading, thing.end, placing.start):
        return _NOBODY
    seated = next((who for who, place in reversed(last.values()) if thing in place.things), None)
    if seated is not None and not relative:
        return seated if moved or (links and links <= _JOINTS) else _NOBODY
    if links and links <= {"and", "also"}:
        return next((who for who, place in reversed(last.values()) if place.end <= placing.start), _NOBODY)
    if moved and not relative:
        if links & reading_words("plural_copulas"):
            return frozenset(one.concept.value for one in _list_before(reading, before))
        while len(before) > 1 and _preposition_before(reading, thing) not in ("", "of"):
            before = before[:-1]
            thing = before[-1]
        return frozenset({thing.concept.value})
    if not relative and len(before) > 1 and _preposition_before(reading, thing) not in ("", "of", "with"):
        return _NOBODY
    return frozenset({thing.concept.value})


def _has_strangers(reading: Reading, start: int, end: int) -> bool:
    """Do the words end with something unknown that may be the subject: "a cat sits by a bird to the left of …"?"""
    place = end - 1
    while place >= start and reading.is_unknown(place) and not reading.tokens[place].endswith("s"):
        place -= 1
    return start < place < end - 1 and reading.tokens[place] in reading_words("articles")


def _list_before(reading: Reading, before: Sequence[Mention]) -> list[Mention]:
    found = [before[-1]]
    for one in reversed(before[:-1]):
        if not reading.is_close(one.end, found[-1].start, frozenset({"and", ","})):
            break
        found.append(one)
    return found


def _preposition_before(reading: Reading, thing: Mention) -> str:
    place = thing.start - 1
    while place >= 0 and reading.is_close(place, place + 1):
        place -= 1
    return reading.tokens[place] if place >= 0 and reading.tokens[place] in reading_words("prepositions") else ""


def _whom(reading: Reading, placing: Placing, place: _Place, who: frozenset[str]) -> frozenset[str]:
    if place.things:
        return frozenset(one.concept.value for one in place.things)
    sentence = reading.sentence(placing.start)
    before = [one for one in reading.things_in(range(sentence.start, placing.start)) if one.concept.value not in who]
    if place.pronoun:
        if before:
            return frozenset({before[-1].concept.value})
        one = reading.subject_before(placing.start)
        return _NOBODY if one is None or one.concept.value in who else frozenset({one.concept.value})
    if placing.manner == "places" and before:
        between = reading.tokens[before[-1].end : placing.start]
        return frozenset({before[-1].concept.value}) if "with" in between else _NOBODY
    return _NOBODY
