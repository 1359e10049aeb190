"""The difference between two runs on the same items, corrected with human labels for some of them (PPI++).

The judge gives a difference for every item, people for a random sample of the items. The estimate is the judge's mean
difference, weighted by how well it predicts people's, plus the mean of what it does not predict: `weight * mean(judge)
+ mean(people - weight * judge over labelled items)`. It is unbiased whatever errors the judge makes, also where it errs
more in favour of one of the models, because people looked at items of both.

Items are the clusters: all images of an item enter by their mean. Levels are strata; neighbouring levels with fewer
than two labelled items are joined.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from math import fsum, sqrt
from typing import NamedTuple

from formalimg.stats.comparison import MeanError, PairedDifference, estimate_paired_difference, group_of
from formalimg.stats.intervals import student_p

_MIN_LABELS = 2  # Labelled items that a stratum needs: its spread is unknown with fewer


class PairedItem(NamedTuple):
    """An item of two runs, with differences (first run minus second) from -1 to 1."""

    level: int  # its level
    judge: float  # the judge's difference, over all images of the item
    # people's difference, over the labelled images; None where one of the runs has no label
    people: float | None = None
    judge_where_labelled: float = 0.0  # the judge's difference over the labelled images alone
    probability: float = 1.0  # how likely the item was to be labelled in both runs


def estimate_corrected_difference(
    items: Sequence[PairedItem], levels: Sequence[int] | None = None, *, confidence: float = 0.95
) -> PairedDifference | None:
    """Estimate the mean difference between two runs, corrected with labels."""
    chosen = [item for item in items if levels is None or item.level in levels]
    counts = Counter(item.level for item in chosen)
    people = [item.people for item in chosen if item.people is not None]
    labelled = len(people)
    if labelled <= _MIN_LABELS or (levels is not None and not all(counts[level] for level in levels)):
        return None
    shares = {
        level: 1 / len(chosen) if levels is None else 1 / (len(counts) * count) for level, count in counts.items()
    }
    strata = [_Stratum.of(stratum_items, shares) for stratum_items in _split_strata(chosen)]
    weight = _judge_weight(strata)
    judge = fsum(shares[item.level] * item.judge for item in chosen)
    estimate = weight * judge + fsum(stratum.share * stratum.remainder(weight) for stratum in strata)
    freedom = max(1, labelled - len(strata) - 1)
    variance = fsum(stratum.variance(weight) for stratum in strata) * max(1, labelled - len(strata)) / freedom
    # Two imagined items, as far away as the farthest: few labels that all agree do not show the spread.
    farthest = max(stratum.farthest(weight) for stratum in strata) or 1.0
    error = MeanError(sqrt(variance + 2 * farthest**2 / (labelled * (labelled + 1))), freedom)
    return estimate_paired_difference(
        max(-1.0, min(1.0, estimate)),
        error,
        student_p(abs(estimate) / error.value, freedom),
        items=labelled,
        wins=sum(value > 0 for value in people),
        losses=sum(value < 0 for value in people),
        confidence=confidence,
    )


def _split_strata(items: Sequence[PairedItem]) -> list[list[PairedItem]]:
    """Split the items by level, merging adjacent levels with too few labelled items."""
    strata: list[list[PairedItem]] = [[]]
    for level in sorted({item.level for item in items}):
        if _label_count(strata[-1]) >= _MIN_LABELS:
            strata.append([])
        strata[-1] += (item for item in items if item.level == level)
    if len(strata) > 1 and _label_count(strata[-1]) < _MIN_LABELS:
        strata[-2] += strata.pop()
    return strata


def _label_count(items: Sequence[PairedItem]) -> int:
    return sum(item.people is not None for item in items)


class _LabelledItem(NamedTuple):
    """A labelled item with its share of the labels, both differences and its contribution to the judge's mean."""

    share: float
    people: float
    judge: float
    own_part: float


class _Stratum(NamedTuple):
    """A group of items from which the labelled ones were sampled at random."""

    share: float  # what the stratum weighs in the mean
    labelled: tuple[_LabelledItem, ...]  # its labelled items
    # for every other item, its part of the judge's mean, measured from the stratum's
    unlabelled_parts: tuple[float, ...]

    @classmethod
    def of(cls, items: Sequence[PairedItem], shares: Mapping[int, float]) -> _Stratum:
        share = fsum(shares[item.level] for item in items)
        judge_mean = fsum(shares[item.level] * item.judge for item in items) / share
        drawn = fsum(shares[item.level] / item.probability for item in items if item.people is not None)
        labelled, unlabelled = [], []
        for item in items:
            own_part = shares[item.level] * (item.judge - judge_mean)
            if item.people is None:
                unlabelled.append(own_part)
                continue
            of_labels = shares[item.level] / item.probability / drawn
            labelled.append(_LabelledItem(of_labels, item.people, item.judge_where_labelled, own_part))
        return cls(share, tuple(labelled), tuple(unlabelled))

    def remainder(self, weight: float) -> float:
        """Return the mean of the human differences not predicted by the judge."""
        return fsum(item.share * (item.people - weight * item.judge) for item in self.labelled)

    def variance(self, weight: float) -> float:
        """Return the variance that the stratum contributes to the estimate."""
        mean, count = self.remainder(weight), len(self.labelled)
        parts = [
            weight * item.own_part + self.share * item.share * (item.people - weight * item.judge - mean)
            for item in self.labelled
        ]
        within = fsum(part * part for part in parts) * count / (count - 1)
        return within + weight**2 * fsum(part * part for part in self.unlabelled_parts)

    def farthest(self, weight: float) -> float:
        """Return the largest deviation of an item from the judge's prediction."""
        mean = self.remainder(weight)
        return max(abs(item.people - weight * item.judge - mean) for item in self.labelled)


def _judge_weight(strata: Sequence[_Stratum]) -> float:
    """Return the weight of the judge: the slope of human on judge differences within strata, limited to 0 to 1."""
    together = spread = 0.0
    for stratum in strata:
        judge = fsum(item.share * item.judge for item in stratum.labelled)
        people = fsum(item.share * item.people for item in stratum.labelled)
        for item in stratum.labelled:
            together += stratum.share * item.share * (item.judge - judge) * (item.people - people)
            spread += stratum.share * item.share * (item.judge - judge) ** 2
    return min(1.0, max(0.0, together / spread)) if spread else 0.0


class LabelledImage(NamedTuple):
    """The scores of an image from 0 to 1 by the judge and by people, with None for a missing label.

    For an image without a verdict, both scores are assumed to be equal, to bound its possible effect.
    """

    level: int
    judge: float
    people: float | None
    is_assumed: bool = False


def pair_labelled(
    first: Mapping[str, Sequence[LabelledImage]],
    second: Mapping[str, Sequence[LabelledImage]],
    *,
    by_item: bool | None = None,
) -> dict[str, PairedItem]:
    """Pair the labelled images of two runs by item."""
    names = sorted(first.keys() & second.keys())
    by_item = _has_common_draw(first, second) if by_item is None else by_item
    if not by_item:
        first, second = _with_expected_labels(first), _with_expected_labels(second)
    chances = _label_chances(first, second, by_item=by_item)
    pairs = {}
    for name in names:
        first_images, second_images = first[name], second[name]
        judge = _mean_judge_score(first_images) - _mean_judge_score(second_images)
        first_labels, second_labels = _mean_labels(first_images), _mean_labels(second_images)
        if first_labels is None or second_labels is None:
            pairs[name] = PairedItem(first_images[0].level, judge)
        else:
            people, judged = first_labels[0] - second_labels[0], first_labels[1] - second_labels[1]
            pairs[name] = PairedItem(first_images[0].level, judge, people, judged, chances[name])
    return pairs


def _has_common_draw(
    first: Mapping[str, Sequence[LabelledImage]], second: Mapping[str, Sequence[LabelledImage]]
) -> bool:
    """Return whether most items labelled in one run are labelled in the other one."""
    labelled = [{name for name, images in run.items() if _has_label(images)} for run in (first, second)]
    return 2 * len(labelled[0] & labelled[1]) >= min(map(len, labelled))


def _with_expected_labels(run: Mapping[str, Sequence[LabelledImage]]) -> dict[str, list[LabelledImage]]:
    """Impute labels for the unlabelled images of labelled items, so that label counts do not affect the weights.

    An unlabelled image is expected to be like the images with the same answer of the judge: those of the same item, or
    else of the same level.
    """
    of_level: dict[tuple[int, int], list[float]] = {}
    for images in run.values():
        for image in images:
            if image.people is not None and not image.is_assumed:
                of_level.setdefault((image.level, round(image.judge)), []).append(image.people)

    def expected(image: LabelledImage, images: Sequence[LabelledImage]) -> LabelledImage:
        if image.people is not None:
            return image
        answer = round(image.judge)
        rated_alike = [image.people for image in images if image.people is not None and round(image.judge) == answer]
        like = (
            rated_alike
            or of_level.get((image.level, answer))
            or [image.people for image in images if image.people is not None]
        )
        return image._replace(people=fsum(like) / len(like))

    return {
        name: [expected(image, images) for image in images] if _has_label(images) else [*images]
        for name, images in run.items()
    }


def _has_label(images: Sequence[LabelledImage]) -> bool:
    return any(image.people is not None and not image.is_assumed for image in images)


def _label_chances(
    first: Mapping[str, Sequence[LabelledImage]], second: Mapping[str, Sequence[LabelledImage]], *, by_item: bool
) -> dict[str, float]:
    """Estimate the probability that each item was labelled in both runs.

    For items drawn for both runs, this is the share of items of their level with labels in both, which is the
    probability of the draw times the share of labels that exist. Otherwise each run has its own draw, at random within
    levels and answers of the judge, and both probabilities are multiplied. An item whose images are all assumed needs
    no draw.
    """
    runs = (first, second)
    names = first.keys() & second.keys()
    assumed = [{name for name in names if all(image.is_assumed for image in run[name])} for run in runs]
    labelled = [{name for name in names if _mean_labels(run[name]) is not None} for run in runs]
    chances = dict.fromkeys(names, 1.0)
    for run, of_run, assumed_images in zip(runs, labelled, assumed, strict=True):
        drawn = labelled[0] & labelled[1] if by_item else of_run
        cells = {
            name: (
                run[name][0].level,
                None if by_item else "assumed" if name in assumed_images else _pass_share(run[name]),
            )
            for name in names
        }
        sizes, counts = Counter(cells.values()), Counter(cells[name] for name in drawn)
        for name in names:
            chances[name] *= counts[cells[name]] / sizes[cells[name]] or 1.0
        if by_item:
            break
    return chances


def _pass_share(images: Sequence[LabelledImage]) -> float:
    """Return the pass rate of the images according to the judge."""
    return sum(round(image.judge) for image in images) / len(images)


def _mean_judge_score(images: Sequence[LabelledImage]) -> float:
    return fsum(image.judge for image in images) / len(images)


def _mean_labels(images: Sequence[LabelledImage]) -> tuple[float, float] | None:
    """Return the mean scores of an item by people and by the judge, extrapolated from its labelled images."""
    drawn = [image for image in images if not image.is_assumed]
    labelled = [image for image in drawn if image.people is not None]
    if drawn and not labelled:
        return None
    assumed = [image for image in images if image.is_assumed]
    labels_per_image = len(drawn) / len(labelled) if labelled else 0.0
    people = labels_per_image * fsum(image.people or 0.0 for image in labelled) + fsum(image.judge for image in assumed)
    judge = labels_per_image * fsum(image.judge for image in labelled) + fsum(image.judge for image in assumed)
    return people / len(images), judge / len(images)


def pair_groups(items: Mapping[str, PairedItem]) -> dict[str, PairedItem]:
    """Combine the items of each group into one, averaged over its levels."""
    groups: dict[str, list[PairedItem]] = {}
    for name, item in items.items():
        groups.setdefault(group_of(name), []).append(item)
    means = {}
    for name, members in groups.items():
        judge = fsum(item.judge for item in members) / len(members)
        labelled = [item for item in members if item.people is not None]
        if labelled:
            people = fsum(item.people or 0.0 for item in labelled) / len(labelled)
            judged_mean = fsum(item.judge_where_labelled for item in labelled) / len(labelled)
            means[name] = PairedItem(0, judge, people, judged_mean, max(item.probability for item in labelled))
        else:
            means[name] = PairedItem(0, judge)
    return means
