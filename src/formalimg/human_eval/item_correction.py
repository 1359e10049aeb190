"""Random samples of items for human labels, shared by several runs so that their differences can be corrected."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from math import fsum
from typing import NamedTuple

from formalimg.errors import FormalimgError
from formalimg.human_eval.assignment import Candidate
from formalimg.stats.comparison import PairedDifference, adjust_for_all, is_significant
from formalimg.stats.corrected_difference import LabelledImage, PairedItem, estimate_corrected_difference, pair_labelled
from formalimg.stats.intervals import student_quantile
from formalimg.stats.planning import LevelSpread, allocate_items, difference_half_width, level_spreads
from formalimg.types import Benchmark

CONFIDENCE = 0.95
MIN_ITEMS = 3  # With fewer labelled items, the error of a difference is unknown
ImageLabels = Mapping[tuple[str, str, int], bool]  # Whether people pass an image, by run, item and sample
RunPairs = Mapping[tuple[str, str], Sequence[PairedItem]]  # The items of each pair of runs, by their names


class SampledLevel(NamedTuple):
    """A level, with its number of items and the number of them sampled."""

    level: int
    items: int
    drawn: int


class SampledItem(NamedTuple):
    """An item sampled for all runs of a study."""

    item: str
    sample: int  # which of its images is labelled, of every run the same
    level: int
    probability: float  # how likely the item was drawn, by now
    batch: int  # with which batch it came, from 1
    runs: tuple[int, ...]  # the runs that have this image, by their place in the study


@dataclass(frozen=True)
class ItemSample:
    """The sampled items of a study that corrects several runs and the differences between them."""

    labels: int  # how many items were asked for when the study was created
    levels: tuple[SampledLevel, ...]  # all levels with an item that can be labelled
    items: tuple[SampledItem, ...]  # the drawn items

    @property
    def batches(self) -> int:
        """The number of batches sampled so far."""
        return max((item.batch for item in self.items), default=0)

    @property
    def drawn(self) -> dict[int, int]:
        """The number of sampled items per level."""
        return {level.level: level.drawn for level in self.levels}

    def images_of(self, run: int) -> set[tuple[str, int]]:
        """Return the item and sample of each sampled image of the run at the given position in the study."""
        return {(item.item, item.sample) for item in self.items if run in item.runs}

    def grown(self, sizes: Mapping[int, int], more: Sequence[tuple[str, int, int, tuple[int, ...]]]) -> ItemSample:
        """Return the sample extended by another batch of items, with updated probabilities."""
        rows = [(item.item, item.sample, item.level, item.runs, item.batch) for item in self.items]
        rows += [(*row, self.batches + 1) for row in more]
        counts = Counter(level for _, _, level, _, _ in rows)
        return ItemSample(
            self.labels,
            tuple(SampledLevel(level, sizes[level], counts[level]) for level in sorted(sizes)),
            tuple(
                SampledItem(item, sample, level, round(counts[level] / sizes[level], 9), batch, runs)
                for item, sample, level, runs, batch in rows
            ),
        )


class PairOutlook(NamedTuple):
    """The expected precision of the difference between two runs."""

    first: str  # the names of the runs
    second: str
    # expected half width of its interval once all drawn items are labelled; the 95 % hold for all pairs at once, as
    # in a report
    half_width: float
    now: float | None = None  # half width by the labels so far; None where there are too few
    is_certain: bool = False  # whether the difference is significant by the labels so far, corrected for all pairs


class ItemDraw(NamedTuple):
    """The result of sampling items for a study."""

    # the further items, in random order, each with its images in the order of the runs
    items: list[tuple[Candidate, ...]]
    sample: ItemSample  # all items so far, with their probabilities
    # of each pair of runs, the closest by the judge first; none for suites of scores
    outlooks: tuple[PairOutlook, ...] = ()
    others: Mapping[int, float] = {}  # expected half width of the first of them for other numbers of items


@dataclass(frozen=True)
class ItemFrame:
    """The items of several runs of a suite from which a study samples."""

    runs: tuple[str, ...]  # the names of the runs, in the order of the study
    suite: Benchmark  # the benchmark
    verdicts: Mapping[Candidate, bool | None]  # every image that exists, with the judge's verdict; None without one
    # the images that are labelled if an item is drawn: those of one sample, chosen at random for each item
    items: Mapping[str, tuple[Candidate, ...]]

    @classmethod
    def of(
        cls, runs: Sequence[str], suite: Benchmark, verdicts: Mapping[Candidate, bool | None], seed: int
    ) -> ItemFrame:
        """Build the frame of a study, choosing one sample number per item at random from the seed."""
        samples = 1 + max((image.sample for image in verdicts), default=0)
        position = {name: number for number, name in enumerate(runs)}
        items: dict[str, list[Candidate]] = {}
        for image in sorted(verdicts, key=lambda image: (image.item, position[image.run])):
            if image.sample == (random.Random(f"{seed} {image.item}").randrange(samples) if samples > 1 else 0):
                items.setdefault(image.item, []).append(image)
        return cls(tuple(runs), suite, verdicts, {item: tuple(images) for item, images in items.items()})

    @cached_property
    def sizes(self) -> dict[int, int]:
        """The number of items per level."""
        return dict(sorted(Counter(images[0].level for images in self.items.values()).items()))

    @cached_property
    def levels(self) -> tuple[int, ...] | None:
        """The equally weighted levels of the ranking score; None if all items have equal weight."""
        last = tuple(self.suite.bands[[*self.suite.bands][-1]]) if self.suite.bands else ()
        return last if last and not self.suite.has_scores and {*last} <= self.sizes.keys() else None

    @cached_property
    def weights(self) -> dict[int, float]:
        """The weight of each level in the ranking score."""
        if self.levels is not None:
            return dict.fromkeys(self.levels, 1 / len(self.levels))
        return {level: size / len(self.items) for level, size in self.sizes.items()}

    def pairs(self, labels: ImageLabels, *, of_one_sample: bool = False) -> RunPairs:
        """Return the items of each pair of runs, with the judge's verdicts and the human labels."""
        images = {image for group in self.items.values() for image in group} if of_one_sample else self.verdicts.keys()
        by_run: dict[str, dict[str, list[LabelledImage]]] = {name: {} for name in self.runs}
        for image, verdict in self.verdicts.items():
            if verdict is not None and image in images:
                label = labels.get((image.run, image.item, image.sample))
                labelled = LabelledImage(image.level, float(verdict), None if label is None else float(label))
                by_run[image.run].setdefault(image.item, []).append(labelled)
        return {
            (first, second): [*pair_labelled(by_run[first], by_run[second], by_item=True).values()]
            for first, second in combinations(self.runs, 2)
        }


def draw_items(frame: ItemFrame, labels: int, rng: random.Random) -> ItemDraw:
    """Sample the items of a new study at random within levels, favouring levels where judge differences vary more."""
    target = min(labels, len(frame.items))
    if target < MIN_ITEMS:
        raise FormalimgError(f"{target} labelled items tell no difference: ask for at least {MIN_ITEMS}")
    pairs = frame.pairs({})
    apart = next((pair for pair, items in pairs.items() if len(items) < MIN_ITEMS), None)
    if apart is not None:
        raise FormalimgError(
            f"{apart[0]} and {apart[1]} share fewer than {MIN_ITEMS} judged items: name runs of the same items"
        )
    spreads = {pair: level_spreads(items) for pair, items in frame.pairs({}, of_one_sample=True).items()}
    order = _sort_pairs(frame, pairs)
    alternatives = sorted({max(MIN_ITEMS, target // 2), min(len(frame.items), 2 * target)} - {target}) if order else []
    counts = {
        number: _allocate_levels(frame, [*spreads.values()], frame.sizes, {}, number)
        for number in (target, *alternatives)
    }

    def half_width(pair: tuple[str, str], number: int) -> float:
        return _half_width(frame, pairs, pair, spreads[pair], counts[number])

    chosen = _draw_levels(frame.items, counts[target], rng)
    return ItemDraw(
        chosen,
        ItemSample(labels, (), ()).grown(frame.sizes, _sample_rows(chosen, frame)),
        tuple(PairOutlook(*pair, half_width(pair, target)) for pair in order),
        {number: half_width(order[0], number) for number in alternatives},
    )


def draw_more_items(
    frame: ItemFrame,
    sample: ItemSample,
    labels: ImageLabels,
    more: int,
    reserved: Collection[Candidate],
    rng: random.Random,
) -> ItemDraw:
    """Sample further items to narrow the differences that are not yet significant, or all of them if they all are."""
    previous = {item.item for item in sample.items}
    if {level.level: level.items for level in sample.levels} != frame.sizes or not previous <= frame.items.keys():
        raise FormalimgError("the runs have other images than when items were drawn: make a new study")
    free = {
        item: images for item, images in frame.items.items() if item not in previous and not {*images} & {*reserved}
    }
    if not free:
        raise FormalimgError("every item is in the study already: let raters answer")
    pairs = frame.pairs(labels)
    spreads = {pair: level_spreads(items) for pair, items in pairs.items()}
    differences = _correct_differences(frame, pairs)
    uncertain = [
        pair for pair, difference in differences.items() if difference is None or not is_significant(difference)
    ]
    sizes = Counter(images[0].level for images in free.values())
    target = min(more, len(free))
    counts = _allocate_levels(frame, [spreads[pair] for pair in uncertain or pairs], sizes, sample.drawn, target)
    chosen = _draw_levels(free, counts, rng)
    grown = sample.grown(frame.sizes, _sample_rows(chosen, frame))

    def outlook(pair: tuple[str, str]) -> PairOutlook:
        difference = differences[pair]
        planned = _half_width(frame, pairs, pair, spreads[pair], grown.drawn)
        if difference is None or difference.error is None:
            return PairOutlook(*pair, planned)
        now = student_quantile(_joint_confidence(pairs), difference.error.freedom) * difference.error.value
        labelled = _count_levels([item for item in pairs[pair] if item.people is not None])
        after = now * planned / _half_width(frame, pairs, pair, spreads[pair], labelled)
        return PairOutlook(*pair, after, now, is_significant(difference))

    return ItemDraw(chosen, grown, tuple(map(outlook, _sort_pairs(frame, pairs))))


def _joint_confidence(pairs: RunPairs) -> float:
    """Return the confidence level per interval at which all intervals hold jointly with 95 % confidence."""
    return 1 - (1 - CONFIDENCE) / len(pairs)


def _half_width(
    frame: ItemFrame,
    pairs: RunPairs,
    pair: tuple[str, str],
    spreads: Mapping[int, LevelSpread],
    labelled: Mapping[int, int],
) -> float:
    """Return the expected half width of the interval of a pair, given the number of labelled items per level."""
    return difference_half_width(_count_levels(pairs[pair]), frame.weights, spreads, labelled, _joint_confidence(pairs))


def _correct_differences(frame: ItemFrame, pairs: RunPairs) -> dict[tuple[str, str], PairedDifference | None]:
    """Return the corrected difference of each pair, adjusted for multiple comparisons; None with too few labels."""
    differences = {pair: estimate_corrected_difference(items, frame.levels) for pair, items in pairs.items()}
    decided = {pair: difference for pair, difference in differences.items() if difference is not None}
    return {**differences, **dict(zip(decided, adjust_for_all([*decided.values()]), strict=True))}


def _allocate_levels(
    frame: ItemFrame,
    spreads: Sequence[Mapping[int, LevelSpread]],
    free: Mapping[int, int],
    drawn: Mapping[int, int],
    count: int,
) -> dict[int, int]:
    """Allocate the items to sample to levels by the mean spread of the pairs, or by level size for score suites."""
    mean = {}
    for level in frame.sizes:
        rests = [by_level[level].rest for by_level in spreads if level in by_level]
        mean[level] = 1.0 if frame.suite.has_scores or not rests else fsum(rests) / len(rests)
    return allocate_items(free, frame.weights, mean, drawn, count)


def _sort_pairs(frame: ItemFrame, pairs: RunPairs) -> list[tuple[str, str]]:
    """Sort pairs of runs by the absolute difference of their judge results; empty for score suites."""
    if frame.suite.has_scores:
        return []
    distances = {}
    for pair, items in pairs.items():
        sizes = _count_levels(items)
        terms = (frame.weights.get(item.level, 0.0) * item.judge / sizes[item.level] for item in items)
        distances[pair] = abs(fsum(terms))
    return sorted(pairs, key=distances.__getitem__)  # pairs of equal distance stay in the order of the runs


def _count_levels(items: Sequence[PairedItem]) -> Counter[int]:
    return Counter(item.level for item in items)


def _draw_levels(
    free: Mapping[str, tuple[Candidate, ...]], counts: Mapping[int, int], rng: random.Random
) -> list[tuple[Candidate, ...]]:
    chosen: list[tuple[Candidate, ...]] = []
    for level in sorted(counts):
        chosen += rng.sample([free[item] for item in sorted(free) if free[item][0].level == level], counts[level])
    rng.shuffle(chosen)
    return chosen


def _sample_rows(
    chosen: Sequence[tuple[Candidate, ...]], frame: ItemFrame
) -> list[tuple[str, int, int, tuple[int, ...]]]:
    return [
        (images[0].item, images[0].sample, images[0].level, tuple(frame.runs.index(image.run) for image in images))
        for images in sorted(chosen)
    ]
