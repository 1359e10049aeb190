"""Example images of runs: a gallery that covers all levels, and the most telling failures."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

from formalimg.runs.database import PlannedItem
from formalimg.runs.image_store import ImageLocation
from formalimg.runs.queries import ImageOutcome
from formalimg.runs.reader import Judged
from formalimg.types import RunRecord, Verdict

if TYPE_CHECKING:
    from formalimg.reports.comparison_model import Section
    from formalimg.reports.figures.svg import Figure
    from formalimg.reports.report_images import PageImage

_UNSCORED_SHARE = 6  # At most one in this many images is an unscored one, unless there are no others


@dataclass(frozen=True)
class ExampleImage:
    """One image of a gallery."""

    item: PlannedItem
    judged: Judged  # the image with its verdict
    thumbnail: PageImage | str  # the small image; or why it cannot be shown; empty where images are left out on purpose


@dataclass(frozen=True)
class SuiteImages:
    """The images that a page shows for a suite."""

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
    """Return the images that a page shows for the runs of a section, leaving out baselines."""
    from formalimg.reports.figures.image_grid import image_grids  # here, as it imports the registry of suites

    if not count:
        return SuiteImages()
    suite_runs = [run for run in runs if run.manifest.suite == section.suite.name]
    rated = {number: suite_runs[number] for number, row in enumerate(section.rows) if row in section.rated}
    failures = telling_failures(rated, min(count, MAX_TELLING))
    examples = {
        number: _choose_examples(run, count, load_image, [failure.key for failure in failures if failure.run == number])
        for number, run in rated.items()
    }
    by_key = {
        (number, example.judged.outcome.item, example.judged.outcome.sample): example
        for number, images in examples.items()
        for example in images
    }
    telling = [(failure.run, by_key[key]) for failure in failures if (key := (failure.run, *failure.key)) in by_key]
    grids = image_grids([*rated.values()]) if has_grid else {}
    return SuiteImages(examples, telling, grids.get(section.suite.name))


def _choose_examples(
    run: RunRecord,
    count: int,
    load_image: Callable[[ImageLocation], PageImage | str],
    first: Collection[tuple[str, int]],
) -> tuple[ExampleImage, ...]:
    """Return up to `count` images of a run: passes and failures from all levels, and a few unscored images."""
    chosen = [(outcome.item, outcome.sample) for outcome in choose_images(run.outcomes(), count, first)]
    return tuple(
        ExampleImage(
            run.items[judged.outcome.item],
            judged,
            "no image" if judged.image is None else load_image(judged.image),
        )
        for judged in (run.judged(chosen) if chosen else ())
    )


def choose_images(
    outcomes: Sequence[ImageOutcome], count: int, first: Collection[tuple[str, int]] = ()
) -> list[ImageOutcome]:
    """Return up to `count` outcomes, half failures and half passes plus a few unscored, spread over the levels.

    Each kind is spread over the levels, the unscored over their reasons. Images that were not made yet are
    left out: there is nothing to see.
    """
    by_level = [[image for image in outcomes if image.passed is passed] for passed in (False, True)]
    failed, passed = (list(_round_robin(images, lambda image: image.level)) for images in by_level)
    failed.sort(key=lambda image: (image.item, image.sample) not in first)
    without = [image for image in outcomes if image.passed is None and image.reason != "no image"]
    rest = max(0, count - len(failed) - len(passed))
    unscored = list(_round_robin(without, lambda image: image.reason))[: max(rest, -(-count // _UNSCORED_SHARE))]
    room = count - len(unscored)
    chosen = failed[: max(room // 2 + room % 2, room - len(passed))]
    chosen += passed[: room - len(chosen)]
    return sorted(
        [*chosen, *unscored][:count], key=lambda image: (bool(image.passed), image.passed is None, image.level)
    )


def _round_robin(outcomes: Iterable[ImageOutcome], group: Callable[[ImageOutcome], Hashable]) -> Iterator[ImageOutcome]:
    """Yield the first outcome of each group, then the second of each, and so on."""
    groups: dict[Hashable, deque[ImageOutcome]] = {}
    for outcome in outcomes:
        groups.setdefault(group(outcome), deque()).append(outcome)
    while groups:
        for key in list(groups):
            yield groups[key].popleft()
            if not groups[key]:
                del groups[key]


# --- the most telling failures: easy items first, each with something else that failed

MAX_TELLING = 6  # So many failures are shown before anyone asks for more
_MAX_READ = 60  # So many failures of each run are looked at, those of the lowest levels first


class TellingFailure(NamedTuple):
    """A failed image: the position of its run in the section, and the image with its verdict."""

    run: int
    judged: Judged

    @property
    def key(self) -> tuple[str, int]:
        """The item ID and sample number of the image."""
        return self.judged.outcome.item, self.judged.outcome.sample


def telling_failures(runs: Mapping[int, RunRecord], count: int = MAX_TELLING) -> list[TellingFailure]:
    """Return up to `count` failures of different items, preferring new kinds of failure, then low levels."""
    candidates = []
    for number, run in runs.items():
        failed = sorted((image for image in run.outcomes() if image.passed is False), key=lambda image: image.level)
        lowest = run.judged([(image.item, image.sample) for image in failed[:_MAX_READ]]) if failed else ()
        candidates += [TellingFailure(number, judged) for judged in lowest]
    chosen: list[TellingFailure] = []
    word_counts: Counter[str] = Counter()
    while candidates and len(chosen) < count:
        run_counts = Counter(failure.run for failure in chosen)
        best = min(
            candidates,
            key=lambda failure: (
                min(word_counts[word] for word in _words_of_failure(failure)),
                run_counts[failure.run],
                failure.judged.outcome.level,
            ),
        )
        chosen.append(best)
        word_counts.update(_words_of_failure(best))
        candidates = [failure for failure in candidates if failure.key[0] != best.key[0]]
    return sorted(chosen, key=lambda failure: (failure.run, failure.judged.outcome.level))


def _words_of_failure(failure: TellingFailure) -> set[str]:
    """Return the predicates or concepts of the failed parts, or their kinds; "" for a failure by rule."""
    verdict = failure.judged.verdict
    parts = [part for part in verdict.parts if part.score < 1] if isinstance(verdict, Verdict) else []
    return {word for part in parts for word in part.about or (part.kind,)} or {""}
