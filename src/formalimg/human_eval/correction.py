"""Images drawn for human labels that correct a judge: how many of each level and judge answer, and how wide that is."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from formalimg.errors import FormalimgError
from formalimg.human_eval.assignment import Candidate
from formalimg.human_eval.correction_sample import CellKey, CorrectionSample
from formalimg.human_eval.protocol import RatingProtocol, rating_rules
from formalimg.runs.manifest import RunManifest
from formalimg.stats.planning import allocate_labels

Labelled = Mapping[CellKey, tuple[int, int]]
"""Labels so far of each cell: how many say yes, and how many there are."""


class LabelPrecision(NamedTuple):
    """How precise labels make the corrected Overall rate."""

    labels: int  # number of labels
    half_width: float  # expected half width of its interval
    others: Mapping[int, float]  # the same for other numbers of labels


def correction_protocol(suite_name: str) -> RatingProtocol:
    """Return the protocol that gives each image of a suite one label: the one that asks about the image as a whole."""
    return rating_rules(suite_name).label


def judge_of_run(manifest: RunManifest, folder: object) -> str:
    """Return the name of the judge of a run."""
    if manifest.judge is None:
        raise FormalimgError(f"nobody has judged the images of {folder}: use `formalimg judge`, then draw images")
    return manifest.judge.name


def draw_first(
    images: Mapping[Candidate, bool], labels: int, judge: str, rng: random.Random
) -> tuple[list[Candidate], CorrectionSample, LabelPrecision]:
    """Draw the images of a new correction study: at random within each level and judge answer."""
    if not images:
        raise FormalimgError("no image has a verdict: judge the run with `formalimg judge`, then draw images")
    if labels < 1:
        raise FormalimgError(f"{labels} labels correct nothing: ask for at least 1, such as 100")
    cells = cell_counts(images)
    wanted = min(labels, len(images))
    chosen = _draw(images, allocate_labels(cells, wanted).cells, rng)
    sample = CorrectionSample(judge, labels, (), ()).grown(cells, _keys(chosen, images))
    return chosen, sample, _precision(cells, wanted)


def draw_more(
    images: Mapping[Candidate, bool],
    sample: CorrectionSample,
    known: Labelled,
    more: int,
    reserved: Sequence[Candidate],
    rng: random.Random,
) -> tuple[list[Candidate], CorrectionSample, LabelPrecision]:
    """Draw further images where they narrow the corrected Overall interval most."""
    drawn = {(it.item, it.sample): it.judge for it in sample.images}
    said = {(it.item, it.sample): answer for it, answer in images.items()}
    if any(said.get(image) != answer for image, answer in drawn.items()):
        raise FormalimgError(
            f"the judge's answers are not those of {sample.judge} by which images were drawn: make a new study"
        )
    left = {it: answer for it, answer in images.items() if (it.item, it.sample) not in drawn and it not in reserved}
    if not left:
        raise FormalimgError("every judged image is in the study already: let raters answer")
    cells = cell_counts(images)
    free = cell_counts(left)
    taken = Counter((it.level, it.judge) for it in sample.images)
    expected = {cell: _expected(known.get(cell, (0, 0)), taken[cell]) for cell in cells}
    # Reserved images count as labelled in the allocation alone, so that nothing is allocated to them.
    blocked = {cell: cells[cell] - free.get(cell, 0) for cell in cells}
    padded = {cell: _expected(expected[cell], blocked[cell]) for cell in cells}
    wanted = min(more, len(left))
    further = allocate_labels(cells, wanted, cells_known=padded).cells
    after = {cell: _expected(expected[cell], expected[cell][1] + further.get(cell, 0)) for cell in cells}
    chosen = _draw(left, further, rng)
    labelled = sum(count for _, count in known.values())
    precision = LabelPrecision(
        len(sample.images) + wanted,
        allocate_labels(cells, 0, cells_known=after).half_width,
        {labelled: allocate_labels(cells, 0, cells_known=known).half_width},
    )
    return chosen, sample.grown(cells, _keys(chosen, images)), precision


def cell_counts(images: Mapping[Candidate, bool]) -> dict[CellKey, int]:
    """Return the number of images by level and judge answer."""
    return dict(sorted(Counter((it.level, answer) for it, answer in images.items()).items()))


def _expected(labels: tuple[int, int], count: int) -> tuple[int, int]:
    """Return the labels that this many images will have, if further ones say yes as often as those so far."""
    yes, known = labels
    return yes + round((count - known) * (yes + 0.5) / (known + 1)), count


def _precision(cells: Mapping[CellKey, int], labels: int) -> LabelPrecision:
    total = sum(cells.values())
    others = sorted({max(1, labels // 2), min(total, 2 * labels)} - {labels})
    return LabelPrecision(
        labels,
        allocate_labels(cells, labels).half_width,
        {number: allocate_labels(cells, number).half_width for number in others},
    )


def _draw(images: Mapping[Candidate, bool], counts: Mapping[CellKey, int], rng: random.Random) -> list[Candidate]:
    chosen: list[Candidate] = []
    for cell in sorted(counts):
        there = sorted(it for it, answer in images.items() if (it.level, answer) == cell)
        chosen += rng.sample(there, counts[cell])
    rng.shuffle(chosen)
    return chosen


def _keys(chosen: Sequence[Candidate], images: Mapping[Candidate, bool]) -> list[tuple[str, int, CellKey]]:
    return [(it.item, it.sample, (it.level, images[it])) for it in sorted(chosen)]
