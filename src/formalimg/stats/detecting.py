"""How well objects in images are found: precision, recall and F1 over images that hold many objects each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from formalimg.errors import FormalimgError
from formalimg.stats.binomial import checked_confidence
from formalimg.stats.classifying import Share
from formalimg.stats.clustering import clustered_interval
from formalimg.stats.redrawing import Estimate, estimated, item_of_each
from formalimg.stats.resampling import checked_resampling
from formalimg.stats.tallying import Outcome

if TYPE_CHECKING:
    from formalimg.stats.redrawing import Draws


class Found(NamedTuple):
    """What was found in an image.

    Attributes:
        matched: how many of the objects found are there.
        found: how many were found.
        objects: how many are there.
    """

    matched: int
    found: int
    objects: int


class Detection(NamedTuple):
    """How well objects are found; None where nothing was found, or nothing is there.

    Attributes:
        counts: the sums over all images.
        precision: the share of what was found that is there.
        recall: the share of what is there that was found.
        f1: the harmonic mean of both.
    """

    counts: Found
    precision: Share
    recall: Share
    f1: Estimate


def detection(
    images: Iterable[Found],
    *,
    items: Sequence[Hashable] | None = None,
    confidence: float = 0.95,
    resamples: int = 2000,
    seed: int = 0,
) -> Detection:
    """How well objects are found.

    Precision and recall have the exact interval, clustered by image: objects in one image are found or missed
    together. F1 has that of the bootstrap over images (BCa), from 20 images on, and where there is any mistake.

    Args:
        images: what was found in each image; several entries for one image, such as by several people who say
            what is there, have the same item.
        items: for each entry the image it belongs to; None if each stands for itself.
        confidence: of all intervals.
        resamples: how often images are drawn anew for the interval of F1.
        seed: of the resampling.

    Raises:
        FormalimgError: if these are no counts, or this is no confidence.
    """
    how = checked_resampling(checked_confidence(confidence), resamples, seed)
    entries = list(images)
    by_item: dict[Hashable, Found] = {}
    for name, entry in zip(item_of_each(len(entries), items), entries, strict=True):
        if not 0 <= entry.matched <= min(entry.found, entry.objects):
            raise FormalimgError(f"{entry} cannot be: no more can match than were found, or than are there")
        before = by_item.get(name, Found(0, 0, 0))
        by_item[name] = Found(*map(sum, zip(before, entry, strict=True)))
    # Images where nothing is and nothing was found tell nothing, and make no interval narrower.
    kinds = dict(sorted(Counter(it for it in by_item.values() if it.found or it.objects).items()))
    whole = Found(*(sum(kind[at] * count for kind, count in kinds.items()) for at in range(3)))
    return Detection(
        whole,
        _share([(Outcome(kind.matched, kind.found), count) for kind, count in kinds.items()], confidence),
        _share([(Outcome(kind.matched, kind.objects), count) for kind, count in kinds.items()], confidence),
        estimated(list(kinds.values()), _f1_of(list(kinds)), how) if kinds else Estimate(None, None),
    )


def _share(outcomes: Iterable[tuple[Outcome, int]], confidence: float) -> Share:
    kinds: Counter[Outcome] = Counter()
    for outcome, items in outcomes:
        if outcome.counted:
            kinds[outcome] += items
    n = sum(kind.counted * items for kind, items in kinds.items())
    if not n:
        return Share(0, 0, None, None)
    happened = sum(kind.passed * items for kind, items in kinds.items())
    return Share(happened, n, happened / n, clustered_interval(dict(sorted(kinds.items())), confidence))


def _f1_of(kinds: Sequence[Found]) -> Callable[[Draws], Draws]:
    import numpy as np

    counts = np.array(kinds, dtype=np.float64)

    def f1(drawn: Draws) -> Draws:
        matched, found, objects = (drawn @ counts).T
        whole = found + objects
        return np.asarray(np.divide(2 * matched, whole, out=np.full_like(whole, np.nan), where=whole > 0))

    return f1
