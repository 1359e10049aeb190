"""Labels of suites: what levels, parts of verdicts and numbers are called, and the rules for missing verdicts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, NamedTuple

from formalimg.stats import Generalizability, Missing
from formalimg.suites import Suite
from formalimg.tables import NOTHING

NumberType = Literal["percent", "score"]


def number_type(suite: Suite) -> NumberType:
    """Return how the numbers of a suite are written: rates in percent, or mean scores from 0 to 1."""
    return "score" if suite.kind == "counterfactual" else "percent"


def unit_of(suite: Suite) -> str:
    """Return what follows a number of the suite in a sentence."""
    return " %" if number_type(suite) == "percent" else ""


def axis_label(value: float, suite: Suite) -> str:
    """Return a number at an axis: `20 %`, or `0.2`."""
    return f"{100 * value:.0f} %" if number_type(suite) == "percent" else f"{value:.1f}"


def generalizability_text(held: Generalizability | None) -> str:
    """Return G without its interval."""
    return NOTHING if held is None or held.value is None else str(held.value)


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


class Words(NamedTuple):
    """The labels of a kind of suite.

    Attributes:
        part: what one part of a verdict is.
        kind: what kinds of parts are called.
        about: what else failures are grouped by.
        holds, hold: the verb for one part, and for several, that an image shows.
        failed: the clause for parts that an image does not show.
        more: the heading over the tables below the main one.
        figures: what the numbers of the main table are called.
        bands: what the numbers after those of the levels are.
        parts_are_code: whether parts are written in a formal language.
    """

    part: str
    kind: str
    about: str
    holds: str
    hold: str
    failed: str
    more: str
    figures: str
    bands: str
    parts_are_code: bool


_WORDS = {
    "formula": Words(
        part="clause",
        kind="kind of clause",
        about="predicate",
        holds="holds",
        hold="hold",
        failed="that failed",
        more="More figures",
        figures="Rates",
        bands="mean",
        parts_are_code=True,
    ),
    "concepts": Words(
        part="concept",
        kind="category",
        about="value",
        holds="is shown",
        hold="are shown",
        failed="that failed",
        more="Concepts",
        figures="Rates",
        bands="mean",
        parts_are_code=False,
    ),
    "counterfactual": Words(
        part="question",
        kind="dimension",
        about="word",
        holds="has the full score",
        hold="have the full score",
        failed="without the full score",
        more="More figures",
        figures="Scores",
        bands="between levels",
        parts_are_code=False,
    ),
}

_LEVELS: dict[str, dict[int, str]] = {
    "cf-world": {1: "L1", 2: "L2", 3: "L3"},
    "cf-world-rules": {1: "factual", 2: "counterfactual"},
    "cf-world-attributes": {1: "common", 2: "rare"},
    "cf-world-denominalised": {2: "L2"},
}
"""Names of levels that are not numbers."""

RULES: dict[Missing, str] = {
    "exclude": "Images without a verdict are left out of the rates",
    "fail": "Images without a verdict count as failures",
    "error": "Every image has a verdict",
}
"""The rule for images without a verdict."""

SCORE_RULES: dict[Missing, str] = {
    "exclude": "Images without a score are left out of the means",
    "fail": "Images without a score count as 0",
    "error": "Every image has a score",
}
"""The rule for images without a score."""


FAILURES_COUNTED = "Only scored images count, without those that failed by rule, which no judge looked at."
"""Which images the shares of failures are about."""


def words_of(suite: Suite) -> Words:
    """Return the labels of a suite."""
    return _WORDS[suite.kind]


def level_head(suite: Suite, level: int) -> str:
    """Return what a level is called below the word for levels: `3`; or its own name, such as `L3`."""
    return _LEVELS.get(suite.name, {}).get(level, str(level))


def level_word(suite: Suite) -> str:
    """Return the word for the levels, such as `K`; empty where they have names of their own."""
    return "" if suite.name in _LEVELS else suite.level


def level_name(suite: Suite, level: int) -> str:
    """Return what a level is called by itself: `K 3`, or `L3`."""
    return f"{level_word(suite)} {level_head(suite, level)}".strip()


def rule_text(missing: Missing, *, of_scores: bool = False) -> str:
    """Return the rule for missing verdicts or scores, with its name."""
    return f"{(SCORE_RULES if of_scores else RULES)[missing]} (missing: {missing})"
