"""Corrections for known judge errors, and the error gap needed to explain a difference.

The Rogan-Gladen estimate corrects a pass rate by the judge's sensitivity and specificity. It is for runs without
labels, and holds only if the judge errs on this run as it did where it was measured. Usually it does not: specificity
depends on how badly a model fails. Prefer labels of the run itself (`corrected_rate`). The tipping point of a
difference is how unequally a judge would have to treat two models to explain all of it.
"""

from __future__ import annotations

from math import sqrt
from typing import NamedTuple

from formalimg.errors import FormalimgError
from formalimg.stats.intervals import normal_quantile

RG_ASSUMPTION = "assumes the judge errs here as it did there"


class RoganGladen(NamedTuple):
    """A pass rate corrected with externally measured sensitivity and specificity."""

    estimate: float  # the corrected rate, 0 to 1
    # its confidence interval; None without the counts behind the rates. From 0 to 1 where the counts refute the
    # assumption, or are too few to tell the judge from chance
    low: float | None
    high: float | None
    assumption: str = RG_ASSUMPTION  # what must be said beside it


def rogan_gladen(
    rate: float,
    sensitivity: float,
    specificity: float,
    *,
    images: int | None = None,
    positives: int | None = None,
    negatives: int | None = None,
    confidence: float = 0.95,
) -> RoganGladen:
    """Correct a judge's pass rate for its sensitivity and specificity."""
    width = normal_quantile(confidence)
    for name, share in (("rate", rate), ("sensitivity", sensitivity), ("specificity", specificity)):
        if not 0 <= share <= 1:
            raise FormalimgError(f"the {name} {share!r} does not lie between 0 and 1: 70 % is 0.7")
    if sensitivity + specificity <= 1:
        raise FormalimgError(
            f"with sensitivity {sensitivity:.3g} and specificity {specificity:.3g} the judge is no better than chance: "
            "nothing can be corrected by it, use another judge or label images of the run"
        )
    estimate = min(1.0, max(0.0, (rate + specificity - 1) / (sensitivity + specificity - 1)))
    if images is None and positives is None and negatives is None:
        return RoganGladen(estimate, None, None)
    if images is None or positives is None or negatives is None:
        raise FormalimgError("an interval needs all three counts: give images, positives and negatives, or none")
    for name, count in (("images", images), ("positives", positives), ("negatives", negatives)):
        if count < 1:
            raise FormalimgError(f"there are {count} {name}: give at least 1, or none of the counts")
    # Adjusted counts, as Lang and Reiczigel propose: z^2 more images, and two more of either kind.
    square = width * width
    n, good, bad = images + square, positives + 2, negatives + 2
    p = (images * rate + square / 2) / n
    true_yes, true_no = (positives * sensitivity + 1) / good, (negatives * specificity + 1) / bad
    power = true_yes + true_no - 1
    if power <= 0:
        return RoganGladen(estimate, 0.0, 1.0)
    middle = (p + true_no - 1) / power
    from_yes, from_no = true_yes * (1 - true_yes) / good, true_no * (1 - true_no) / bad
    half = width * sqrt(p * (1 - p) / n + middle**2 * from_yes + (1 - middle) ** 2 * from_no) / power
    middle += 2 * square * (middle * from_yes - (1 - middle) * from_no)
    low, high = middle - half, middle + half
    if high <= 0 or low >= 1:  # a judge with these errors hardly gives such a rate, so that it errs otherwise here
        return RoganGladen(estimate, 0.0, 1.0)
    return RoganGladen(estimate, max(0.0, min(low, estimate)), min(1.0, max(high, estimate)))


MEASURED_GAPS = (0.21, 0.34)
"""How far the measured false-pass rates of one judge lie apart between image models, on public data with human labels.

TIFA160 (160 prompts, 5 models): two judges that answer the DSG questions, against people by "mean of five raters at
least 4" (21 and 25 points) and by "most raters give at least 4" (33 and 34 points). They include sampling error: equal
rates would lie 13 to 16 points apart. `benchmarks/decisions.py` prints them."""


_ROUNDING = 1e-9  # A gap that exceeds the largest one by less is the largest one


class ErrorRates(NamedTuple):
    """The rates at which a judge passes wrong images and fails correct ones."""

    false_pass: float = 0.0
    false_fail: float = 0.0


NO_ERRORS = ErrorRates()


class TippingPoint(NamedTuple):
    """The gap in a judge's error rates, from 0 to 1, that would explain the difference between equal models."""

    # it passes so many more of the wrong images of the leading model; None if not even all of them would be enough
    false_pass: float | None
    false_fail: float | None  # it fails so many more of the right images of the other model; None as above


def tipping_point(leader: float, follower: float, errors: ErrorRates = NO_ERRORS) -> TippingPoint | None:
    """Return the error gap that would explain the difference between the pass rates of two equal models.

    A judge passes the right images but for its false fails, and some wrong ones: rate = good (1 - false_fail) + (1 -
    good) false_pass. With the same share of good images in both models, a gap in one of the two error rates moves the
    rate of one model by the gap times the share of wrong, or of right images.
    """
    power = 1 - errors.false_pass - errors.false_fail
    if leader <= follower or power <= 0:
        return None
    good_by_other = min(1.0, max(0.0, (follower - errors.false_pass) / power))
    good_by_leader = min(1.0, max(0.0, (leader - errors.false_pass) / power))
    difference = leader - follower
    return TippingPoint(
        _rate_gap(difference, 1 - good_by_other, 1 - errors.false_pass),
        _rate_gap(difference, good_by_leader, 1 - errors.false_fail),
    )


def _rate_gap(difference: float, share: float, largest: float) -> float | None:
    is_enough = difference <= share * largest + _ROUNDING
    return min(largest, difference / share) if is_enough and share > 0 else None
