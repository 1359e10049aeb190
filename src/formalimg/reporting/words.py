"""What objects are called, suite by suite, and the rules that several tables have in common, in words."""

from __future__ import annotations

from typing import NamedTuple

from formalimg.stats import Missing
from formalimg.suites import Suite


class Words(NamedTuple):
    """The words for the parts of verdicts.

    Attributes:
        part: what one part is.
        kind: what sorts of parts are called.
        about: what failures are grouped by besides.
        holds, hold: what is said of one part, and of several, that an image shows.
        failed: what is said of parts that an image does not show.
        more: the heading over the tables besides the main one.
        figures: what the figures of the main table are called.
        bands: what the figures behind those of the levels are.
        parts_are_code: are parts written in a formal language?
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
"""What the levels of suites are called where they are no numbers."""

RULES: dict[Missing, str] = {
    "exclude": "Images without a verdict are left out of the rates",
    "fail": "Images without a verdict count as failures",
    "error": "Every image has a verdict",
}
"""What is done with images that have no verdict."""

SCORE_RULES: dict[Missing, str] = {
    "exclude": "Images without a score are left out of the means",
    "fail": "Images without a score count as 0",
    "error": "Every image has a score",
}
"""What is done with images that have no score."""


FAILURES_COUNTED = "Only scored images count, without those that failed by rule, in which nobody looked for anything."
"""Which images are behind what is said to fail."""


def words_of(suite: Suite) -> Words:
    """The words that a suite uses."""
    return _WORDS[suite.kind]


def level_head(suite: Suite, level: int) -> str:
    """What a level is called under the word for levels: `3`; or its own name, such as `L3`."""
    return _LEVELS.get(suite.name, {}).get(level, str(level))


def level_word(suite: Suite) -> str:
    """The word for the levels, such as K; empty where they have names of their own."""
    return "" if suite.name in _LEVELS else suite.level


def level_name(suite: Suite, level: int) -> str:
    """What a level is called where it stands alone: `K 3`, or `L3`."""
    return f"{level_word(suite)} {level_head(suite, level)}".strip()


def rule_text(missing: Missing, *, of_scores: bool = False) -> str:
    """The rule for missing verdicts or scores, with its name."""
    return f"{(SCORE_RULES if of_scores else RULES)[missing]} (missing: {missing})"
