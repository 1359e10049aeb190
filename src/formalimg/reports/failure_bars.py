"""Bars for the share of parts that failed, by kind and by word, side by side for all runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from formalimg._util.templates import render_template
from formalimg.reports.comparison_model import RunRow, Section, Tally
from formalimg.reports.figures.series import run_tones
from formalimg.reports.tables.format import FAILURES_COUNTED

_MAX_BARS = 24
"""Further lines of a chart are collapsed."""


class _FailureChart(NamedTuple):
    """Shares of failures by name: `lines` are shown, `more` collapsed."""

    title: str
    by: str
    lines: list[tuple[str, list[Tally | None]]]
    more: list[tuple[str, list[Tally | None]]]


def failure_bars(section: Section) -> str:
    """Return bars for the share of parts that failed, by kind and by word, side by side for all runs."""
    if not any(row.kinds or row.predicates for row in section.rows):
        return ""
    labels = section.suite.terms
    return render_template(
        "formalimg.reports",
        "failures.html",
        charts=[
            chart
            for chart in (
                _failure_chart(f"by {labels.kind}", section, lambda row: row.kinds, _kind_order(section)),
                _failure_chart(f"by {labels.about}", section, lambda row: row.predicates, _word_order(section)),
            )
            if chart.lines
        ],
        runs=list(zip((row.name for row in section.rows), run_tones(section.rows), strict=True)),
        note=FAILURES_COUNTED,
    )


def _failure_chart(
    by: str, section: Section, tallies_of: Callable[[RunRow], Mapping[str, Tally]], names: Sequence[str]
) -> _FailureChart:
    labels = section.suite.terms
    lines = [(name, [tallies_of(row).get(name) for row in section.rows]) for name in names]
    title = f"{labels.part.capitalize()}s {labels.failed}, {by}"
    return _FailureChart(title, by, lines[:_MAX_BARS], lines[_MAX_BARS:])


def _kind_order(section: Section) -> list[str]:
    """Return kinds in the order of the suite; others follow by name."""
    found = {kind for row in section.rows for kind in row.kinds}
    known = section.suite.part_kinds
    return sorted(found, key=lambda kind: (known.index(kind) if kind in known else len(known), kind))


def _word_order(section: Section) -> list[str]:
    """Return words by the share that failed, the largest first."""

    def share(name: str) -> float:
        tallies = [row.predicates[name] for row in section.rows if name in row.predicates]
        return Tally(sum(tally.failed for tally in tallies), sum(tally.asked for tally in tallies)).share

    return sorted({name for row in section.rows for name in row.predicates}, key=lambda name: (-share(name), name))
