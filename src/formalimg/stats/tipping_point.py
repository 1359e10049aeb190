"""The tipping point of a difference: how unequally a judge would have to treat two models to explain all of it."""

from __future__ import annotations

from typing import NamedTuple

MEASURED_GAPS = (0.21, 0.34)
"""How far the measured false-pass rates of one judge lie apart between image models, on public data with human labels.

TIFA160 (160 prompts, 5 models): two judges that answer the DSG questions, against people by "mean of five raters at
least 4" (21 and 25 points) and by "most raters give at least 4" (33 and 34 points). They include sampling error: equal
rates would lie 13 to 16 points apart. `benchmarks/decisions.py` prints them."""


_ROUNDING = 1e-9
"""A gap that exceeds the largest one by less is the largest one."""


class ErrorRates(NamedTuple):
    """How often a judge passes images that are wrong, and fails images that are right."""

    false_pass: float = 0.0
    false_fail: float = 0.0


NO_ERRORS = ErrorRates()


class TippingPoint(NamedTuple):
    """By how much one of a judge's error rates would have to differ between two equal models, 0 to 1."""

    # it passes so many more of the wrong images of the leading model; None if not even all of them would be enough
    false_pass: float | None
    false_fail: float | None  # it fails so many more of the right images of the other model; None as above


def tipping_point(leader: float, follower: float, errors: ErrorRates = NO_ERRORS) -> TippingPoint | None:
    """Return what would explain the difference between two pass rates of models that are equally good.

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
    """Return the gap among this share of images that explains a difference; None if it exceeds the largest one."""
    is_enough = difference <= share * largest + _ROUNDING
    return min(largest, difference / share) if is_enough and share > 0 else None
