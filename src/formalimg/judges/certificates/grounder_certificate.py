"""The certificate of a grounder: its precision and recall on rendered random scenes.

A grounder for drawings must also refuse images that are not drawings.
"""

from __future__ import annotations

import asyncio
import math
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice

import numpy as np
from PIL import Image, ImageFilter

from formalimg._util.aio import run_sync
from formalimg.drawing.icon_scene import draw, drawable_classes, natural_aspect
from formalimg.errors import FormalimgError
from formalimg.judges.base import Grounding, load_image
from formalimg.judges.boxes import find_free_box, match_objects
from formalimg.judges.certificates.certificate import align_columns
from formalimg.judges.certificates.measurement import MeteredCalls, map_concurrently
from formalimg.judges.certificates.scene_changes import compress_jpeg
from formalimg.judges.grounders.icon_segmentation import drawing_background
from formalimg.logic.vocabulary import vocabulary
from formalimg.models.pricing import Spending
from formalimg.scenes.objects import CANVAS, MIN_SIDE, NO_WORD, SceneObject
from formalimg.scenes.scene import Scene
from formalimg.stats.observations import Interval
from formalimg.stats.precision_recall import DetectionCounts, detection
from formalimg.types import Grounder, Unscored

PUBLISHED_PARSER = {"precision": 0.967, "recall": 0.978, "f1": 0.972, "color_accuracy": 0.954}
"""The authors of FormalImg on their parser, on 100 images with labels refined by hand, which is another task."""
_COUNTS = ("images", "refused", "objects", "found", "matched", "colored")
_STORED_NAMES = {"images": "pictures", "objects": "things"}  # Counts with another name in the JSON form

# --- images

_MAX_OBJECTS, _MAX_TRIES = 25, 200
_GAP, _BORDER = 20, 5
_MAX_SMALLER_SIDE, _MAX_SIDE, _STRETCH = 200, 420, 0.2
_IMPOSTOR_SIZE, _MIN_IMPOSTOR_OBJECTS = 512, 8


def random_scenes(count: int, seed: int) -> Iterator[Scene]:
    """Yield reproducible random scenes with 1 to 25 objects of any class and colour, which keep a distance of 20.

    Shorter sides range from the minimum of the solver (20 of 1000) to 200 on a logarithmic scale; aspect ratios are
    about natural, horizontal or vertical.
    """
    colors = (*vocabulary("knolling").words["color"], "other")
    for number in range(count):
        rng = random.Random(f"certification {seed} {number}")
        objects = rng.randint(1, _MAX_OBJECTS)
        placed: list[SceneObject] = []
        for _ in range(_MAX_TRIES):
            if len(placed) == objects:
                break
            label = rng.choice(drawable_classes())
            shape = math.exp(rng.choice((-1, 1)) * math.log(natural_aspect(label)) + rng.uniform(-_STRETCH, _STRETCH))
            smaller = math.exp(rng.uniform(math.log(MIN_SIDE), math.log(_MAX_SMALLER_SIDE)))
            width, height = (max(MIN_SIDE, round(smaller * max(1, ratio))) for ratio in (shape, 1 / shape))
            if max(width, height) > _MAX_SIDE:
                continue
            boxes = [obj.box for obj in placed]
            box = find_free_box(width, height, boxes, rng, border=_BORDER, gap=_GAP, tries=1)
            if box is not None:
                placed.append(SceneObject(label, box, rng.choice(colors)))
        yield Scene.of(placed)


def _add_noise(image: Image.Image, seed: int) -> Image.Image:
    noise = np.random.default_rng(seed).standard_normal((image.height, image.width, 3), np.float32)
    return Image.fromarray(np.clip(np.asarray(image) + 6 * noise + 0.5, 0, 255).astype(np.uint8))


CONDITIONS: Mapping[str, Callable[[Image.Image, int], Image.Image]] = {
    "clean": lambda image, seed: image,
    "JPEG 60": lambda image, seed: compress_jpeg(image, 60),
    "512 pixels": lambda image, seed: image.resize((512, 512), Image.Resampling.LANCZOS),
    "blur 1.2": lambda image, seed: image.filter(ImageFilter.GaussianBlur(1.2)),
    "noise 6": _add_noise,
}
"""The conditions by name, as functions of an image and a seed; images have 1024 pixels unless the name differs."""


def draw_impostors(count: int, seed: int) -> Iterator[tuple[str, Image.Image]]:
    """Yield reproducible images that are not formalimg drawings with the name of their kind, cycling through kinds."""
    # If objects are few, all of them could look the same after rotation, as a plate does.
    crowded = (scene for scene in random_scenes(100 * count, seed) if len(scene) >= _MIN_IMPOSTOR_OBJECTS)
    for number, scene in enumerate(islice(crowded, count)):
        rng = np.random.default_rng([seed, number])
        match number % 3:
            case 0:
                yield "noise", Image.fromarray(rng.integers(0, 256, (_IMPOSTOR_SIZE, _IMPOSTOR_SIZE, 3), np.uint8))
            case 1:
                image = draw(Scene.of([]), _IMPOSTOR_SIZE)
                for obj in scene.objects:
                    left, top, right, bottom = (round(edge * _IMPOSTOR_SIZE / CANVAS) for edge in obj.box)
                    image.paste(tuple(rng.integers(0, 256, 3).tolist()), (left, top, right, bottom))
                yield "patches on the background of drawings", image
            case _:
                angle = float(rng.uniform(15, 75) + 90 * rng.integers(0, 4))
                rotated = draw(scene).rotate(angle, Image.Resampling.BICUBIC, fillcolor=drawing_background())
                yield "drawing, rotated", rotated


# --- the certificate


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
        fractions = {
            "precision": (self.matched, self.found),
            "recall": (self.matched, self.objects),
            "f1": (2 * self.matched, self.found + self.objects),
            "color_accuracy": (self.colored, self.matched),
        }
        return {name: part / whole if whole else 0.0 for name, (part, whole) in fractions.items()}

    def to_json(self) -> dict[str, object]:
        """Convert the counts and metrics to JSON-compatible data."""
        counts = {_STORED_NAMES.get(name, name): getattr(self, name) for name in _COUNTS}
        intervals = {name: list(interval) for name, interval in self.intervals.items()}
        return {"condition": self.condition, **counts, **self.shares, "intervals": intervals}

    def format_share(self, name: str) -> str:
        """Format a metric with its confidence interval."""
        interval = self.intervals.get(name)
        return f"{self.shares[name]:.4f}" + (f" ({interval.low:.3f}–{interval.high:.3f})" if interval else "")


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
            "published_parser": PUBLISHED_PARSER,
            **({"unknown_classes": list(self.unknown)} if self.unknown else {}),
        }

    def __str__(self) -> str:
        """Format the certificate as a text table."""
        rows = [
            (row.condition, *map(row.format_share, PUBLISHED_PARSER), f"{row.refused} of {row.images}")
            for row in self.results
        ]
        published = ("published parser", *(f"{share:.3f} " for share in PUBLISHED_PARSER.values()), "–")
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
        raise FormalimgError(f"unknown conditions {', '.join(unknown) or '…'}: give some of {', '.join(CONDITIONS)}")
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

    async def refuses(impostor: tuple[str, Image.Image]) -> bool:
        answer = await ground(impostor[1])
        return isinstance(answer, Unscored) and answer.reason != "judge failed"  # no answer is not a refusal

    by_scene = await map_concurrently(read, enumerate(random_scenes(scenes, seed)), grounder.concurrency)
    refusals = await map_concurrently(refuses, draw_impostors(others, seed), grounder.concurrency)
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
    objects = detection(DetectionCounts(result.matched, result.found, result.objects) for result in results)
    colors = detection(DetectionCounts(result.colored, result.matched, result.matched) for result in results)
    ranges = (objects.precision.interval, objects.recall.interval, objects.f1.interval, colors.precision.interval)
    intervals = {name: range_ for name, range_ in zip(PUBLISHED_PARSER, ranges, strict=True) if range_ is not None}
    images, refused, total, detected, matched, colored = (
        sum(getattr(row, name) for row in results) for name in _COUNTS
    )
    return ConditionResult(results[0].condition, images, refused, total, detected, matched, colored, intervals)
