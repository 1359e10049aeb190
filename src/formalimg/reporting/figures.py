"""Numbers as they are written in tables and sentences, whatever the suite; `scales` has what depends on it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from formalimg.stats import Band, Generalizability, Rate

NOTHING = "–"
"""Stands where there is no figure."""

INCOMPLETE = "†"
"""Marks a figure for which some images were not scored."""


def percent(value: float | None) -> str:
    """A rate in percent, such as 86.5."""
    return NOTHING if value is None else f"{100 * value:.1f}"


def incomplete(rate: Rate | Band | None) -> str:
    """The mark of a figure that not all images went into; empty if all did."""
    return INCOMPLETE if rate is not None and rate.value is not None and rate.coverage < 1 else ""


def mark_in_front(figure: str) -> str:
    """The figure with its mark in front, so that the decimals of a column stand below each other."""
    return INCOMPLETE + figure.replace(INCOMPLETE, "") if INCOMPLETE in figure else figure


def level_held(held: Generalizability | None) -> str:
    """G without its interval."""
    return NOTHING if held is None or held.value is None else str(held.value)


def bounds_held(held: Generalizability | None) -> str:
    """The interval of G, such as 3–5; empty if there is none."""
    return "" if held is None or held.low is None or held.high is None else f"{held.low}–{held.high}"


def scored_text(rate: Rate) -> str:
    """How many of the images were scored, such as 198/200."""
    return f"{rate.scored}/{rate.expected}"


def epsilon_text(epsilon: float) -> str:
    """The rate to be held, such as 0.7."""
    return f"{epsilon:g}"


def counted(count: int, word: str) -> str:
    """A number with its noun: `1 item`, `2,000 items`."""
    return f"{count:,} {word}{'s' * (count != 1)}"


def told(counts: Mapping[str, int]) -> str:
    """Counts in words: `3 refused, 1 judge failed`."""
    return ", ".join(f"{count:,} {reason}" for reason, count in counts.items())


def listed(names: Sequence[str]) -> str:
    """Names in a sentence: `a`, `a and b`, `a, b and c`."""
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


def cut(words: str, longest: int) -> str:
    """Words on one line, cut where they are too long."""
    line = " ".join(words.split())
    return line if len(line) <= longest else f"{line[: longest - 1].rstrip()}…"
