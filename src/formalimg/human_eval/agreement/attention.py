"""Rater attention: progress, time and attention checks of the raters of a study, and who is excluded."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from formalimg.errors import FormalimgError
from formalimg.reports.tables.format import count_noun
from formalimg.reports.tables.model import Column, TableRow
from formalimg.types import Table


class RaterAttention(NamedTuple):
    """Progress and attention of one rater."""

    rater: str  # the pseudonym
    finished: int  # how many tasks are finished, of how many, attention checks included
    of: int
    checks: int  # how many of the finished ones are attention checks, and how many of these were passed
    checks_passed: int
    seconds: float  # the total time of all answers
    median_seconds: float | None  # the median time of a finished task; None if there is none
    left_out: bool = False  # whether the rater's answers were excluded
    cannot_tell: int = 0  # number of answers that the rater cannot tell
    reason: str = ""  # why the rater is excluded, where a rule of the study says so

    @property
    def missed(self) -> float | None:
        """The share of attention checks that were missed; None if there were none."""
        return 1 - self.checks_passed / self.checks if self.checks else None


class RaterAttentionSummary(NamedTuple):
    """Progress and attention of all raters of a study."""

    raters: tuple[RaterAttention, ...]  # each of them, excluded ones as well
    unfinished: int  # how many tasks, without checks and without excluded raters, are still to be finished
    # the share of missed attention checks beyond which raters were excluded; None if everybody counts
    max_missed: float | None = None
    rules: str = ""  # who is excluded by the rules that the study stated beforehand; empty if they were not applied

    @property
    def left_out(self) -> tuple[str, ...]:
        """The raters whose answers were excluded."""
        return tuple(rater.rater for rater in self.raters if rater.left_out)


def exclude_inattentive(raters: Iterable[RaterAttention], max_missed: float) -> tuple[RaterAttention, ...]:
    """Mark the raters as excluded who missed more than this share of their attention checks.

    Raters without a check stay: nothing speaks against them.
    """
    if not 0 <= max_missed <= 1:  # also refuses NaN
        raise FormalimgError(f"{max_missed:g} is not a share of attention checks: take 0 to 1, such as 0.2")
    marked = tuple(it._replace(left_out=(it.missed or 0) > max_missed + 1e-9) for it in raters)
    if not any(it.checks for it in marked):
        raise FormalimgError("nobody has had an attention check, so nobody can have missed one: leave the option out")
    if all(it.left_out for it in marked):
        raise FormalimgError(f"everybody missed more than {max_missed:g} of the attention checks: take a larger share")
    return marked


def attention_table(attention: RaterAttentionSummary) -> Table:
    """Return the table of raters: progress, missed attention checks, time, and whether they count."""
    note = "Missed: attention checks, in which the prompt beside an image is that of another one."
    if attention.rules:
        who = "; ".join(f"{it.rater} ({it.reason})" for it in attention.raters if it.left_out) or "nobody"
        note += f" As stated before the first answer: {attention.rules} So: {who}."
    elif attention.max_missed is not None:
        who = ", ".join(attention.left_out) or "nobody"
        note += f" Excluded for missing more than {100 * attention.max_missed:g} % of theirs: {who}."
    elif any(it.checks > it.checks_passed for it in attention.raters):
        note += " All raters count, whatever they missed; --exclude-inattentive excludes raters."
    cannot_tell = any(it.cannot_tell for it in attention.raters)
    if cannot_tell:
        note += " Cannot tell: answers without a rating, which count neither for nor against."
    if attention.unfinished:
        note += f" Still to be finished: {count_noun(attention.unfinished, 'task')}."
    return Table(
        "raters",
        "Raters",
        (
            Column(""),
            Column("finished", align="right"),
            Column("missed", align="right"),
            Column("median seconds", "decimal"),
            Column("minutes", "decimal"),
            *([Column("cannot tell", "count")] if cannot_tell else []),
            Column("counts"),
        ),
        tuple(
            TableRow(
                (
                    it.rater,
                    f"{it.finished}/{it.of}",
                    f"{it.checks - it.checks_passed}/{it.checks}" if it.checks else "–",
                    it.median_seconds,
                    it.seconds / 60,
                    *([it.cannot_tell] if cannot_tell else []),
                    "no" if it.left_out else "yes",
                )
            )
            for it in attention.raters
        ),
        (note,),
    )


def attention_rows(attention: RaterAttentionSummary) -> Iterator[dict[str, object]]:
    """Yield the CSV rows of the raters; `left out` is 1 for excluded ones."""
    for it in attention.raters:
        yield {"figure": "finished", "of": "tasks", "first": it.rater, "value": it.finished, "n": it.of}
        if it.checks:
            passed = {"value": it.checks_passed / it.checks, "n": it.checks}
            yield {"figure": "attention checks passed", "of": "tasks", "first": it.rater, **passed}
        yield {"figure": "seconds", "of": "tasks", "first": it.rater, "value": it.seconds, "n": it.finished}
        if it.cannot_tell:
            yield {"figure": "cannot tell", "of": "tasks", "first": it.rater, "value": it.cannot_tell}
        yield {"figure": "left out", "of": "tasks", "first": it.rater, "value": int(it.left_out)}
