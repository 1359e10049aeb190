"""Example images for the gallery of a report: passes, failures and unscored images of all levels."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from formalimg.reports.report_images import PageImage
from formalimg.runs.image_store import ImageLocation
from formalimg.runs.queries import ImageOutcome
from formalimg.runs.reader import Judged
from formalimg.runs.rows import PlannedItem
from formalimg.types import RunRecord

_UNSCORED_SHARE = 6
"""At most one in this many images is an unscored one, unless there are no others."""


@dataclass(frozen=True)
class ExampleImage:
    """One image of a gallery.

    Attributes:
        item: the item.
        judged: the image with its verdict.
        thumbnail: the small image; or why it cannot be shown; empty where images are left out on purpose.
    """

    item: PlannedItem
    judged: Judged
    thumbnail: PageImage | str


def examples_of(
    run: RunRecord, count: int, load_image: Callable[[ImageLocation], PageImage | str]
) -> tuple[ExampleImage, ...]:
    """Return up to `count` images of a run: passes and failures of all levels in equal parts, and some unscored ones.

    Args:
        run: the run.
        count: how many.
        load_image: returns what is shown of an image file.
    """
    chosen = [(outcome.item, outcome.sample) for outcome in choose(run.outcomes(), count)]
    return tuple(
        ExampleImage(
            run.items[judged.outcome.item],
            judged,
            "no image" if judged.image is None else load_image(judged.image),
        )
        for judged in (run.judged(chosen) if chosen else ())
    )


def choose(outcomes: Sequence[ImageOutcome], count: int) -> list[ImageOutcome]:
    """Return up to `count` outcomes, half failures and half passes, and some unscored: failures first, each by level.

    Each kind is spread over the levels, the unscored over their reasons. Images that were not made yet are
    left out: there is nothing to see.
    """
    failed = list(_round_robin((outcome for outcome in outcomes if outcome.passed is False), lambda one: one.level))
    passed = list(_round_robin((outcome for outcome in outcomes if outcome.passed), lambda one: one.level))
    unscored = list(
        _round_robin(
            (outcome for outcome in outcomes if outcome.passed is None and outcome.reason != "no image"),
            lambda one: one.reason,
        )
    )
    rest = max(0, count - len(failed) - len(passed))
    seen = unscored[: max(rest, -(-count // _UNSCORED_SHARE))]
    places = count - len(seen)
    shown = failed[: max(places // 2 + places % 2, places - len(passed))]
    shown += passed[: places - len(shown)]
    return sorted([*shown, *seen][:count], key=lambda one: (bool(one.passed), one.passed is None, one.level))


def _round_robin(outcomes: Iterable[ImageOutcome], group: Callable[[ImageOutcome], Hashable]) -> Iterator[ImageOutcome]:
    """Yield one of each group, then the next of each, and so on."""
    groups: dict[Hashable, deque[ImageOutcome]] = {}
    for outcome in outcomes:
        groups.setdefault(group(outcome), deque()).append(outcome)
    while groups:
        for key in list(groups):
            yield groups[key].popleft()
            if not groups[key]:
                del groups[key]
