"""Colour names from pixels: the colour of the object in a box, by the nearest tone in CIE Lab (`pixel_colors.toml`)."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from formalimg.scenes.objects import CANVAS, Box

if TYPE_CHECKING:
    from PIL.Image import Image


Numbers = NDArray[np.float64]

NO_COLOR = "other"

_SIDE = 40
"""Boxes are sampled with at most so many pixels across and down."""
_RING = 0.1
"""The surroundings of an object are a ring of this share of its width and height."""
_MIN_DIFFERENCE = 14.0
"""Pixels that differ less from the surroundings (in CIE Lab) most likely do not belong to the object."""
_MIN_SHARE = 0.06
"""If less than this share of the weight differs from the surroundings, the object has their colour."""
_SPREAD = 0.3
"""The standard deviation of the weights of pixels, a Gaussian around the centre; the box is 1 wide."""


class PixelColor(NamedTuple):
    """The name of an object's colour, and the share of the weighted pixels that have it."""

    name: str
    share: float


def color_in(image: Image, box: Box) -> PixelColor:
    """Return the colour of the object in a box: that of most of its pixels, those in the middle counting most."""
    tones = _tones()
    pixels = lab(np.asarray(_crop(image, box)))
    around = np.median(_around(image, box), axis=0)
    height, width, _ = pixels.shape
    weights = np.outer(_gaussian(height), _gaussian(width))
    differs = np.linalg.norm(pixels - around, axis=2) > _MIN_DIFFERENCE
    if weights[differs].sum() >= _MIN_SHARE * weights.sum():
        weights = weights * differs
    shares = (
        np.bincount(_nearest_name(pixels, tones).ravel(), weights.ravel(), minlength=len(tones.names)) / weights.sum()
    )
    best = int(shares.argmax())
    return PixelColor(tones.names[best], round(float(shares[best]), 3))


def lab(rgb: NDArray[Any]) -> Numbers:
    """Convert sRGB, 0 to 255, to CIE Lab under daylight (D65); the last axis holds the three channels."""
    coded = np.asarray(rgb, dtype=np.float64) / 255
    linear = np.where(coded <= 0.04045, coded / 12.92, ((coded + 0.055) / 1.055) ** 2.4)
    to_xyz = np.array(
        [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.072175], [0.0193339, 0.119192, 0.9503041]]
    )
    relative = linear @ to_xyz.T / np.array([0.95047, 1.0, 1.08883])
    small = (6 / 29) ** 3
    bent = np.where(relative > small, np.cbrt(relative), relative * (29 / 6) ** 2 / 3 + 4 / 29)
    x, y, z = bent[..., 0], bent[..., 1], bent[..., 2]
    return np.stack([116 * y - 16, 500 * (x - y), 200 * (y - z)], axis=-1)


def colors_version() -> int:
    """Return the version of the table of tones."""
    return int(_table()["version"])


class _ToneTable(NamedTuple):
    """The names of the colours, and the tones in CIE Lab with the index of each one's name."""

    names: tuple[str, ...]
    tones: Numbers
    name_of: NDArray[np.intp]


@cache
def _tones() -> _ToneTable:
    more: Mapping[str, list[str]] = _table("pixel_color_words.toml")["more_words"]
    named = {tone for own in more.values() for tone in own}
    tones: dict[str, list[str]] = {
        name: [tone for tone in own if tone not in named] for name, own in _table()["tones"].items()
    } | dict(more)
    rgb = [[int(tone[start : start + 2], 16) for start in (1, 3, 5)] for ones in tones.values() for tone in ones]
    name_of = [number for number, ones in enumerate(tones.values()) for _ in ones]
    return _ToneTable(tuple(tones), lab(np.array(rgb)), np.array(name_of))


@cache
def _table(name: str = "pixel_colors.toml") -> Mapping[str, Any]:
    return tomllib.loads((files("formalimg.judges.grounders") / name).read_text(encoding="utf-8"))


def _nearest_name(pixels: Numbers, tones: _ToneTable) -> NDArray[np.intp]:
    distances = np.linalg.norm(pixels[..., None, :] - tones.tones, axis=-1)
    names: NDArray[np.intp] = tones.name_of[distances.argmin(axis=-1)]
    return names


def _crop(image: Image, box: Box) -> Image:
    from PIL.Image import Resampling

    crop = image.crop(_in_pixels(image, box))
    # Pixels are skipped rather than blended: outlines on a white object would make it gray.
    return crop.resize((min(crop.width, _SIDE), min(crop.height, _SIDE)), Resampling.NEAREST)


def _around(image: Image, box: Box) -> Numbers:
    """Return the pixels right around the box; where that is beyond the image, those along the inside of the box."""
    width, height = (box.xmax - box.xmin) * _RING, (box.ymax - box.ymin) * _RING
    grown = Box(
        max(box.xmin - width, 0),
        max(box.ymin - height, 0),
        min(box.xmax + width, CANVAS),
        min(box.ymax + height, CANVAS),
    )
    outer, inner = _in_pixels(image, grown), _in_pixels(image, box)
    pixels = np.asarray(image.crop(outer))
    ring = np.ones(pixels.shape[:2], dtype=bool)
    ring[inner[1] - outer[1] : inner[3] - outer[1], inner[0] - outer[0] : inner[2] - outer[0]] = False
    if not ring.any():
        ring[...] = True
        ring[1:-1, 1:-1] = False
    return lab(pixels[ring])


def _in_pixels(image: Image, box: Box) -> tuple[int, int, int, int]:
    """Return the whole pixels that a box touches; at least one."""
    across, down = image.width / CANVAS, image.height / CANVAS
    left, top = min(int(box.xmin * across), image.width - 1), min(int(box.ymin * down), image.height - 1)
    right, bottom = int(np.ceil(box.xmax * across)), int(np.ceil(box.ymax * down))
    return left, top, max(min(right, image.width), left + 1), max(min(bottom, image.height), top + 1)


def _gaussian(length: int) -> Numbers:
    offsets = (np.arange(length) + 0.5) / length - 0.5
    weights: Numbers = np.exp(-0.5 * (offsets / _SPREAD) ** 2)
    return weights
