"""Two levels of the same groups, compared group by group: factual against counterfactual."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from math import fsum
from typing import NamedTuple

from formalimg.stats.binomial import checked_confidence
from formalimg.stats.counterfactual import ScoreObservation, checked_score
from formalimg.stats.resampling import checked_resampling, difference_interval
from formalimg.stats.summary import Interval


class ScoreDifference(NamedTuple):
    """How the scores of two levels differ on the groups that have both.

    Attributes:
        value: the mean over groups of the second level's mean minus the first's; None if no group has both.
        interval: its interval, by resampling groups.
        groups: how many groups have both.
        left_out: the groups that lack one, by name.
    """

    value: float | None
    interval: Interval | None
    groups: int
    left_out: tuple[str, ...]


def score_difference(
    observations: Iterable[ScoreObservation],
    *,
    first: int = 1,
    second: int = 2,
    confidence: float = 0.95,
    resamples: int = 2000,
    seed: int = 0,
) -> ScoreDifference:
    """How much higher the scores of one level are than those of another, group by group.

    A group counts once, however many images it has. What has no score is left out of its group's mean.

    Args:
        observations: the scores of both levels; others are not looked at.
        first: the level that is taken away.
        second: the level that it is taken from.
        confidence: of the interval.
        resamples: how often the groups are resampled for it.
        seed: of the resampling.
    """
    how = checked_resampling(checked_confidence(confidence), resamples, seed)
    scores: dict[str, tuple[list[float], list[float]]] = {}
    for group, level, _, score in observations:
        if level in (first, second):
            mine = scores.setdefault(group, ([], []))
            if score is not None:
                mine[level == second].append(checked_score(score))
    known = {group: fsum(b) / len(b) - fsum(a) / len(a) for group, (a, b) in scores.items() if a and b}
    left_out = tuple(sorted(group for group in scores if group not in known))
    if not known:
        return ScoreDifference(None, None, 0, left_out)
    value = fsum(known.values()) / len(known)
    low, high = difference_interval(dict(sorted(Counter(known.values()).items())), how)
    return ScoreDifference(value, Interval(min(low, value), max(high, value)), len(known), left_out)
