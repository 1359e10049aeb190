"""How many items of each level to label in several runs, so that the differences between runs are most precise.

An item that is drawn is labelled in all runs. Within a level all items have the same chance, whatever the judge says of
their images: so the labels correct the rate of every run as well, and hold for every judge. Across levels this is
Neyman's allocation, with the spread that the judge's differences leave of people's.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from heapq import heapify, heappop, heappush
from math import fsum, sqrt
from typing import NamedTuple

from formalimg.stats.corrected_difference import PairedItem
from formalimg.stats.intervals import student_quantile

_GUESSED_SPREAD = 0.18
"""Variance of people's difference around the judge's where the judge is wrong about each image in one case of ten."""

_GUESSED_WEIGHT = 0.5
"""How much the judge's differences are taken to count before there are labels."""

_GUESS_LABELS = 4
"""How many labels the guesses are worth."""

_MIN_LABELS = 2
"""How many items each level gets first: fewer do not show its spread."""


class LevelSpread(NamedTuple):
    """How much the differences of two runs vary among the items of a level."""

    judge: float  # variance of the judge's differences, by the square of their weight
    rest: float  # variance of what they leave of people's differences


def level_spreads(items: Sequence[PairedItem]) -> dict[int, LevelSpread]:
    """Return the spreads of two runs by level: guessed by the judge's differences, corrected by labels so far."""
    by_level: dict[int, list[PairedItem]] = {}
    for item in items:
        by_level.setdefault(item.level, []).append(item)
    of_judge = {
        level: _sample_variance([item.judge for item in level_items]) for level, level_items in by_level.items()
    }
    labelled = {
        level: [item for item in level_items if item.people is not None] for level, level_items in by_level.items()
    }
    weight = _judge_weight(labelled, of_judge)
    spreads = {}
    for level, own in labelled.items():
        residuals = [(item.people or 0.0) - weight * item.judge_where_labelled for item in own]
        guess = (_GUESSED_SPREAD + of_judge[level]) / 2
        rest = (_GUESS_LABELS * guess + len(residuals) * _sample_variance(residuals)) / (_GUESS_LABELS + len(residuals))
        spreads[level] = LevelSpread(weight**2 * of_judge[level], rest)
    return spreads


def _judge_weight(labelled: Mapping[int, Sequence[PairedItem]], of_judge: Mapping[int, float]) -> float:
    """Return the slope of people's differences on the judge's within levels, from 0 to 1."""
    guess = _GUESS_LABELS * fsum(of_judge.values()) / max(1, len(of_judge))
    together, spread = _GUESSED_WEIGHT * guess, guess
    for level_items in labelled.values():
        if level_items:
            judge = fsum(item.judge_where_labelled for item in level_items) / len(level_items)
            people = fsum(item.people or 0.0 for item in level_items) / len(level_items)
            together += fsum(
                (item.judge_where_labelled - judge) * ((item.people or 0.0) - people) for item in level_items
            )
            spread += fsum((item.judge_where_labelled - judge) ** 2 for item in level_items)
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
    """Return how many further items to label of each level."""
    counts = Counter(dict(labelled))

    def priority(level: int) -> tuple[bool, float]:
        """Return what the level with the least of gets the next item."""
        scale, count = weights.get(level, 0.0) ** 2 * spreads.get(level, _GUESSED_SPREAD), counts[level]
        return count >= _MIN_LABELS, -scale / (count * (count + 1)) if count else -2 * scale

    remaining = dict(free)
    queue = [(priority(level), level) for level in remaining if remaining[level]]
    heapify(queue)
    for _ in range(min(more, sum(remaining.values()))):
        _, level = heappop(queue)
        counts[level] += 1
        remaining[level] -= 1
        if remaining[level]:
            heappush(queue, (priority(level), level))
    return {level: counts[level] - labelled.get(level, 0) for level in free}


def difference_half_width(
    items: Mapping[int, int],
    weights: Mapping[int, float],
    spreads: Mapping[int, LevelSpread],
    labelled: Mapping[int, int],
    confidence: float = 0.95,
) -> float:
    """Return the expected half width of the corrected difference of two runs; 1 where it cannot be known."""
    levels = [level for level in spreads if weights.get(level) and items.get(level)]
    count = sum(labelled.get(level, 0) for level in levels)
    if count <= _MIN_LABELS:
        return 1.0
    of_judge = fsum(weights[level] ** 2 * spreads[level].judge / items[level] for level in levels)
    if all(labelled.get(level, 0) >= _MIN_LABELS for level in levels):
        strata = len(levels)
        rest = fsum(weights[level] ** 2 * spreads[level].rest / labelled[level] for level in levels)
    else:  # neighbouring levels are joined
        strata = max(1, sum(labelled.get(level, 0) >= _MIN_LABELS for level in levels))
        rest = fsum(weights[level] * spreads[level].rest for level in levels) / count
    freedom = max(1, count - strata - 1)
    variance = (of_judge + rest) * max(1, count - strata) / freedom + 2 / (count * (count + 1))
    return min(1.0, student_quantile(confidence, freedom) * sqrt(variance))
