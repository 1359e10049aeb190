"""Items drawn for human labels in several runs: the same for all, so that people's differences between runs exist."""

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
from formalimg.human_eval.correction_sample import ItemSample
from formalimg.stats.comparison import PairedDifference, adjust_for_all, is_significant
from formalimg.stats.corrected_difference import LabelledImage, PairedItem, estimate_corrected_difference, pair_labelled
from formalimg.stats.intervals import student_quantile
from formalimg.stats.planning import LevelSpread, allocate_items, difference_half_width, level_spreads
from formalimg.types import Benchmark

CONFIDENCE = 0.95
MIN_ITEMS = 3
"""With fewer labelled items, the error of a difference is unknown."""

ImageLabels = Mapping[tuple[str, str, int], bool]
"""Whether people pass an image, by run, item and sample."""

RunPairs = Mapping[tuple[int, int], Sequence[PairedItem]]
"""The items of each pair of runs, by their places in the study."""


class PairOutlook(NamedTuple):
    """How precisely the difference of two runs will be known."""

    first: str  # the names of the runs
    second: str
    # expected half width of its interval once all drawn items are labelled; the 95 % hold for all pairs at once, as
    # in a report
    half_width: float
    now: float | None = None  # half width by the labels so far; None where there are too few
    is_certain: bool = False  # whether the difference is significant by the labels so far, corrected for all pairs


class ItemDraw(NamedTuple):
    """Items that were drawn."""

    # the further items, in random order, each with its images in the order of the runs
    items: list[tuple[Candidate, ...]]
    sample: ItemSample  # all items so far, with their probabilities
    # of each pair of runs, the closest by the judge first; none for suites of scores
    outlooks: tuple[PairOutlook, ...] = ()
    others: Mapping[int, float] = {}  # expected half width of the first of them for other numbers of items


@dataclass(frozen=True)
class ItemFrame:
    """Items of several runs of a suite, of which some are drawn."""

    runs: tuple[str, ...]  # the names of the runs, in the order of the study
    suite: Benchmark  # the benchmark
    verdicts: Mapping[Candidate, bool | None]  # every image that exists, with the judge's verdict; None without one
    # the images that are labelled if an item is drawn: those of one sample, chosen at random for each item
    items: Mapping[str, tuple[Candidate, ...]]

    @classmethod
    def of(
        cls, runs: Sequence[str], suite: Benchmark, verdicts: Mapping[Candidate, bool | None], seed: int
    ) -> ItemFrame:
        """Build the frame of a study; the same seed chooses the same samples."""
        samples = 1 + max((image.sample for image in verdicts), default=0)
        place = {name: number for number, name in enumerate(runs)}
        items: dict[str, list[Candidate]] = {}
        for image in sorted(verdicts, key=lambda image: (image.item, place[image.run])):
            if image.sample == (random.Random(f"{seed} {image.item}").randrange(samples) if samples > 1 else 0):
                items.setdefault(image.item, []).append(image)
        return cls(tuple(runs), suite, verdicts, {item: tuple(images) for item, images in items.items()})

    @cached_property
    def sizes(self) -> dict[int, int]:
        """How many items each level has."""
        return dict(sorted(Counter(images[0].level for images in self.items.values()).items()))

    @cached_property
    def levels(self) -> tuple[int, ...] | None:
        """The levels of the number that runs are ranked by, each with the same weight; None for all items alike."""
        last = tuple(self.suite.bands[[*self.suite.bands][-1]]) if self.suite.bands else ()
        return last if last and not self.suite.has_scores and {*last} <= self.sizes.keys() else None

    @cached_property
    def weights(self) -> dict[int, float]:
        """What each level weighs in that number."""
        if self.levels is not None:
            return dict.fromkeys(self.levels, 1 / len(self.levels))
        return {level: size / len(self.items) for level, size in self.sizes.items()}

    def pairs(self, labels: ImageLabels, *, of_one_sample: bool = False) -> RunPairs:
        """Return the items of each pair of runs with what the judge and people say of them."""
        images = {image for own in self.items.values() for image in own} if of_one_sample else self.verdicts.keys()
        by_run: list[dict[str, list[LabelledImage]]] = [{} for _ in self.runs]
        place = {name: number for number, name in enumerate(self.runs)}
        for image, verdict in self.verdicts.items():
            if verdict is not None and image in images:
                label = labels.get((image.run, image.item, image.sample))
                shown = LabelledImage(image.level, float(verdict), None if label is None else float(label))
                by_run[place[image.run]].setdefault(image.item, []).append(shown)
        return {
            (one, other): [*pair_labelled(by_run[one], by_run[other], by_item=True).values()]
            for one, other in combinations(range(len(self.runs)), 2)
        }

    def names(self, pair: tuple[int, int]) -> tuple[str, str]:
        """Return the names of a pair of runs."""
        return self.runs[pair[0]], self.runs[pair[1]]


def draw_items(frame: ItemFrame, labels: int, rng: random.Random) -> ItemDraw:
    """Draw the items of a new study: at random within levels, more of those where the judge's differences vary more."""
    wanted = min(labels, len(frame.items))
    if wanted < MIN_ITEMS:
        raise FormalimgError(f"{wanted} labelled items tell no difference: ask for at least {MIN_ITEMS}")
    pairs = frame.pairs({})
    apart = next((pair for pair, items in pairs.items() if len(items) < MIN_ITEMS), None)
    if apart is not None:
        one, other = frame.names(apart)
        raise FormalimgError(
            f"{one} and {other} share fewer than {MIN_ITEMS} judged items: name runs of the same items"
        )
    spreads = {pair: level_spreads(items) for pair, items in frame.pairs({}, of_one_sample=True).items()}
    order = _closest_first(frame, pairs)
    others = sorted({max(MIN_ITEMS, wanted // 2), min(len(frame.items), 2 * wanted)} - {wanted})
    counts = {
        number: _allocate(frame, [*spreads.values()], frame.sizes, {}, number)
        for number in [wanted, *(others if order else ())]
    }

    def half_width(pair: tuple[int, int], number: int) -> float:
        sizes = _sizes(pairs[pair])
        return difference_half_width(sizes, frame.weights, spreads[pair], counts[number], _confidence(pairs))

    chosen = _draw(frame.items, counts[wanted], rng)
    return ItemDraw(
        chosen,
        ItemSample(labels, (), ()).grown(frame.sizes, _rows(chosen, frame)),
        tuple(PairOutlook(*frame.names(pair), half_width(pair, wanted)) for pair in order),
        {number: half_width(order[0], number) for number in others if order},
    )


def draw_more_items(
    frame: ItemFrame,
    sample: ItemSample,
    labels: ImageLabels,
    more: int,
    reserved: Collection[Candidate],
    rng: random.Random,
) -> ItemDraw:
    """Draw further items where they narrow those differences that are not certain yet; all of them if they are."""
    drawn = {each.item for each in sample.items}
    if {level.level: level.items for level in sample.levels} != frame.sizes or not drawn <= frame.items.keys():
        raise FormalimgError("the runs have other images than when items were drawn: make a new study")
    left = {item: own for item, own in frame.items.items() if item not in drawn and not {*own} & {*reserved}}
    if not left:
        raise FormalimgError("every item is in the study already: let raters answer")
    pairs = frame.pairs(labels)
    spreads = {pair: level_spreads(items) for pair, items in pairs.items()}
    differences = _differences(frame, pairs)
    uncertain = [pair for pair, found in differences.items() if found is None or not is_significant(found)]
    free = Counter(own[0].level for own in left.values())
    counts = _allocate(frame, [spreads[pair] for pair in uncertain or pairs], free, sample.drawn, min(more, len(left)))
    chosen = _draw(left, counts, rng)
    grown = sample.grown(frame.sizes, _rows(chosen, frame))

    def outlook(pair: tuple[int, int]) -> PairOutlook:
        def half_width(labelled: Mapping[int, int]) -> float:
            sizes = _sizes(pairs[pair])
            return difference_half_width(sizes, frame.weights, spreads[pair], labelled, _confidence(pairs))

        found = differences[pair]
        if found is None or found.error is None:
            return PairOutlook(*frame.names(pair), half_width(grown.drawn))
        now = student_quantile(_confidence(pairs), found.error.freedom) * found.error.value
        labelled = _sizes([item for item in pairs[pair] if item.people is not None])
        after = now * half_width(grown.drawn) / half_width(labelled)
        return PairOutlook(*frame.names(pair), after, now, is_significant(found))

    return ItemDraw(chosen, grown, tuple(map(outlook, _closest_first(frame, pairs))))


def _confidence(pairs: RunPairs) -> float:
    """Return the confidence of each interval with which all of them hold in 95 % of cases."""
    return 1 - (1 - CONFIDENCE) / len(pairs)


def _differences(frame: ItemFrame, pairs: RunPairs) -> dict[tuple[int, int], PairedDifference | None]:
    """Return the corrected differences as a report decides by them; None where too few items are labelled."""
    found = {pair: estimate_corrected_difference(items, frame.levels) for pair, items in pairs.items()}
    known = {pair: difference for pair, difference in found.items() if difference is not None}
    return {**found, **dict(zip(known, adjust_for_all([*known.values()]), strict=True))}


def _allocate(
    frame: ItemFrame,
    spreads: Sequence[Mapping[int, LevelSpread]],
    free: Mapping[int, int],
    drawn: Mapping[int, int],
    count: int,
) -> dict[int, int]:
    """Return how many items to draw of each level, for pairs with these spreads; of scores, as many as levels have."""
    mean = {}
    for level in frame.sizes:
        own = [of_pair[level].rest for of_pair in spreads if level in of_pair]
        mean[level] = 1.0 if frame.suite.has_scores or not own else fsum(own) / len(own)
    return allocate_items(free, frame.weights, mean, drawn, count)


def _closest_first(frame: ItemFrame, pairs: RunPairs) -> list[tuple[int, int]]:
    """Return the pairs by the judge's difference, the smallest first; none for scores, whose errors are others."""
    if frame.suite.has_scores:
        return []

    def distance(items: Sequence[PairedItem]) -> float:
        sizes = _sizes(items)
        return abs(fsum(frame.weights.get(item.level, 0.0) * item.judge / sizes[item.level] for item in items))

    return sorted(pairs, key=lambda pair: (distance(pairs[pair]), pair))


def _sizes(items: Sequence[PairedItem]) -> Counter[int]:
    return Counter(item.level for item in items)


def _draw(
    free: Mapping[str, tuple[Candidate, ...]], counts: Mapping[int, int], rng: random.Random
) -> list[tuple[Candidate, ...]]:
    chosen: list[tuple[Candidate, ...]] = []
    for level in sorted(counts):
        chosen += rng.sample([free[item] for item in sorted(free) if free[item][0].level == level], counts[level])
    rng.shuffle(chosen)
    return chosen


def _rows(chosen: Sequence[tuple[Candidate, ...]], frame: ItemFrame) -> list[tuple[str, int, int, tuple[int, ...]]]:
    return [
        (images[0].item, images[0].sample, images[0].level, tuple(frame.runs.index(image.run) for image in images))
        for images in sorted(chosen)
    ]
