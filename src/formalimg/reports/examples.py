"""Example images for the gallery of a report: passes, failures and unscored images of all levels."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import TYPE_CHECKING

from formalimg.reports.comparison_model import Section
from formalimg.reports.report_images import PageImage
from formalimg.reports.telling import MAX_TELLING, telling_failures
from formalimg.runs.database import PlannedItem
from formalimg.runs.image_store import ImageLocation
from formalimg.runs.queries import ImageOutcome
from formalimg.runs.reader import Judged
from formalimg.types import RunRecord

if TYPE_CHECKING:
    from formalimg.reports.figures.svg import Figure

_UNSCORED_SHARE = 6
"""At most one in this many images is an unscored one, unless there are no others."""


@dataclass(frozen=True)
class ExampleImage:
    """One image of a gallery."""

    item: PlannedItem  # the item
    judged: Judged  # the image with its verdict
    thumbnail: PageImage | str  # the small image; or why it cannot be shown; empty where images are left out on purpose


@dataclass(frozen=True)
class SuiteImages:
    """The images that a page shows of a suite."""

    # the images of the gallery, by the run's position in its section
    examples: Mapping[int, Sequence[ExampleImage]] = field(default_factory=dict)
    # the most telling failures, each with the run's position; they are in the gallery too
    telling: Sequence[tuple[int, ExampleImage]] = ()
    grid: Figure | None = None  # example images by level

    @property
    def all(self) -> Iterator[ExampleImage]:
        """All images of the gallery."""
        return chain.from_iterable(self.examples.values())


def suite_images(
    section: Section,
    runs: Sequence[RunRecord],
    count: int,
    load_image: Callable[[ImageLocation], PageImage | str],
    *,
    has_grid: bool,
) -> SuiteImages:
    """Return the images that a page shows of the runs of a section that are no baselines."""
    from formalimg.reports.figures.image_grid import image_grids  # here, as it imports the registry of suites

    if not count:
        return SuiteImages()
    of_suite = [run for run in runs if run.manifest.suite == section.suite.name]
    rated = {number: of_suite[number] for number, row in enumerate(section.rows) if row in section.rated}
    telling = telling_failures(rated, min(count, MAX_TELLING))
    examples = {
        number: examples_of(run, count, load_image, [each.judged for each in telling if each.run == number])
        for number, run in rated.items()
    }
    shown = {
        (number, example.judged.outcome.item, example.judged.outcome.sample): example
        for number, those in examples.items()
        for example in those
    }
    keys = [(each.run, each.judged.outcome.item, each.judged.outcome.sample) for each in telling]
    grids = image_grids([*rated.values()]) if has_grid else {}
    return SuiteImages(examples, [(key[0], shown[key]) for key in keys if key in shown], grids.get(section.suite.name))


def examples_of(
    run: RunRecord,
    count: int,
    load_image: Callable[[ImageLocation], PageImage | str],
    telling: Sequence[Judged] = (),
) -> tuple[ExampleImage, ...]:
    """Return up to `count` images of a run: equally many passes and failures of all levels, and some unscored."""
    first = {(judged.outcome.item, judged.outcome.sample) for judged in telling}
    chosen = [(outcome.item, outcome.sample) for outcome in choose(run.outcomes(), count, first)]
    return tuple(
        ExampleImage(
            run.items[judged.outcome.item],
            judged,
            "no image" if judged.image is None else load_image(judged.image),
        )
        for judged in (run.judged(chosen) if chosen else ())
    )


def choose(outcomes: Sequence[ImageOutcome], count: int, first: Collection[tuple[str, int]] = ()) -> list[ImageOutcome]:
    """Return up to `count` outcomes, half failures and half passes, and some unscored: failures first, each by level.

    Each kind is spread over the levels, the unscored over their reasons. Images that were not made yet are
    left out: there is nothing to see.
    """
    failed = list(_round_robin((outcome for outcome in outcomes if outcome.passed is False), lambda one: one.level))
    failed.sort(key=lambda one: (one.item, one.sample) not in first)
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
