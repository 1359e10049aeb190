"""Images that are no drawings of formalimg, as photographs are not: a grounder for drawings must refuse them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from PIL import Image, ImageFilter

from formalimg.judges.certification.sampling import random_scenes
from formalimg.scenes import CANVAS, Scene, draw

if TYPE_CHECKING:
    from numpy.random import Generator
    from numpy.typing import NDArray

_SIZE = 512
_MANY = 8


class Impostor(NamedTuple):
    """An image that is no drawing, and what it is instead."""

    kind: str
    image: Image.Image


def impostors(count: int, seed: int) -> Iterator[Impostor]:
    """So many images that are no drawings, of all kinds in turn, the same for the same seed."""
    kinds = list(_KINDS.items())
    # Of a few objects, all could look the same after turning, as a plate does.
    full = (scene for scene in random_scenes(100 * count, seed) if len(scene) >= _MANY)
    for number, scene in enumerate(islice(full, count)):
        kind, make = kinds[number % len(kinds)]
        yield Impostor(kind, make(np.random.default_rng([seed, number]), scene))


def _gradient(chance: Generator, scene: Scene) -> Image.Image:
    corners = chance.integers(0, 256, (2, 2, 3), np.uint8)
    return Image.fromarray(corners).resize((_SIZE, _SIZE), Image.Resampling.BILINEAR)


def _noise(chance: Generator, scene: Scene) -> Image.Image:
    return Image.fromarray(chance.integers(0, 256, (_SIZE, _SIZE, 3), np.uint8))


def _clouds(chance: Generator, scene: Scene) -> Image.Image:
    """Patches of all sizes on one another, small ones fainter: about the statistics of a photograph."""
    return _painted(_layers(chance))


def _clouds_on_background(chance: Generator, scene: Scene) -> Image.Image:
    """Clouds with holes through which the background of drawings is seen."""
    clouds, layers = _painted(_layers(chance)), _layers(chance)[..., 0]
    mask = Image.fromarray((layers > np.median(layers)).astype(np.uint8) * 255)
    return Image.composite(clouds, _canvas(), mask)


def _blobs(chance: Generator, scene: Scene) -> Image.Image:
    """Blurred blobs of colour on the background of drawings."""
    image = _canvas()
    for _ in range(chance.integers(3, 12)):
        mask = Image.new("L", (_SIZE, _SIZE))
        left, top, width, height = chance.integers((0, 0, 40, 40), (_SIZE - 60, _SIZE - 60, 160, 160)).tolist()
        mask.paste(255, (left, top, left + width, top + height))
        color = tuple(chance.integers(0, 256, 3).tolist())
        image.paste(color, mask=mask.filter(ImageFilter.GaussianBlur(int(chance.integers(6, 20)))))
    return image


def _patches(chance: Generator, scene: Scene) -> Image.Image:
    """Plain coloured rectangles on the background of drawings, where the objects of a scene would be."""
    image = _canvas()
    for obj in scene.objects:
        color = tuple(chance.integers(0, 256, 3).tolist())
        image.paste(color, tuple(round(edge * _SIZE / CANVAS) for edge in obj.box))  # type: ignore[arg-type]
    return image


def _rotated(chance: Generator, scene: Scene) -> Image.Image:
    angle = float(chance.uniform(15, 75) + 90 * chance.integers(0, 4))
    return draw(scene).rotate(angle, Image.Resampling.BICUBIC, fillcolor=_background())


def _upside_down(chance: Generator, scene: Scene) -> Image.Image:
    return draw(scene).transpose(Image.Transpose.ROTATE_180)


def _other_background(chance: Generator, scene: Scene) -> Image.Image:
    """A drawing whose background is another colour."""
    image = draw(scene)
    different = np.asarray(image) != np.array(_background())
    mask = Image.fromarray(different.any(axis=2).astype(np.uint8) * 255)
    plain = Image.new("RGB", image.size, ["white", "#202020", "#a8c8e8"][int(chance.integers(0, 3))])
    return Image.composite(image, plain, mask)


def _inverted(chance: Generator, scene: Scene) -> Image.Image:
    return Image.fromarray(255 - np.asarray(draw(scene)))


_KINDS: dict[str, Callable[[Generator, Scene], Image.Image]] = {
    "gradient": _gradient,
    "noise": _noise,
    "clouds": _clouds,
    "clouds on the background of drawings": _clouds_on_background,
    "blobs on the background of drawings": _blobs,
    "patches on the background of drawings": _patches,
    "drawing, rotated": _rotated,
    "drawing, upside down": _upside_down,
    "drawing on another background": _other_background,
    "drawing, inverted": _inverted,
}


def _canvas() -> Image.Image:
    return draw(Scene.of([]), _SIZE)


def _background() -> tuple[int, int, int]:
    red, green, blue = np.asarray(draw(Scene.of([]), 64))[0, 0].tolist()
    return red, green, blue


def _layers(chance: Generator) -> NDArray[np.float64]:
    total = np.zeros((_SIZE, _SIZE, 3))
    for cells in (3, 6, 12, 24, 48, 96, 192):
        for channel in range(3):
            small = Image.fromarray(chance.standard_normal((cells, cells)).astype(np.float32) / cells)
            total[..., channel] += np.asarray(small.resize((_SIZE, _SIZE), Image.Resampling.BICUBIC))
    return total


def _painted(layers: NDArray[np.float64]) -> Image.Image:
    low, high = layers.min(), layers.max()
    return Image.fromarray(((layers - low) / (high - low) * 255).astype(np.uint8))
