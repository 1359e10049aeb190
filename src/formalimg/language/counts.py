"""Number words and bounds in English, and normalization of counts."""

from __future__ import annotations

from typing import NamedTuple

from formalimg.logic.syntax import Count, CountBound, Formula, Not

_UNITS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
_TEENS = ("thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen", "twenty")
_WORDS = (*_UNITS, *_TEENS)

NUMBERS = {word: number for number, word in enumerate(_WORDS)}
"""The numbers that are written as words; larger ones are written in digits."""

BOUNDS: dict[str, CountBound] = {"exactly": "exactly", "at least": "at-least", "at most": "at-most"}
"""The words before a number."""

NONE = "no"  # The word for exactly zero: "there is no cup"


class SignedCount(NamedTuple):
    """A count, possibly negated."""

    counted: Count
    positive: bool = True


def signed_count(formula: Formula) -> SignedCount | None:
    """Normalize a count or negated count to the form used in English, or return None for other formulas.

    "Not at least three" becomes "at most two", and "at most zero" becomes "exactly zero". The negation is preserved
    only in "not exactly three" and in "not at least zero", which never holds.
    """
    if isinstance(formula, Not):
        inner = signed_count(formula.body)
        return _negated(inner.counted) if inner and inner.positive else inner and SignedCount(inner.counted)
    if not isinstance(formula, Count):
        return None
    return SignedCount(_bounded(formula, "exactly", 0) if formula.range == (0, 0) else formula)


def _negated(count: Count) -> SignedCount:
    least, most = count.range
    if most is None and least:
        return SignedCount(_bounded(count, "at-most" if least > 1 else "exactly", least - 1))
    if count.bound == "at-most" or count.range == (0, 0):
        return SignedCount(_bounded(count, "at-least", count.number + 1))
    return SignedCount(count, positive=False)


def _bounded(count: Count, bound: CountBound, number: int) -> Count:
    return Count(bound, number, count.variable, count.body, count.span)


def amount_text(bound: CountBound, number: int) -> str:
    """Return the words for an amount, such as "exactly three", "at most 30" or "no"."""
    if bound == "exactly" and number == 0:
        return NONE
    words = next(text for text, meaning in BOUNDS.items() if meaning == bound)
    return f"{words} {_WORDS[number] if number < len(_WORDS) else number}"


def is_singular(bound: CountBound, number: int) -> bool:
    """Return whether the noun after an amount is singular, as in "exactly one cup" or "no cup"."""
    return number == 1 or (bound == "exactly" and number == 0)


def number_of(word: str) -> int | None:
    """Parse a number word or digits, or return None if the word is not a number."""
    if word in NUMBERS:
        return NUMBERS[word]
    return int(word) if word.isascii() and word.isdigit() and len(word) < 5 else None
