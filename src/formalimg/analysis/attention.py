"""How raters went about a study: how far they came, how long it took, and whether they paid attention."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from formalimg.analysis.study_tables import NOTHING, AgreementTable, counted
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


def table_of_conduct(conduct: Conduct) -> AgreementTable:
    """How far raters came, which attention checks they missed, and who was left out."""
    told = "Missed: attention checks, in which the words beside an image are those of another one."
    if conduct.most_missed is not None:
        who = ", ".join(conduct.left_out) or "nobody"
        told += f" Left out for missing more than {100 * conduct.most_missed:g} % of theirs: {who}."
    elif any(it.checks > it.checks_passed for it in conduct.raters):
        told += " Everybody counts, whatever they missed; --exclude-inattentive leaves raters out."
    if conduct.unfinished:
        told += f" Still to be finished: {counted(conduct.unfinished, 'task')}."
    return AgreementTable(
        "Raters",
        told,
        ("", "finished", "missed", "median seconds", "minutes", "counts"),
        tuple(
            (
                it.rater,
                f"{it.finished}/{it.of}",
                f"{it.checks - it.checks_passed}/{it.checks}" if it.checks else NOTHING,
                NOTHING if it.median_seconds is None else f"{it.median_seconds:.1f}",
                f"{it.seconds / 60:.1f}",
                "no" if it.left_out else "yes",
            )
            for it in conduct.raters
        ),
    )


def figures_of_conduct(conduct: Conduct) -> Iterator[dict[str, object]]:
    """The same for spreadsheets: who was left out has a figure of that name, of 1."""
    for it in conduct.raters:
        yield {"figure": "finished", "of": "tasks", "first": it.rater, "value": it.finished, "n": it.of}
        if it.checks:
            passed = {"value": it.checks_passed / it.checks, "n": it.checks}
            yield {"figure": "attention checks passed", "of": "tasks", "first": it.rater, **passed}
        yield {"figure": "seconds", "of": "tasks", "first": it.rater, "value": it.seconds, "n": it.finished}
        yield _left_out(it)


def _left_out(it: RaterConduct) -> dict[str, object]:
    return {"figure": "left out", "of": "tasks", "first": it.rater, "value": int(it.left_out)}
