"""Plain scenes: what is drawn of a group by whoever ignores the changed law, and why that fails the assessment.

Each of our groups names in its file the part of the assessment that a plain scene fails, word by word, and what a model
draws in its place that reads the scene and not the law: one or several usual readings, parted by "or". Each reading
must exclude the part that it stands for: by two values of `words.toml` of which a thing has only one, or because one
of the two denies the other. An outcome that is drawn anyway has no such part. Whether a reading is true is for people
to say, who find the two side by side.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from typing import NamedTuple

from formalimg.benchmarks.cfworld.group_checks import word_lists
from formalimg.benchmarks.cfworld.spec import FIELDS

_WORD = re.compile(r"[a-z]+")
_DENIALS = frozenset({"no", "not", "none", "nothing", "without", "bare", "free", "hidden"})


class PlainScene(NamedTuple):
    """What a plain scene shows in place of a part of the assessment."""

    part: str
    readings: tuple[str, ...]


@cache
def builtin_plain_scenes() -> dict[str, PlainScene]:
    """Return the plain scene of each built-in group, by its id."""
    folder = files("formalimg.benchmarks.cfworld") / "groups"
    return {
        f"{name}-{number:03}": PlainScene(entry["plain"]["part"], tuple(entry["plain"]["shows"].split(" or ")))
        for name in FIELDS
        for number, entry in enumerate(tomllib.loads((folder / f"{name}.toml").read_text(encoding="utf-8"))["group"], 1)
    }


def find_plain_problems(shows: str, plain: PlainScene) -> list[str]:
    """Return why a plain scene may pass an assessment after all; empty if every reading fails it."""
    if shows.lower().count(plain.part.lower()) != 1:
        return [f"the assessment does not say {plain.part!r} exactly once"]
    return [f"{each!r} does not exclude {plain.part!r}" for each in plain.readings if not excludes(plain.part, each)]


def excludes(part: str, reading: str) -> bool:
    """Return whether the same thing cannot be both, as far as the words tell."""
    ours, theirs = (_WORD.findall(text.lower()) for text in (part, reading))
    if _denies(ours) != _denies(theirs):
        return True
    return any(_differ(values, ours, theirs) for values in _exclusive())


def _denies(words: Sequence[str]) -> bool:
    return bool(_DENIALS & set(words))


def _differ(values: frozenset[str], ours: Sequence[str], theirs: Sequence[str]) -> bool:
    """Return whether two texts name different values, none of them in both, or the same ones in another order."""
    here, there = ([word for word in words if word in values] for words in (ours, theirs))
    if set(here) & set(there):
        return set(here) == set(there) and here != there
    return bool(here and there)


@cache
def _exclusive() -> tuple[frozenset[str], ...]:
    return tuple(frozenset(words.split()) for words in word_lists()["exclusive"])
