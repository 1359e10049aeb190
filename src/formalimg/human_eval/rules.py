"""Rules of a rating study that are stated before its first answer: how many attention checks, and who is excluded.

Who answers at random passes a check by chance, and who is careful misses one now and then. So the number of checks and
of those that may be missed follow from the binomial: at most 5 % of raters who answer at random stay, and at least 95 %
of those who miss one check in twenty.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from math import ceil, comb, fsum
from typing import NamedTuple, Protocol

from formalimg.errors import FormalimgError
from formalimg.human_eval.protocol import RatingProtocol

CHECKS = 0.05
"""Share of attention checks among the tasks of a rater, if nobody says otherwise."""

MAX_CLICKERS = 0.05
"""How many of those who answer at random may stay."""

MIN_CAREFUL = 0.95
"""How many careful raters stay at least."""

_CARELESS = 0.05
"""How often a careful rater misses a check."""

_GUESS_CHANCES: dict[RatingProtocol, float] = {"likert": 0.4, "questions": 0.5, "scores": 0.5, "ab": 0.5, "boxes": 0.0}
"""How likely a random answer passes a check: 1 or 2 of five points; no; below 0.5; the left or the right image."""

_IMAGES_PER_CHECK = 2
"""A rater of a short study has at most one check for so many images."""

_ROUNDING = 1e-9


@dataclass(frozen=True)
class StudyRules:
    """Who is excluded from the results of a study; `[rules]` in `study.toml`."""

    # raters who missed more than this share of their attention checks are excluded; None to choose it by the number
    # of checks when the study is made
    max_missed: float | None = None
    min_seconds: float = 0.0  # raters whose median time for an image is shorter are excluded; 0 for no such rule
    checks: int = 0  # attention checks of each rater, at least; 0 in studies that do not say it
    guess_chance: float = 0.0  # how likely a random answer passes a check; 0 in studies that do not say it

    def __post_init__(self) -> None:
        if self.max_missed is not None and not 0 <= self.max_missed <= 1:  # also refuses NaN
            raise FormalimgError(f"{self.max_missed:g} is not a share of attention checks: take 0 to 1, such as 0.2")
        if not 0 <= self.min_seconds <= 3600:
            raise FormalimgError(f"a median of {self.min_seconds:g} seconds is out of range: take 0 to 3600")
        if self.checks < 0 or not 0 <= self.guess_chance < 1:
            raise FormalimgError(f"{self.checks} checks passed by chance in {self.guess_chance:g} are out of range")

    def settled(self, protocol: RatingProtocol, checks: int) -> StudyRules:
        """Return the rules of a study of so many checks: how many may be missed, unless that is stated."""
        chance = _GUESS_CHANCES[protocol] if checks else 0.0
        if self.max_missed is not None or not checks:
            return replace(self, max_missed=self.max_missed or 0.0, checks=checks, guess_chance=chance)
        # Rounded up, so that the share times the number of checks is not below the number.
        share = ceil(1e4 * allowed_misses(checks) / checks) / 1e4
        return replace(self, max_missed=share, checks=checks, guess_chance=chance)

    @property
    def allowed(self) -> int:
        """How many of the checks may be missed."""
        return int((self.max_missed or 0.0) * self.checks + _ROUNDING)

    @property
    def clickers_kept(self) -> float:
        """The share of raters that stay of those who answer at random."""
        return _pass_share(self.checks, self.allowed, self.guess_chance)

    @property
    def careful_kept(self) -> float:
        """The share of raters that stay of those who miss one check in twenty."""
        return _pass_share(self.checks, self.allowed, 1 - _CARELESS)

    def in_words(self) -> str:
        """Return the rules as a sentence, for the organiser and for the record."""
        fast = f", or whose median time for an image is under {self.min_seconds:g} s" if self.min_seconds else ""
        if not self.checks:
            share = 100 * (self.max_missed or 0.0)
            return f"Excluded are raters who miss more than {share:g} % of their attention checks{fast}."
        return (
            f"Excluded are raters who miss more than {self.allowed} of {self.checks} attention checks{fast}: of those "
            f"who answer at random {100 * self.clickers_kept:.1f} % stay, of those who miss one check in twenty "
            f"{100 * self.careful_kept:.1f} %."
        )

    def lines(self) -> list[str]:
        """Return the table `[rules]` of `study.toml`."""
        lines = [
            "# Stated before the first answer, and applied by `formalimg agree`, `report --human` and --export.",
            "[rules]",
            f"max_missed_checks = {self.max_missed or 0.0!r}",
            f"min_median_seconds = {self.min_seconds!r}",
        ]
        if self.checks:
            lines[1:1] = [f"# {self.in_words()}"]
            lines += [f"checks_per_rater = {self.checks}", f"guess_chance = {self.guess_chance!r}"]
        return lines


def _pass_share(checks: int, allowed: int, chance: float) -> float:
    """Return how likely somebody who passes each check with this chance misses no more than allowed."""
    return fsum(
        comb(checks, missed) * (1 - chance) ** missed * chance ** (checks - missed) for missed in range(allowed + 1)
    )


def allowed_misses(checks: int) -> int:
    """Return how many of these checks may be missed: as few as careful raters need."""
    return next(allowed for allowed in range(checks + 1) if _pass_share(checks, allowed, 1 - _CARELESS) >= MIN_CAREFUL)


def needed_checks(protocol: RatingProtocol) -> int:
    """Return the least number of checks by which raters who answer at random are told from careful ones."""
    checks, chance = 1, _GUESS_CHANCES[protocol]
    while _pass_share(checks, allowed_misses(checks), chance) > MAX_CLICKERS:
        checks += 1
    return checks


def usual_checks(images: int, protocol: RatingProtocol) -> int:
    """Return how many attention checks stand among so many images by default.

    As many as tell careful raters from others, at most one for two images in a short study, and one in twenty tasks.
    """
    return max(
        ceil(images * CHECKS / (1 - CHECKS) - _ROUNDING), min(needed_checks(protocol), ceil(images / _IMAGES_PER_CHECK))
    )


def parse_rules(table: object) -> StudyRules:
    """Return the rules in a table of `study.toml`."""
    names = ("max_missed_checks", "min_median_seconds", "checks_per_rater", "guess_chance")
    values = []
    for name in names:
        # Studies that were made before checks were counted have no number of them.
        value = table.get(name, 0 if name in names[2:] else None) if isinstance(table, dict) else None
        if not isinstance(value, int | float) or isinstance(value, bool):
            raise KeyError(f"rules.{name}")
        values.append(float(value))
    if values[2] != int(values[2]):
        raise KeyError("rules.checks_per_rater")
    try:
        return StudyRules(values[0], values[1], int(values[2]), values[3])
    except FormalimgError:
        raise KeyError("rules") from None


class RaterConduct(Protocol):
    """What rules look at: see `RaterSummary`."""

    @property
    def rater(self) -> str:
        """The pseudonym."""

    @property
    def checks(self) -> int:
        """Number of finished attention checks."""

    @property
    def checks_passed(self) -> int:
        """Number of passed ones."""

    @property
    def median_seconds(self) -> float | None:
        """Median time of a finished task; None if there is none."""


class Exclusion(NamedTuple):
    """A rater who is excluded, and why."""

    rater: str
    reason: str


def excluded_raters(raters: Iterable[RaterConduct], rules: StudyRules | None) -> tuple[Exclusion, ...]:
    """Return who is excluded by the rules; nobody without rules. Raters without a check, or an answer, stay.

    Where the number of checks is stated, it counts for raters who have not finished too.
    """
    if rules is None:
        return ()
    found = []
    for it in raters:
        missed = it.checks - it.checks_passed
        if it.checks and missed > (rules.max_missed or 0.0) * max(it.checks, rules.checks) + _ROUNDING:
            found.append(Exclusion(it.rater, f"missed {missed} of {it.checks} attention checks"))
        elif it.median_seconds is not None and it.median_seconds < rules.min_seconds:
            found.append(Exclusion(it.rater, f"median of {it.median_seconds:g} s for an image"))
    return tuple(found)
