"""Attention checks: their number, prompts that an image certainly fails, and the exclusion of inattentive raters.

A random answer passes a check by chance, and a careful rater misses one now and then. So the number of checks, and of
those that may be missed, follow from the binomial: at most 5 % of raters who answer at random stay, and at least 95 %
of those who miss one check in twenty.
"""

from __future__ import annotations

import random
import re
import tomllib
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from math import ceil, comb, fsum
from statistics import fmean
from typing import Annotated, Any

from pydantic import Field

from formalimg.benchmarks.formal.spec import FormulaSpec
from formalimg.errors import FormalimgError
from formalimg.human_eval.agreement.study_tables import RaterSummary
from formalimg.human_eval.protocol import PASSING_SCORE, RatingProtocol, RatingStep, rating_rules
from formalimg.logic.errors import FormulaError
from formalimg.logic.verification import verify
from formalimg.scenes.objects import Box, SceneObject
from formalimg.scenes.scene import Scene
from formalimg.types import Item

CHECKS = 0.05  # Share of attention checks among the tasks of a rater, if nobody says otherwise
MAX_CLICKERS = 0.05  # How many of those who answer at random may stay
MIN_CAREFUL = 0.95  # How many careful raters stay at least
_CARELESS = 0.05  # How often a careful rater misses a check
_GUESS_CHANCES: dict[RatingProtocol, float] = {"likert": 0.4, "questions": 0.5, "scores": 0.5, "ab": 0.5, "boxes": 0.0}
"""How likely a random answer passes a check: 1 or 2 of five points; no; below 0.5; the left or the right image."""

_IMAGES_PER_CHECK = 2  # A rater of a short study has at most one check for so many images
_ROUNDING = 1e-9


@dataclass(frozen=True)
class StudyRules:
    """The exclusion rules of a study, stored under their aliases in `[rules]` of `study.toml`."""

    # raters who missed more than this share of their attention checks are excluded; None to choose it by the number
    # of checks when the study is made
    max_missed: Annotated[float | None, Field(alias="max_missed_checks")] = None
    # raters whose median time for an image is shorter are excluded; 0 for no such rule
    min_seconds: Annotated[float, Field(alias="min_median_seconds")] = 0.0
    # attention checks of each rater, at least; 0 in studies that do not say it
    checks: Annotated[int, Field(alias="checks_per_rater")] = 0
    guess_chance: float = 0.0  # how likely a random answer passes a check; 0 in studies that do not say it

    def __post_init__(self) -> None:
        if self.max_missed is not None and not 0 <= self.max_missed <= 1:  # also refuses NaN
            raise FormalimgError(f"{self.max_missed:g} is not a share of attention checks: take 0 to 1, such as 0.2")
        if not 0 <= self.min_seconds <= 3600:
            raise FormalimgError(f"a median of {self.min_seconds:g} seconds is out of range: take 0 to 3600")
        if self.checks < 0 or not 0 <= self.guess_chance < 1:
            raise FormalimgError(f"{self.checks} checks passed by chance in {self.guess_chance:g} are out of range")

    def settled(self, protocol: RatingProtocol, checks: int) -> StudyRules:
        """Return the rules for the given number of checks, filling in the permitted share of missed checks if unset."""
        chance = _GUESS_CHANCES[protocol] if checks else 0.0
        share = self.max_missed or 0.0
        if self.max_missed is None and checks:
            # Rounded up, so that the share times the number of checks is not below the number.
            share = ceil(1e4 * max_misses(checks) / checks) / 1e4
        return replace(self, max_missed=share, checks=checks, guess_chance=chance)

    @property
    def allowed(self) -> int:
        """The number of attention checks that a rater may miss."""
        return int((self.max_missed or 0.0) * self.checks + _ROUNDING)

    @property
    def clickers_kept(self) -> float:
        """The expected share of randomly answering raters who are not excluded."""
        return _pass_share(self.checks, self.allowed, self.guess_chance)

    @property
    def careful_kept(self) -> float:
        """The expected share of careful raters, who miss one check in twenty, who are not excluded."""
        return _pass_share(self.checks, self.allowed, 1 - _CARELESS)

    def in_words(self) -> str:
        """Describe the rules in one sentence, for the organiser and for the record."""
        fast = f", or whose median time for an image is under {self.min_seconds:g} s" if self.min_seconds else ""
        if not self.checks:
            share = 100 * (self.max_missed or 0.0)
            return f"Excluded are raters who miss more than {share:g} % of their attention checks{fast}."
        return (
            f"Excluded are raters who miss more than {self.allowed} of {self.checks} attention checks{fast}: of those "
            f"who answer at random {100 * self.clickers_kept:.1f} % stay, of those who miss one check in twenty "
            f"{100 * self.careful_kept:.1f} %."
        )


def _pass_share(checks: int, allowed: int, chance: float) -> float:
    """Return the probability of missing at most `allowed` checks when each is passed with probability `chance`."""
    return fsum(
        comb(checks, missed) * (1 - chance) ** missed * chance ** (checks - missed) for missed in range(allowed + 1)
    )


def max_misses(checks: int) -> int:
    """Return the smallest number of permitted misses that keeps enough careful raters."""
    return next(allowed for allowed in range(checks + 1) if _pass_share(checks, allowed, 1 - _CARELESS) >= MIN_CAREFUL)


def min_checks(protocol: RatingProtocol) -> int:
    """Return the minimum number of checks that distinguishes random answers from careful ones."""
    checks, chance = 1, _GUESS_CHANCES[protocol]
    while _pass_share(checks, max_misses(checks), chance) > MAX_CLICKERS:
        checks += 1
    return checks


def usual_checks(images: int, protocol: RatingProtocol) -> int:
    """Return the default number of attention checks per rater for the given number of images.

    Enough to distinguish careful raters from others, but at most one per two images, and at least one in twenty tasks.
    """
    share = ceil(images * CHECKS / (1 - CHECKS) - _ROUNDING)
    return max(share, min(min_checks(protocol), ceil(images / _IMAGES_PER_CHECK)))


def find_excluded(raters: Iterable[RaterSummary], rules: StudyRules | None) -> dict[str, str]:
    """Return the reason for each rater excluded by the rules; raters without checks or answers are kept."""
    if rules is None:
        return {}
    reasons = {}
    for rater in raters:
        missed = rater.checks - rater.checks_passed
        if rater.checks and missed > (rules.max_missed or 0.0) * max(rater.checks, rules.checks) + _ROUNDING:
            reasons[rater.rater] = f"missed {missed} of {rater.checks} attention checks"
        elif rater.median_seconds is not None and rater.median_seconds < rules.min_seconds:
            reasons[rater.rater] = f"median of {rater.median_seconds:g} s for an image"
    return reasons


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
    if rule is not None:
        return rule(rated, prompted, protocol)
    prompts = (rated.prompt, prompted.prompt)
    if protocol != "ab" or any(letter >= _UNSPACED for letter in "".join(prompts)):
        return False
    stems = [{word.rstrip("s")[:_STEM] for word in _WORD.findall(text.lower())} - _COMMON for text in prompts]
    return all(stems) and not stems[0] & stems[1]


def ready_made_check(rated: Item[object], used: Collection[str], rng: random.Random) -> Item[object] | None:
    """Return a built-in check prompt, as an item, that an image of `rated` certainly fails; None if there is none."""
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
    text = (files("formalimg.human_eval") / "check_prompts.toml").read_text(encoding="utf-8")
    prompts: Sequence[Mapping[str, Any]] = tomllib.loads(text)["prompts"]
    return prompts


def notices_mismatch(protocol: RatingProtocol, steps: Sequence[RatingStep], answers: Mapping[str, object]) -> bool:
    """Return whether a rater noticed that the prompt of an attention check does not belong to the image.

    This means at most 2 of 5 points, no to the image as a whole, or less than half for the decisive point. Being unable
    to tell does not pass, because nothing that the prompt asks for is there.
    """
    if protocol == "scores":
        decisive = [answers[step.name] for step in steps if step.about == "assessment"]
        scores = [score for score in decisive if isinstance(score, int | float)]
        return bool(scores) and fmean(scores) < PASSING_SCORE
    first = answers[steps[0].name]
    return isinstance(first, int) and first <= _FEW_POINTS if protocol == "likert" else first is False
