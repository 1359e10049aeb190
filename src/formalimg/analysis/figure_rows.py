"""Figures of studies for spreadsheets: one on each line, in columns that all of them share."""

from __future__ import annotations

from formalimg.analysis.judges_compared import Fraction
from formalimg.stats import Consistency, Correlation, Estimate, MeanConsistency, Rate, Reliability, Share

COLUMNS = (
    "figure",
    "of",
    "run",
    "first",
    "second",
    "level",
    "kind",
    "value",
    "low",
    "high",
    "n",
    "left_out",
    "kappa",
)
"""What each line tells: which figure, of what (images or questions), for whom, for which part; shares are 0 to 1."""


def numbers(
    figure: Rate | Fraction | Consistency | MeanConsistency | Correlation | Reliability | Share | Estimate,
) -> dict[str, object]:
    """A figure's value, interval and counts, by column."""
    found: dict[str, object] = {"value": figure.value}
    match figure:
        case Rate():
            found |= {"n": figure.scored, "left_out": figure.expected - figure.scored}
        case MeanConsistency():
            return found | {"n": figure.pairs, "left_out": figure.left_out}
        case Share():
            found |= {"n": figure.n}
        case Estimate():
            pass
        case _:
            found |= {"n": figure.n, "left_out": figure.left_out}
    if isinstance(figure, Consistency):
        found["kappa"] = figure.kappa
    if figure.interval is not None:
        found |= {"low": figure.interval.low, "high": figure.interval.high}
    return found
