"""Front."""

from __future__ import annotations

import asyncio
import io
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

from PIL import Image

from formalimg._util.aio import run_sync
from formalimg.errors import FormalimgError
from formalimg.judges.base import Grounder, Grounding, LoadedImage, Unscored
from formalimg.judges.certification_images import CONDITIONS, impostors, random_scenes
from formalimg.judges.iou import match
from formalimg.scenes import Scene, draw, drawable_classes


@dataclass(frozen=True)
class Reading:
    """How images were read under one condition.

    Attributes:
        condition: what happened to the images.
        images: how many were shown.
        refused: how many of them the grounder said nothing about. What is on them counts as not found.
        objects: how many objects are on the images.
        found: how many objects the grounder reported.
        matched: how many of these are right: same class, and a box that overlaps by 0.9 (intersection over union).
        colored: how many of the matched have the right colour.
    """

    condition: str
    images: int
    refused: int
    objects: int
    found: int
    matched: int
    colored: int

    @property
    def precision(self) -> float:
        """The share of what was found that is there; 0 if nothing was found."""
        return _share(self.matched, self.found)

    @property
    def recall(self) -> float:
        """The share of what is there that was found."""
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
        """Counts and shares as plain data."""
        return {
            # The exported names of two counts are those of earlier certificates.
            **{{"images": "pictures", "objects": "things"}.get(name, name): n for name, n in self.__dict__.items()},
            "precision": self.precision,
            "recall": self.recall,
            "f1": self.f1,
            "color_accuracy": self.color_accuracy,
        }


class Published(NamedTuple):
    """Shares that somebody printed."""

    precision: float
    recall: float
    f1: float
    color_accuracy: float


PUBLISHED_PARSER = Published(0.967, 0.978, 0.972, 0.954)
"""What the authors of FormalImg report of their parser, on 100 images with labels refined by hand: another task."""


@dataclass(frozen=True)
class Certificate:
    """How a grounder did.

    Attributes:
        grounder: its name.
        scenes: how many scenes were drawn.
        seed: from which they were made.
        readings: how it read them, under one condition after the other.
        impostors: how many images that are no drawings it was shown.
        impostors_refused: how many of them it refused, as it should.
    """

    grounder: str
    scenes: int
    seed: int
    readings: tuple[Reading, ...]
    impostors: int
    impostors_refused: int

    def reaches(self, least: float) -> bool:
        """Are precision, recall and F1 of the first condition so high, and was every impostor refused?"""
        first = self.readings[0]
        return min(first.precision, first.recall, first.f1) >= least and self.impostors == self.impostors_refused

    def to_json(self) -> dict[str, object]:
        """The certificate as plain data."""
        return {
            "grounder": self.grounder,
            "scenes": self.scenes,
            "seed": self.seed,
            "readings": [reading.to_json() for reading in self.readings],
            "impostors": self.impostors,
            "impostors_refused": self.impostors_refused,
            "published_parser": PUBLISHED_PARSER._asdict(),
        }

    def __str__(self) -> str:
        """A table for people."""
        heads = ("condition", "precision", "recall", "F1", "colour", "refused")
        rows = [
            (
                reading.condition,
                *(f"{share:.4f}" for share in (reading.precision, reading.recall, reading.f1, reading.color_accuracy)),
                f"{reading.refused} of {reading.images}",
            )
            for reading in self.readings
        ]
        rows.append(("published parser", *(f"{share:.3f} " for share in PUBLISHED_PARSER), "–"))
        widths = [max(map(len, column)) for column in zip(heads, *rows, strict=True)]
        lines = [
            "  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]).rstrip()
            for row in (heads, *rows)
        ]
        objects = self.readings[0].objects
        shown = f"{self.scenes} scene{'s' * (self.scenes != 1)} of {objects} object{'s' * (objects != 1)}"
        return "\n".join(
            [
                f"{self.grounder}: {shown}, seed {self.seed}, boxes at IoU 0.9",
                *lines,
                f"images that are no drawings: {self.impostors_refused} of {self.impostors} refused",
            ]
        )


def _share(part: int, whole: int) -> float:
    return part / whole if whole else 0.0


_A = TypeVar("_A")
_B = TypeVar("_B")


def certify(
    grounder: Grounder,
    scenes: int = 300,
    seed: int = 7,
    conditions: Sequence[str] = tuple(CONDITIONS),
    others: int = 50,
) -> Certificate:
    """How well a grounder reads drawings of random scenes, and how many other images it refuses.

    Args:
        grounder: who is examined.
        scenes: how many scenes to draw; they are random and part of no suite.
        seed: another seed, other scenes.
        conditions: under which the drawings are shown, names of `CONDITIONS`.
        others: how many images that are no drawings to show.

    Raises:
        FormalimgError: if a condition is not known, or there is nothing to certify with.
    """
    unknown = [name for name in conditions if name not in CONDITIONS]
    if unknown or not conditions:
        raise FormalimgError(
            f"certification has the conditions {', '.join(CONDITIONS)}, not {', '.join(unknown) or '…'}"
        )
    if scenes < 1 or others < 0:
        raise FormalimgError("certification needs one scene at least")
    return run_sync(lambda: _certify(grounder, scenes, seed, conditions, others))


async def _certify(grounder: Grounder, scenes: int, seed: int, conditions: Sequence[str], others: int) -> Certificate:
    async def read(numbered: tuple[int, Scene]) -> list[Reading]:
        number, scene = numbered
        drawing = await asyncio.to_thread(draw, scene)
        return [await _read(grounder, scene, drawing, name, number) for name in conditions]

    async def refused(image: Image.Image) -> bool:
        loaded = await asyncio.to_thread(_image, image)
        answer = await grounder.ground(loaded, drawable_classes())
        return isinstance(answer, Unscored) and answer.reason != "judge failed"  # who did not answer did not refuse

    read_one_by_one = await _side_by_side(read, enumerate(random_scenes(scenes, seed)), grounder.concurrency)
    refusals = await _side_by_side(refused, (each.image for each in impostors(others, seed)), grounder.concurrency)
    readings = tuple(_sum(column) for column in zip(*read_one_by_one, strict=True))
    return Certificate(grounder.name, scenes, seed, readings, others, sum(refusals))


async def _read(grounder: Grounder, scene: Scene, drawing: Image.Image, condition: str, number: int) -> Reading:
    image = await asyncio.to_thread(lambda: _image(CONDITIONS[condition](drawing, number)))
    answer = await grounder.ground(image, drawable_classes())
    if not isinstance(answer, Grounding):
        return Reading(condition, 1, 1, len(scene), 0, 0, 0)
    matches = match(scene, answer.scene)
    colored = sum(truth.color == (found.color or "other") for truth, found in matches)
    return Reading(condition, 1, 0, len(scene), len(answer.scene), len(matches), colored)


def _image(image: Image.Image) -> LoadedImage:
    file = io.BytesIO()
    image.save(file, "PNG", compress_level=1)
    return LoadedImage(file.getvalue(), image)


def _sum(readings: Sequence[Reading]) -> Reading:
    counts = ("images", "refused", "objects", "found", "matched", "colored")
    totals = (sum(getattr(reading, count) for reading in readings) for count in counts)
    return Reading(readings[0].condition, *totals)


async def _side_by_side(work: Callable[[_A], Awaitable[_B]], values: Iterable[_A], concurrency: int) -> list[_B]:
    """The results in the order of the values, with so many of them in work at any time."""
    results: dict[int, _B] = {}
    numbered = iter(enumerate(values))

    async def worker() -> None:
        for number, value in numbered:
            results[number] = await work(value)

    await asyncio.gather(*(worker() for _ in range(concurrency)))
    return [results[number] for number in sorted(results)]
