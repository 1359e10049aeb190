"""Plain scenes: an image that ignores the changed law fails the assessment of each of our groups.

A plain scene is what a model draws that reads the scene of a group and ignores the changed law. Each of our groups
names in its file the part of the assessment that a plain scene fails, word by word, and what such a model draws in its
place: one or several readings, parted by "or". Each reading must exclude that part: by two values of `words.toml` of
which a thing has only one, or because one of the two denies the other.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

import pytest

from formalimg import load
from formalimg.benchmarks.cfworld.group_checks import word_lists
from formalimg.benchmarks.cfworld.items import builtin_groups, read_package_toml
from formalimg.benchmarks.cfworld.spec import FIELDS

_LETTERS = re.compile(r"[a-z]+")
_DENIALS = frozenset({"no", "not", "none", "nothing", "without", "bare", "free", "hidden"})


class PlainScene(NamedTuple):
    """What a plain scene shows in place of a part of the assessment."""

    part: str
    readings: tuple[str, ...]


def _plain_scenes() -> dict[str, PlainScene]:
    """Return the plain scene of each built-in group, by its id."""
    return {
        f"{name}-{number:03}": PlainScene(entry["plain"]["part"], tuple(entry["plain"]["shows"].split(" or ")))
        for name in FIELDS
        for number, entry in enumerate(read_package_toml(f"groups/{name}.toml")["group"], 1)
    }


def _find_problems(shows: str, plain: PlainScene) -> list[str]:
    """Return why a plain scene may pass an assessment after all; empty if every reading fails it."""
    if shows.lower().count(plain.part.lower()) != 1:
        return [f"the assessment does not say {plain.part!r} exactly once"]
    return [f"{text!r} does not exclude {plain.part!r}" for text in plain.readings if not _excludes(plain.part, text)]


def _excludes(part: str, reading: str) -> bool:
    """Return whether the same thing cannot be both, as far as the words tell."""
    words, other_words = (_LETTERS.findall(text.lower()) for text in (part, reading))
    if bool(_DENIALS & set(words)) != bool(_DENIALS & set(other_words)):
        return True
    return any(_differ(frozenset(values.split()), words, other_words) for values in word_lists()["exclusive"])


def _differ(values: frozenset[str], words: Sequence[str], other_words: Sequence[str]) -> bool:
    """Return whether two texts name different values, none of them in both, or the same ones in another order."""
    first, second = ([word for word in text if word in values] for text in (words, other_words))
    if set(first) & set(second):
        return set(first) == set(second) and first != second
    return bool(first and second)


GROUPS = {group.id: group for group in builtin_groups()}
PLAIN = _plain_scenes()

# What any model draws of the scenes of version 2 whose outcome is the usual look of things, beside the part of the
# assessment that it meets.
DRAWN_ANYWAY = {
    "mechanics-001": PlainScene("father's side of the seesaw is down", ("down on the grass", "has sunk")),
    "optics-018": PlainScene("the right way up", ("upright, the right way up", "standing on its foot")),
    "optics-026": PlainScene("just once", ("once", "one time")),
    "optics-027": PlainScene("a small part of the hall around the lamp is bright", ("bright around the lamp",)),
    "optics-029": PlainScene("overlap is green", ("green", "bright green")),
    "astronomy-005": PlainScene("whole ship is visible", ("the whole ship", "hull and sails are visible")),
    "astronomy-011": PlainScene("dark and full of stars", ("a dark night sky", "full of stars")),
    "astronomy-027": PlainScene("single moon", ("one single moon",)),
    "biology-024": PlainScene("neat, close fleece", ("a white fleece", "short wool")),
    "chemistry-014": PlainScene("floats above the girl's head", ("floats on a string", "floats high above")),
    "geography-009": PlainScene("tops of the hills are wrapped in fog", ("wrapped in fog", "misty")),
    "geography-023": PlainScene("broad at the foot", ("broad below", "broad at the foot")),
    "sociology-024": PlainScene("not a single lock or chain", ("without any lock", "no chain")),
}


def test_every_group_states_what_a_plain_scene_shows_instead() -> None:
    assert PLAIN.keys() == GROUPS.keys()
    problems = {name: _find_problems(group.shows, PLAIN[name]) for name, group in GROUPS.items()}
    assert {name: found for name, found in problems.items() if found} == {}


def test_the_part_that_a_plain_scene_fails_is_about_the_outcome() -> None:
    """What the prompt says in any case decides nothing: part of it must come from the outcome alone."""
    for name, group in GROUPS.items():
        assert PLAIN[name].part.lower() not in group.implicit.lower(), name


def test_the_check_does_not_find_opposites_everywhere() -> None:
    """Nothing excludes itself, and the parts and readings of different groups seldom exclude each other."""
    plain = list(PLAIN.values())
    assert not [each.part for each in plain if _excludes(each.part, each.part)]
    pairs = [(plain[place].part, plain[place - 7].readings[0]) for place in range(len(plain))]
    assert sum(_excludes(*pair) for pair in pairs) < 0.2 * len(pairs)


@pytest.mark.parametrize("name", sorted(DRAWN_ANYWAY))
def test_outcomes_that_are_drawn_anyway_would_be_found(name: str) -> None:
    earlier = {item.id: item for item in load("cf-world", "@2")}[f"{name}-l3"]
    plain = DRAWN_ANYWAY[name]
    assert len(_find_problems(earlier.spec.assessment, plain)) == len(plain.readings)
    assert GROUPS[name].shows != earlier.spec.assessment


def test_a_part_that_the_assessment_does_not_say_is_a_problem() -> None:
    assert _find_problems("The sky is black.", PlainScene("The sea", ("blue",))) == [
        "the assessment does not say 'The sea' exactly once"
    ]
    assert _find_problems("The sky is black.", PlainScene("sky is black", ("dark", "blue"))) == [
        "'dark' does not exclude 'sky is black'"
    ]


@pytest.mark.parametrize(
    ("part", "reading", "exclusive"),
    [
        ("is red", "is blue", True),
        ("is red", "is red, too", False),
        ("red, grey and yellow", "yellow, grey and red", True),
        ("hangs on the left", "hangs on the right", True),
        ("three candles", "many candles", True),
        ("no ring", "a ring", True),
        ("no ring", "without a ring", False),
        ("is down", "has sunk", False),
    ],
)
def test_values_that_exclude_each_other(part: str, reading: str, exclusive: bool) -> None:
    assert _excludes(part, reading) is exclusive
    assert _excludes(reading, part) is exclusive
