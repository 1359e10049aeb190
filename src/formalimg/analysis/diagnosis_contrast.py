"""Two kinds of images of the same groups, side by side."""

from __future__ import annotations

from collections.abc import Sequence
from math import fsum
from typing import NamedTuple

from formalimg.stats import Interval, ScoreObservation, score_difference, summarize_scores

_FIRST, _SECOND = 1, 2


class Drawing(NamedTuple):
    """How groups are drawn anew for intervals."""

    confidence: float
    resamples: int
    seed: int


class Side(NamedTuple):
    """The mean score of one kind of images.

    Attributes:
        value: the mean over images; None if there are none.
        interval: its interval, by drawing groups anew.
        scored: how many images have a score that counts.
        expected: how many images there were to be.
    """

    value: float | None
    interval: Interval | None
    scored: int
    expected: int


class Contrast(NamedTuple):
    """How the scores of two kinds of images differ on the groups (or rules, or pairs) that have scores of both.

    Attributes:
        first, second: the mean scores of the images of these groups.
        difference: the mean over these groups of the second kind's mean minus the first's. Each group weighs the same,
            so it is not quite the difference of the means where groups have unequally many images.
        interval: its interval, by drawing groups anew.
        groups: how many groups have scores of both.
        higher, lower: in how many of them the second kind scores higher, or lower.
        only_first, only_second, unscored: the groups that have scores of one kind only, or of none, by name.
    """

    first: Side
    second: Side
    difference: float | None
    interval: Interval | None
    groups: int
    higher: int
    lower: int
    only_first: tuple[str, ...]
    only_second: tuple[str, ...]
    unscored: tuple[str, ...]


def contrast(first: Sequence[ScoreObservation], second: Sequence[ScoreObservation], drawing: Drawing) -> Contrast:
    """How two kinds of images differ, group by group; their levels and gates are no longer looked at."""
    means = _means(first), _means(second)
    groups = sorted({one.group for one in (*first, *second)})
    paired = frozenset(group for group in groups if all(group in side for side in means))
    seen = [one._replace(level=_FIRST) for one in first if one.group in paired]
    seen += [one._replace(level=_SECOND) for one in second if one.group in paired]
    confidence, resamples, seed = drawing
    found = score_difference(seen, first=_FIRST, second=_SECOND, confidence=confidence, resamples=resamples, seed=seed)
    levels = summarize_scores(seen, threshold=None, confidence=confidence, resamples=resamples, seed=seed).levels

    def side(level: int) -> Side:
        mean = levels.get(level)
        return Side(mean.value, mean.interval, mean.scored, mean.expected) if mean else Side(None, None, 0, 0)

    return Contrast(
        side(_FIRST),
        side(_SECOND),
        found.value,
        found.interval,
        len(paired),
        sum(means[1][group] > means[0][group] for group in paired),
        sum(means[1][group] < means[0][group] for group in paired),
        tuple(group for group in groups if group in means[0] and group not in means[1]),
        tuple(group for group in groups if group in means[1] and group not in means[0]),
        tuple(group for group in groups if group not in means[0] and group not in means[1]),
    )


def _means(observations: Sequence[ScoreObservation]) -> dict[str, float]:
    """The mean score of each group that has any; rounded, so that equal scores stay equal."""
    scores: dict[str, list[float]] = {}
    for one in observations:
        if one.score is not None:
            scores.setdefault(one.group, []).append(one.score)
    return {group: round(fsum(those) / len(those), 12) for group, those in scores.items()}
