"""Figures, counts and names as they are written in the tables of studies."""

from __future__ import annotations

from collections.abc import Sequence

from formalimg.analysis.judges_compared import Fraction
from formalimg.stats import Consistency, Correlation, Estimate, Interval, Rate, Reliability, Share

NOTHING = "–"
"""Stands where there is no figure."""


def percent(value: float | None) -> str:
    """A share in percent, such as 86.5."""
    return NOTHING if value is None else f"{100 * value:.1f}"


def percent_with_interval(figure: Rate | Fraction | Consistency | Share | Estimate) -> str:
    """A share in percent with its interval, such as 86.5 (81.0–90.6)."""
    bounds: Interval | None = figure.interval
    text = percent(figure.value)
    return text if bounds is None else f"{text} ({percent(bounds.low)}–{percent(bounds.high)})"


def number_with_interval(figure: Reliability | Correlation | None, digits: int = 2) -> str:
    """A number with its interval, such as 0.87 (0.81 to 0.91)."""
    if figure is None or figure.value is None:
        return NOTHING
    bounds = figure.interval
    text = f"{figure.value:.{digits}f}"
    return text if bounds is None else f"{text} ({bounds.low:.{digits}f} to {bounds.high:.{digits}f})"


def counted(count: int, word: str) -> str:
    """A number with its noun: `1 vote`, `2,000 votes`."""
    return f"{count:,} {word}{'s' * (count != 1)}"


def alike_told(raters: Sequence[str]) -> str:
    """A warning, with a blank in front, if names of raters differ only in case; empty if none do."""
    by_letters: dict[str, list[str]] = {}
    for rater in sorted(raters):
        by_letters.setdefault(rater.casefold(), []).append(rater)
    alike = [" and ".join(names) for names in by_letters.values() if len(names) > 1]
    return f" Names that differ only in case are taken for different people: {', '.join(alike)}." if alike else ""
