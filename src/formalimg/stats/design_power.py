"""Power analysis for comparing two models on the same items, by number of items, images and raters.

The difference is that of the shares of images that one rater accepts, or that the judge passes. Designs are analysed
with the tests of this package: the sign-flip test of `stats.comparison` on the judge's verdicts or on people's labels,
and `stats.corrected_difference` where people label some of the judged items.
"""

from __future__ import annotations

from collections.abc import Callable
from math import log, sqrt
from typing import NamedTuple

from formalimg.errors import FormalimgError
from formalimg.stats.intervals import normal_quantile, student_quantile
from formalimg.stats.planning import find_smallest
from formalimg.stats.variance_components import AnswerSpread, majority_labels

_MOST = 10_000_000  # Items that nobody will make


class Goal(NamedTuple):
    """The difference to detect, with the required power and confidence."""

    difference: float  # the true difference of two models, between 0 and 1
    power: float = 0.8  # how often it should be found
    confidence: float = 0.95  # 1 minus the share of false alarms, two-sided


class Design(NamedTuple):
    """A comparison of two models on the same items."""

    items: int  # number of items
    images: int = 1  # images per item and model
    labelled: int = 0  # items that people label, with all of their images; 0 for the judge alone
    raters: int = 1  # raters per labelled image
    has_judge: bool = True  # whether a judge gives verdicts on all items

    @property
    def total_images(self) -> int:
        """The number of images of both models."""
        return 2 * self.items * self.images

    @property
    def ratings(self) -> int:
        """The number of ratings for both models."""
        return 2 * self.labelled * self.images * self.raters


def power_of(design: Design, goal: Goal, spread: AnswerSpread, levels: int = 1) -> float:
    """Return the power of a design to detect the difference."""
    if not design.labelled:
        return _power_of_pairs(spread.judge.difference_variance(design.images), design, goal)
    if not design.has_judge:
        labels = majority_labels(spread.people, design.raters)
        scaled_goal = goal._replace(difference=labels.gain * goal.difference)
        return _power_of_pairs(labels.components.difference_variance(design.images), design, scaled_goal)
    return _power_with_correction(design, goal, spread, levels)


def plan_judged_design(goal: Goal, spread: AnswerSpread, images: int) -> Design:
    """Find the smallest design that uses only a judge."""
    return _smallest_design(lambda items: Design(items, images), 2, _MOST, goal, spread)


def plan_labelled_design(goal: Goal, spread: AnswerSpread, images: int, raters: int) -> Design:
    """Find the smallest design that uses only human labels."""
    return _smallest_design(lambda items: Design(items, images, items, raters, False), 2, _MOST, goal, spread)


def plan_corrected_design(
    goal: Goal, spread: AnswerSpread, items: int, images: int, raters: int, levels: int = 1
) -> Design | None:
    """Find the design with the fewest labelled items, or None if labelling all items is insufficient."""
    least = min(items, 2 * levels + 2)
    full = Design(items, images, items, raters)
    if power_of(full, goal, spread, levels) < goal.power:
        return None
    return _smallest_design(lambda labelled: full._replace(labelled=labelled), least, items, goal, spread, levels)


def require_goal(goal: Goal) -> Goal:
    """Return the goal, and raise an error if its difference or power is impossible."""
    if not 0 < goal.difference < 1:
        raise FormalimgError(
            f"a difference of {goal.difference!r} cannot be planned: give one between 0 and 1; 5 points are 0.05"
        )
    if not 1 - goal.confidence < goal.power < 1:
        raise FormalimgError(
            f"a power of {goal.power!r} cannot be planned: give one above {1 - goal.confidence:.2g} and below 1"
        )
    return goal


def _smallest_design(
    build: Callable[[int], Design], low: int, high: int, goal: Goal, spread: AnswerSpread, levels: int = 1
) -> Design:
    require_goal(goal)
    return build(find_smallest(lambda size: power_of(build(size), goal, spread, levels) >= goal.power, low, high))


def _power_of_pairs(variance: float, design: Design, goal: Goal) -> float:
    """Return the power of the sign-flip test, whose null variance is the mean squared difference.

    The test is exact and the sum of differences moves in steps of two images, half of which it loses on average.
    """
    if not variance:
        return 1.0
    half_step = 1 / (design.images * sqrt(design.items))
    edge = normal_quantile(goal.confidence) * sqrt(variance + goal.difference**2) + half_step
    shift = goal.difference * sqrt(design.items)
    return sum(_normal_tail((edge + side * shift) / sqrt(variance)) for side in (-1, 1))


def _power_with_correction(design: Design, goal: Goal, spread: AnswerSpread, levels: int) -> float:
    """Return the power of the corrected difference with the optimal weight, adjusted for few labels."""
    labelled, freedom = design.labelled, design.labelled - levels - 1
    if freedom < 1:
        return 0.0
    labels = majority_labels(spread.people, design.raters)
    people = labels.components.difference_variance(design.images)
    judge = spread.judge.difference_variance(design.images)
    together = labels.gain * spread.covariance(design.images)
    weight = min(1.0, together / judge) if judge else 0.0
    rest = people - 2 * weight * together + weight**2 * judge
    spread_of_estimate = sqrt(rest / labelled + (people - rest) / design.items)
    farthest = min(1 + weight, sqrt(2 * rest * log(2 * labelled)))
    allowance = 2 * farthest**2 / (labelled * (labelled + 1))
    error = sqrt(spread_of_estimate**2 * (labelled - levels) / freedom + allowance)
    edge, shift = student_quantile(goal.confidence, freedom) * error, labels.gain * goal.difference
    return sum(_normal_tail((edge + side * shift) / spread_of_estimate) for side in (-1, 1))


def _normal_tail(z: float) -> float:
    from statistics import NormalDist  # here, because it takes long to load

    return NormalDist().cdf(-z)
