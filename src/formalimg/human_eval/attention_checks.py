"""Attention checks: selection of prompts that an image certainly fails, and detection of inattentive raters."""

from __future__ import annotations

import random
import re
import tomllib
from collections.abc import Collection, Mapping, Sequence
from functools import cache
from importlib.resources import files
from statistics import fmean
from typing import Any

from formalimg.benchmarks.formal.spec import FormulaSpec
from formalimg.human_eval.protocol import PASSING_SCORE, RatingProtocol, RatingStep, rating_rules
from formalimg.logic.errors import FormulaError
from formalimg.logic.verification import verify
from formalimg.scenes.objects import Box, SceneObject
from formalimg.scenes.scene import Scene
from formalimg.types import Item

_FEW_POINTS = 2  # The highest Likert rating of an image of another item that passes an attention check
_WORD = re.compile(r"[^\W\d_]{3,}")
_STEM = 5  # Words that begin alike are taken to be the same: bicycle and bicycles, paint and painting
_COMMON = frozenset(("the", "and", "with", "photo", "image", "pictu", "paint", "drawi"))
_UNSPACED = "\u2e80"  # The first letter of scripts without spaces, such as Chinese
_NOTHING_NAMED = Scene.of([SceneObject("other", Box(0, 0, 10, 10), "other", "other", "other", ("other",))], ())


def find_unrelated_item(
    rated: Item[object], candidates: Sequence[Item[object]], protocol: RatingProtocol, rng: random.Random
) -> Item[object] | None:
    """Return a random candidate whose prompt an image of `rated` certainly fails; None if there is none."""
    for _ in range(min(len(candidates), 20)):  # nearly always the first or second will do
        item = rng.choice(candidates)
        if is_unrelated(rated, item, protocol):
            return item
    foreign = [item for item in candidates if is_unrelated(rated, item, protocol)]
    return rng.choice(foreign) if foreign else None


def is_unrelated(rated: Item[object], prompted: Item[object], protocol: RatingProtocol) -> bool:
    """Return whether an image of `rated` certainly fails the prompt of `prompted`.

    Of formulas: they share no object, and the prompt requires something to be present, not only absent. Prompts that
    are only words tell too little, except which of two images is meant: they share no word.
    """
    match rated.spec, prompted.spec:
        case FormulaSpec() as first, FormulaSpec() as second:
            if not second.object_classes or {*first.object_classes} & {*second.object_classes}:
                return False
            try:
                return not verify(second.formula, _NOTHING_NAMED, style=second.style).passed
            except FormulaError:
                return False
    rule = rating_rules(rated.suite).is_unrelated
    if rule is None:
        return protocol == "ab" and _share_no_word(rated.prompt, prompted.prompt)
    return rule(rated, prompted, protocol)


def _share_no_word(first: str, second: str) -> bool:
    """Return whether the prompts share no word of three letters or more; False for scripts without word spacing."""
    if any(letter >= _UNSPACED for letter in first + second):
        return False
    stems = [{word.rstrip("s")[:_STEM] for word in _WORD.findall(text.lower())} - _COMMON for text in (first, second)]
    return all(stems) and not stems[0] & stems[1]


def ready_made_check(rated: Item[object], used: Collection[str], rng: random.Random) -> Item[object] | None:
    """Return a built-in check prompt, as an item, that an image of `rated` certainly fails; None if there is none.

    It has nothing but its prompt, so it is for protocols that ask about the image as a whole.
    """
    prompt = rated.prompt.lower()
    foreign = [
        Item(rated.suite, f"attention-check-{number}", rated.level, check["text"], None)
        for number, check in enumerate(_read_prompts(), 1)
        if not any(name in prompt for name in check["names"])
    ]
    unused = [item for item in foreign if item.id not in used]
    return rng.choice(unused or foreign) if foreign else None


@cache
def _read_prompts() -> Sequence[Mapping[str, Any]]:
    """Read the built-in check prompts, each with the words that other prompts use for the same content."""
    text = (files("formalimg.human_eval") / "check_prompts.toml").read_text(encoding="utf-8")
    prompts: Sequence[Mapping[str, Any]] = tomllib.loads(text)["prompts"]
    return prompts


def notices_mismatch(protocol: RatingProtocol, steps: Sequence[RatingStep], answers: Mapping[str, object]) -> bool:
    """Return whether a rater noticed that the prompt of an attention check does not belong to the image.

    That is: at most 2 of 5 points; no to the image as a whole; or less than half for the decisive point. To be unable
    to tell does not pass: nothing of what is asked for is there.
    """
    if protocol == "scores":
        decisive = [answers[step.name] for step in steps if step.about == "assessment"]
        scores = [score for score in decisive if isinstance(score, int | float)]
        return bool(scores) and fmean(scores) < PASSING_SCORE
    first = answers[steps[0].name]
    return isinstance(first, int) and first <= _FEW_POINTS if protocol == "likert" else first is False
