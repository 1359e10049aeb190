"""The certificate of a grounder: its precision and recall on rendered random scenes.

A grounder for drawings must also refuse images that are not drawings.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from PIL import Image

from formalimg._util.aio import run_sync
from formalimg.drawing.icon_scene import draw, drawable_classes
from formalimg.errors import FormalimgError
from formalimg.judges.base import Grounding, load_image
from formalimg.judges.boxes import match_objects
from formalimg.judges.certificates.certificate import align_columns
from formalimg.judges.certificates.measurement import MeteredCalls, map_concurrently
from formalimg.judges.certificates.random_images import CONDITIONS, draw_impostors, random_scenes
from formalimg.logic.vocabulary import vocabulary
from formalimg.models.pricing import Spending
from formalimg.scenes.objects import NO_WORD
from formalimg.scenes.scene import Scene
from formalimg.stats.observations import Interval
from formalimg.stats.precision_recall import DetectionCounts, detection
from formalimg.types import Grounder, Unscored

_STORED_NAMES = {
    "condition": "condition",
    "images": "pictures",
    "refused": "refused",
    "objects": "things",
    "found": "found",
    "matched": "matched",
    "colored": "colored",
}
"""The counts of a result, by field, as they are stored: two have the names of earlier certificates."""


@dataclass(frozen=True)
class ConditionResult:
    """Counts of true, found and matched objects under one image condition."""

    condition: str  # the name of the image degradation
    images: int  # the number of images
    refused: int  # images that the grounder left unscored; their objects count as not found
    objects: int  # the true number of objects
    found: int  # the number of objects that the grounder reported
    matched: int  # how many of these are right: same class, and a box with an IoU of 0.9
    colored: int  # how many of the matched objects have the right colour
    # the confidence intervals (95 %) of the shares, by name; exact, and clustered by image, because objects of one
    # image are found or missed together
    intervals: Mapping[str, Interval] = field(default_factory=dict)

    @property
    def shares(self) -> dict[str, float]:
        """Precision, recall, F1 and colour accuracy by name, each 0 if its denominator is 0."""
        return {
            "precision": _ratio_or_zero(self.matched, self.found),
            "recall": _ratio_or_zero(self.matched, self.objects),
            "f1": _ratio_or_zero(2 * self.matched, self.found + self.objects),
            "color_accuracy": _ratio_or_zero(self.colored, self.matched),
        }

    def to_json(self) -> dict[str, object]:
        """Convert the counts and metrics to JSON-compatible data."""
        counts = {stored: getattr(self, name) for name, stored in _STORED_NAMES.items()}
        intervals = {name: list(interval) for name, interval in self.intervals.items()}
        return {**counts, **self.shares, "intervals": intervals}

    def format_share(self, name: str) -> str:
        """Format a metric with its confidence interval."""
        interval = self.intervals.get(name)
        return f"{self.shares[name]:.4f}" + (f" ({interval.low:.3f}–{interval.high:.3f})" if interval else "")


def _ratio_or_zero(part: int, whole: int) -> float:
    return part / whole if whole else 0.0


class PublishedShares(NamedTuple):
    """Precision, recall, F1 and colour accuracy as published in a paper."""

    precision: float
    recall: float
    f1: float
    color_accuracy: float


PUBLISHED_PARSER = PublishedShares(0.967, 0.978, 0.972, 0.954)
"""The authors of FormalImg on their parser, on 100 images with labels refined by hand, which is another task."""


@dataclass(frozen=True)
class Certificate:
    """The measured accuracy of a grounder on rendered random scenes."""

    grounder: str  # its name
    scenes: int  # the number of random scenes
    seed: int  # the seed of the scenes
    results: tuple[ConditionResult, ...]  # the counts under each condition
    impostors: int  # the number of images that are not drawings
    impostors_refused: int  # how many of them it refused, as it should
    unknown: tuple[str, ...] = ()  # the drawn classes that the grounder cannot look for; their objects are not counted

    def reaches(self, threshold: float) -> bool:
        """Return whether the first condition reaches `threshold`, and the grounder rejected all impostors."""
        shares = self.results[0].shares
        lowest = min(shares[name] for name in ("precision", "recall", "f1"))
        return lowest >= threshold and self.impostors == self.impostors_refused

    def to_json(self) -> dict[str, object]:
        """Convert the certificate to JSON-compatible data."""
        return {
            "grounder": self.grounder,
            "scenes": self.scenes,
            "seed": self.seed,
            "readings": [result.to_json() for result in self.results],
            "impostors": self.impostors,
            "impostors_refused": self.impostors_refused,
            "published_parser": PUBLISHED_PARSER._asdict(),
            **({"unknown_classes": list(self.unknown)} if self.unknown else {}),
        }

    def __str__(self) -> str:
        """Format the certificate as a text table."""
        rows = [
            (row.condition, *map(row.format_share, PublishedShares._fields), f"{row.refused} of {row.images}")
            for row in self.results
        ]
        published = ("published parser", *(f"{share:.3f} " for share in PUBLISHED_PARSER), "–")
        objects = self.results[0].objects
        sizes = f"{self.scenes} scene{'s' * (self.scenes != 1)} of {objects} object{'s' * (objects != 1)}"
        return "\n".join(
            [
                f"{self.grounder}: {sizes}, seed {self.seed}, boxes at IoU 0.9",
                *align_columns(("condition", "precision", "recall", "F1", "colour", "refused"), *rows, published),
                f"images that are no drawings: {self.impostors_refused} of {self.impostors} refused",
                *([f"classes it does not know, not counted: {', '.join(self.unknown)}"] if self.unknown else []),
            ]
        )


def certify(
    grounder: Grounder,
    scenes: int = 300,
    seed: int = 7,
    conditions: Sequence[str] = tuple(CONDITIONS),
    others: int = 50,
    *,
    spending: Spending | None = None,
    on_progress: Callable[[int], None] = lambda done: None,
) -> Certificate:
    """Measure a grounder's accuracy on rendered random scenes, and how many other images it rejects."""
    unknown = [name for name in conditions if name not in CONDITIONS]
    if unknown or not conditions:
        raise FormalimgError(
            f"certification has the conditions {', '.join(CONDITIONS)}, not {', '.join(unknown) or '…'}"
        )
    if scenes < 1 or others < 0:
        raise FormalimgError("certification needs one scene at least")
    calls = MeteredCalls(grounder, spending or Spending(), on_progress)
    return run_sync(lambda: _certify_grounder(grounder, calls, scenes, seed, conditions, others))


def images_to_certify(scenes: int, others: int, conditions: Sequence[str] = tuple(CONDITIONS)) -> int:
    """Return the number of images that `certify` passes to a grounder."""
    return scenes * len(conditions) + others


async def _certify_grounder(
    grounder: Grounder, calls: MeteredCalls, scenes: int, seed: int, conditions: Sequence[str], others: int
) -> Certificate:
    unknown = tuple(getattr(grounder, "unknown_classes", lambda classes: ())(drawable_classes()))
    classes = tuple(name for name in drawable_classes() if name not in unknown)

    async def ground(image: Image.Image) -> Grounding | Unscored:
        loaded = await asyncio.to_thread(load_image, image)
        return await calls.answer(lambda: grounder.ground(loaded, classes))

    async def read(numbered: tuple[int, Scene]) -> list[ConditionResult]:
        number, scene = numbered
        drawing = await asyncio.to_thread(draw, scene)
        truth = Scene.of(obj for obj in scene.objects if obj.label in classes) if unknown else scene
        results = []
        for name in conditions:
            image = await asyncio.to_thread(CONDITIONS[name], drawing, number)
            results.append(_compare_scenes(name, truth, await ground(image)))
        return results

    async def refuses(image: Image.Image) -> bool:
        answer = await ground(image)
        return isinstance(answer, Unscored) and answer.reason != "judge failed"  # no answer is not a refusal

    by_scene = await map_concurrently(read, enumerate(random_scenes(scenes, seed)), grounder.concurrency)
    refusals = await map_concurrently(
        refuses, (impostor.image for impostor in draw_impostors(others, seed)), grounder.concurrency
    )
    results = tuple(_sum_results(column) for column in zip(*by_scene, strict=True))
    return Certificate(grounder.name, scenes, seed, results, others, sum(refusals), unknown)


def _compare_scenes(condition: str, scene: Scene, answer: Grounding | Unscored) -> ConditionResult:
    if isinstance(answer, Unscored):
        return ConditionResult(condition, 1, 1, len(scene), 0, 0, 0)
    matches = match_objects(scene, answer.scene)
    colors = vocabulary("knolling").words["color"]  # what has another colour is drawn as "other"
    colored = sum(
        truth.color == (detected.color if detected.color in colors else NO_WORD) for truth, detected in matches
    )
    return ConditionResult(condition, 1, 0, len(scene), len(answer.scene), len(matches), colored)


def _sum_results(results: Sequence[ConditionResult]) -> ConditionResult:
    images, refused, total, found, matched, colored = (
        sum(getattr(result, name) for result in results) for name in list(_STORED_NAMES)[1:]
    )
    objects = detection(DetectionCounts(result.matched, result.found, result.objects) for result in results)
    colors = detection(DetectionCounts(result.colored, result.matched, result.matched) for result in results)
    ranges = (objects.precision.interval, objects.recall.interval, objects.f1.interval, colors.precision.interval)
    names = PublishedShares._fields
    intervals = {name: interval for name, interval in zip(names, ranges, strict=True) if interval is not None}
    return ConditionResult(results[0].condition, images, refused, total, found, matched, colored, intervals)
