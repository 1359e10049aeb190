"""Intervals for rates of items that have several images each.

Images of one item are alike: four images of each of 200 items tell more than 200 images, and less than 800. The
design effect says how many images are worth one independent image. The exact interval is then taken of the counts
divided by it, as Korn and Graubard do for surveys. With one image per item the design effect is 1 and the interval
is the plain one.
"""

from __future__ import annotations

from typing import NamedTuple

from formalimg.stats.binomial import binomial_interval
from formalimg.stats.summary import Interval
from formalimg.stats.tallying import Outcomes, total


class Worth(NamedTuple):
    """How many independent images some items are worth, and how many of these passed."""

    passed: float
    counted: float


def clustered_interval(kinds: Outcomes, confidence: float) -> Interval:
    """The interval of the rate of these items, as if there were as many images as they are worth."""
    return binomial_interval(*worth(kinds), confidence)


def worth(kinds: Outcomes) -> Worth:
    """The counts divided by the design effect."""
    passed, counted = total(kinds)
    effect = design_effect(kinds)
    return Worth(passed / effect, counted / effect)


def design_effect(kinds: Outcomes) -> float:
    """How many images are worth one independent image: from 1 to the largest number of images of an item.

    It is the variance of the rate when items are drawn, divided by the variance when single images are drawn. Two
    imagined items, one that always passes and one that always fails, are added for it: from items that all fail nothing
    can be learned about how alike images are, and then they are taken to be quite alike.
    """
    if all(kind.counted == 1 for kind in kinds):
        return 1.0
    passed, counted = total(kinds)
    imagined = counted / sum(kinds.values())
    images = counted + 2 * imagined
    rate = (passed + imagined) / images
    spread = (imagined * (1 - rate)) ** 2 + (imagined * rate) ** 2
    spread += sum(items * (kind.passed - kind.counted * rate) ** 2 for kind, items in kinds.items())
    return max(1.0, spread / (images * rate * (1 - rate)))
