"""Labelled images of two runs side by side, item by item: what people and the judge say of the same items."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from math import fsum
from typing import NamedTuple

from formalimg.stats.comparison import group_of
from formalimg.stats.corrected_difference import PairedItem


class LabelledImage(NamedTuple):
    """What judge and people say of an image, from 0 to 1; people None where they did not say.

    Both are assumed to say the same of an image without a verdict, to bound what it could change.
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
    """Put the labelled images of two runs side by side, item by item."""
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
            people, judged = (
                first_label - second_label
                for first_label, second_label in zip(first_labels, second_labels, strict=True)
            )
            pairs[name] = PairedItem(first_images[0].level, judge, people, judged, chances[name])
    return pairs


def _has_common_draw(
    first: Mapping[str, Sequence[LabelledImage]], second: Mapping[str, Sequence[LabelledImage]]
) -> bool:
    """Return whether most of the items that are labelled in one run are labelled in the other too."""
    labelled = [
        {
            name
            for name, images in run.items()
            if any(image.people is not None and not image.is_assumed for image in images)
        }
        for run in (first, second)
    ]
    return 2 * len(labelled[0] & labelled[1]) >= min(map(len, labelled))


def _with_expected_labels(run: Mapping[str, Sequence[LabelledImage]]) -> dict[str, list[LabelledImage]]:
    """Return labelled items with a label for each of their images, so that one drawn more often does not count more.

    What is not labelled is expected to be like the images with the same answer of the judge: those of the same item,
    or else of the same level.
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
        name: [expected(image, images) for image in images]
        if any(image.people is not None and not image.is_assumed for image in images)
        else [*images]
        for name, images in run.items()
    }


def _label_chances(
    first: Mapping[str, Sequence[LabelledImage]], second: Mapping[str, Sequence[LabelledImage]], *, by_item: bool
) -> dict[str, float]:
    """Return how likely each item was to be labelled in both runs.

    Items that were drawn for both runs: the share of the items of their level with labels in both, which is the
    probability of the draw times the share of labels that are there. Otherwise each run has its own draw, at random
    within levels and answers of the judge, and the chances of both are multiplied. An item whose images are all assumed
    needs no draw.
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
    """Return the share of images that the judge passes."""
    return sum(round(image.judge) for image in images) / len(images)


def _mean_judge_score(images: Sequence[LabelledImage]) -> float:
    return fsum(image.judge for image in images) / len(images)


def _mean_labels(images: Sequence[LabelledImage]) -> tuple[float, float] | None:
    """Return what people and the judge say of an item: labelled images stand for those without a label."""
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
    """Return whole groups, each by the mean over its levels."""
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
