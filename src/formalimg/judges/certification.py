"""Certification: measure precision and recall of a grounder on drawings whose content is known.

A grounder for drawings must also refuse images that are not drawings.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from PIL import Image

from formalimg._util.aio import run_sync
from formalimg._util.images import png_bytes
from formalimg.drawing.icon_scene import draw, drawable_classes
from formalimg.errors import FormalimgError
from formalimg.judges.base import Grounding, LoadedImage
from formalimg.judges.certification_images import CONDITIONS, impostors, random_scenes
from formalimg.judges.iou import match
from formalimg.judges.metered_calls import MeteredCalls, map_concurrently
from formalimg.logic.vocabulary import vocabulary
from formalimg.models.spending import Spending
from formalimg.scenes.objects import NO_WORD
from formalimg.scenes.scene import Scene
from formalimg.stats.observations import Interval
from formalimg.stats.precision_recall import DetectionCounts, detection
from formalimg.types import Grounder, Unscored


@dataclass(frozen=True)
class ConditionResult:
    """Counts of true, found and matched objects under one condition."""

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
    def precision(self) -> float:
        """The share of the found objects that are right; 0 if nothing was found."""
        return _share(self.matched, self.found)

    @property
    def recall(self) -> float:
        """The share of the true objects that were found."""
        return _share(self.matched, self.objects)

    @property
    def f1(self) -> float:
        """The harmonic mean of precision and recall."""
        return _share(2 * self.matched, self.found + self.objects)

    @property
    def color_accuracy(self) -> float:
        """The share of the matched objects whose colour is right."""
        return _share(self.colored, self.matched)

    def to_json(self) -> dict[str, object]:
        """Return counts and shares as plain data."""
        return {
            # The exported names of two counts are those of earlier certificates.
            **{{"images": "pictures", "objects": "things"}.get(name, name): getattr(self, name) for name in _COUNTED},
            "precision": self.precision,
            "recall": self.recall,
            "f1": self.f1,
            "color_accuracy": self.color_accuracy,
            "intervals": {name: list(interval) for name, interval in self.intervals.items()},
        }

    def share(self, name: str) -> str:
        """Return a share as text, with its interval."""
        interval = self.intervals.get(name)
        return f"{getattr(self, name):.4f}" + (f" ({interval.low:.3f}–{interval.high:.3f})" if interval else "")


_COUNTED = ("condition", "images", "refused", "objects", "found", "matched", "colored")
_SHARES = ("precision", "recall", "f1", "color_accuracy")


class PublishedShares(NamedTuple):
    """Shares as printed in a paper."""

    precision: float
    recall: float
    f1: float
    color_accuracy: float


PUBLISHED_PARSER = PublishedShares(0.967, 0.978, 0.972, 0.954)
"""The authors of FormalImg on their parser, on 100 images with labels refined by hand, which is another task."""


@dataclass(frozen=True)
class Certificate:
    """The certificate of a grounder."""

    grounder: str  # its name
    scenes: int  # the number of random scenes
    seed: int  # the seed of the scenes
    results: tuple[ConditionResult, ...]  # the counts under each condition
    impostors: int  # the number of images that are not drawings
    impostors_refused: int  # how many of them it refused, as it should
    unknown: tuple[str, ...] = ()  # the drawn classes that the grounder cannot look for; their objects are not counted

    def reaches(self, threshold: float) -> bool:
        """Return whether the first condition reaches this precision, recall and F1, and all impostors were refused."""
        first = self.results[0]
        return min(first.precision, first.recall, first.f1) >= threshold and self.impostors == self.impostors_refused

    def to_json(self) -> dict[str, object]:
        """Return the certificate as plain data."""
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
        """Return the certificate as a text table."""
        heads = ("condition", "precision", "recall", "F1", "colour", "refused")
        rows = [
            (
                one.condition,
                *map(one.share, _SHARES),
                f"{one.refused} of {one.images}",
            )
            for one in self.results
        ]
        rows.append(("published parser", *(f"{share:.3f} " for share in PUBLISHED_PARSER), "–"))
        widths = [max(map(len, column)) for column in zip(heads, *rows, strict=True)]
        lines = [
            "  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]).rstrip()
            for row in (heads, *rows)
        ]
        objects = self.results[0].objects
        shown = f"{self.scenes} scene{'s' * (self.scenes != 1)} of {objects} object{'s' * (objects != 1)}"
        return "\n".join(
            [
                f"{self.grounder}: {shown}, seed {self.seed}, boxes at IoU 0.9",
                *lines,
                f"images that are no drawings: {self.impostors_refused} of {self.impostors} refused",
                *([f"classes it does not know, not counted: {', '.join(self.unknown)}"] if self.unknown else []),
            ]
        )


def _share(part: int, whole: int) -> float:
    return part / whole if whole else 0.0


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
    """Measure how well a grounder reads drawings of random scenes, and how many other images it refuses."""
    unknown = [name for name in conditions if name not in CONDITIONS]
    if unknown or not conditions:
        raise FormalimgError(
            f"certification has the conditions {', '.join(CONDITIONS)}, not {', '.join(unknown) or '…'}"
        )
    if scenes < 1 or others < 0:
        raise FormalimgError("certification needs one scene at least")
    metered_grounder = _MeteredGrounder(grounder, spending or Spending(), on_progress)
    return run_sync(lambda: _certify(metered_grounder, scenes, seed, conditions, others))


def images_to_certify(scenes: int, others: int, conditions: Sequence[str] = tuple(CONDITIONS)) -> int:
    """Return how many images a grounder is shown by `certify`."""
    return scenes * len(conditions) + others


class _MeteredGrounder:
    """A grounder whose calls are counted against a budget, and reported one by one."""

    def __init__(self, grounder: Grounder, spending: Spending, on_progress: Callable[[int], None]) -> None:
        self.name, self.concurrency = grounder.name, grounder.concurrency
        self.unknown = tuple(getattr(grounder, "unknown_classes", lambda classes: ())(drawable_classes()))
        self.classes = tuple(name for name in drawable_classes() if name not in self.unknown)
        self._grounder = grounder
        self._calls = MeteredCalls(grounder, spending, on_progress)

    async def ground(self, image: LoadedImage) -> Grounding | Unscored:
        """Find all objects that can be drawn, of the classes that the grounder knows."""
        return await self._calls.answer(lambda: self._grounder.ground(image, self.classes))


async def _certify(
    grounder: _MeteredGrounder, scenes: int, seed: int, conditions: Sequence[str], others: int
) -> Certificate:
    async def read(numbered: tuple[int, Scene]) -> list[ConditionResult]:
        number, scene = numbered
        drawing = await asyncio.to_thread(draw, scene)
        known = Scene.of(obj for obj in scene.objects if obj.label in grounder.classes) if grounder.unknown else scene
        return [await _read(grounder, known, drawing, name, number) for name in conditions]

    async def refused(image: Image.Image) -> bool:
        loaded = await asyncio.to_thread(_load, image)
        answer = await grounder.ground(loaded)
        return isinstance(answer, Unscored) and answer.reason != "judge failed"  # no answer is not a refusal

    by_scene = await map_concurrently(read, enumerate(random_scenes(scenes, seed)), grounder.concurrency)
    refusals = await map_concurrently(refused, (each.image for each in impostors(others, seed)), grounder.concurrency)
    results = tuple(_sum(column) for column in zip(*by_scene, strict=True))
    return Certificate(grounder.name, scenes, seed, results, others, sum(refusals), grounder.unknown)


async def _read(
    grounder: _MeteredGrounder, scene: Scene, drawing: Image.Image, condition: str, number: int
) -> ConditionResult:
    image = await asyncio.to_thread(lambda: _load(CONDITIONS[condition](drawing, number)))
    answer = await grounder.ground(image)
    if not isinstance(answer, Grounding):
        return ConditionResult(condition, 1, 1, len(scene), 0, 0, 0)
    matches = match(scene, answer.scene)
    colors = vocabulary("knolling").words["color"]  # what has another colour is drawn as "other"
    colored = sum(truth.color == (found.color if found.color in colors else NO_WORD) for truth, found in matches)
    return ConditionResult(condition, 1, 0, len(scene), len(answer.scene), len(matches), colored)


def _load(image: Image.Image) -> LoadedImage:
    return LoadedImage(png_bytes(image), image)


def _sum(results: Sequence[ConditionResult]) -> ConditionResult:
    images, refused, objects, found_objects, matched, colored = (
        sum(getattr(result, count) for result in results) for count in _COUNTED[1:]
    )
    found = detection(DetectionCounts(result.matched, result.found, result.objects) for result in results)
    colors = detection(DetectionCounts(result.colored, result.matched, result.matched) for result in results)
    known = (found.precision.interval, found.recall.interval, found.f1.interval, colors.precision.interval)
    intervals = {name: interval for name, interval in zip(_SHARES, known, strict=True) if interval is not None}
    return ConditionResult(results[0].condition, images, refused, objects, found_objects, matched, colored, intervals)
