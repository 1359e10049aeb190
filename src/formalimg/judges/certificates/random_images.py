"""Images for grounder certificates: random scenes, degradations (JPEG, blur, noise) and non-drawings."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np
from PIL import Image, ImageFilter

from formalimg.drawing.icon_scene import draw, drawable_classes, natural_aspect
from formalimg.judges.boxes import find_free_box
from formalimg.judges.certificates.nuisances import compress_jpeg
from formalimg.judges.grounders.icon_segmentation import drawing_background
from formalimg.logic.vocabulary import vocabulary
from formalimg.scenes.objects import CANVAS, MIN_SIDE, Box, SceneObject
from formalimg.scenes.scene import Scene

if TYPE_CHECKING:
    from numpy.random import Generator
    from numpy.typing import NDArray


_MAX_OBJECTS = 25
_GAP = 20
_BORDER = 5
_MAX_SMALLER_SIDE = 200
_MAX_SIDE = 420
_STRETCH = 0.2
_MAX_TRIES = 200


def random_scenes(count: int, seed: int) -> Iterator[Scene]:
    """Yield reproducible random scenes with 1 to 25 objects of any class and colour."""
    colors = (*vocabulary("knolling").words["color"], "other")
    for number in range(count):
        rng = random.Random(f"certification {seed} {number}")
        objects = rng.randint(1, _MAX_OBJECTS)
        placed: list[SceneObject] = []
        for _ in range(_MAX_TRIES):
            if len(placed) == objects:
                break
            label = rng.choice(drawable_classes())
            box = _place_box(rng, natural_aspect(label), [obj.box for obj in placed])
            if box is not None:
                placed.append(SceneObject(label, box, rng.choice(colors)))
        yield Scene.of(placed)


def _place_box(rng: random.Random, aspect: float, boxes: list[Box]) -> Box | None:
    shape = math.exp(rng.choice((-1, 1)) * math.log(aspect) + rng.uniform(-_STRETCH, _STRETCH))
    smaller = math.exp(rng.uniform(math.log(MIN_SIDE), math.log(_MAX_SMALLER_SIDE)))
    width, height = max(MIN_SIDE, round(smaller * max(1, shape))), max(MIN_SIDE, round(smaller * max(1, 1 / shape)))
    if max(width, height) > _MAX_SIDE:
        return None
    return find_free_box(width, height, boxes, rng, border=_BORDER, gap=_GAP, tries=1)


ImageDegradation: TypeAlias = Callable[[Image.Image, int], Image.Image]
"""Takes an image and a seed, returns the degraded image."""


def _add_noise(image: Image.Image, seed: int) -> Image.Image:
    noise = np.random.default_rng(seed).standard_normal((image.height, image.width, 3), np.float32)
    return Image.fromarray(np.clip(np.asarray(image) + 6 * noise + 0.5, 0, 255).astype(np.uint8))


CONDITIONS: Mapping[str, ImageDegradation] = {
    "clean": lambda image, seed: image,
    "JPEG 60": lambda image, seed: compress_jpeg(image, 60),
    "512 pixels": lambda image, seed: image.resize((512, 512), Image.Resampling.LANCZOS),
    "blur 1.2": lambda image, seed: image.filter(ImageFilter.GaussianBlur(1.2)),
    "noise 6": _add_noise,
}
"""The conditions of certification by name; images have 1024 pixels unless the name says otherwise."""


_SIZE = 512
_MIN_OBJECTS = 8


class Impostor(NamedTuple):
    """An image that is not a formalimg drawing, with the name of its kind."""

    kind: str
    image: Image.Image


def draw_impostors(count: int, seed: int) -> Iterator[Impostor]:
    """Yield reproducible images that are not formalimg drawings, cycling through all kinds."""
    kinds = list(_KINDS.items())
    # If objects are few, all of them could look the same after rotation, as a plate does.
    crowded = (scene for scene in random_scenes(100 * count, seed) if len(scene) >= _MIN_OBJECTS)
    for number, scene in enumerate(islice(crowded, count)):
        kind, make = kinds[number % len(kinds)]
        yield Impostor(kind, make(np.random.default_rng([seed, number]), scene))


def _draw_gradient(rng: Generator, scene: Scene) -> Image.Image:
    corners = rng.integers(0, 256, (2, 2, 3), np.uint8)
    return Image.fromarray(corners).resize((_SIZE, _SIZE), Image.Resampling.BILINEAR)


def _draw_clouds_on_background(rng: Generator, scene: Scene) -> Image.Image:
    """Draw clouds, with the background of drawings visible through gaps."""
    clouds, layers = _paint_layers(_draw_clouds(rng)), _draw_clouds(rng)[..., 0]
    mask = Image.fromarray((layers > np.median(layers)).astype(np.uint8) * 255)
    return Image.composite(clouds, _draw_background(), mask)


def _draw_blobs(rng: Generator, scene: Scene) -> Image.Image:
    """Draw blurred blobs of colour on the background of drawings."""
    image = _draw_background()
    for _ in range(rng.integers(3, 12)):
        mask = Image.new("L", (_SIZE, _SIZE))
        left, top, width, height = rng.integers((0, 0, 40, 40), (_SIZE - 60, _SIZE - 60, 160, 160)).tolist()
        mask.paste(255, (left, top, left + width, top + height))
        color = tuple(rng.integers(0, 256, 3).tolist())
        image.paste(color, mask=mask.filter(ImageFilter.GaussianBlur(int(rng.integers(6, 20)))))
    return image


def _draw_patches(rng: Generator, scene: Scene) -> Image.Image:
    """Draw plain rectangles in place of the objects of a scene, on the background of drawings."""
    image = _draw_background()
    for obj in scene.objects:
        color = tuple(rng.integers(0, 256, 3).tolist())
        image.paste(color, tuple(round(edge * _SIZE / CANVAS) for edge in obj.box))  # type: ignore[arg-type]
    return image


def _rotate_drawing(rng: Generator, scene: Scene) -> Image.Image:
    angle = float(rng.uniform(15, 75) + 90 * rng.integers(0, 4))
    return draw(scene).rotate(angle, Image.Resampling.BICUBIC, fillcolor=drawing_background())


def _replace_background(rng: Generator, scene: Scene) -> Image.Image:
    image = draw(scene)
    different = np.asarray(image) != np.array(drawing_background())
    mask = Image.fromarray(different.any(axis=2).astype(np.uint8) * 255)
    plain = Image.new("RGB", image.size, ["white", "#202020", "#a8c8e8"][int(rng.integers(0, 3))])
    return Image.composite(image, plain, mask)


_KINDS: dict[str, Callable[[Generator, Scene], Image.Image]] = {
    "gradient": _draw_gradient,
    "noise": lambda rng, scene: Image.fromarray(rng.integers(0, 256, (_SIZE, _SIZE, 3), np.uint8)),
    "clouds": lambda rng, scene: _paint_layers(_draw_clouds(rng)),
    "clouds on the background of drawings": _draw_clouds_on_background,
    "blobs on the background of drawings": _draw_blobs,
    "patches on the background of drawings": _draw_patches,
    "drawing, rotated": _rotate_drawing,
    "drawing, upside down": lambda rng, scene: draw(scene).transpose(Image.Transpose.ROTATE_180),
    "drawing on another background": _replace_background,
    "drawing, inverted": lambda rng, scene: Image.fromarray(255 - np.asarray(draw(scene))),
}


def _draw_background() -> Image.Image:
    return draw(Scene.of([]), _SIZE)


def _draw_clouds(rng: Generator) -> NDArray[np.float64]:
    """Sum random noise at several scales, with the approximate statistics of a photograph."""
    total = np.zeros((_SIZE, _SIZE, 3))
    for cells in (3, 6, 12, 24, 48, 96, 192):
        for channel in range(3):
            small = Image.fromarray(rng.standard_normal((cells, cells)).astype(np.float32) / cells)
            total[..., channel] += np.asarray(small.resize((_SIZE, _SIZE), Image.Resampling.BICUBIC))
    return total


def _paint_layers(layers: NDArray[np.float64]) -> Image.Image:
    low, high = layers.min(), layers.max()
    return Image.fromarray(((layers - low) / (high - low) * 255).astype(np.uint8))
