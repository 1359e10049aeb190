"""Labels: what levels, numbers and judges are called, and the rules for missing verdicts."""

from __future__ import annotations

from collections.abc import Mapping

from formalimg.reports.tables.format import INCOMPLETE, NOTHING
from formalimg.stats.observations import MissingPolicy, Summary
from formalimg.types import Benchmark


def unit_of(suite: Benchmark) -> str:
    """Return what follows a number of the suite in a sentence."""
    return "" if suite.has_scores else " %"


def axis_label(value: float, suite: Benchmark) -> str:
    """Return a number at an axis: `20 %`, or `0.2`."""
    return f"{value:.1f}" if suite.has_scores else f"{100 * value:.0f} %"


def generalizability_text(summary: Summary) -> str:
    """Return G without its interval, with the mark of numbers for which not all images were scored."""
    held, overall = summary.generalizability, summary.overall
    if held is None or held.value is None:
        return NOTHING
    return f"{held.value}{INCOMPLETE if overall.scored < overall.expected else ''}"


def epsilon_text(epsilon: float) -> str:
    """Return the rate to hold, such as `0.7`."""
    return f"{epsilon:g}"


def join_counts(counts: Mapping[str, int]) -> str:
    """Return counts in a sentence: `3 refused, 1 judge failed`."""
    return ", ".join(f"{count:,} {reason}" for reason, count in counts.items())


def shorten(text: str, max_length: int) -> str:
    """Return text on one line, cut at the end where it is too long."""
    line = " ".join(text.split())
    return line if len(line) <= max_length else f"{line[: max_length - 1].rstrip()}…"


RULES: dict[MissingPolicy, str] = {
    "exclude": "Images without a verdict are left out of the rates",
    "fail": "Images without a verdict count as failures",
    "error": "Every image has a verdict",
}
"""The rule for images without a verdict."""

SCORE_RULES: dict[MissingPolicy, str] = {
    "exclude": "Images without a score are left out of the means",
    "fail": "Images without a score count as 0",
    "error": "Every image has a score",
}
"""The rule for images without a score."""


FAILURES_COUNTED = "Only scored images count, without those that failed by rule, which no judge looked at."
"""Which images the shares of failures are about."""


def level_head(suite: Benchmark, level: int) -> str:
    """Return what a level is called below the word for levels: `3`; or its own name, such as `L3`."""
    return suite.level_names.get(level, str(level))


def level_word(suite: Benchmark) -> str:
    """Return the word for the levels, such as `K`; empty where they have names of their own."""
    return "" if suite.level_names else suite.level


def level_name(suite: Benchmark, level: int) -> str:
    """Return what a level is called by itself: `K 3`, or `L3`."""
    return f"{level_word(suite)} {level_head(suite, level)}".strip()


def rule_text(missing: MissingPolicy, *, of_scores: bool = False) -> str:
    """Return the rule for missing verdicts or scores, with its name."""
    return f"{(SCORE_RULES if of_scores else RULES)[missing]} (missing: {missing})"
