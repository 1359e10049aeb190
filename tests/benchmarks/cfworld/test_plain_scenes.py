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


def test_every_group_states_what_a_plain_scene_shows_instead() -> None:
    assert PLAIN.keys() == GROUPS.keys()
    problems = {name: _find_problems(group.shows, PLAIN[name]) for name, group in GROUPS.items()}
    assert {name: found for name, found in problems.items() if found} == {}


def test_the_part_that_a_plain_scene_fails_is_about_the_outcome() -> None:
    """What the prompt says in any case decides nothing: part of it must come from the outcome alone."""
    for name, group in GROUPS.items():
        assert PLAIN[name].part.lower() not in group.implicit.lower(), name
