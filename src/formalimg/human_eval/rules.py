"""Rules of a rating study that are stated before its first answer: how many attention checks, and who is excluded."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from formalimg.errors import FormalimgError

CHECKS = 0.05
"""Share of attention checks among the tasks of a rater, if nobody says otherwise."""

_USUAL_CHECKS = 3
_IMAGES_PER_CHECK = 5
_ROUNDING = 1e-9


@dataclass(frozen=True)
class StudyRules:
    """Who is excluded from the results of a study; `[rules]` in `study.toml`.

    Attributes:
        max_missed: raters who missed more than this share of their attention checks are excluded.
        min_seconds: raters whose median time for an image is shorter are excluded; 0 for no such rule.
    """

    max_missed: float = 0.34
    min_seconds: float = 0.0

    def __post_init__(self) -> None:
        if not 0 <= self.max_missed <= 1:  # also refuses NaN
            raise FormalimgError(f"{self.max_missed:g} is not a share of attention checks: take 0 to 1, such as 0.34")
        if not 0 <= self.min_seconds <= 3600:
            raise FormalimgError(f"a median of {self.min_seconds:g} seconds is out of range: take 0 to 3600")

    def in_words(self) -> str:
        """Return the rules as a sentence, for the organiser and for the record."""
        fast = f", or whose median time for an image is under {self.min_seconds:g} s" if self.min_seconds else ""
        return f"Excluded are raters who miss more than {100 * self.max_missed:g} % of their attention checks{fast}."

    def lines(self) -> list[str]:
        """Return the table `[rules]` of `study.toml`."""
        return [
            "# Stated before the first answer, and applied by `formalimg agree`, `report --human` and --export.",
            "[rules]",
            f"max_missed_checks = {self.max_missed!r}",
            f"min_median_seconds = {self.min_seconds!r}",
        ]


def parse_rules(table: object) -> StudyRules:
    """Return the rules in a table of `study.toml`.

    Raises:
        KeyError: if it is not what we write.
    """
    found = []
    for name in ("max_missed_checks", "min_median_seconds"):
        value = table.get(name) if isinstance(table, dict) else None
        if not isinstance(value, int | float) or isinstance(value, bool):
            raise KeyError(f"rules.{name}")
        found.append(float(value))
    try:
        return StudyRules(*found)
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
    """Return who is excluded by the rules; nobody without rules. Raters without a check, or an answer, stay."""
    if rules is None:
        return ()
    found = []
    for it in raters:
        missed = it.checks - it.checks_passed
        if it.checks and missed / it.checks > rules.max_missed + _ROUNDING:
            found.append(Exclusion(it.rater, f"missed {missed} of {it.checks} attention checks"))
        elif it.median_seconds is not None and it.median_seconds < rules.min_seconds:
            found.append(Exclusion(it.rater, f"median of {it.median_seconds:g} s for an image"))
    return tuple(found)


def usual_checks(images: int) -> int:
    """Return how many attention checks stand among so many images by default.

    One in twenty tasks, and up to three in a short study: a single lapse should not decide over a rater.
    """
    return max(-(-images * 5 // 95), min(_USUAL_CHECKS, -(-images // _IMAGES_PER_CHECK)))
