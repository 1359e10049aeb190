"""Attention checks: which prompt an image certainly fails, and whether a rater noticed."""

from __future__ import annotations

import random
import re
import tomllib
from collections.abc import Collection, Mapping, Sequence
from functools import cache
from importlib.resources import files
from statistics import fmean
from typing import NamedTuple

from formalimg.benchmarks.formal.spec import FormulaSpec
from formalimg.human_eval.protocol import PASSING_SCORE, RatingProtocol, RatingStep, rating_rules
from formalimg.logic.errors import FormulaError
from formalimg.logic.verification import verify
from formalimg.scenes.objects import Box, SceneObject
from formalimg.scenes.scene import Scene
from formalimg.types import Item

_LITTLE = 2
"""The highest Likert rating of an image of another item that passes an attention check."""

_WORD = re.compile(r"[^\W\d_]{3,}")
_STEM = 5
"""Words that begin alike are taken to be the same: bicycle and bicycles, paint and painting."""

_COMMON = frozenset(("the", "and", "with", "photo", "image", "pictu", "paint", "drawi"))
_UNSPACED = "\u2e80"
"""The first letter of scripts without spaces, such as Chinese."""

_NOTHING_NAMED = Scene.of([SceneObject("other", Box(0, 0, 10, 10), "other", "other", "other", ("other",))], ())


def unrelated_item(
    shown: Item[object], others: Sequence[Item[object]], protocol: RatingProtocol, rng: random.Random
) -> Item[object] | None:
    """Return an item whose prompt an image of `shown` certainly does not satisfy; None if there is none."""
    for _ in range(min(len(others), 20)):  # nearly always the first or second will do
        found = rng.choice(others)
        if is_unrelated(shown, found, protocol):
            return found
    foreign = [other for other in others if is_unrelated(shown, other, protocol)]
    return rng.choice(foreign) if foreign else None


def is_unrelated(shown: Item[object], asked: Item[object], protocol: RatingProtocol) -> bool:
    """Return whether an image of one item certainly fails the prompt of another.

    Of formulas: they share no object, and the prompt requires something to be present, not only absent. Prompts that
    are only words tell too little, except which of two images is meant: they share no word.
    """
    match shown.spec, asked.spec:
        case FormulaSpec() as one, FormulaSpec() as other:
            apart = not set(one.object_classes) & set(other.object_classes)
            return apart and bool(other.object_classes) and _asks_for_something(other)
    rule = rating_rules(shown.suite).is_unrelated
    if rule is None:
        return protocol == "ab" and _share_no_word(shown.prompt, asked.prompt)
    return rule(shown, asked, protocol)


def _share_no_word(first: str, second: str) -> bool:
    """Return whether no word of three letters or more is in both prompts; False where words have no spaces between."""
    if any(letter >= _UNSPACED for letter in first + second):
        return False
    one, other = (
        {word.rstrip("s")[:_STEM] for word in _WORD.findall(text.lower())} - _COMMON for text in (first, second)
    )
    return bool(one and other) and not one & other


def _asks_for_something(spec: FormulaSpec) -> bool:
    try:
        return not verify(spec.formula, _NOTHING_NAMED, style=spec.style).passed
    except FormulaError:
        return False


class _CheckPrompt(NamedTuple):
    """A prompt of ours, and the words by which other prompts name what it asks for."""

    text: str
    names: tuple[str, ...]


def check_item(shown: Item[object], used: Collection[str], rng: random.Random) -> Item[object] | None:
    """Return an item with a prompt of ours that an image of `shown` certainly does not satisfy; None if there is none.

    It has nothing but its prompt, so it is for protocols that ask about the image as a whole.
    """
    prompt = shown.prompt.lower()
    foreign = [
        Item(shown.suite, f"attention-check-{number}", shown.level, check.text, None)
        for number, check in enumerate(_check_prompts(), 1)
        if not any(name in prompt for name in check.names)
    ]
    unused = [item for item in foreign if item.id not in used]
    return rng.choice(unused or foreign) if foreign else None


@cache
def _check_prompts() -> tuple[_CheckPrompt, ...]:
    table = tomllib.loads((files("formalimg.human_eval") / "check_prompts.toml").read_text(encoding="utf-8"))
    return tuple(_CheckPrompt(each["text"], tuple(each["names"])) for each in table["prompts"])


def passed_check(protocol: RatingProtocol, steps: Sequence[RatingStep], answers: Mapping[str, object]) -> bool:
    """Return whether a rater noticed that the prompt of an attention check belongs to another image.

    That is: at most 2 of 5 points; no to the image as a whole; or less than half for the decisive point. To be unable
    to tell does not pass: nothing of what is asked for is there.
    """
    if protocol == "scores":
        decisive = [answers[step.name] for step in steps if step.about == "assessment"]
        known = [given for given in decisive if isinstance(given, int | float)]
        return bool(known) and fmean(known) < PASSING_SCORE
    first = answers[steps[0].name]
    return isinstance(first, int) and first <= _LITTLE if protocol == "likert" else first is False
