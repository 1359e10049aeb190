"""Showing a grounder drawings whose content is certain, and images that are no drawings."""

from __future__ import annotations

import asyncio
import io
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import TypeVar

from PIL import Image

from formalimg._util.aio import run_sync
from formalimg.errors import FormalimgError
from formalimg.judges.certification.certificate import Certificate, Reading
from formalimg.judges.certification.conditions import CONDITIONS
from formalimg.judges.certification.matching import match
from formalimg.judges.certification.pretending import impostors
from formalimg.judges.certification.sampling import random_scenes
from formalimg.judges.judge import Grounder, Grounding, LoadedImage
from formalimg.judges.verdict import Unscored
from formalimg.scenes import Scene, draw, drawable_classes

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
