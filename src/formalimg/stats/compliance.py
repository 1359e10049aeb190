"""From ratings on five points to yes or no."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, TypeAlias

from formalimg.errors import FormalimgError
from formalimg.stats.agreeing import majority

ComplianceRule: TypeAlias = Literal["mean", "majority"]
"""What has to reach the pass mark: the mean of the ratings, or more than half of them."""

PASS_MARK = 4
_POINTS = 5


def complies(ratings: Iterable[int | None], rule: ComplianceRule = "mean") -> bool | None:
    """Whether people find that an image complies with its words, by their ratings from 1 to 5.

    Args:
        ratings: the ratings of one image; None where one is missing, which then does not count.
        rule: mean, as in FormalImg (3.3): the mean is 4 or more. majority: more than half of the ratings are 4 or more.

    Returns:
        Yes or no; None if nobody rated the image, and by majority also for a tie.

    Raises:
        FormalimgError: if a rating is not one of the five points, or this is no rule.
    """
    given = [rating for rating in ratings if rating is not None]
    for rating in given:
        if isinstance(rating, bool) or rating not in range(1, _POINTS + 1):
            raise FormalimgError(f"{rating!r} is no rating on five points: give 1 to 5, or None where it is missing")
    match rule:
        case "mean":
            return sum(given) >= PASS_MARK * len(given) if given else None
        case "majority":
            return majority(rating >= PASS_MARK for rating in given)
    raise FormalimgError(f"the rule {rule!r} is unknown: use mean or majority")
