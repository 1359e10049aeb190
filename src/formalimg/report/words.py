"""What things are called, suite by suite, and the rules that several tables have in common, in words."""

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
        holds, hold: what is said of one part, and of several, that a picture shows.
        more: the heading over the tables besides the main one.
        parts_are_code: are parts written in a formal language?
    """

    part: str
    kind: str
    about: str
    holds: str
    hold: str
    more: str
    parts_are_code: bool


_WORDS = {
    "formula": Words("clause", "kind of clause", "predicate", "holds", "hold", "More figures", parts_are_code=True),
    "concepts": Words("concept", "category", "value", "is shown", "are shown", "Concepts", parts_are_code=False),
}

RULES: dict[Missing, str] = {
    "exclude": "Pictures without a verdict are left out of the rates",
    "fail": "Pictures without a verdict count as failures",
    "error": "Every picture has a verdict",
}
"""What is done with pictures that have no verdict."""


def words_of(suite: Suite) -> Words:
    """The words that a suite uses."""
    return _WORDS[suite.kind]


def rule_text(missing: Missing) -> str:
    """The rule for missing verdicts, with its name."""
    return f"{RULES[missing]} (missing: {missing})"
