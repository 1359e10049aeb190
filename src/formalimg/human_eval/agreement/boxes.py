"""Studies of corrected boxes: precision, recall and F1 of a grounder, and rater agreement (FormalImg, appendix)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import fsum
from typing import NamedTuple

from formalimg.benchmarks.registry import suite as get_suite
from formalimg.errors import FormalimgError
from formalimg.human_eval.agreement.rating_files import natural_sort
from formalimg.human_eval.agreement.study_tables import (
    RaterAttentionSummary,
    Row,
    attention_table,
    build_headline,
    build_table,
    by_level,
    count_columns,
    figure_row,
    figure_rows,
    format_percent,
    interval_note,
    number,
)
from formalimg.judges.boxes import MIN_OVERLAP, Match, match_objects
from formalimg.reports.tables.format import NOTHING, count_noun, format_value
from formalimg.reports.tables.model import Cell, Column, Placement
from formalimg.scenes.scene import Scene
from formalimg.stats.agreement import consistency
from formalimg.stats.bootstrap import Estimate
from formalimg.stats.precision_recall import DetectionCounts, Proportion, detection
from formalimg.types import Table


class BoxCorrection(NamedTuple):
    """The boxes of an image as corrected by one rater."""

    run: str  # the run that the image is in
    item: str  # the item
    sample: int  # which of the item's images, from 0
    level: int  # the item's level
    rater: str  # the rater
    found: Scene | None  # the boxes of the grounder; None if it gave none
    corrected: Scene  # the boxes of this rater

    @property
    def image(self) -> tuple[str, str, int]:
        """The key of the image: its run, item and sample."""
        return self.run, self.item, self.sample


class BoxAccuracy(NamedTuple):
    """Detection accuracy of a grounder: the number of objects detected, and how many detections are correct."""

    objects: int  # how many objects there are, by the raters
    found: int  # how many the grounder found
    matched: int  # how many of these are right: of the same class, and with boxes that overlap far enough
    precision: Proportion  # the share of what was found that is there
    recall: Proportion  # the share of what is there that was found
    f1: Estimate  # the harmonic mean of both
    # by kind (color, material, shape, state), the share of matched objects with the same values. Kinds without values
    # are missing, but color is always there
    attributes: Mapping[str, Proportion]

    @property
    def color(self) -> Proportion:
        """The colour accuracy: the share of matched objects that have the same colour."""
        return self.attributes["color"]


class RaterBoxAgreement(NamedTuple):
    """Agreement between the boxes of two raters."""

    images: int  # how many images both corrected
    one: int  # how many objects each of them has
    other: int
    matched: int  # how many objects both have
    f1: float | None  # twice the matched, as a share of all; None if neither has any


@dataclass(frozen=True)
class BoxStudy:
    """Accuracy of a grounder against corrected boxes, and agreement between the raters who corrected them."""

    suite: str  # the benchmark
    judges: Mapping[str, str]  # the judge that found the boxes, by run, where known
    iou: float  # the intersection over union from which boxes match
    raters: tuple[str, ...]  # the names of the raters
    images: int  # how many images were corrected
    # how many corrections there are; an image that three raters corrected has three, and each of them is the ground
    # truth in turn
    corrections: int
    # how many of these are of images for which the grounder gave no boxes. Their objects count as not found
    refused: int
    unchanged: int  # how many leave the boxes of the grounder as they were
    overall: BoxAccuracy  # detection accuracy
    by_level: Mapping[int, BoxAccuracy]
    by_run: Mapping[str, BoxAccuracy]
    by_class: Mapping[str, BoxAccuracy]  # the same class by class, the lowest F1 first
    between: Mapping[str, Mapping[str, RaterBoxAgreement]]  # agreement of each pair of raters
    # its mean over all pairs of raters, equally weighted; None if no two corrected the same image
    between_mean: float | None
    confidence: float  # of all intervals
    attention: RaterAttentionSummary | None = None  # progress and attention checks of the raters; None if unknown


_ATTRIBUTES = ("color", "material", "shape", "state")
_EMPTY = Scene.of([])
_MAX_CLASSES = 10


class _ComparedBoxes(NamedTuple):
    """A correction and its matches with the boxes detected by the grounder."""

    correction: BoxCorrection
    found: Scene
    matches: Sequence[Match]

    def of_class(self, label: str) -> _ComparedBoxes:
        truth, found = (
            Scene.of([obj for obj in scene.objects if obj.label == label])
            for scene in (self.correction.corrected, self.found)
        )
        matches = [pair for pair in self.matches if pair.truth.label == label]
        return _ComparedBoxes(self.correction._replace(corrected=truth), found, matches)


def study_boxes(
    corrections: Sequence[BoxCorrection],
    suite: str,
    *,
    judges: Mapping[str, str] | None = None,
    iou: float = MIN_OVERLAP,
    confidence: float = 0.95,
) -> BoxStudy:
    """Measure a grounder against boxes that raters corrected, each correction of an image in turn.

    Args:
        corrections: the corrections.
        suite: the benchmark.
        judges: the judge that found the boxes, by run, where known.
        iou: the intersection over union from which boxes match; the paper has 0.9.
        confidence: of all intervals.
    """
    if not corrections:
        raise FormalimgError("no rater has corrected boxes yet: collect ratings first")
    keys = Counter((correction.image, correction.rater) for correction in corrections)
    (((run, item, sample), rater), count), *_ = keys.most_common(1)
    if count > 1:
        raise FormalimgError(f"{rater} corrects item {item}, sample {sample}, of {run} twice: keep one correction")
    compared = [
        _ComparedBoxes(correction, scene, match_objects(correction.corrected, scene, iou))
        for correction in sorted(corrections, key=lambda correction: (correction.image, correction.rater))
        for scene in [_EMPTY if correction.found is None else correction.found]
    ]

    def measure(chosen: Iterable[_ComparedBoxes]) -> BoxAccuracy:
        return _measure_boxes(list(chosen), confidence)

    levels = sorted({correction.level for correction in corrections})
    runs = sorted({correction.run for correction in corrections})
    raters = natural_sort(correction.rater for correction in corrections)
    scenes = (scene for boxes in compared for scene in (boxes.correction.corrected, boxes.found))
    labels = sorted({obj.label for scene in scenes for obj in scene.objects})
    by_class = {label: measure(boxes.of_class(label) for boxes in compared) for label in labels}
    between = _compare_raters(corrections, raters, iou)
    f1s = [f1 for first, second in combinations(raters, 2) if (f1 := between[first][second].f1) is not None]
    return BoxStudy(
        suite,
        dict(judges or {}),
        iou,
        tuple(raters),
        len({correction.image for correction in corrections}),
        len(corrections),
        sum(correction.found is None for correction in corrections),
        sum(_is_unchanged(correction) for correction in corrections),
        measure(compared),
        {level: measure(boxes for boxes in compared if boxes.correction.level == level) for level in levels},
        {run: measure(boxes for boxes in compared if boxes.correction.run == run) for run in runs},
        dict(sorted(by_class.items(), key=lambda pair: (pair[1].f1.value or 0.0, pair[0]))),
        between,
        fsum(f1s) / len(f1s) if f1s else None,
        confidence,
    )


def _measure_boxes(compared: Sequence[_ComparedBoxes], confidence: float) -> BoxAccuracy:
    counts = [
        DetectionCounts(len(boxes.matches), len(boxes.found), len(boxes.correction.corrected)) for boxes in compared
    ]
    result = detection(counts, items=[boxes.correction.image for boxes in compared], confidence=confidence)
    totals = result.counts
    attributes = dict(_compare_attributes(compared, confidence))
    shares = (result.precision, result.recall, result.f1)
    return BoxAccuracy(totals.objects, totals.found, totals.matched, *shares, attributes)


def _compare_attributes(compared: Sequence[_ComparedBoxes], confidence: float) -> Iterator[tuple[str, Proportion]]:
    matches = [(boxes.correction.image, pair) for boxes in compared for pair in boxes.matches]
    for kind in _ATTRIBUTES:
        values = [
            ({*pair.truth.values(kind)} - {"other"}, {*pair.found.values(kind)} - {"other"}) for _, pair in matches
        ]
        if kind == "color" or any(truth or value for truth, value in values):
            share = consistency(
                [(truth == found, True) for truth, found in values],
                items=[image for image, _ in matches],
                confidence=confidence,
            )
            yield kind, Proportion(share.equal, share.n, share.value, share.interval)


def _compare_raters(
    corrections: Sequence[BoxCorrection], raters: Sequence[str], iou: float
) -> dict[str, dict[str, RaterBoxAgreement]]:
    scenes: dict[str, dict[tuple[str, str, int], Scene]] = {rater: {} for rater in raters}
    for correction in corrections:
        scenes[correction.rater][correction.image] = correction.corrected

    def compare(first: str, second: str) -> RaterBoxAgreement:
        pairs = [(scene, scenes[second][image]) for image, scene in scenes[first].items() if image in scenes[second]]
        sizes = (sum(len(scene) for scene, _ in pairs), sum(len(scene) for _, scene in pairs))
        matched = sum(len(match_objects(scene, second_scene, iou)) for scene, second_scene in pairs)
        return RaterBoxAgreement(len(pairs), *sizes, matched, 2 * matched / sum(sizes) if sum(sizes) else None)

    upper = {(first, second): compare(first, second) for first, second in combinations(raters, 2)}
    lower = {(second, first): pair._replace(one=pair.other, other=pair.one) for (first, second), pair in upper.items()}
    matrix = upper | lower
    return {rater: {second: matrix[rater, second] for second in raters if second != rater} for rater in raters}


def _is_unchanged(correction: BoxCorrection) -> bool:
    if correction.found is None:
        return False
    return sorted(map(repr, correction.found.objects)) == sorted(map(repr, correction.corrected.objects))


def box_study_tables(study: BoxStudy) -> Iterator[Table]:
    """Yield the tables of detection accuracy (overall, by level and run, by class) and of rater agreement."""
    level, intervals = get_suite(study.suite).level, interval_note(study.confidence)
    overall = study.overall
    between = NOTHING if study.between_mean is None else f"{100 * study.between_mean:.1f} %"
    rows = [
        ("agreement", f"F1 {format_percent(overall.f1)} over {count_noun(study.images, 'image')}"),
        (
            "direction",
            f"{format_percent(overall.precision)} of what was found is there, {format_percent(overall.recall)} of what "
            "is there was found",
        ),
        ("raters", f"F1 of two raters {between}: no grounder can be expected to do better"),
    ]
    note = f"Boxes match if they overlap by {study.iou:g} or more. Intervals are {100 * study.confidence:g} %."
    yield build_headline("Grounder and raters", note, rows)
    parts = {**dict(by_level(study.by_level, level)), **(study.by_run if len(study.by_run) > 1 else {}), "all": overall}
    title = "Boxes: found and corrected"
    yield _build_accuracy_table(title, f"{_describe_study(study)} In percent, {intervals}.", parts, "result")
    classes = dict(list(study.by_class.items())[:_MAX_CLASSES])
    more = f"The {_MAX_CLASSES} with the lowest F1 of {len(study.by_class)}; the JSON holds all of them. "
    note = f"{more if len(study.by_class) > _MAX_CLASSES else ''}In percent, {intervals}."
    yield _build_accuracy_table("Boxes: by class", note, classes)
    if len(study.raters) > 1:
        mean = "No two raters corrected the same."
        if study.between_mean is not None:
            mean = f"Mean: {format_value(study.between_mean, 'percent')}, each pair weighing the same."
        yield build_table(
            "Boxes: pairwise agreement of raters",
            f"F1 in percent, at the same overlap, over the images that both corrected. {mean}",
            ("", *(Column(rater, "percent") for rater in study.raters)),
            (
                (rater, *(pairs[second].f1 if second in pairs else "" for second in study.raters))
                for rater, pairs in study.between.items()
            ),
        )
    if study.attention is not None:
        yield attention_table(study.attention)


def _describe_study(study: BoxStudy) -> str:
    judges = ", ".join(sorted({*study.judges.values()})) or "not known"
    note = (
        f"{count_noun(study.corrections, 'correction')} of {count_noun(study.images, 'image')} by "
        f"{count_noun(len(study.raters), 'rater')}, of which {study.unchanged} change nothing; the grounder is "
        f"{judges}. Right: the same class, and boxes that overlap by {study.iou:g} (IoU)."
    )
    if study.refused:
        note += f" In {study.refused} of them the grounder gave no boxes, so it found none of the objects."
    return note


def _build_accuracy_table(
    title: str, note: str, parts: Mapping[str, BoxAccuracy], placement: Placement = "more"
) -> Table:
    kinds = list(dict.fromkeys(kind for boxes in parts.values() for kind in boxes.attributes))
    columns = [Column(head, "percent") for head in ("precision", "recall", "F1", *kinds)]
    rows: list[list[Cell]] = [
        [
            *(name, number(boxes.precision), number(boxes.recall), number(boxes.f1)),
            *(number(boxes.attributes.get(kind)) for kind in kinds),
            *(boxes.objects, boxes.found, boxes.matched),
        ]
        for name, boxes in parts.items()
    ]
    return build_table(title, note, ("", *columns, *count_columns("objects", "found", "right")), rows, placement)


def box_study_rows(study: BoxStudy) -> Iterator[Row]:
    """Yield the CSV rows of a box study, including all classes."""
    parts: list[tuple[Row, BoxAccuracy]] = [({}, study.overall)]
    for column, accuracies in (("level", study.by_level), ("run", study.by_run), ("kind", study.by_class)):
        parts += [({column: name}, boxes) for name, boxes in accuracies.items()]
    for part, boxes in parts:
        shares = (("precision", "precision", ""), ("recall", "recall", ""), ("F1", "f1", ""))
        yield from figure_rows(boxes, shares, of="boxes", **part)
        for kind, share in boxes.attributes.items():
            yield figure_row(f"{kind} accuracy", share, of="boxes", **part)
    for first, second in combinations(study.raters, 2):
        pair = study.between[first][second]
        yield figure_row("F1 of two people", pair.f1, of="boxes", first=first, second=second, n=pair.images)
    yield figure_row("mean F1 of two people", study.between_mean, of="boxes")
