"""Random samples of images, or of items for several runs, whose human labels correct a judge."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from math import fsum
from typing import NamedTuple, TypeAlias

from formalimg.errors import FormalimgError
from formalimg.human_eval.assignment import Candidate
from formalimg.stats.comparison import adjust_for_all, is_significant
from formalimg.stats.corrected_difference import LabelledImage, PairedItem, estimate_corrected_difference, pair_labelled
from formalimg.stats.intervals import student_quantile
from formalimg.stats.planning import LevelSpread, allocate_items, allocate_labels, difference_half_width, level_spreads
from formalimg.types import Benchmark

CellKey: TypeAlias = tuple[int, bool]  # The images of a level that the judge passed, or that it failed
CellLabels: TypeAlias = Mapping[CellKey, tuple[int, int]]
"""Labels so far of each cell: how many say yes, and how many there are."""


class SampleCell(NamedTuple):
    """Images of one level with the same judge answer, and the number of images sampled from them."""

    level: int
    judge: bool
    images: int
    drawn: int


class DrawnImage(NamedTuple):
    """A sampled image: its cell, its current sampling probability and its batch number, starting at 1."""

    item: str
    sample: int
    level: int
    judge: bool
    probability: float
    batch: int


@dataclass(frozen=True)
class CorrectionSample:
    """The sampled images of a study that corrects the judge of one run."""

    judge: str  # the judge whose answers decided how many images of each cell were drawn
    labels: int  # how many images were asked for when the study was created
    cells: tuple[SampleCell, ...]  # all cells with a judged image
    images: tuple[DrawnImage, ...]  # the drawn images

    @property
    def batches(self) -> int:
        """The number of batches sampled so far."""
        return max((image.batch for image in self.images), default=0)

    def images_of(self, run: int) -> set[tuple[str, int]]:
        """Return the item and sample of each sampled image of the run at the given position in the study."""
        return set() if run else {image[:2] for image in self.images}

    def grown(self, sizes: Mapping[CellKey, int], more: Sequence[tuple[str, int, CellKey]]) -> CorrectionSample:
        """Return the sample extended by another batch of images, with updated probabilities."""
        rows = [(image.item, image.sample, (image.level, image.judge), image.batch) for image in self.images]
        rows += [(*row, self.batches + 1) for row in more]
        counts = Counter(cell for _, _, cell, _ in rows)
        images = (
            DrawnImage(item, sample, *cell, round(counts[cell] / sizes[cell], 9), batch)
            for item, sample, cell, batch in rows
        )
        cells = (SampleCell(*cell, sizes[cell], counts[cell]) for cell in sorted(sizes))
        return CorrectionSample(self.judge, self.labels, tuple(cells), tuple(images))


class LabelPrecision(NamedTuple):
    """The precision of the corrected Overall rate for a given number of labels."""

    labels: int  # number of labels
    half_width: float  # expected half width of its interval
    others: Mapping[int, float]  # the same for other numbers of labels


def draw_first(
    images: Mapping[Candidate, bool], labels: int, judge: str, rng: random.Random
) -> tuple[list[Candidate], CorrectionSample, LabelPrecision]:
    """Sample the images of a new correction study at random within each level and judge answer."""
    if not images:
        raise FormalimgError("no image has a verdict: judge the run with `formalimg judge`, then draw images")
    if labels < 1:
        raise FormalimgError(f"{labels} labels are too few: use at least 1, such as 100")
    cells = _count_cells(images)
    target = min(labels, len(images))
    chosen, rows = _draw_cells(images, allocate_labels(cells, target).cells, rng)
    alternatives = sorted({max(1, target // 2), min(len(images), 2 * target)} - {target})
    half_widths = {number: allocate_labels(cells, number).half_width for number in (target, *alternatives)}
    sample = CorrectionSample(judge, labels, (), ()).grown(cells, rows)
    return chosen, sample, LabelPrecision(target, half_widths.pop(target), half_widths)


def draw_more(
    images: Mapping[Candidate, bool],
    sample: CorrectionSample,
    labels: CellLabels,
    more: int,
    reserved: Sequence[Candidate],
    rng: random.Random,
) -> tuple[list[Candidate], CorrectionSample, LabelPrecision]:
    """Sample further images where they narrow the interval of the corrected Overall rate most."""
    previous = {(image.item, image.sample): image.judge for image in sample.images}
    answers = {(image.item, image.sample): answer for image, answer in images.items()}
    if any(answers.get(image) != answer for image, answer in previous.items()):
        raise FormalimgError(
            f"the judge's answers are not those of {sample.judge} by which images were drawn: make a new study"
        )
    free = {
        image: answer
        for image, answer in images.items()
        if (image.item, image.sample) not in previous and image not in reserved
    }
    if not free:
        raise FormalimgError("every judged image is already in the study: collect ratings")
    cells, free_cells = _count_cells(images), _count_cells(free)
    counts = Counter((image.level, image.judge) for image in sample.images)
    expected = {cell: _extrapolate_labels(labels.get(cell, (0, 0)), counts[cell]) for cell in cells}
    # Reserved images count as labelled in the allocation alone, so that nothing is allocated to them.
    padded = {cell: _extrapolate_labels(expected[cell], cells[cell] - free_cells.get(cell, 0)) for cell in cells}
    target = min(more, len(free))
    further = allocate_labels(cells, target, cells_known=padded).cells
    after = {cell: _extrapolate_labels(expected[cell], expected[cell][1] + further.get(cell, 0)) for cell in cells}
    chosen, rows = _draw_cells(free, further, rng)
    precision = LabelPrecision(
        len(sample.images) + target,
        allocate_labels(cells, 0, cells_known=after).half_width,
        {count_labels(labels): allocate_labels(cells, 0, cells_known=labels).half_width},
    )
    return chosen, sample.grown(cells, rows), precision


def _count_cells(images: Mapping[Candidate, bool]) -> dict[CellKey, int]:
    return dict(sorted(Counter((image.level, answer) for image, answer in images.items()).items()))


def count_labels(labels: CellLabels) -> int:
    """Return the number of labels in all cells."""
    return sum(count for _, count in labels.values())


def _extrapolate_labels(labels: tuple[int, int], count: int) -> tuple[int, int]:
    """Extrapolate the labels of a cell to `count` images, assuming that the rate of yes stays the same."""
    yes, number = labels
    return yes + round((count - number) * (yes + 0.5) / (number + 1)), count


def _draw_cells(
    images: Mapping[Candidate, bool], counts: Mapping[CellKey, int], rng: random.Random
) -> tuple[list[Candidate], list[tuple[str, int, CellKey]]]:
    """Return images drawn from each cell, in random order, and their rows for the sample."""
    chosen: list[Candidate] = []
    for cell in sorted(counts):
        members = sorted(image for image, answer in images.items() if (image.level, answer) == cell)
        chosen += rng.sample(members, counts[cell])
    rows = [(image.item, image.sample, (image.level, images[image])) for image in sorted(chosen)]
    rng.shuffle(chosen)
    return chosen, rows


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
        return {item[:2] for item in self.items if run in item.runs}

    def grown(self, frame: ItemFrame, chosen: Sequence[tuple[Candidate, ...]]) -> ItemSample:
        """Return the sample extended by another batch of items, with updated probabilities."""
        rows = [(item.item, item.sample, item.level, item.runs, item.batch) for item in self.items]
        for images in sorted(chosen):
            runs = tuple(frame.runs.index(image.run) for image in images)
            rows.append((images[0].item, images[0].sample, images[0].level, runs, self.batches + 1))
        counts, sizes = Counter(level for _, _, level, *_ in rows), frame.sizes
        items = (
            SampledItem(item, sample, level, round(counts[level] / sizes[level], 9), batch, runs)
            for item, sample, level, runs, batch in rows
        )
        levels = (SampledLevel(level, sizes[level], counts[level]) for level in sorted(sizes))
        return ItemSample(self.labels, tuple(levels), tuple(items))


class PairOutlook(NamedTuple):
    """The expected precision of the difference between two runs."""

    first: str  # the names of the runs
    second: str
    half_width: float  # expected half width of its interval with all labels; the 95 % hold for all pairs at once
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
        raise FormalimgError(f"{target} labelled items are too few to estimate a difference: use at least {MIN_ITEMS}")
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
        ItemSample(labels, (), ()).grown(frame, chosen),
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
        raise FormalimgError("every item is already in the study: collect ratings")
    pairs = frame.pairs(labels)
    spreads = {pair: level_spreads(items) for pair, items in pairs.items()}
    differences = {pair: estimate_corrected_difference(items, frame.levels) for pair, items in pairs.items()}
    decided = {pair: difference for pair, difference in differences.items() if difference is not None}
    differences |= zip(decided, adjust_for_all([*decided.values()]), strict=True)
    uncertain = [
        pair for pair, difference in differences.items() if difference is None or not is_significant(difference)
    ]
    sizes = Counter(images[0].level for images in free.values())
    target = min(more, len(free))
    counts = _allocate_levels(frame, [spreads[pair] for pair in uncertain or pairs], sizes, sample.drawn, target)
    chosen = _draw_levels(free, counts, rng)
    grown = sample.grown(frame, chosen)

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
    return 1 - (1 - CONFIDENCE) / len(pairs)


def _half_width(
    frame: ItemFrame,
    pairs: RunPairs,
    pair: tuple[str, str],
    spreads: Mapping[int, LevelSpread],
    labelled: Mapping[int, int],
) -> float:
    return difference_half_width(_count_levels(pairs[pair]), frame.weights, spreads, labelled, _joint_confidence(pairs))


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
