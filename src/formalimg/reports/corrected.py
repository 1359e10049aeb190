"""Rates of a run corrected by human labels: what people say about some images corrects what the judge says of all."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import fsum
from pathlib import Path
from typing import NamedTuple

from formalimg.human_eval.agreement.image_labels import RunLabels
from formalimg.human_eval.agreement.judge_agreement import ImageName
from formalimg.reports.comparison_model import HowCounted, SeenRun
from formalimg.reports.tables.format import level_name
from formalimg.reports.tables.model import Number
from formalimg.stats.corrected import CorrectedRate
from formalimg.stats.corrected_summary import (
    CellScore,
    LabelledObservation,
    ScoreCell,
    estimate_cell_mean,
    summarize_corrected,
)
from formalimg.stats.intervals import fraction_interval
from formalimg.stats.observations import Generalizability, Interval, Observation
from formalimg.stats.summary import summarize
from formalimg.types import Benchmark

ALL_IMAGES = "all images"


class CorrectedNumber(NamedTuple):
    """A rate or mean by the judge alone, and corrected by human labels; None where labels are lacking."""

    name: str
    raw: Number
    corrected: CorrectedRate | None

    @property
    def number(self) -> Number:
        """The corrected rate as a number of a table, over the same images as the judge's."""
        found, raw = self.corrected, self.raw
        if found is None:
            return Number(None)
        interval = Interval(found.low, found.high)
        return Number(found.estimate, interval, scored=raw.scored, expected=raw.expected, coverage=raw.coverage)


class HeldLevels(NamedTuple):
    """G by the judge alone, and by the corrected rates."""

    raw: Generalizability
    corrected: Generalizability


@dataclass(frozen=True)
class CorrectedRun:
    """The numbers of a run, raw and corrected."""

    name: str  # the name of the run in the report
    folder: Path  # its resolved folder
    source: str  # the study or file of the labels
    levels: Mapping[int, CorrectedNumber]  # the rate, or the mean score, of each level
    others: tuple[CorrectedNumber, ...]  # bands, then all images
    # the mean fraction of what was asked for that is shown, by level and of all images; none where people did not say
    # it
    fractions: tuple[CorrectedNumber, ...]
    held: HeldLevels | None  # G; None for suites without one, or where it is unknown
    labels: int  # how many labels were used
    rule: str  # how the answers of raters become a label
    raters: tuple[int, int]  # the fewest and the most raters of a labelled image
    assumed: bool  # whether it is only assumed that the labelled images are a random sample
    notes: tuple[str, ...]  # what was left out, and why

    @property
    def main_number(self) -> CorrectedNumber:
        """The number that stands for the run: its last band that is known, or all images."""
        *bands, overall = self.others
        return next((band for band in reversed(bands) if band.corrected is not None), overall)

    def number(self, name: str) -> Number | None:
        """Return a band, or all images, corrected; None where labels are lacking."""
        return next(
            (each.number for each in self.others if each.name.lower() == name and each.corrected is not None), None
        )


def why_not_corrected(run: SeenRun, labels: RunLabels, about: Benchmark) -> str:
    """Return why these labels cannot correct the numbers of a run; empty if they can."""
    if labels.refused:
        return labels.refused
    if about.has_scores and not labels.scores:
        return (
            f"{labels.source} has yes and no, and {about.title} has mean scores: rate with `annotate --protocol scores`"
        )
    judge = run.record.manifest.judge
    if judge is None:
        return "the images have not been judged yet"
    drawn = labels.drawn_by
    if drawn is not None:
        said = {ImageName(image.item, image.sample): image.passed for image in run.images}
        if judge.name != drawn.judge or any(said.get(image) != answer for image, answer in drawn.answers.items()):
            return (
                f"the images of {labels.source} were drawn by the answers of {drawn.judge} at that time, which are "
                "not those of this report: draw a new study with `formalimg annotate --for-correction`"
            )
    scored = {ImageName(image.item, image.sample) for image in run.images if image.passed is not None}
    if not scored & {*labels.passed, *labels.scores}:
        return f"no image with a label in {labels.source} has a verdict: judge the run, or label others"
    return ""


def correct_run(
    run: SeenRun, labels: RunLabels, about: Benchmark, epsilon: float | None, how: HowCounted
) -> CorrectedRun:
    """Return the numbers of a run over its images with a verdict, by the judge alone and corrected by labels."""
    notes, folder = (*labels.notes, *_late_verdicts(run, labels)), run.record.folder.resolve()
    if about.has_scores:
        images = _score_images(run, labels)
        used = sum(image.human is not None for image in images)
        levels, total = _means(images, about, how.confidence)
        return CorrectedRun(
            run.name,
            folder,
            labels.source,
            levels,
            (total,),
            (),
            None,
            used,
            labels.rule,
            labels.raters,
            labels.assumed,
            notes,
        )
    fractions, mean_fraction = _means(_fraction_images(run, labels), about, how.confidence)
    seen = [
        LabelledObservation(
            image.item, image.level, image.passed, labels.passed.get(ImageName(image.item, image.sample))
        )
        for image in run.images
    ]
    corrected = summarize_corrected(seen, bands=about.bands, epsilon=epsilon, confidence=how.confidence)
    raw = run.summary
    if how.missing == "fail":  # the main table counts images without a verdict, which nobody can correct
        raw = summarize(
            [Observation(one.item, one.level, one.passed) for one in seen],
            bands=about.bands,
            epsilon=epsilon,
            confidence=how.confidence,
        )
    others = [
        *(CorrectedNumber(name, Number.of(band), corrected.bands.get(name)) for name, band in raw.bands.items()),
        CorrectedNumber(ALL_IMAGES, Number.of(raw.overall), corrected.overall),
    ]
    held = None
    if raw.generalizability is not None and corrected.generalizability is not None:
        held = HeldLevels(raw.generalizability, corrected.generalizability)
    return CorrectedRun(
        run.name,
        folder,
        labels.source,
        {
            level: CorrectedNumber(level_name(about, level), Number.of(rate), corrected.levels.get(level))
            for level, rate in raw.levels.items()
        },
        tuple(others),
        (*fractions.values(), mean_fraction) if labels.scores else (),
        held,
        corrected.labels,
        labels.rule,
        labels.raters,
        labels.assumed,
        notes,
    )


def _late_verdicts(run: SeenRun, labels: RunLabels) -> tuple[str, ...]:
    drawn = labels.drawn_by
    scored = sum(image.passed is not None for image in run.images)
    if drawn is None or drawn.images == scored:
        return ()
    return (f"{scored:,} images have a verdict, {drawn.images:,} had one when images were drawn for labels.",)


class _MeasuredImage(NamedTuple):
    item: str
    level: int
    passed: bool
    judge: float
    human: float | None


def _score_images(run: SeenRun, labels: RunLabels) -> list[_MeasuredImage]:
    """Return the images of a suite of scores, with their scores before any gate."""
    passed = {(image.item, image.sample): image.passed for image in run.images}
    return [
        _measured(image.item, image.sample, image.level, passed[image.item, image.sample], image.score, labels)
        for image in run.graded
        if image.score is not None
    ]


def _fraction_images(run: SeenRun, labels: RunLabels) -> list[_MeasuredImage]:
    return [
        _measured(image.item, image.sample, image.level, image.passed, image.score, labels)
        for image in run.images
        if image.score is not None and image.passed is not None
    ]


def _measured(
    item: str, sample: int, level: int, passed: bool | None, score: float, labels: RunLabels
) -> _MeasuredImage:
    human = labels.scores.get(ImageName(item, sample))
    # Weighted means of ones may be above 1 by rounding.
    return _MeasuredImage(item, level, bool(passed), min(1.0, score), None if human is None else min(1.0, human))


def _means(
    images: Sequence[_MeasuredImage], about: Benchmark, confidence: float
) -> tuple[dict[int, CorrectedNumber], CorrectedNumber]:
    """Return the mean of each level, and that of all images."""
    by_level: dict[int, list[_MeasuredImage]] = {level: [] for level in sorted({image.level for image in images})}
    for image in images:
        by_level[image.level].append(image)
    levels = {level: _mean(level_name(about, level), own, confidence) for level, own in by_level.items()}
    return levels, _mean(ALL_IMAGES, images, confidence)


def _mean(name: str, images: Sequence[_MeasuredImage], confidence: float) -> CorrectedNumber:
    scores = [image.judge for image in images]
    if not scores:
        return CorrectedNumber(name, Number(None), None)
    interval = fraction_interval(scores, confidence, items=[image.item for image in images])
    raw = Number(fsum(scores) / len(scores), interval, scored=len(scores), expected=len(scores))
    return CorrectedNumber(name, raw, estimate_cell_mean(_cells(images), confidence))


def _cells(images: Iterable[_MeasuredImage]) -> list[ScoreCell]:
    """Return the images by level and by the judge's answer, within which labels were drawn at random."""
    cells: dict[tuple[int, bool], list[CellScore]] = {}
    for image in images:
        cells.setdefault((image.level, image.passed), []).append(CellScore(image.item, image.judge, image.human))
    return [*cells.values()]
