"""Corrections for known judge errors, and the error gap needed to explain a difference.

The Rogan-Gladen estimate corrects a pass rate by the judge's sensitivity and specificity. It is for runs without
labels, and holds only if the judge errs on this run as it did where it was measured. Usually it does not: specificity
depends on how badly a model fails. Prefer labels of the run itself (`corrected_rate`). The tipping point of a
difference is how unequally a judge would have to treat two models to explain all of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import exp, lgamma, log, sqrt
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
            raise FormalimgError(f"the {name} {share!r} is not between 0 and 1: 70 % is 0.7")
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


# --- drift, by an e-process on changed answers that is valid at every look
#
# A judge answers about an anchor set once (the reference) and once more: the share of answers that changed is its own
# noise. Later looks ask again about a random part of the set. If the judge is the same, every look has the same chance
# of a changed answer as the second pass had; what that chance is, is not known.
#
# The e-process is a likelihood ratio. Its numerator says that the chance was one number up to some look and another one
# from there on, averaged over both numbers (Beta distributions) and over where the change came (looks 1, 2, 4, 8, …,
# with weights that sum to 1). Its denominator is the best that can be said without a rise: the largest likelihood of
# all pairs of chances of which the second is not higher (universal inference). So nothing has to be assumed about the
# noise, the second pass may be short, and by Ville's inequality an unchanged judge reaches 20 at any look ever with a
# chance of at most 5 %.
#
# Images differ in how noisy they are, and a look asks about each image once at most. Both only make counts less
# variable than binomial ones of the same mean, and every factor of the ratio is a convex function of a count, so its
# mean under an unchanged judge is at most the binomial one (Hoeffding, 1956 and 1963).

DRIFT_ALARM = 20.0  # An e-value from which on the judge has changed: at most one unchanged judge in 20 ever gets there
NOISE = (0.5, 20.0)  # The Beta distribution of the chance of a changed answer before a change: mostly small
DRIFTED = (0.5, 4.0)  # The Beta distribution of that chance afterwards


class AnchorLook(NamedTuple):
    """A look at an anchor set, with the numbers of answers compared and changed."""

    asked: int
    changed: int


class DriftEvidence(NamedTuple):
    """The evidence that a judge has changed."""

    e: float  # the e-value after the last look; 1 without a look
    highest: float  # the highest e-value of any look, which decides
    noise: float | None  # the share of changed answers in the second pass; None if it was empty
    recent: float | None  # the share of changed answers in the last look; None without one

    @property
    def alarm(self) -> bool:
        """Whether drift is detected at an error rate of 5 % over all looks."""
        return self.highest >= DRIFT_ALARM


def drift_evidence(second_pass: AnchorLook, looks: Sequence[AnchorLook]) -> DriftEvidence:
    """Compute the evidence for drift since the judge's first two passes over an anchor set.

    The second pass, compared with the first, is the noise of the judge; the looks are later ones in their order.
    """
    before = [_validate_look(second_pass)]
    values = [1.0]
    for look in map(_validate_look, looks):
        before.append(AnchorLook(before[-1].asked + look.asked, before[-1].changed + look.changed))
        values.append(_e_value(before))
    noise, recent = (
        look.changed / look.asked if look is not None and look.asked else None
        for look in (second_pass, looks[-1] if looks else None)
    )
    return DriftEvidence(values[-1], max(values), noise, recent)


def _validate_look(look: AnchorLook) -> AnchorLook:
    if not 0 <= look.changed <= look.asked:
        raise FormalimgError(f"{look.changed} of {look.asked} changed answers is not a count: check the looks")
    return look


def _e_value(before: Sequence[AnchorLook]) -> float:
    """Return the e-value from cumulative counts, starting with the second pass."""
    total, value = before[-1], 0.0
    for number, start in enumerate(change_points(len(before) - 1), 1):
        early = before[start]
        late = AnchorLook(total.asked - early.asked, total.changed - early.changed)
        value += exp(min(700.0, _log_ratio(early, late))) / (number * (number + 1))  # the weights sum to 1
    return value


def change_points(looks: int) -> list[int]:
    """Return the candidate change points for a number of looks: 0 and powers of two."""
    return [0, *(2**power for power in range((looks - 1).bit_length()))] if looks else []


def _log_ratio(early: AnchorLook, late: AnchorLook) -> float:
    """Return the log ratio of the average likelihood of a rise to the maximum likelihood without one."""
    if late.changed * early.asked > early.changed * late.asked or not early.asked:
        pooled = AnchorLook(early.asked + late.asked, early.changed + late.changed)
        without = _log_largest(pooled)
    else:
        without = _log_largest(early) + _log_largest(late)
    return _log_average(early, NOISE) + _log_average(late, DRIFTED) - without


def _log_largest(look: AnchorLook) -> float:
    stayed = look.asked - look.changed
    return sum(count * log(count / look.asked) for count in (look.changed, stayed) if count)


def _log_average(look: AnchorLook, prior: tuple[float, float]) -> float:
    a, b = prior
    return _log_beta(a + look.changed, b + look.asked - look.changed) - _log_beta(a, b)


def _log_beta(a: float, b: float) -> float:
    return lgamma(a) + lgamma(b) - lgamma(a + b)
