"""What a grounder found in images, and what people made of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import fsum
from typing import NamedTuple

from formalimg.analysis.attention import Conduct
from formalimg.analysis.rater_agreement import in_order
from formalimg.errors import FormalimgError
from formalimg.judges import MIN_OVERLAP, Match, match
from formalimg.scenes import Scene, SceneObject
from formalimg.stats import Estimate, Found, Share, consistency, detection


class Correction(NamedTuple):
    """An image whose boxes one person has put right.

    Attributes:
        run: the run that the image is in.
        item: the item.
        sample: which of the item's images, from 0.
        level: the item's level.
        rater: who corrected.
        found: what the grounder had found; None if it could not tell.
        corrected: what is there, by this person.
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


class Boxes(NamedTuple):
    """How well objects are found.

    Shares have the exact interval, clustered by image; F1 has that of the bootstrap over images, from 20 images
    on and if there is any mistake.

    Attributes:
        objects: how many objects are there, by the people who corrected.
        found: how many the grounder found.
        matched: how many of these are right: of the same class, and with boxes that overlap far enough.
        precision: the share of what was found that is there.
        recall: the share of what is there that was found.
        f1: the harmonic mean of both.
        attributes: by kind (color, material, shape, state), the share of matched objects that have the same words.
            Kinds that nothing has a word for are missing, but color is always there.
    """

    objects: int
    found: int
    matched: int
    precision: Share
    recall: Share
    f1: Estimate
    attributes: Mapping[str, Share]

    @property
    def color(self) -> Share:
        """The colour accuracy: the share of matched objects that have the same colour."""
        return self.attributes["color"]


class RatersBoxes(NamedTuple):
    """How far two people draw the same boxes.

    Attributes:
        images: how many images both corrected.
        one, other: how many objects each of them has there.
        matched: how many objects both have.
        f1: twice the matched, as a share of all; None if neither has any.
    """

    images: int
    one: int
    other: int
    matched: int
    f1: float | None


@dataclass(frozen=True)
class BoxesStudied:
    """A grounder, measured by what people made of its boxes.

    Attributes:
        suite: the benchmark.
        judges: who found the boxes, by run, as far as it is known.
        iou: how far boxes have to overlap: intersection over union.
        raters: the people.
        images: how many images were corrected.
        corrections: how many corrections there are; an image that three people corrected has three, and each of them
            is taken for true in turn.
        refused: how many of these are of images in which the grounder could not tell what it saw. What is there
            counts as not found.
        unchanged: how many leave what the grounder found as it was.
        overall, by_level, by_run: how well objects were found.
        by_class: the same class by class, the lowest F1 first.
        between: how far any two people draw the same boxes.
        between_mean: the mean of that over all pairs of people, each pair weighing the same; None if no two corrected
            the same image.
        confidence: of all intervals.
        conduct: how the raters did, as far as that is known.
    """

    suite: str
    judges: Mapping[str, str]
    iou: float
    raters: tuple[str, ...]
    images: int
    corrections: int
    refused: int
    unchanged: int
    overall: Boxes
    by_level: Mapping[int, Boxes]
    by_run: Mapping[str, Boxes]
    by_class: Mapping[str, Boxes]
    between: Mapping[str, Mapping[str, RatersBoxes]]
    between_mean: float | None
    confidence: float
    conduct: Conduct | None = None


_ATTRIBUTES = ("color", "material", "shape", "state")
_NOTHING = Scene.of([])


class _Compared(NamedTuple):
    """A correction beside what was found."""

    correction: Correction
    found: Scene
    matches: Sequence[Match]

    def of_class(self, label: str) -> _Compared:
        return self._replace(
            correction=self.correction._replace(corrected=_only(self.correction.corrected, label)),
            found=_only(self.found, label),
            matches=[pair for pair in self.matches if pair.truth.label == label],
        )


def study_boxes(
    corrections: Sequence[Correction],
    suite: str,
    *,
    judges: Mapping[str, str] | None = None,
    iou: float = MIN_OVERLAP,
    confidence: float = 0.95,
) -> BoxesStudied:
    """How well a grounder finds objects, by what people made of its boxes.

    Where several people corrected an image, each correction is taken for true in turn, and all of them are counted.
    How far people themselves agree, `between` tells: no grounder can be expected to agree better with them.

    Args:
        corrections: the corrections.
        suite: the benchmark.
        judges: who found the boxes, by run, where it is known.
        iou: how far boxes have to overlap (intersection over union) to be the same; the paper has 0.9.
        confidence: of all intervals.

    Raises:
        FormalimgError: if there are no corrections, somebody corrected an image twice, or this is no overlap.
    """
    if not corrections:
        raise FormalimgError("nobody has corrected boxes yet: let people answer first")
    keys = [(it.image, it.rater) for it in corrections]
    twice = next((key for key in keys if keys.count(key) > 1), None) if len(set(keys)) < len(keys) else None
    if twice is not None:
        (run, item, sample), rater = twice
        raise FormalimgError(f"{rater} corrects item {item}, sample {sample}, of {run} twice: keep one correction")
    compared = [_compared(it, iou) for it in sorted(corrections, key=lambda it: (it.image, it.rater))]

    def boxes(chosen: Iterable[_Compared]) -> Boxes:
        return _boxes(list(chosen), confidence)

    raters = in_order(it.rater for it in corrections)
    labels = sorted(
        {obj.label for it in compared for scene in (it.correction.corrected, it.found) for obj in scene.objects}
    )
    by_class = {label: boxes(it.of_class(label) for it in compared) for label in labels}
    between = _between(corrections, raters, iou)
    known = [between[one][other].f1 for one, other in combinations(raters, 2)]
    told = [f1 for f1 in known if f1 is not None]
    return BoxesStudied(
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
        fsum(told) / len(told) if told else None,
        confidence,
    )


def _compared(correction: Correction, iou: float) -> _Compared:
    found = _NOTHING if correction.found is None else correction.found
    return _Compared(correction, found, match(correction.corrected, found, iou))


def _boxes(compared: Sequence[_Compared], confidence: float) -> Boxes:
    counts = [Found(len(it.matches), len(it.found), len(it.correction.corrected)) for it in compared]
    told = detection(counts, items=[it.correction.image for it in compared], confidence=confidence)
    return Boxes(
        told.counts.objects,
        told.counts.found,
        told.counts.matched,
        told.precision,
        told.recall,
        told.f1,
        dict(_attributes(compared, confidence)),
    )


def _attributes(compared: Sequence[_Compared], confidence: float) -> Iterable[tuple[str, Share]]:
    matches = [(it.correction.image, pair) for it in compared for pair in it.matches]
    for kind in _ATTRIBUTES:
        words = [(_words(pair.truth, kind), _words(pair.found, kind)) for _, pair in matches]
        if kind == "color" or any(one or other for one, other in words):
            found = consistency(
                [(one == other, True) for one, other in words],
                items=[image for image, _ in matches],
                confidence=confidence,
            )
            yield kind, Share(found.equal, found.n, found.value, found.interval)


def _words(obj: SceneObject, kind: str) -> set[str]:
    """What is written on an object; a word outside the vocabulary is none."""
    return set(obj.values(kind)) - {"other"}


def _between(corrections: Sequence[Correction], raters: Sequence[str], iou: float) -> dict[str, dict[str, RatersBoxes]]:
    scenes: dict[str, dict[tuple[str, str, int], Scene]] = {rater: {} for rater in raters}
    for it in corrections:
        scenes[it.rater][it.image] = it.corrected
    found: dict[str, dict[str, RatersBoxes]] = {rater: {} for rater in raters}
    for first, second in combinations(raters, 2):
        both = [(scene, scenes[second][it]) for it, scene in scenes[first].items() if it in scenes[second]]
        one, other = (sum(map(len, side)) for side in zip(*both, strict=True)) if both else (0, 0)
        matched = sum(len(match(mine, yours, iou)) for mine, yours in both)
        f1 = 2 * matched / (one + other) if one + other else None
        found[first][second] = RatersBoxes(len(both), one, other, matched, f1)
        found[second][first] = RatersBoxes(len(both), other, one, matched, f1)
    return {rater: {other: row[other] for other in raters if other != rater} for rater, row in found.items()}


def _only(scene: Scene, label: str) -> Scene:
    return Scene.of([obj for obj in scene.objects if obj.label == label])


def _same(one: Scene, other: Scene) -> bool:
    """The same objects, in whatever order."""
    return sorted(map(repr, one.objects)) == sorted(map(repr, other.objects))
