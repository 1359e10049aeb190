"""Planning of image and label counts for a target half width, and of the most informative labels.

Both allocations are Neyman's, with guesses that labels correct. Labels of one run go to levels and answers of the judge
(`allocate_labels`). For differences between several runs items are drawn, and each is labelled in all runs
(`allocate_items`). Within a level all items have the same chance, whatever the judge says of their images: so the
labels correct the rate of every run as well, and hold for every judge.

The power of a comparison of two models is that of the tests of this package: the sign-flip test on the judge's verdicts
or on people's labels, and the corrected difference where people label some of the judged items. The difference is that
of the shares of images that one rater accepts, or that the judge passes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from heapq import heapify, heappop, heappush
from math import ceil, fsum, log, sqrt
from typing import Any, NamedTuple, TypeVar

from formalimg.errors import FormalimgError
from formalimg.stats.corrected import AnswerCell, LabelledLevel, rate_of_levels
from formalimg.stats.corrected_difference import PairedItem
from formalimg.stats.intervals import (
    binomial_interval,
    find_smallest,
    normal_quantile,
    student_quantile,
    validate_confidence,
)
from formalimg.stats.variance_components import AnswerSpread, majority_labels

_MOST = 1_000_000_000  # A number of images that nobody will make
_GUESSED_ERROR = 0.2  # How often a judge is taken to be wrong before there are labels
# Variance of people's difference around the judge's where the judge is wrong about each image in one case of ten
_GUESSED_SPREAD = 0.18
_GUESSED_WEIGHT = 0.5  # How much the judge's differences are taken to count before there are labels
_GUESS_LABELS = 4  # How many labels the guesses are worth
_MIN_LABELS = 2  # How many labels each cell and level gets first: fewer do not show its spread
_Cell = TypeVar("_Cell", int, tuple[int, bool])


def images_for_width(width: float, *, rate: float = 0.5, confidence: float = 0.95) -> int:
    """Return the number of images for which the exact interval of a pass rate meets a half width."""
    validate_confidence(confidence)
    require_width(width)
    if not 0 <= rate <= 1:
        raise FormalimgError(f"invalid rate {rate!r}: give one between 0 and 1")

    def is_enough(images: int) -> bool:
        low, high = binomial_interval(rate * images, images, confidence)
        return max(rate - low, high - rate) <= width

    return find_smallest(is_enough, 1, _MOST)


def items_for_difference(width: float, *, discordant: float, confidence: float = 0.95) -> int:
    """Estimate the number of items for a difference between two models to meet a half width."""
    require_width(width)
    if not 0 < discordant <= 1:
        raise FormalimgError(f"invalid share of differing items {discordant!r}: give one above 0 and at most 1")
    # At no difference the variance of a pair is the share that differs; a difference makes it smaller.
    return ceil(discordant * (normal_quantile(confidence) / width) ** 2 - 1e-9)


def labels_for_width(cells: Mapping[tuple[int, bool], int], width: float, *, confidence: float = 0.95) -> int | None:
    """Return the number of human labels for the corrected Overall rate to meet a half width."""
    require_width(width)

    def is_enough(labels: int) -> bool:
        return allocate_labels(cells, labels, confidence=confidence).half_width <= width

    least, upper = 2 * len(cells), sum(cells.values())
    return find_smallest(is_enough, min(least, upper), upper) if is_enough(upper) else None


def require_width(width: float) -> None:
    """Raise an error if the half width is not between 0 and 1."""
    if not 0 < width < 1:
        raise FormalimgError(f"a half width of {width!r} is out of range: give one between 0 and 1; 5 points are 0.05")


# --- labels of one run


class LabelAllocation(NamedTuple):
    """The number of images to label for each level and judge answer."""

    cells: Mapping[tuple[int, bool], int]  # further labels by level and whether the judge passed the image
    half_width: float  # expected half width of the corrected Overall interval after them


def allocate_labels(
    cells: Mapping[tuple[int, bool], int],
    labels: int,
    *,
    cells_known: Mapping[tuple[int, bool], tuple[int, int]] | None = None,
    confidence: float = 0.95,
) -> LabelAllocation:
    """Allocate labels to cells so that the corrected Overall rate is as precise as possible."""
    validate_confidence(confidence)
    so_far = dict.fromkeys(cells, (0, 0)) | dict(cells_known or {})
    for cell, (yes, done) in so_far.items():
        if not 0 <= yes <= done <= cells.get(cell, 0):
            raise FormalimgError(
                f"{yes} of {done} labels say yes, of {cells.get(cell, 0)} images at level {cell[0]} that the judge "
                f"{'passed' if cell[1] else 'failed'}: give labels of this run only"
            )
    labelled = {cell: done for cell, (_, done) in so_far.items()}
    unlabelled = sum(cells.values()) - sum(labelled.values())
    if not 0 <= labels <= unlabelled:
        raise FormalimgError(
            f"{labels} labels were asked for, of {unlabelled} images without one: ask for {unlabelled} or fewer"
        )
    if not sum(cells.values()):
        raise FormalimgError("there are no images to label: give the number of images of each level and answer")
    rates = {}
    for cell in cells:
        yes, done = so_far[cell]
        prior = 1 - _GUESSED_ERROR if cell[1] else _GUESSED_ERROR
        rates[cell] = (yes + _GUESS_LABELS * prior) / (done + _GUESS_LABELS)
    scales = {cell: images**2 * rates[cell] * (1 - rates[cell]) for cell, images in cells.items()}
    free = {cell: images - labelled[cell] for cell, images in cells.items()}
    new_labels = _allocate(scales, free, labelled, labels)
    counts = {cell: labelled[cell] + new_labels[cell] for cell in cells}
    levels = []
    for level in sorted({level for level, _ in cells}):
        yes_cell, no_cell = (
            AnswerCell(cells[cell], counts[cell], counts[cell] * rates[cell]) if cell in cells else AnswerCell(0, 0, 0)
            for cell in ((level, True), (level, False))
        )
        images = yes_cell.images + no_cell.images
        if images:
            levels.append(LabelledLevel(images / sum(cells.values()), yes_cell, no_cell))
    estimate = rate_of_levels(levels, confidence)
    return LabelAllocation(new_labels, (estimate.high - estimate.low) / 2)


def _allocate(
    scales: Mapping[_Cell, float], free: Mapping[_Cell, int], labelled: Mapping[_Cell, int], more: int
) -> dict[_Cell, int]:
    """Allocate labels greedily, each to the cell where it reduces the variance most."""
    counts = {cell: labelled.get(cell, 0) for cell in free}
    remaining = dict(free)

    def priority(cell: _Cell) -> tuple[bool, float]:
        # The cell with the least gets the next label: those with too few, then by how much one more narrows.
        count = counts[cell]
        return count >= _MIN_LABELS, -scales[cell] / (count * (count + 1)) if count else -2 * scales[cell]

    queue: list[Any] = [(priority(cell), cell) for cell in free if free[cell]]
    heapify(queue)
    for _ in range(min(more, sum(free.values()))):
        _, cell = heappop(queue)
        counts[cell] += 1
        remaining[cell] -= 1
        if remaining[cell]:
            heappush(queue, (priority(cell), cell))
    return {cell: free[cell] - remaining[cell] for cell in free}


# --- items for the differences of several runs


class LevelSpread(NamedTuple):
    """The variance of the differences between two runs among the items of a level."""

    judge: float  # variance of the judge's differences, by the square of their weight
    rest: float  # variance of what they leave of people's differences


def level_spreads(items: Sequence[PairedItem]) -> dict[int, LevelSpread]:
    """Estimate the spread between two runs by level, from the judge's differences and existing labels."""
    by_level: dict[int, list[PairedItem]] = {}
    for item in items:
        by_level.setdefault(item.level, []).append(item)
    of_judge = {
        level: _sample_variance([item.judge for item in level_items]) for level, level_items in by_level.items()
    }
    labelled = {
        level: [(item.judge_where_labelled, item.people) for item in level_items if item.people is not None]
        for level, level_items in by_level.items()
    }
    weight = _judge_weight(labelled, of_judge)
    spreads = {}
    for level, pairs in labelled.items():
        residuals = [people - weight * judge for judge, people in pairs]
        guess = (_GUESSED_SPREAD + of_judge[level]) / 2
        rest = (_GUESS_LABELS * guess + len(residuals) * _sample_variance(residuals)) / (_GUESS_LABELS + len(residuals))
        spreads[level] = LevelSpread(weight**2 * of_judge[level], rest)
    return spreads


def _judge_weight(labelled: Mapping[int, Sequence[tuple[float, float]]], of_judge: Mapping[int, float]) -> float:
    """Return the slope of human on judge differences within levels, limited to 0 to 1."""
    guess = _GUESS_LABELS * fsum(of_judge.values()) / max(1, len(of_judge))
    together, spread = _GUESSED_WEIGHT * guess, guess
    for pairs in labelled.values():
        if pairs:
            judge_mean, people_mean = (fsum(side) / len(pairs) for side in zip(*pairs, strict=True))
            together += fsum((judge - judge_mean) * (people - people_mean) for judge, people in pairs)
            spread += fsum((judge - judge_mean) ** 2 for judge, _ in pairs)
    return min(1.0, max(0.0, together / spread)) if spread else _GUESSED_WEIGHT


def _sample_variance(values: Sequence[float]) -> float:
    if len(values) < 2:
        return 0.0
    mean = fsum(values) / len(values)
    return fsum((value - mean) ** 2 for value in values) / (len(values) - 1)


def allocate_items(
    free: Mapping[int, int],
    weights: Mapping[int, float],
    spreads: Mapping[int, float],
    labelled: Mapping[int, int],
    more: int,
) -> dict[int, int]:
    """Allocate items to label to the levels."""
    scales = {level: weights.get(level, 0.0) ** 2 * spreads.get(level, _GUESSED_SPREAD) for level in free}
    return _allocate(scales, free, labelled, more)


def difference_half_width(
    items: Mapping[int, int],
    weights: Mapping[int, float],
    spreads: Mapping[int, LevelSpread],
    labelled: Mapping[int, int],
    confidence: float = 0.95,
) -> float:
    """Return the expected half width of the corrected difference, or 1 if it cannot be estimated."""
    levels = [level for level in spreads if weights.get(level) and items.get(level)]
    count = sum(labelled.get(level, 0) for level in levels)
    if count <= _MIN_LABELS:
        return 1.0
    of_judge = fsum(weights[level] ** 2 * spreads[level].judge / items[level] for level in levels)
    strata = sum(labelled.get(level, 0) >= _MIN_LABELS for level in levels)
    if strata == len(levels):
        rest = fsum(weights[level] ** 2 * spreads[level].rest / labelled[level] for level in levels)
    else:  # neighbouring levels are joined
        strata = max(1, strata)
        rest = fsum(weights[level] * spreads[level].rest for level in levels) / count
    freedom = max(1, count - strata - 1)
    variance = (of_judge + rest) * max(1, count - strata) / freedom + 2 / (count * (count + 1))
    return min(1.0, student_quantile(confidence, freedom) * sqrt(variance))


# --- power of comparisons of two models on the same items

_MAX_ITEMS = 10_000_000  # Items that nobody will make


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
    return _smallest_design(lambda items: Design(items, images), 2, _MAX_ITEMS, goal, spread)


def plan_labelled_design(goal: Goal, spread: AnswerSpread, images: int, raters: int) -> Design:
    """Find the smallest design that uses only human labels."""
    return _smallest_design(lambda items: Design(items, images, items, raters, False), 2, _MAX_ITEMS, goal, spread)


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
            f"a difference of {goal.difference!r} is out of range: give one between 0 and 1; 5 points are 0.05"
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
