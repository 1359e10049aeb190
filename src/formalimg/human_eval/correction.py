"""Random samples of images for human labels that correct a judge, focused on the most informative cells."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from formalimg.errors import FormalimgError
from formalimg.human_eval.assignment import Candidate
from formalimg.stats.planning import allocate_labels

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
        return set() if run else {(image.item, image.sample) for image in self.images}

    def grown(self, sizes: Mapping[CellKey, int], more: Sequence[tuple[str, int, CellKey]]) -> CorrectionSample:
        """Return the sample extended by another batch of images, with updated probabilities."""
        rows = [(image.item, image.sample, (image.level, image.judge), image.batch) for image in self.images]
        rows += [(*row, self.batches + 1) for row in more]
        counts = Counter(cell for _, _, cell, _ in rows)
        return CorrectionSample(
            self.judge,
            self.labels,
            tuple(SampleCell(*cell, sizes[cell], counts[cell]) for cell in sorted(sizes)),
            tuple(
                DrawnImage(item, sample, *cell, round(counts[cell] / sizes[cell], 9), batch)
                for item, sample, cell, batch in rows
            ),
        )


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
        raise FormalimgError(f"{labels} labels correct nothing: ask for at least 1, such as 100")
    cells = count_cells(images)
    target = min(labels, len(images))
    chosen = _draw_cells(images, allocate_labels(cells, target).cells, rng)
    sample = CorrectionSample(judge, labels, (), ()).grown(cells, _sample_rows(chosen, images))
    alternatives = sorted({max(1, target // 2), min(len(images), 2 * target)} - {target})
    half_widths = {number: allocate_labels(cells, number).half_width for number in (target, *alternatives)}
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
        raise FormalimgError("every judged image is in the study already: let raters answer")
    cells, free_cells = count_cells(images), count_cells(free)
    counts = Counter((image.level, image.judge) for image in sample.images)
    expected = {cell: _extrapolate_labels(labels.get(cell, (0, 0)), counts[cell]) for cell in cells}
    # Reserved images count as labelled in the allocation alone, so that nothing is allocated to them.
    padded = {cell: _extrapolate_labels(expected[cell], cells[cell] - free_cells.get(cell, 0)) for cell in cells}
    target = min(more, len(free))
    further = allocate_labels(cells, target, cells_known=padded).cells
    after = {cell: _extrapolate_labels(expected[cell], expected[cell][1] + further.get(cell, 0)) for cell in cells}
    chosen = _draw_cells(free, further, rng)
    precision = LabelPrecision(
        len(sample.images) + target,
        allocate_labels(cells, 0, cells_known=after).half_width,
        {count_labels(labels): allocate_labels(cells, 0, cells_known=labels).half_width},
    )
    return chosen, sample.grown(cells, _sample_rows(chosen, images)), precision


def count_cells(images: Mapping[Candidate, bool]) -> dict[CellKey, int]:
    """Return the number of images by level and judge answer."""
    return dict(sorted(Counter((image.level, answer) for image, answer in images.items()).items()))


def count_labels(labels: CellLabels) -> int:
    """Return the number of labels in all cells."""
    return sum(count for _, count in labels.values())


def _extrapolate_labels(labels: tuple[int, int], count: int) -> tuple[int, int]:
    """Extrapolate the labels of a cell to `count` images, assuming that the rate of yes stays the same."""
    yes, number = labels
    return yes + round((count - number) * (yes + 0.5) / (number + 1)), count


def _draw_cells(images: Mapping[Candidate, bool], counts: Mapping[CellKey, int], rng: random.Random) -> list[Candidate]:
    chosen: list[Candidate] = []
    for cell in sorted(counts):
        members = sorted(image for image, answer in images.items() if (image.level, answer) == cell)
        chosen += rng.sample(members, counts[cell])
    rng.shuffle(chosen)
    return chosen


def _sample_rows(chosen: Sequence[Candidate], images: Mapping[Candidate, bool]) -> list[tuple[str, int, CellKey]]:
    return [(image.item, image.sample, (image.level, images[image])) for image in sorted(chosen)]
