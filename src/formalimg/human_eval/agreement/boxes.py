"""Accuracy of a grounder against boxes that raters corrected: precision, recall, F1 (FormalImg, appendix)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import fsum
from typing import NamedTuple

from formalimg.errors import FormalimgError
from formalimg.human_eval.agreement.attention import RaterAttentionSummary
from formalimg.human_eval.agreement.rater_agreement import natural_sort
from formalimg.judges.boxes import MIN_OVERLAP, Match, match_objects
from formalimg.scenes.objects import SceneObject
from formalimg.scenes.scene import Scene
from formalimg.stats.agreement import consistency
from formalimg.stats.bootstrap import Estimate
from formalimg.stats.precision_recall import DetectionCounts, Proportion, detection


class BoxCorrection(NamedTuple):
    """The boxes of an image as one rater corrected them.

    Attributes:
        run: the run that the image is in.
        item: the item.
        sample: which of the item's images, from 0.
        level: the item's level.
        rater: the rater.
        found: the boxes of the grounder; None if it gave none.
        corrected: the boxes of this rater.
    """

    run: str
    item: str
    sample: int
    level: int
    rater: str
    found: Scene | None
    corrected: Scene

    @property
    def image(self) -> tuple[str, str, int]:
        """The run, the item and the sample."""
        return self.run, self.item, self.sample


class BoxAccuracy(NamedTuple):
    """Detection accuracy: how many objects the grounder found, and how many of these are right.

    Shares have the exact interval, clustered by image; F1 has that of the bootstrap over images, with
    images that were not seen.
    """

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
    """Agreement of the boxes of two raters."""

    images: int  # how many images both corrected
    one: int  # how many objects each of them has
    other: int
    matched: int  # how many objects both have
    f1: float | None  # twice the matched, as a share of all; None if neither has any


@dataclass(frozen=True)
class BoxStudy:
    """Accuracy of a grounder against corrected boxes, and agreement of the raters who corrected them."""

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


class _ComparedBoxes(NamedTuple):
    """A correction, and how it matches the boxes of the grounder."""

    correction: BoxCorrection
    found: Scene
    matches: Sequence[Match]

    def of_class(self, label: str) -> _ComparedBoxes:
        return self._replace(
            correction=self.correction._replace(corrected=_only(self.correction.corrected, label)),
            found=_only(self.found, label),
            matches=[pair for pair in self.matches if pair.truth.label == label],
        )


def study_boxes(
    corrections: Sequence[BoxCorrection],
    suite: str,
    *,
    judges: Mapping[str, str] | None = None,
    iou: float = MIN_OVERLAP,
    confidence: float = 0.95,
) -> BoxStudy:
    """Measure a grounder against boxes that raters corrected.

    Where several raters corrected an image, each correction is the ground truth in turn, and all of them are counted.
    `between` is the agreement of the raters: no grounder can be expected to agree better with them.

    Args:
        corrections: the corrections.
        suite: the benchmark.
        judges: the judge that found the boxes, by run, where known.
        iou: the intersection over union from which boxes match; the paper has 0.9.
        confidence: of all intervals.

    Raises:
        FormalimgError: if there are no corrections, a rater corrected an image twice, or the overlap is not valid.
    """
    if not corrections:
        raise FormalimgError("nobody has corrected boxes yet: let raters answer first")
    keys = [(it.image, it.rater) for it in corrections]
    duplicate = next((key for key in keys if keys.count(key) > 1), None) if len(set(keys)) < len(keys) else None
    if duplicate is not None:
        (run, item, sample), rater = duplicate
        raise FormalimgError(f"{rater} corrects item {item}, sample {sample}, of {run} twice: keep one correction")
    compared = [_compared(it, iou) for it in sorted(corrections, key=lambda it: (it.image, it.rater))]

    def boxes(chosen: Iterable[_ComparedBoxes]) -> BoxAccuracy:
        return _boxes(list(chosen), confidence)

    raters = natural_sort(it.rater for it in corrections)
    labels = sorted(
        {obj.label for it in compared for scene in (it.correction.corrected, it.found) for obj in scene.objects}
    )
    by_class = {label: boxes(it.of_class(label) for it in compared) for label in labels}
    between = _pairwise(corrections, raters, iou)
    known = [f1 for one, other in combinations(raters, 2) if (f1 := between[one][other].f1) is not None]
    return BoxStudy(
        suite,
        dict(judges or {}),
        iou,
        tuple(raters),
        len({it.image for it in corrections}),
        len(corrections),
        sum(it.found is None for it in corrections),
        sum(it.found is not None and _same(it.found, it.corrected) for it in corrections),
        boxes(compared),
        {
            level: boxes(it for it in compared if it.correction.level == level)
            for level in sorted({it.level for it in corrections})
        },
        {
            run: boxes(it for it in compared if it.correction.run == run)
            for run in sorted({it.run for it in corrections})
        },
        dict(sorted(by_class.items(), key=lambda it: (it[1].f1.value or 0.0, it[0]))),
        between,
        fsum(known) / len(known) if known else None,
        confidence,
    )


def _compared(correction: BoxCorrection, iou: float) -> _ComparedBoxes:
    found = _EMPTY if correction.found is None else correction.found
    return _ComparedBoxes(correction, found, match_objects(correction.corrected, found, iou))


def _boxes(compared: Sequence[_ComparedBoxes], confidence: float) -> BoxAccuracy:
    counts = [DetectionCounts(len(it.matches), len(it.found), len(it.correction.corrected)) for it in compared]
    found = detection(counts, items=[it.correction.image for it in compared], confidence=confidence)
    return BoxAccuracy(
        found.counts.objects,
        found.counts.found,
        found.counts.matched,
        found.precision,
        found.recall,
        found.f1,
        dict(_attributes(compared, confidence)),
    )


def _attributes(compared: Sequence[_ComparedBoxes], confidence: float) -> Iterable[tuple[str, Proportion]]:
    matches = [(it.correction.image, pair) for it in compared for pair in it.matches]
    for kind in _ATTRIBUTES:
        values = [(_values(pair.truth, kind), _values(pair.found, kind)) for _, pair in matches]
        if kind == "color" or any(one or other for one, other in values):
            found = consistency(
                [(one == other, True) for one, other in values],
                items=[image for image, _ in matches],
                confidence=confidence,
            )
            yield kind, Proportion(found.equal, found.n, found.value, found.interval)


def _values(obj: SceneObject, kind: str) -> set[str]:
    """Return the values of an attribute; one outside the vocabulary is none."""
    return set(obj.values(kind)) - {"other"}


def _pairwise(
    corrections: Sequence[BoxCorrection], raters: Sequence[str], iou: float
) -> dict[str, dict[str, RaterBoxAgreement]]:
    scenes: dict[str, dict[tuple[str, str, int], Scene]] = {rater: {} for rater in raters}
    for it in corrections:
        scenes[it.rater][it.image] = it.corrected
    found: dict[str, dict[str, RaterBoxAgreement]] = {rater: {} for rater in raters}
    for first, second in combinations(raters, 2):
        both = [(scene, scenes[second][it]) for it, scene in scenes[first].items() if it in scenes[second]]
        one, other = (sum(map(len, side)) for side in zip(*both, strict=True)) if both else (0, 0)
        matched = sum(len(match_objects(mine, yours, iou)) for mine, yours in both)
        f1 = 2 * matched / (one + other) if one + other else None
        found[first][second] = RaterBoxAgreement(len(both), one, other, matched, f1)
        found[second][first] = RaterBoxAgreement(len(both), other, one, matched, f1)
    return {rater: {other: row[other] for other in raters if other != rater} for rater, row in found.items()}


def _only(scene: Scene, label: str) -> Scene:
    return Scene.of([obj for obj in scene.objects if obj.label == label])


def _same(one: Scene, other: Scene) -> bool:
    """Return whether two scenes have the same objects, in any order."""
    return sorted(map(repr, one.objects)) == sorted(map(repr, other.objects))
