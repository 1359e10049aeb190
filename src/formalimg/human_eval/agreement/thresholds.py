"""Score thresholds against human labels: accuracy and F1 per threshold, best thresholds, and cross-validation.

An image passes a threshold if its score reaches it. Nothing changes between two neighbouring scores, so the best
thresholds form ranges: above one score, up to and including the next.

The best threshold on some images is partly a matter of luck, and does worse on others. So images are divided into
folds, keeping items whole; the threshold for each fold is chosen on all other folds and evaluated on its own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

from formalimg.errors import FormalimgError
from formalimg.stats.agreement import consistency
from formalimg.stats.observations import Interval
from formalimg.stats.precision_recall import classification

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats: TypeAlias = NDArray[np.float64]

Measure: TypeAlias = Literal["accuracy", "F1"]

MEASURES: tuple[Measure, ...] = ("accuracy", "F1")

FOLDS = 10
MIN_FOLDS = 2
_DECIMALS = 9  # Scores that are equal to so many decimals differ only by rounding
_MIDDLE = 0.5


class LabelledScore(NamedTuple):
    """The score of an image, whether raters recognise its content, and its item; None if no other image shares it."""

    score: float
    recognisable: bool
    item: str | None = None


def items_of(images: Sequence[LabelledScore]) -> list[Hashable]:
    """Return the item of each image, or a unique placeholder for images without an item."""
    return [("", number) if image.item is None else image.item for number, image in enumerate(images)]


class ThresholdResult(NamedTuple):
    """Accuracy and F1 of one threshold, measured against human labels."""

    threshold: float  # the score that passes
    true_positives: int  # recognisable images that pass
    false_positives: int  # others that pass
    true_negatives: int  # others that are stopped
    false_negatives: int  # recognisable images that are stopped
    accuracy: float  # the share of images for which threshold and label agree
    interval: Interval  # its exact interval, clustered by item
    f1: float | None  # the harmonic mean of precision and recall; None where nothing is recognisable and nothing passes


class ThresholdRange(NamedTuple):
    """A range of equally good thresholds that includes `high`, and includes `low` only if `low_included` is true."""

    low: float
    high: float
    low_included: bool = False


class BestThreshold(NamedTuple):
    """The best threshold by one measure."""

    # the middle of a range of thresholds that are equally good; of several ranges the one whose middle is nearest to
    # 0.5, and of two equally near the lower one
    value: float
    equally_good: tuple[ThresholdRange, ...]  # all such ranges
    reached: float  # the accuracy, or F1, of these thresholds
    interval: Interval  # its bootstrap interval over items


def at_thresholds(
    images: Sequence[LabelledScore], thresholds: Iterable[float], confidence: float = 0.95
) -> tuple[ThresholdResult, ...]:
    """Return the accuracy and F1 of each threshold."""
    return tuple(_measure_threshold(_round_score(threshold), images, confidence) for threshold in thresholds)


def all_thresholds(images: Iterable[LabelledScore]) -> list[float]:
    """Return the candidate thresholds: all image scores, and 0.00, 0.05, 0.10 … 1.00."""
    return sorted({*(_round_score(image.score) for image in images), *(step / 20 for step in range(21))})


def best_threshold(
    images: Sequence[LabelledScore],
    measure: Measure = "accuracy",
    *,
    confidence: float = 0.95,
    resamples: int = 2000,
    seed: int = 0,
) -> BestThreshold | None:
    """Return the threshold that agrees best with human labels; None if all images have the same label.

    Args:
        images: scores and labels.
        measure: accuracy, or F1 of the recognisable images.
        confidence: of the interval.
        resamples: how many bootstrap samples it takes.
        seed: of the bootstrap. The order of the images makes no difference.
    """
    if not 0 < confidence < 1 or resamples * (1 - confidence) < 2 - 1e-9 or seed < 0:
        raise FormalimgError(
            f"{resamples} resamples with the seed {seed} give no {confidence:g} interval: use 2000, 0 and 0.95"
        )
    if len({image.recognisable for image in images}) < 2:
        return None
    import numpy as np

    scores, counts, ranges, reached = _measure_all(images, measure)
    good = _best_ranges(reached, ranges)
    drawn = _resample_counts(images, scores, counts, np.random.default_rng(seed), resamples)
    drawn_reached = _measure_ranges(drawn.reshape(resamples, 2, len(scores)), measure)
    values = [_pick_middle(_best_ranges(row[: len(ranges)], ranges)) for row in drawn_reached]
    outside = (1 - confidence) / 2
    low = float(np.quantile(values, outside, method="lower"))
    high = float(np.quantile(values, 1 - outside, method="higher"))
    value = _pick_middle(good)
    return BestThreshold(value, tuple(good), float(reached.max()), Interval(min(low, value), max(high, value)))


def _measure_all(
    images: Sequence[LabelledScore], measure: Measure
) -> tuple[list[float], Floats, list[ThresholdRange], Floats]:
    """Return the distinct scores, the images per label (yes, no) and score, and the ranges with what they reach."""
    import numpy as np

    kinds = Counter((_round_score(image.score), image.recognisable) for image in images)
    scores = sorted({score for score, _ in kinds})
    counts = np.array([[kinds[score, label] for score in scores] for label in (True, False)], dtype=np.float64)
    ranges = [ThresholdRange(0.0, scores[0], low_included=True), *map(ThresholdRange, scores, scores[1:])]
    if scores[-1] < 1:
        ranges.append(ThresholdRange(scores[-1], 1.0))
    return scores, counts, ranges, _measure_ranges(counts[None], measure)[0, : len(ranges)]


def _resample_counts(
    images: Sequence[LabelledScore],
    scores: Sequence[float],
    counts: Floats,
    generator: np.random.Generator,
    resamples: int,
) -> Floats:
    """Return the counts by label and score for bootstrap resamples of items, each including all its images."""
    import numpy as np

    cases: dict[Hashable, list[tuple[float, bool]]] = {}
    for item, image in zip(items_of(images), images, strict=True):
        cases.setdefault(item, []).append((_round_score(image.score), image.recognisable))
    if len(cases) == len(images):
        drawn = generator.multinomial(len(images), counts.ravel() / counts.sum(), size=resamples)
        return drawn.astype(np.float64)
    kinds = sorted(Counter(tuple(sorted(cells)) for cells in cases.values()).items())
    column = {cell: at for at, cell in enumerate((score, label) for label in (True, False) for score in scores)}
    table = np.zeros((len(kinds), len(column)))
    for row, (own, _) in enumerate(kinds):
        for cell in own:
            table[row, column[cell]] += 1
    chances = np.array([times for _, times in kinds]) / len(cases)
    return np.asarray(generator.multinomial(len(cases), chances, size=resamples) @ table)


def _measure_threshold(threshold: float, images: Sequence[LabelledScore], confidence: float) -> ThresholdResult:
    passes = [(_round_score(image.score) >= threshold, image.recognisable) for image in images]
    counts = Counter(passes)
    hits, false_alarms = counts[True, True], counts[True, False]
    rejected, missed = counts[False, False], counts[False, True]
    denominator = 2 * hits + false_alarms + missed
    f1 = 2 * hits / denominator if denominator else None
    interval = consistency(passes, items=items_of(images), confidence=confidence).interval
    assert interval is not None  # there is at least one image
    accuracy = (hits + rejected) / len(images)
    return ThresholdResult(threshold, hits, false_alarms, rejected, missed, accuracy, interval, f1)


def _round_score(score: float) -> float:
    return round(score, _DECIMALS)


def _measure_ranges(counts: Floats, measure: Measure) -> Floats:
    """Return the measure by bootstrap sample (first axis) and range, given counts by label (yes, no) and score."""
    import numpy as np

    up_to = np.concatenate([np.zeros((*counts.shape[:2], 1)), counts.cumsum(axis=2)], axis=2)
    passing = up_to[:, :, -1:] - up_to
    hits, false_alarms = passing[:, 0], passing[:, 1]
    positives = up_to[:, 0, -1:]
    if measure == "accuracy":
        correct: Floats = (hits + up_to[:, 1]) / counts.sum(axis=(1, 2))[:, None]
        return correct
    together = hits + false_alarms + positives
    f1: Floats = np.divide(2 * hits, together, out=np.zeros_like(hits), where=together > 0)
    return f1


def _best_ranges(reached: Floats, ranges: Sequence[ThresholdRange]) -> list[ThresholdRange]:
    """Return the ranges that maximise the measure, with adjacent ranges merged."""
    import numpy as np

    best: list[ThresholdRange] = []
    last = -2
    for index in np.flatnonzero(reached >= reached.max() - 1e-12).tolist():
        if index == last + 1:
            best[-1] = best[-1]._replace(high=ranges[index].high)
        else:
            best.append(ranges[index])
        last = index
    return best


def _pick_middle(ranges: Iterable[ThresholdRange]) -> float:
    # Rounded, so that of two middles that are equally near no rounding chooses.
    middles = [_round_score((low + high) / 2) for low, high, _ in ranges]
    return min(middles, key=lambda middle: (_round_score(abs(middle - _MIDDLE)), middle))


class CrossValidation(NamedTuple):
    """Performance of the best threshold on images that were not used to choose it."""

    # the accuracy, or F1, over all images, each by the threshold of its fold; None where F1 is undefined
    value: float | None
    interval: Interval | None  # its interval, clustered by item
    folds: int  # how many folds there are: ten, or as many as there are items with the rarer label
    smallest: int  # how many images the smallest fold has
    thresholds: tuple[float, float]  # the lowest and the highest threshold that was chosen

    @property
    def too_small(self) -> bool:
        """Whether there are fewer than `FOLDS` folds, so that the estimate is rough."""
        return self.folds < FOLDS


def cross_validate(
    images: Sequence[LabelledScore], measure: Measure = "accuracy", *, confidence: float = 0.95, seed: int = 0
) -> CrossValidation | None:
    """Estimate the accuracy or F1 of the best threshold on images that were not used to choose it."""
    if seed < 0:
        raise FormalimgError(f"the seed {seed} is negative: use 0 or more")
    groups = _split_folds(images, seed)
    if len(groups) < MIN_FOLDS:
        return None
    answers: list[tuple[bool, bool]] = []
    items: list[Hashable] = []
    chosen = []
    names = items_of(images)
    for fold in groups:
        training = [images[at] for group in groups if group is not fold for at in group]
        *_, ranges, reached = _measure_all(training, measure)
        threshold = _pick_middle(_best_ranges(reached, ranges))
        chosen.append(threshold)
        answers += [(images[at].recognisable, _round_score(images[at].score) >= threshold) for at in fold]
        items += [names[at] for at in fold]
    accuracy = classification(answers, items=items, confidence=confidence)
    figure = accuracy.accuracy if measure == "accuracy" else accuracy.f1
    smallest = min(map(len, groups))
    return CrossValidation(figure.value, figure.interval, len(groups), smallest, (min(chosen), max(chosen)))


def _split_folds(images: Sequence[LabelledScore], seed: int) -> list[list[int]]:
    """Return the folds as lists of image indices, stratified by label and without splitting items."""
    import numpy as np

    by_item: dict[Hashable, list[int]] = {}
    for at, item in enumerate(items_of(images)):
        by_item.setdefault(item, []).append(at)
    # Sorted by what they show, so that the order in which images come does not matter.
    items = sorted(
        by_item.values(), key=lambda members: sorted((images[at].score, images[at].recognisable) for at in members)
    )
    yes = [2 * sum(images[at].recognisable for at in members) >= len(members) for members in items]
    count = min(FOLDS, sum(yes), len(yes) - sum(yes))
    order = np.random.default_rng(seed).permutation(len(items)).tolist()
    dealt = sorted(order, key=lambda item: yes[item])
    return [[at for item in dealt[fold::count] for at in items[item]] for fold in range(count)]
