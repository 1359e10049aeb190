"""The colour of an object, from the pixels in its box."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from formalimg.scenes import CANVAS, Box

if TYPE_CHECKING:
    from PIL.Image import Image


Numbers = NDArray[np.float64]

NO_COLOR = "other"

_SIDE = 40
"""Boxes are looked at in at most so many pixels across and down."""
_RING = 0.1
"""What surrounds an object is looked at in a ring of this share of its width and height."""
_LIKE_AROUND = 14.0
"""Pixels that differ from what surrounds the object by less (in CIE Lab) are most likely not of the object."""
_LEAST_OF_IT = 0.06
"""If less than this share of the weight differs from what surrounds it, the object has the colour of that."""
_SPREAD = 0.3
"""The weight of pixels falls off from the centre, like a bell of this width; the box is 1 wide."""


class ColorSeen(NamedTuple):
    """The word for an object's colour, and the share of what was looked at that has it."""

    word: str
    share: float


def color_in(image: Image, box: Box) -> ColorSeen:
    """The colour of the object in a box: the word that most of its pixels have, those in the middle counting most.

    Args:
        image: the image, in RGB; it shows the whole canvas.
        box: where the object is, on the canvas.
    """
    pixels = _lab_of(_crop(image, box))
    around = np.median(_around(image, box), axis=0)
    height, width, _ = pixels.shape
    weights = np.outer(_bell(height), _bell(width))
    differs = np.linalg.norm(pixels - around, axis=2) > _LIKE_AROUND
    if weights[differs].sum() >= _LEAST_OF_IT * weights.sum():
        weights = weights * differs
    shares = np.bincount(_nearest_word(pixels).ravel(), weights.ravel(), minlength=len(_tones().words)) / weights.sum()
    best = int(shares.argmax())
    return ColorSeen(_tones().words[best], round(float(shares[best]), 3))


def lab(rgb: NDArray[Any]) -> Numbers:
    """From sRGB, 0 to 255, to CIE Lab under daylight (D65); the last axis holds the three channels."""
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
    """The version of the tones by which colours are told."""
    return int(_table()["version"])


class _Tones(NamedTuple):
    words: tuple[str, ...]
    places: Numbers
    word_of: NDArray[np.intp]


@cache
def _tones() -> _Tones:
    tones: Mapping[str, list[str]] = _table()["tones"]
    rgb = [[int(tone[start : start + 2], 16) for start in (1, 3, 5)] for ones in tones.values() for tone in ones]
    word_of = [number for number, ones in enumerate(tones.values()) for _ in ones]
    return _Tones(tuple(tones), lab(np.array(rgb)), np.array(word_of))


@cache
def _table() -> Mapping[str, Any]:
    return tomllib.loads((files("formalimg.judges.grounders") / "pixel_colors.toml").read_text(encoding="utf-8"))


def _nearest_word(pixels: Numbers) -> NDArray[np.intp]:
    tones = _tones()
    distances = np.linalg.norm(pixels[..., None, :] - tones.places, axis=-1)
    words: NDArray[np.intp] = tones.word_of[distances.argmin(axis=-1)]
    return words


def _crop(image: Image, box: Box) -> Image:
    from PIL.Image import Resampling

    crop = image.crop(_in_pixels(image, box))
    # Pixels are left out rather than blended: outlines on a white object would make it gray.
    return crop.resize((min(crop.width, _SIDE), min(crop.height, _SIDE)), Resampling.NEAREST)


def _around(image: Image, box: Box) -> Numbers:
    """The pixels right around the box; where that is beyond the image, those along the inside of the box."""
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
    """The whole pixels that a box touches; at least one."""
    across, down = image.width / CANVAS, image.height / CANVAS
    left, top = min(int(box.xmin * across), image.width - 1), min(int(box.ymin * down), image.height - 1)
    right, bottom = int(np.ceil(box.xmax * across)), int(np.ceil(box.ymax * down))
    return left, top, max(min(right, image.width), left + 1), max(min(bottom, image.height), top + 1)


def _lab_of(image: Image) -> Numbers:
    return lab(np.asarray(image))


def _bell(length: int) -> Numbers:
    places = (np.arange(length) + 0.5) / length - 0.5
    bell: Numbers = np.exp(-0.5 * (places / _SPREAD) ** 2)
    return bell
