"""Segmentation of drawings: connected components against the flat background, with edges to a fraction of a pixel."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from PIL import Image, ImageChops

from formalimg.scenes import CANVAS, Scene, draw

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Cells(NamedTuple):
    """A half-open rectangle on a grid: from the first column and row to the ones after the last."""

    left: int
    top: int
    right: int
    bottom: int

    def contains(self, other: Cells) -> bool:
        """Return whether the other rectangle lies within this one."""
        return (
            self.left <= other.left
            and self.top <= other.top
            and other.right <= self.right
            and other.bottom <= self.bottom
        )


def outermost(components: Iterable[Cells]) -> list[Cells]:
    """Return the components that do not lie within another, from top to bottom.

    A component within the rectangle of another belongs to it: the parts inside an outline may not touch it.
    """
    outer: list[Cells] = []
    for cells in sorted(components, key=lambda cells: (cells.left - cells.right) * (cells.bottom - cells.top)):
        if not any(larger.contains(cells) for larger in outer):
            outer.append(cells)
    return sorted(outer, key=lambda cells: (cells.top, cells.left))


def connected_components(mask: NDArray[np.bool_]) -> list[Cells]:
    """Return the bounding rectangles of the connected components of a mask (8-connectivity), found run by run."""
    height, width = mask.shape
    framed = np.zeros((height, width + 2), np.int8)
    framed[:, 1:-1] = mask
    steps = np.diff(framed, axis=1)
    rows, starts = np.nonzero(steps == 1)
    ends = np.nonzero(steps == -1)[1]
    if not len(rows):
        return []
    # Runs of one row touch those of the next that start before their end and end after their start. Counted along the
    # image, with a spare column on either side, each row's runs are neighbours in one ascending list.
    stride = width + 2
    next_row = (rows + 1) * stride
    first = np.searchsorted(rows * stride + ends, next_row + starts, side="left")
    last = np.searchsorted(rows * stride + starts, next_row + ends, side="right")
    touching = np.maximum(last - first, 0)
    above = np.repeat(np.arange(len(rows)), touching)
    below = np.arange(len(above)) - np.repeat(np.cumsum(touching) - touching, touching) + np.repeat(first, touching)
    names, component = np.unique(_roots(len(rows), above, below), return_inverse=True)
    lows = np.full((len(names), 2), max(width, height))
    highs = np.zeros((len(names), 2), int)
    np.minimum.at(lows, component, np.stack([starts, rows], axis=1))
    np.maximum.at(highs, component, np.stack([ends, rows + 1], axis=1))
    return [Cells(*low, *high) for low, high in zip(lows.tolist(), highs.tolist(), strict=True)]


def _roots(runs: int, one: NDArray[np.intp], other: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return the first run of the component of each run, given the runs that touch."""
    roots = np.arange(runs)
    while True:
        smaller, larger = np.minimum(roots[one], roots[other]), np.maximum(roots[one], roots[other])
        apart = smaller != larger
        if not apart.any():
            return roots
        np.minimum.at(roots, larger[apart], smaller[apart])
        while (jumped := roots[roots]).tobytes() != roots.tobytes():  # until each names the first of its tree
            roots = jumped


_MIN_CONTRAST = 28
"""The minimum contrast with the background, in the channel that differs most, of a pixel that may be part of an object:
the blurred outline of a white object has no more."""

_SURE_CONTRAST = 50
"""The contrast that some pixel of every object reaches."""

_FAINT, _SPECK = 90, 8
"""The ringing of JPEG leaves specks beside objects; no part of a drawing is so faint and (on the canvas) so small."""

_POOL = 2
"""Components are found on a grid of cells of so many pixels, so that outlines thinned by scaling stay connected."""

_BACKGROUND_TOLERANCE = 14
_MIN_BACKGROUND = 0.1
"""The minimum share of background in a drawing."""

_NEAR, _FAR = 3, 8
"""Within so many pixels of its edge an outline is at its darkest. The nearer suits pale outlines; the farther skips the
ringing of JPEG in front of dark ones."""

_SAME_EDGE = 0.5

_MAX_OBJECTS, _MAX_COMPONENTS = 150, 1500
"""No drawing has more objects, or components that they consist of."""


class PixelBox(NamedTuple):
    """A rectangle in an image, in fractions of a pixel."""

    left: float
    top: float
    right: float
    bottom: float


class NotADrawing(NamedTuple):
    """Why an image cannot be a drawing."""

    why: str


def find_objects(image: Image.Image) -> list[tuple[PixelBox, ...]] | NotADrawing:
    """Find what stands out from the background; each object comes with all rectangles that could be its box."""
    background = _background_of(image)
    if background is None:
        return NotADrawing("the background of this image is another")
    red, green, blue = ImageChops.difference(image, Image.new("RGB", image.size, background)).split()
    contrast = np.asarray(ImageChops.lighter(ImageChops.lighter(red, green), blue))
    pooled = _pooled(contrast)
    speck = _SPECK * max(image.size) / CANVAS / _POOL
    clear = [cells for cells in connected_components(pooled > _MIN_CONTRAST) if _is_clear(pooled, cells, speck)]
    objects = outermost(clear) if len(clear) <= _MAX_COMPONENTS else clear
    if len(objects) > _MAX_OBJECTS:
        return NotADrawing(f"this image has {len(objects)} separate parts")
    return [_candidate_boxes(contrast, cells) for cells in objects]


@cache
def drawing_background() -> tuple[int, int, int]:
    """Return the background colour of all drawings."""
    red, green, blue = np.asarray(draw(Scene.of([]), size=64))[0, 0].tolist()
    return red, green, blue


def _background_of(image: Image.Image) -> tuple[int, int, int] | None:
    """Return the background colour of the image; None if too little of it is close to that of drawings."""
    channels = [np.asarray(channel) for channel in image.resize((128, 128), Image.Resampling.BOX).split()]
    away = [np.abs(channel - np.int16(level)) for channel, level in zip(channels, drawing_background(), strict=True)]
    near = np.maximum(np.maximum(away[0], away[1]), away[2]) <= _BACKGROUND_TOLERANCE
    if near.mean() < _MIN_BACKGROUND:
        return None
    red, green, blue = [_median(channel[near]) for channel in channels]
    return red, green, blue


def _median(levels: NDArray[np.uint8]) -> int:
    """Return the median, rounded down; by counting, as there are few levels."""
    below = np.cumsum(np.bincount(levels))
    lower, upper = np.searchsorted(below, [(len(levels) - 1) // 2, len(levels) // 2], side="right").tolist()
    return int((lower + upper) / 2)


def _is_clear(pooled: NDArray[np.uint8], cells: Cells, speck: float) -> bool:
    """Return whether this is part of an object rather than noise."""
    strongest = pooled[cells.top : cells.bottom, cells.left : cells.right].max()
    is_speck = max(cells.right - cells.left, cells.bottom - cells.top) < speck
    return bool(strongest > (_FAINT if is_speck else _SURE_CONTRAST))


def _pooled(contrast: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Return the maximum contrast in each cell of two by two pixels."""
    height, width = contrast.shape
    even = np.zeros((height + height % _POOL, width + width % _POOL), np.uint8)
    even[:height, :width] = contrast
    rows = np.maximum(even[::_POOL], even[1::_POOL])
    return np.maximum(rows[:, ::_POOL], rows[:, 1::_POOL])


def _candidate_boxes(contrast: NDArray[np.uint8], cells: Cells) -> tuple[PixelBox, ...]:
    height, width = contrast.shape
    left, top = max((cells.left - 1) * _POOL, 0), max((cells.top - 1) * _POOL, 0)
    right, bottom = min((cells.right + 1) * _POOL, width), min((cells.bottom + 1) * _POOL, height)
    region = contrast[top:bottom, left:right]
    across, down = region.max(axis=0).tolist(), region.max(axis=1).tolist()
    profiles = [_Profile(one) for one in (across, down, across[::-1], down[::-1])]
    far, near = (
        PixelBox(
            left + profiles[0].edge(depth),
            top + profiles[1].edge(depth),
            right - profiles[2].edge(depth),
            bottom - profiles[3].edge(depth),
        )
        for depth in (_FAR, _NEAR)
    )
    same = max(abs(one - other) for one, other in zip(far, near, strict=True)) < _SAME_EDGE
    return (far,) if same else (far, near)


class _Profile:
    """The contrast of an object along one direction, from one of its sides. Short: plain numbers are fastest."""

    def __init__(self, levels: list[int]) -> None:
        self._levels = levels
        self._begin = next((at for at, level in enumerate(levels) if level > _MIN_CONTRAST), 0)

    def edge(self, depth: int) -> float:
        """Return where it rises to half of its first maximum, from its start in fractions of a pixel."""
        levels = self._levels
        half = max(levels[self._begin : self._begin + depth]) / 2
        inside = next(at for at, level in enumerate(levels) if level >= half)
        before = levels[inside - 1] if inside else 0
        return inside - 0.5 + (half - before) / (levels[inside] - before)
