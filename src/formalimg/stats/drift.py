"""Detection of judge drift by an e-process on changed answers, valid at every look.

A judge answers about an anchor set once (the reference) and once more: the share of answers that changed is its own
noise. Later looks ask again about a random part of the set. If the judge is the same, every look has the same chance of
a changed answer as the second pass had; what that chance is, is not known.

The e-process is a likelihood ratio. Its numerator says that the chance was one number up to some look and another one
from there on, averaged over both numbers (Beta distributions) and over where the change came (looks 1, 2, 4, 8, …,
with weights that sum to 1). Its denominator is the best that can be said without a rise: the largest likelihood of
all pairs of chances of which the second is not higher (universal inference). So nothing has to be assumed about the
noise, the second pass may be short, and by Ville's inequality an unchanged judge reaches 20 at any look ever with a
chance of at most 5 %.

Images differ in how noisy they are, and a look asks about each image once at most. Both only make counts less variable
than binomial ones of the same mean, and every factor of the ratio is a convex function of a count, so its mean under
an unchanged judge is at most the binomial one (Hoeffding, 1956 and 1963).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from math import exp, lgamma, log
from typing import NamedTuple

from formalimg.errors import FormalimgError

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

    Args:
        second_pass: the second pass, compared with the first: the noise of the judge.
        looks: all later looks in their order, each compared with the first pass.
    """
    values = [1.0, *drift_e_values(second_pass, looks)]
    return DriftEvidence(
        values[-1], max(values), _changed_share(second_pass), _changed_share(looks[-1]) if looks else None
    )


def drift_e_values(second_pass: AnchorLook, looks: Iterable[AnchorLook]) -> Iterator[float]:
    """Yield the e-value after each look."""
    before = [_validate_look(second_pass)]
    for look in looks:
        answers, changed = _validate_look(look)
        before.append(AnchorLook(before[-1].asked + answers, before[-1].changed + changed))
        yield _e_value(before)


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


def _changed_share(look: AnchorLook) -> float | None:
    return look.changed / look.asked if look.asked else None
