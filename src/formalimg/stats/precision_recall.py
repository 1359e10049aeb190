"""Precision, recall, F1 and accuracy of a judge against ground truth, and of object detection over images."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from formalimg.errors import FormalimgError
from formalimg.stats.agreement import BinaryAnswer, validate_answers
from formalimg.stats.bootstrap import Estimate, bootstrap_estimate, group_items, item_ids
from formalimg.stats.intervals import BootstrapConfig, bootstrap_config, item_clustered_interval, validate_confidence
from formalimg.stats.observations import Interval, PassCount, total_counts

if TYPE_CHECKING:
    from formalimg.stats.bootstrap import Draws, Statistic


class Confusion(NamedTuple):
    """The confusion matrix of a judge against ground truth, with yes as the positive class."""

    true_positives: int  # both say yes
    false_positives: int  # the judge says yes, the truth is no
    false_negatives: int  # the judge says no, the truth is yes
    true_negatives: int  # both say no


class Proportion(NamedTuple):
    """The proportion of `happened` out of `n` cases, with its confidence interval."""

    happened: int
    n: int
    value: float | None
    interval: Interval | None


class Classification(NamedTuple):
    """Accuracy, precision, recall, specificity, F1 and balanced accuracy of a judge.

    Shares have the exact interval of Clopper and Pearson, clustered where cases belong to the same item; F1 and the
    balanced accuracy have that of the bootstrap. What is not defined is None.
    """

    confusion: Confusion  # the counts
    n: int  # number of cases with both a ground truth and an answer of the judge
    left_out: int  # number of cases without
    accuracy: Proportion  # the share of cases that the judge gets right
    precision: Proportion  # the share of the judge's yes answers that are true
    recall: Proportion  # the share of true cases with a yes of the judge (sensitivity)
    specificity: Proportion  # the share of false cases with a no of the judge
    f1: Estimate  # the harmonic mean of precision and recall; None where nothing is true and the judge never says yes
    balanced_accuracy: Estimate  # the mean of recall and specificity: 0.5 for a judge who always says the same

    @property
    def sensitivity(self) -> Proportion:
        """The same as recall."""
        return self.recall


class SensitivitySpecificity(NamedTuple):
    """Sensitivity and specificity of a judge, with exact intervals clustered by item."""

    n: int  # number of cases with both a ground truth and an answer of the judge
    left_out: int  # number of cases without
    judge_yes: Proportion  # the share of yes by the judge, and in truth
    truth_yes: Proportion
    sensitivity: Proportion  # the share of true cases with a yes of the judge
    specificity: Proportion  # the share of false cases with a no of the judge


_ALL = (TP, FP, FN, TN) = range(4)  # The cells of a confusion matrix
_Counts = TypeVar("_Counts", bound=tuple[int, ...])


def classification(
    pairs: Iterable[tuple[BinaryAnswer, BinaryAnswer]],
    *,
    items: Sequence[Hashable] | None = None,
    confidence: float = 0.95,
    resamples: int = 2000,
    seed: int = 0,
) -> Classification:
    """Evaluate a judge's yes/no answers against ground truth.

    Args:
        pairs: the ground truth of each case, such as the majority of raters, and the answer of the judge; None where
            there is none. Such cases are left out and counted.
        items: for each case the item it belongs to, where items have several cases; their answers are not independent.
        confidence: of all intervals.
        resamples: number of bootstrap resamples for F1 and balanced accuracy.
        seed: of the bootstrap.
    """
    config = bootstrap_config(confidence, resamples, seed)
    kinds, left_out = _confusion_per_item(pairs, items)
    whole = Confusion(*(sum(kind[cell] * count for kind, count in kinds.items()) for cell in _ALL))
    size = max(map(sum, kinds), default=0)
    # Unseen are a false positive and a false negative for the lower end, and a true one of each for the upper end.
    unseen = (
        [Confusion(0, size, 0, 0), Confusion(0, 0, size, 0)],
        [Confusion(size, 0, 0, 0), Confusion(0, 0, 0, size)],
    )
    return Classification(
        whole,
        sum(whole),
        left_out,
        _proportion(kinds, (TP, TN), _ALL, confidence),
        _proportion(kinds, (TP,), (TP, FP), confidence),
        _proportion(kinds, (TP,), (TP, FN), confidence),
        _proportion(kinds, (TN,), (TN, FP), confidence),
        _bootstrap_metric(kinds, _f1_draws, *unseen, config),
        _bootstrap_metric(kinds, _accuracy_draws, *unseen, config),
    )


def sensitivity_specificity(
    pairs: Iterable[tuple[BinaryAnswer, BinaryAnswer]],
    *,
    items: Sequence[Hashable] | None = None,
    confidence: float = 0.95,
) -> SensitivitySpecificity:
    """Compute the sensitivity and specificity of a judge."""
    validate_confidence(confidence)
    kinds, left_out = _confusion_per_item(pairs, items)
    return SensitivitySpecificity(
        sum(sum(kind) * count for kind, count in kinds.items()),
        left_out,
        _proportion(kinds, (TP, FP), _ALL, confidence),
        _proportion(kinds, (TP, FN), _ALL, confidence),
        _proportion(kinds, (TP,), (TP, FN), confidence),
        _proportion(kinds, (TN,), (TN, FP), confidence),
    )


def _confusion_per_item(
    pairs: Iterable[tuple[BinaryAnswer, BinaryAnswer]], items: Sequence[Hashable] | None
) -> tuple[Counter[Confusion], int]:
    """Count the items with each confusion matrix, and the cases without truth or answer."""
    cases = validate_answers(pairs)
    named = [
        (name, (truth, prediction))
        for name, (truth, prediction) in zip(item_ids(len(cases), items), cases, strict=True)
        if truth is not None and prediction is not None
    ]
    kinds: Counter[Confusion] = Counter()
    for answers, count in group_items(named).items():
        counts = Counter(answers)
        kinds[Confusion(counts[True, True], counts[False, True], counts[True, False], counts[False, False])] += count
    return kinds, len(cases) - len(named)


def _proportion(
    kinds: Mapping[_Counts, int], happened: Sequence[int], among: Sequence[int], confidence: float
) -> Proportion:
    """Compute the ratio of summed cells, with its interval clustered by item."""
    counts: Counter[PassCount] = Counter()
    for kind, items in kinds.items():
        counted = sum(kind[cell] for cell in among)
        if counted:
            counts[PassCount(sum(kind[cell] for cell in happened), counted)] += items
    passed, n = total_counts(counts)
    if not n:
        return Proportion(0, 0, None, None)
    return Proportion(passed, n, passed / n, item_clustered_interval(dict(sorted(counts.items())), confidence))


def _bootstrap_metric(
    kinds: Mapping[_Counts, int],
    statistic: Callable[[Draws], Draws],
    worst: Sequence[_Counts],
    best: Sequence[_Counts],
    config: BootstrapConfig,
) -> Estimate:
    if not kinds:
        return Estimate(None, None)
    import numpy as np

    def statistic_of(counts: Sequence[_Counts]) -> Statistic:
        matrix = np.array(counts, dtype=np.float64)
        return lambda drawn: statistic(drawn @ matrix)

    return bootstrap_estimate(kinds, statistic_of, worst, best, config)


def _f1_draws(counts: Draws) -> Draws:
    tp, fp, fn, _ = counts.T
    return _ratio_draws(2 * tp, 2 * tp + fp + fn)


def _accuracy_draws(counts: Draws) -> Draws:
    tp, fp, fn, tn = counts.T
    return (_ratio_draws(tp, tp + fn) + _ratio_draws(tn, tn + fp)) / 2


def _ratio_draws(part: Draws, whole: Draws) -> Draws:
    import numpy as np

    return np.asarray(np.divide(part, whole, out=np.full_like(whole, np.nan), where=whole > 0))


class DetectionCounts(NamedTuple):
    """Detection counts of one image."""

    matched: int  # number of detections that match an object
    found: int  # number of detections
    objects: int  # number of objects in the image


class Detection(NamedTuple):
    """Precision, recall and F1 of object detection, each None if undefined."""

    counts: DetectionCounts  # the sums over all images
    precision: Proportion  # matched over found
    recall: Proportion  # matched over objects
    f1: Estimate  # the harmonic mean of both


def detection(
    images: Iterable[DetectionCounts],
    *,
    items: Sequence[Hashable] | None = None,
    confidence: float = 0.95,
    resamples: int = 2000,
    seed: int = 0,
) -> Detection:
    """Compute precision, recall and F1 of object detection over images.

    Precision and recall have the exact interval, clustered by image: objects in one image are found or missed
    together. F1 has that of the bootstrap over images, in which an unseen image can be drawn.
    """
    config = bootstrap_config(confidence, resamples, seed)
    entries = list(images)
    by_item: dict[Hashable, DetectionCounts] = {}
    for name, entry in zip(item_ids(len(entries), items), entries, strict=True):
        if not 0 <= entry.matched <= min(entry.found, entry.objects):
            raise FormalimgError(f"{entry} is not possible: at most as many match as were found, and as are there")
        before = by_item.get(name, DetectionCounts(0, 0, 0))
        by_item[name] = DetectionCounts(*map(sum, zip(before, entry, strict=True)))
    # Images without objects and without findings carry no information, and must not narrow an interval.
    kinds = dict(sorted(Counter(counts for counts in by_item.values() if counts.found or counts.objects).items()))
    whole = DetectionCounts(*(sum(kind[at] * count for kind, count in kinds.items()) for at in range(3)))
    size = max((max(kind.found, kind.objects) for kind in kinds), default=0)
    all_wrong = DetectionCounts(0, size, size)  # an unseen image
    return Detection(
        whole,
        _proportion(kinds, (0,), (1,), confidence),
        _proportion(kinds, (0,), (2,), confidence),
        _bootstrap_metric(kinds, _detection_f1, [all_wrong], [DetectionCounts(size, size, size)], config),
    )


def _detection_f1(counts: Draws) -> Draws:
    matched, detections, objects = counts.T
    return _ratio_draws(2 * matched, detections + objects)
