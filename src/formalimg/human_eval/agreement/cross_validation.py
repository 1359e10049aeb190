"""Cross-validation of a threshold: how good it is on images that it was not chosen by.

The threshold with the best accuracy on some images is the luckiest one on these, and does worse on others. So images
are divided into folds, whole items at a time; the threshold for each fold is chosen by all other folds, and only what
it does to its own fold counts.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import NamedTuple

from formalimg.errors import FormalimgError
from formalimg.human_eval.agreement.thresholds import LabelledScore, Measure, choose_threshold, items_of
from formalimg.stats.observations import Interval
from formalimg.stats.precision_recall import classification

FOLDS = 10
MIN_FOLDS = 2
_DECIMALS = 9


class CrossValidation(NamedTuple):
    """How good thresholds are on images that they were not chosen by."""

    # the accuracy, or F1, over all images, each by the threshold of its fold; None where F1 is undefined
    value: float | None
    interval: Interval | None  # its interval, clustered by item
    folds: int  # how many folds there are: ten, or as many as there are items with the rarer label
    smallest: int  # how many images the smallest fold has
    thresholds: tuple[float, float]  # the lowest and the highest threshold that was chosen

    @property
    def too_small(self) -> bool:
        """Whether there are fewer folds than there should be, so that the figure is rough."""
        return self.folds < FOLDS


def cross_validate(
    images: Sequence[LabelledScore],
    measure: Measure = "accuracy",
    *,
    confidence: float = 0.95,
    seed: int = 0,
) -> CrossValidation | None:
    """Return the accuracy or F1 of the best threshold on images that it was not chosen by."""
    if seed < 0:
        raise FormalimgError(f"the seed {seed} is negative: use 0 or more")
    groups = _divide(images, seed)
    if len(groups) < MIN_FOLDS:
        return None
    answers: list[tuple[bool, bool]] = []
    items: list[Hashable] = []
    chosen = []
    names = items_of(images)
    for fold in groups:
        others = [images[at] for other in groups if other is not fold for at in other]
        threshold = choose_threshold(others, measure)
        chosen.append(threshold)
        for at in fold:
            answers.append((images[at].recognisable, round(images[at].score, _DECIMALS) >= threshold))
            items.append(names[at])
    found = classification(answers, items=items, confidence=confidence)
    figure = found.accuracy if measure == "accuracy" else found.f1
    smallest = min(map(len, groups))
    return CrossValidation(figure.value, figure.interval, len(groups), smallest, (min(chosen), max(chosen)))


def _divide(images: Sequence[LabelledScore], seed: int) -> list[list[int]]:
    """Return the folds, as numbers of images: whole items, and each fold with its share of either label."""
    import numpy as np

    by_item: dict[Hashable, list[int]] = {}
    for at, item in enumerate(items_of(images)):
        by_item.setdefault(item, []).append(at)
    # Sorted by what they show, so that the order in which images come does not matter.
    items = sorted(by_item.values(), key=lambda own: sorted((images[at].score, images[at].recognisable) for at in own))
    yes = [2 * sum(images[at].recognisable for at in own) >= len(own) for own in items]
    count = min(FOLDS, sum(yes), len(yes) - sum(yes))
    order = np.random.default_rng(seed).permutation(len(items)).tolist()
    dealt = sorted(order, key=lambda item: yes[item])
    return [[at for item in dealt[fold::count] for at in items[item]] for fold in range(count)]
