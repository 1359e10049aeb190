"""Rater attention: progress, timing, attention checks and exclusion of the raters of a study."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from formalimg.errors import FormalimgError
from formalimg.reports.tables.format import count_noun
from formalimg.reports.tables.model import Column, TableRow
from formalimg.types import Table


class RaterSummary(NamedTuple):
    """Progress and attention of one rater."""

    rater: str  # the pseudonym
    finished: int  # how many tasks are finished, of how many, attention checks included
    of: int
    checks: int  # how many of the finished ones are attention checks, and how many of these were passed
    checks_passed: int
    seconds: float  # the total time of all answers
    median_seconds: float | None  # the median time of a finished task; None if there is none
    left_out: bool = False  # whether the rater's answers do not count
    cannot_tell: int = 0  # number of final answers that the rater cannot tell, without attention checks
    excluded: str = ""  # why the rater is excluded by the rules of the study; empty for those who count

    @property
    def missed(self) -> float | None:
        """The share of attention checks that the rater missed; None if there were none."""
        return 1 - self.checks_passed / self.checks if self.checks else None


class RaterAttentionSummary(NamedTuple):
    """Progress and attention of all raters of a study."""

    raters: tuple[RaterSummary, ...]  # each of them, excluded ones as well
    unfinished: int  # how many tasks, without checks and without excluded raters, are still to be finished
    # the share of missed attention checks beyond which raters were excluded; None if everybody counts
    max_missed: float | None = None
    rules: str = ""  # who is excluded by the rules that the study stated beforehand; empty if they were not applied

    @property
    def left_out(self) -> tuple[str, ...]:
        """The names of the raters whose answers were excluded."""
        return tuple(rater.rater for rater in self.raters if rater.left_out)


def exclude_inattentive(raters: Iterable[RaterSummary], max_missed: float) -> tuple[RaterSummary, ...]:
    """Exclude raters whose share of missed attention checks exceeds `max_missed`, overriding the study's own rules.

    Raters without a check stay: nothing speaks against them.
    """
    if not 0 <= max_missed <= 1:  # also refuses NaN
        raise FormalimgError(f"{max_missed:g} is not a share of attention checks: take 0 to 1, such as 0.2")
    marked = tuple(rater._replace(left_out=(rater.missed or 0) > max_missed + 1e-9, excluded="") for rater in raters)
    if not any(rater.checks for rater in marked):
        raise FormalimgError("nobody has had an attention check, so nobody can have missed one: leave the option out")
    if all(rater.left_out for rater in marked):
        raise FormalimgError(f"everybody missed more than {max_missed:g} of the attention checks: take a larger share")
    return marked


def attention_table(attention: RaterAttentionSummary) -> Table:
    """Return the table of raters: progress, missed attention checks, time, and whether their answers count."""
    raters = attention.raters
    note = "Missed: attention checks, in which the prompt beside an image is that of another one."
    if attention.rules:
        reasons = "; ".join(f"{rater.rater} ({rater.excluded})" for rater in raters if rater.left_out) or "nobody"
        note += f" As stated before the first answer: {attention.rules} So: {reasons}."
    elif attention.max_missed is not None:
        names = ", ".join(attention.left_out) or "nobody"
        note += f" Excluded for missing more than {100 * attention.max_missed:g} % of theirs: {names}."
    elif any(rater.checks > rater.checks_passed for rater in raters):
        note += " All raters count, whatever they missed; --exclude-inattentive excludes raters."
    cannot_tell = any(rater.cannot_tell for rater in raters)
    if cannot_tell:
        note += " Cannot tell: answers without a rating, which count neither for nor against."
    if attention.unfinished:
        note += f" Still to be finished: {count_noun(attention.unfinished, 'task')}."
    columns = (
        *(Column(""), Column("finished", align="right"), Column("missed", align="right")),
        *(Column("median seconds", "decimal"), Column("minutes", "decimal")),
        *([Column("cannot tell", "count")] if cannot_tell else []),
        Column("counts"),
    )
    rows = [
        (
            *(rater.rater, f"{rater.finished}/{rater.of}"),
            f"{rater.checks - rater.checks_passed}/{rater.checks}" if rater.checks else "–",
            *(rater.median_seconds, rater.seconds / 60),
            *([rater.cannot_tell] if cannot_tell else []),
            "no" if rater.left_out else "yes",
        )
        for rater in raters
    ]
    return Table("raters", "Raters", columns, tuple(map(TableRow, rows)), (note,))


def attention_rows(attention: RaterAttentionSummary) -> Iterator[dict[str, object]]:
    """Yield the CSV rows of the raters; `left out` is 1 for excluded ones."""
    for rater in attention.raters:
        figures: dict[str, tuple[float, int | None]] = {"finished": (rater.finished, rater.of)}
        if rater.checks:
            figures["attention checks passed"] = (rater.checks_passed / rater.checks, rater.checks)
        figures["seconds"] = (rater.seconds, rater.finished)
        if rater.cannot_tell:
            figures["cannot tell"] = (rater.cannot_tell, None)
        figures["left out"] = (int(rater.left_out), None)
        for figure, (value, n) in figures.items():
            yield {"figure": figure, "of": "tasks", "first": rater.rater, "value": value, "n": n}
