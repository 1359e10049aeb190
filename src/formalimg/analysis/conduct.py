"""How raters went about a study: how far they came, how long it took, and whether they paid attention."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from formalimg.errors import FormalimgError


class RaterConduct(NamedTuple):
    """How a rater did.

    Attributes:
        rater: the pseudonym.
        finished, of: how many tasks are finished, of how many, attention checks among them.
        checks, checks_passed: how many of the finished ones are attention checks, and how many of these were passed.
        seconds: how long all answers took together.
        median_seconds: how long a finished task took; None if there is none.
        left_out: whether the rater's answers were left out.
    """

    rater: str
    finished: int
    of: int
    checks: int
    checks_passed: int
    seconds: float
    median_seconds: float | None
    left_out: bool = False

    @property
    def missed(self) -> float | None:
        """The share of attention checks that were missed; None if there were none."""
        return 1 - self.checks_passed / self.checks if self.checks else None


class Conduct(NamedTuple):
    """How all raters of a study did.

    Attributes:
        raters: each of them, also those that were left out.
        unfinished: how many tasks, without checks and without raters left out, are still to be finished.
        most_missed: the share of attention checks beyond which raters were left out; None if everybody counts.
    """

    raters: tuple[RaterConduct, ...]
    unfinished: int
    most_missed: float | None = None

    @property
    def left_out(self) -> tuple[str, ...]:
        """The raters whose answers were left out."""
        return tuple(rater.rater for rater in self.raters if rater.left_out)


def exclude_inattentive(raters: Iterable[RaterConduct], most_missed: float) -> tuple[RaterConduct, ...]:
    """The same raters, those marked as left out who missed more than this share of their attention checks.

    Who had no check stays: nothing speaks against them.

    Raises:
        FormalimgError: if this is no share, there were no checks at all, or nobody would be left.
    """
    if not 0 <= most_missed <= 1:  # also refuses what is no number
        raise FormalimgError(f"{most_missed:g} is no share of attention checks: take 0 to 1, such as 0.2")
    marked = tuple(it._replace(left_out=(it.missed or 0) > most_missed + 1e-9) for it in raters)
    if not any(it.checks for it in marked):
        raise FormalimgError("nobody has had an attention check, so nobody can have missed one: leave the option out")
    if all(it.left_out for it in marked):
        raise FormalimgError(f"everybody missed more than {most_missed:g} of the attention checks: take a larger share")
    return marked
