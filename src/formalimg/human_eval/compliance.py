"""Five-point ratings summed up, as in the human study of FormalImg: an image passes with a mean of 4 or more."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from formalimg.human_eval.records import RatedTask
from formalimg.stats import complies


class Compliance(NamedTuple):
    """What people gave to an image.

    Attributes:
        run, item, sample, level: which image it is.
        ratings: what was given so far, in the order of the raters.
        wanted: how many ratings it is to get.
    """

    run: str
    item: str
    sample: int
    level: int
    ratings: tuple[int, ...]
    wanted: int

    @property
    def mean(self) -> float | None:
        """The mean of the ratings; None if there are none."""
        return sum(self.ratings) / len(self.ratings) if self.ratings else None

    @property
    def passed(self) -> bool | None:
        """Is the mean 4 or more? None as long as ratings are missing."""
        return None if len(self.ratings) < self.wanted else complies(self.ratings)


def sum_up_ratings(tasks: Sequence[RatedTask]) -> list[Compliance]:
    """What people gave to each image, in the order of the tasks; checks are left aside."""
    by_image: dict[tuple[str, str, int, int], list[RatedTask]] = {}
    for task in tasks:
        if not task.is_check:
            by_image.setdefault((task.run, task.item, task.sample, task.level), []).append(task)
    return [
        Compliance(*image, tuple(_points(task) for task in those if task.finished), len(those))
        for image, those in by_image.items()
    ]


def _points(task: RatedTask) -> int:
    points = task.answers["compliance"].value
    assert isinstance(points, int)  # nothing else is ever kept
    return points
